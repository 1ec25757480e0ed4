/*
 * timer.h - the event timer's arithmetic, as pure functions. The callers lock; times are
 * nanoseconds of gethrtime(). SPDX-License-Identifier: MIT
 */
#ifndef MODEL_TIMER_H
#define MODEL_TIMER_H

#include <stdint.h>

#include "kstat.h"

static inline void
ks_timer_start(kstat_timer_t *kt, hrtime_t t)
{
	kt->start_time = t;
}

/* max_time starts at 0, so a negative duration never sets it; min_time is set by the first. */
static inline void
ks_timer_stop(kstat_timer_t *kt, hrtime_t t)
{
	hrtime_t e = (hrtime_t)((uint64_t)t - (uint64_t)kt->start_time);

	kt->stop_time = t;
	if (e < kt->min_time || kt->num_events == 0)
		kt->min_time = e;
	if (e > kt->max_time)
		kt->max_time = e;
	kt->elapsed_time = (hrtime_t)((uint64_t)kt->elapsed_time + (uint64_t)e);
	kt->num_events++;
}

#endif
