/*
 * times.h - the time of day as the -T option of kstat prints it.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_TIMES_H
#define SOURCE_REPLAY_CAPTURE_TIMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * "1700000000" (seconds since 1970), "Tue Nov 14 22:13:20 UTC 2023", or the same without zone.
 * UTC, GMT and Z are known; any other zone, or none, counts as this process's own.
 * 0 and the time in ns since 1970, or -1 if the n bytes at s are no such line.
 */
int ks_capture_time(const char *s, size_t n, int64_t *ns);

#endif
