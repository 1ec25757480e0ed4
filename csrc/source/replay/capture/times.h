/*
 * times.h - times as kstat prints them: the -T line, crtime and snaptime.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_TIMES_H
#define SOURCE_REPLAY_CAPTURE_TIMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * "1700000000" (seconds since 1970), "Tue Nov 14 22:13:20 UTC 2023", or the same without zone.
 * UTC, GMT and Z are told; any other zone, or none, is taken for this process's own.
 * 0 and the time in ns since 1970, or -1 if the n bytes at s are no such line.
 */
int ks_capture_time(const char *s, size_t n, int64_t *ns);

/*
 * Seconds as kstat prints crtime and snaptime: the digits of the double (double)ns / 1e9, which
 * above 2^53 ns (104 days) are not always those of ns. Stores the nearest time that is printed
 * as this text. 0, or -1 if malformed or out of range.
 */
int ks_capture_seconds(const char *s, size_t n, int64_t *ns);

#endif
