/* clock.c - see clock.h. SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

#include "kstat.h"

static int64_t
nanoseconds(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * KS_NANOSEC + ts.tv_nsec;
}

hrtime_t
gethrtime(void)
{
	return nanoseconds(CLOCK_MONOTONIC);
}

hrtime_t
ks_thread_time(void)
{
	return nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

int64_t
ks_time_of_day(void)
{
	return nanoseconds(CLOCK_REALTIME);
}
