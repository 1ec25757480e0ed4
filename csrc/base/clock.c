/* clock.c - see clock.h. SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <string.h>
#include <time.h>

#include "base/number.h"
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

int64_t
ks_time_of_day(void)
{
	return nanoseconds(CLOCK_REALTIME);
}

int
ks_scan_time_of_day(const char *text, int64_t *ns)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"
	};

	if (ks_scan_seconds(text, strlen(text), ns) == 0)
		return 0;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		time_t t;

		if (end == NULL || *end != '\0')
			continue;
		t = mktime(&tm);
		if (t == (time_t)-1 || __builtin_mul_overflow((int64_t)t, KS_NANOSEC, ns))
			return -1;
		return 0;
	}
	return -1;
}
