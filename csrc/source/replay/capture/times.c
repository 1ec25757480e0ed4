/* times.c - see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"

static bool
month_number(const char *name, int *month)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++) {
		if (strncmp(names + 3 * i, name, 3) == 0) {
			*month = i;
			return true;
		}
	}
	return false;
}

int
ks_capture_time(const char *s, size_t n, int64_t *ns)
{
	char line[64], day[4], month[4], zone[16] = "";
	struct tm tm = { .tm_isdst = -1 };
	time_t t;
	int end = -1;

	while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' '))
		n--;
	if (n == 0 || n >= sizeof(line))
		return -1;
	if (ks_scan_seconds(s, n, ns) == 0)
		return 0;
	memcpy(line, s, n);
	line[n] = '\0';
	if (sscanf(line, "%3s %3s %2d %2d:%2d:%2d %4d%n", day, month, &tm.tm_mday, &tm.tm_hour,
	    &tm.tm_min, &tm.tm_sec, &tm.tm_year, &end) != 7 || (size_t)end != n) {
		end = -1;
		if (sscanf(line, "%3s %3s %2d %2d:%2d:%2d %15s %4d%n", day, month, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, zone, &tm.tm_year, &end) != 8 ||
		    (size_t)end != n)
			return -1;
	}
	if (!month_number(month, &tm.tm_mon) || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 ||
	    tm.tm_sec < 0 || tm.tm_sec > 60 || tm.tm_year < 1970)
		return -1;
	tm.tm_year -= 1900;
	if (strcmp(zone, "UTC") == 0 || strcmp(zone, "GMT") == 0 || strcmp(zone, "Z") == 0)
		t = timegm(&tm);
	else
		t = mktime(&tm);
	if (t == (time_t)-1 || __builtin_mul_overflow((int64_t)t, KS_NANOSEC, ns))
		return -1;
	return 0;
}
