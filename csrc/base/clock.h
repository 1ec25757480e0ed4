/* clock.h - the time of day; gethrtime() is declared in kstat.h. SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "kstat.h"

#define KS_NANOSEC 1000000000LL

/* Nanoseconds since 1970 (CLOCK_REALTIME). */
int64_t ks_time_of_day(void);

/* Nanoseconds for which this thread has run. */
hrtime_t ks_thread_time(void);

/* From one time to another, ns; what 64 bits cannot hold becomes INT64_MIN or INT64_MAX. */
static inline int64_t
ks_time_between(int64_t from, int64_t to)
{
	int64_t d;

	return __builtin_sub_overflow(to, from, &d) ? (to > from ? INT64_MAX : INT64_MIN) : d;
}

#endif
