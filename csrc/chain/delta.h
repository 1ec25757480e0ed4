/*
 * delta.h - what happened to one kstat between two samples: differences of what counts, the
 * current value of everything else. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_DELTA_H
#define CHAIN_DELTA_H

#include <stdbool.h>

#include "chain/sample.h"
#include "kstat.h"
#include "model/decode.h"
#include "model/meta.h"

struct ks_delta {
	const kstat_t *now;
	const kstat_t *prev; /* NULL: everything since creation, or `alone` */
	bool reset;          /* the kstat was created anew or as another kind of data, or prev is NULL */
	bool alone;          /* there is no interval: nothing was counted, the rest is as it is now; `reset` is false */
	/*
	 * Between the two snaptimes, or since creation; may be 0. Since the earlier sample, too, if the
	 * kstat is younger than a tenth of that: what was counted in an instant makes no rate, and creation
	 * times of devices that come are guesses on Linux, which tells none.
	 */
	hrtime_t elapsed;
};

/*
 * The two states of the kstat `now`, a copy in the sample it is from. before: the earlier sample,
 * or NULL for everything since creation. False if nothing can be said: one of the two has no data,
 * or the earlier sample lacks a kstat that existed already (it was not asked for it). A kstat that was created while the
 * kstats of its module were read for the earlier sample, and came too late for their list, did not exist for it: what it
 * counted it counted within the interval.
 */
bool ks_delta_open(struct ks_delta *d, const struct ks_sample *before, const kstat_t *now);

/* The same without an interval, as behind a gap. False if the kstat has no data. */
bool ks_delta_alone(struct ks_delta *d, const kstat_t *now);

/* The same for two copies of one kstat; prev NULL: everything since creation. */
bool ks_delta_between(struct ks_delta *d, const kstat_t *prev, const kstat_t *now);

/* What an I/O kstat counted, times in ns. */
struct ks_delta_io {
	uint64_t nread, nwritten;
	uint64_t reads, writes;
	uint64_t wtime, wlentime, rtime, rlentime;
	bool has_waitq; /* false: the run queue was used, the wait queue never: there is just one */
};

/*
 * False if the kstat is not of KSTAT_TYPE_IO, or without an interval. Counters and times are as in ks_counted().
 */
bool ks_delta_io(const struct ks_delta *d, struct ks_delta_io *out);

/* Walks the statistics of d->now in the order in which they are stored. */
struct ks_delta_cursor {
	const struct ks_delta *d;
	kstat_ctl_t *kc;
	struct ks_cursor now, prev;
};

/* kc: where metadata is asked for; NULL if the chain is closed. */
void ks_delta_cursor_open(struct ks_delta_cursor *c, const struct ks_delta *d, kstat_ctl_t *kc);

/* One statistic of a difference. */
struct ks_delta_stat {
	const char *name;       /* as the decoder has it */
	struct ks_value now;    /* as it is in the later sample, or in the interval if it was computed for that */
	struct ks_value change; /* a counter: how far it came; else the same as `now` */
	enum ks_kind kind;
	double unit;            /* of its rate: 1e-9 for nanoseconds that are not times by their type; else 1 */
};

/* Stores the next statistic, as ks_delta_cursor_next() does. */
bool ks_delta_cursor_next_change(struct ks_delta_cursor *c, struct ks_delta_stat *s);

/* Puts into the value of the statistic that came last what it has counted since creation if it was computed. */
void ks_delta_cursor_total(const struct ks_delta_cursor *c, struct ks_value *v);

/*
 * Stores the next statistic's name and, by its metadata, the difference (a counter) or the current
 * value (a gauge, a text, a point in time). Without metadata integers count, doubles do not.
 * A counter that the earlier sample lacks is passed over. False at the end.
 */
bool ks_delta_cursor_next(struct ks_delta_cursor *c, const char **name, struct ks_value *v);

/*
 * The same with counters as their change per second of d->elapsed, a double; times change in seconds.
 * If no time went by, a counter that stood still has the rate 0, and others are passed over. counters: it
 * passes over everything else, too.
 */
bool ks_delta_cursor_next_rate(struct ks_delta_cursor *c, bool counters, const char **name, struct ks_value *v);

/*
 * Stores what ks_delta_cursor_next() stores of the first statistic of that name from the cursor on, which stays where it
 * is. False if there is none, or it counts and the earlier sample lacks it.
 */
bool ks_delta_get(const struct ks_delta_cursor *c, const char *stat, struct ks_value *v);

/*
 * Change per second of d->elapsed; times change in seconds (so 1 means "all the time"). A gauge
 * may fall. False if there is no such number, or if no time went by.
 */
bool ks_delta_rate(const struct ks_delta_cursor *c, const char *stat, double *rate);

#endif
