/* clock.c - see clock.h. SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdbool.h>
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

/* Reads seconds since 1970; those that do not fit become INT64_MIN or INT64_MAX. 0, or -1. */
static int
scan_seconds(const char *text, int64_t *ns)
{
	size_t n = strlen(text), sign = *text == '-';
	size_t digits = strspn(text + sign, "0123456789");

	if (ks_scan_seconds(text, n, ns) == 0)
		return 0;
	if (digits == 0)
		return -1;
	if (text[sign + digits] == '.')
		digits += 1 + strspn(text + sign + digits + 1, "0123456789");
	if (sign + digits != n || text[n - 1] == '.')
		return -1;
	*ns = sign ? INT64_MIN : INT64_MAX;
	return 0;
}

/* Returns whether the month has that day: strptime() accepts 30 February, which mktime() moves to March. */
static bool
has_day(const struct tm *tm)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = tm->tm_year + 1900;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return tm->tm_mday <= days[tm->tm_mon] + (leap && tm->tm_mon == 1);
}

int
ks_scan_time_of_day(const char *text, int64_t *ns)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"
	};

	if (scan_seconds(text, ns) == 0)
		return 0;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		time_t t;

		if (end == NULL || *end != '\0')
			continue;
		if (!has_day(&tm))
			return -1;
		t = mktime(&tm);
		if (__builtin_mul_overflow((int64_t)t, KS_NANOSEC, ns))
			*ns = t < 0 ? INT64_MIN : INT64_MAX;
		return 0;
	}
	return -1;
}
