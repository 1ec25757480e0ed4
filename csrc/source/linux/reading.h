/*
 * reading.h - when something was read that serves several kstats of a round: a file, an answer of the kernel.
 *
 * A kstat must not show old data, so what was read is read again once it is older than 20 ms, even within a round.
 * But what takes long may be older, in proportion, or else reading it would become most of the work of a report on
 * thousands of things. And a report reads nothing more than twice: only who pauses between two kstats, as a person at
 * the prompt does, gets new data a third time.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_READING_H
#define SOURCE_LINUX_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define KS_READING_AGE 20000000   /* ns */
#define KS_READING_AGE_OF_WORK 16 /* times as long as it takes to read and to parse */
#define KS_READING_PAUSE 1000000000 /* ns between two uses; a report makes none */

/* All zeros before the first reading. */
struct ks_reading {
	uint64_t round; /* the round of the last one; 0: there is none, or it failed */
	hrtime_t taken; /* when it began */
	hrtime_t took;  /* how long it lasted, with the parsing that followed */
	hrtime_t used;  /* when a kstat was made of it last */
	bool is_again;  /* it was not the first one of its round */
};

/* Returns whether the next kstat of that round has to read again. */
static inline bool
ks_reading_is_due(struct ks_reading *g, uint64_t round)
{
	hrtime_t now, pause;

	if (g->round != round)
		return true;
	now = gethrtime();
	pause = now - g->used;
	g->used = now;
	return (!g->is_again || pause > KS_READING_PAUSE) &&
	    now - g->taken > KS_READING_AGE + KS_READING_AGE_OF_WORK * g->took;
}

static inline void
ks_reading_begin(struct ks_reading *g, uint64_t round)
{
	g->is_again = g->round == round;
	g->round = round;
	g->taken = g->used = gethrtime();
}

/* Ends a reading, with an errno or 0: what failed is read again by the next kstat. */
static inline void
ks_reading_end(struct ks_reading *g, int err)
{
	g->used = gethrtime();
	g->took = g->used - g->taken;
	if (err != 0)
		g->round = 0;
}

#endif
