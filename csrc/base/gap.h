/*
 * gap.h - which distance between two samples is no interval: a gap. Wherever samples come from, these functions decide.
 * All times are ns. SPDX-License-Identifier: MIT
 */
#ifndef BASE_GAP_H
#define BASE_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

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
