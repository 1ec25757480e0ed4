/* clock.h - the clocks. gethrtime() itself is in kstat.h. SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define KS_NANOSEC 1000000000LL

/* Nanoseconds since 1970 (CLOCK_REALTIME). */
int64_t ks_time_of_day(void);

/*
 * A time of day as people write it: seconds since 1970 ("1700000000", decimals allowed), or local time as
 * "2026-11-21 14:05", "2026-11-21T14:05:30", "2026-11-21". One that 64 bits do not hold becomes the first or
 * the last that they do. 0, or -1 if it is neither.
 */
int ks_scan_time_of_day(const char *text, int64_t *ns);

#endif
