/*
 * tick.h - the time of gethrtime() for callers that need it millions of times a second.
 * Where the kernel's clock is the processor's time stamp counter, ks_tick() reads the counter and
 * multiplies by a rate that is measured against CLOCK_MONOTONIC once a millisecond; everywhere else
 * it is gethrtime(). Within a thread it never steps back; between threads, and compared with
 * gethrtime(), it may differ by some ten nanoseconds.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_TICK_H
#define BASE_TICK_H

#include <stdint.h>

#include "kstat.h"

#if defined(__x86_64__)
#include <x86intrin.h>

/* One thread's extrapolation: time = ns + (counter - tsc) * mult / 2^32 while counter - tsc < limit. */
struct ks_tick_state {
	uint64_t tsc;
	int64_t ns;
	uint64_t mult;
	uint64_t limit; /* 0: ask the kernel */
};

extern _Thread_local struct ks_tick_state ks_tick_state __attribute__((visibility("hidden")));

hrtime_t ks_tick_slow(void);

static inline hrtime_t
ks_tick(void)
{
	const struct ks_tick_state *s = &ks_tick_state;
	uint64_t gone = __rdtsc() - s->tsc;

	if (__builtin_expect(gone < s->limit, 1))
		return s->ns + (hrtime_t)(gone * s->mult >> 32);
	return ks_tick_slow();
}

#else

static inline hrtime_t
ks_tick(void)
{
	return gethrtime();
}

#endif

#endif
