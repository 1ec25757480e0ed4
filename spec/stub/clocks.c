/*
 * clocks.c - a stub of clocks, to be preloaded: the file that $CLOCKS names has the seconds by which CLOCK_MONOTONIC and
 * CLOCK_REALTIME are ahead of those of the machine. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *path = getenv("CLOCKS");
	FILE *f = path != NULL ? fopen(path, "re") : NULL;
	long long ahead[2] = { 0, 0 };

	if (f != NULL) {
		if (fscanf(f, "%lld %lld", &ahead[0], &ahead[1]) != 2)
			abort();
		(void)fclose(f);
	}
	if (syscall(SYS_clock_gettime, clock, ts) != 0)
		return -1;
	if (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME)
		ts->tv_sec += ahead[clock == CLOCK_REALTIME];
	return 0;
}
