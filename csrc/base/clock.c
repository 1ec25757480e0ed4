/* clock.c - see clock.h. SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/wide.h"

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

#if defined(__x86_64__)

#define LEAST_SPAN 2000000   /* ns over which a rate is measured */
#define MOST_SPAN 100000000  /* ns after which its start is moved, so that it follows the kernel's rate */
#define STRETCH 1000000      /* ns that are extrapolated before the kernel is asked again */
#define TRUSTED_ERROR 2000   /* ns by which the extrapolation may be wrong at the end of a stretch */
#define MOST_APART 1500      /* ticks between two readings that count as one moment */
#define MOST_ERRORS 3        /* after so many larger errors the thread uses gethrtime() only */

_Thread_local struct ks_tick_state ks_tick_state;

/* Where this thread's measurement of the rate starts. */
static _Thread_local struct {
	uint64_t tsc;
	int64_t ns;
	uint64_t rate; /* ns per tick, times 2^32; 0: not known yet */
	unsigned errors;
} anchor;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable; /* written once */

static void
read_clock_source(void)
{
	char name[8] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	    O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	usable = read(fd, name, sizeof(name) - 1) == 4 && strcmp(name, "tsc\n") == 0;
	(void)close(fd);
}

/*
 * Reads both clocks at one moment. Returns false if the thread was interrupted between the readings
 * at each attempt, so that they do not belong together; *ns is valid all the same.
 */
static bool
read_both(uint64_t *tsc, int64_t *ns)
{
	for (int i = 0; i < 4; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), after;

		*ns = gethrtime();
		after = __builtin_ia32_rdtsc();
		*tsc = before + (after - before) / 2;
		if (after - before < MOST_APART)
			return true;
	}
	return false;
}

hrtime_t
ks_tick_slow(void)
{
	struct ks_tick_state *s = &ks_tick_state;
	uint64_t tsc;
	int64_t ns, extrapolated = 0;

	(void)pthread_once(&once, read_clock_source);
	if (!usable || anchor.errors >= MOST_ERRORS)
		return gethrtime();
	if (!read_both(&tsc, &ns))
		return ns;
	if (anchor.tsc == 0 || ns - anchor.ns > 10LL * MOST_SPAN || tsc <= anchor.tsc) {
		/* The first call, or the first after a long silence. */
		s->limit = 0;
		anchor.rate = 0;
		anchor.tsc = tsc;
		anchor.ns = ns;
		return ns;
	}
	if (ns - anchor.ns >= LEAST_SPAN)
		anchor.rate = ks_wide_quotient(ks_wide_product((uint64_t)(ns - anchor.ns), UINT64_C(1) << 32),
		    tsc - anchor.tsc);
	if (anchor.rate == 0)
		return ns;
	if (s->limit != 0 && tsc - s->tsc < 2 * s->limit) {
		extrapolated = s->ns + (int64_t)((tsc - s->tsc) * s->mult >> 32);
		if (extrapolated - ns > TRUSTED_ERROR || ns - extrapolated > TRUSTED_ERROR) {
			anchor.errors++;
			extrapolated = 0;
		}
	}
	s->mult = anchor.rate;
	s->limit = ((uint64_t)STRETCH << 32) / anchor.rate;
	s->tsc = tsc;
	s->ns = ns;
	if (extrapolated > ns) {
		/* This clock is ahead. It never steps back, but runs slower until the kernel's has caught up. */
		s->ns = extrapolated;
		s->mult -= s->mult >> 13;
	}
	if (ns - anchor.ns > MOST_SPAN) {
		anchor.tsc = tsc;
		anchor.ns = ns;
	}
	return s->ns;
}

#endif
