/* clock.h - the clocks. gethrtime() itself is in kstat.h. SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define KS_NANOSEC 1000000000LL

/* Nanoseconds since 1970 (CLOCK_REALTIME). */
int64_t ks_time_of_day(void);

#endif
