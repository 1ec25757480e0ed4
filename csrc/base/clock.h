/*
 * clock.h - what time it is, and which distance between two times is a gap. gethrtime() is declared in kstat.h; all
 * times are ns. SPDX-License-Identifier: MIT
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"

#define KS_NANOSEC 1000000000LL

/* Nanoseconds since 1970 (CLOCK_REALTIME). */
int64_t ks_time_of_day(void);

/* Nanoseconds for which this thread has run. */
hrtime_t ks_thread_time(void);

/* From one time to another, ns; what 64 bits cannot hold becomes INT64_MIN or INT64_MAX. */
static inline int64_t
ks_time_between(int64_t from, int64_t to)
{
	int64_t d;

	return __builtin_sub_overflow(to, from, &d) ? (to > from ? INT64_MAX : INT64_MIN) : d;
}

/*
 * ks_tick() is the time of gethrtime() for callers that need it millions of times a second. Where the kernel's clock is
 * the processor's time stamp counter, it reads the counter and multiplies by a rate that is measured against
 * CLOCK_MONOTONIC once a millisecond; everywhere else it is gethrtime(). Within a thread it never steps back; between
 * threads, and compared with gethrtime(), it may differ by some ten nanoseconds.
 */
#if defined(__x86_64__)

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
	uint64_t gone = __builtin_ia32_rdtsc() - s->tsc;

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

/* A distance between two samples that is a gap is no interval: wherever samples come from, this decides. */
#define KS_GAP 3 /* a distance that is more than so many times the usual one is a gap, */
#define KS_SHORTEST_GAP (60 * KS_NANOSEC) /* unless it is shorter: the recorder was only late */

/*
 * The distance that is usual beside one: the shorter one of those before it and behind it. 0: that is not known, as of the
 * first sample, or where clocks were set back.
 */
static inline int64_t
ks_usual_distance(int64_t before, int64_t behind)
{
	return before <= 0 || (behind > 0 && behind < before) ? behind : before;
}

static inline bool
ks_is_gap(int64_t distance, int64_t usual)
{
	return usual > 0 && distance >= KS_SHORTEST_GAP && (distance - 1) / KS_GAP >= usual;
}

/* True if the machine slept between two samples: `passed` by the time of day, while its clock went on by `went_by`. */
static inline bool
ks_is_sleep(int64_t passed, hrtime_t went_by)
{
	return ks_is_gap(ks_time_between(went_by, passed), went_by);
}

#endif
