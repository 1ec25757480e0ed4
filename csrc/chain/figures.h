/*
 * figures.h - several sums over the statistics of one kstat of a difference at once: what a report needs
 * of it at every tick. The place of each statistic is remembered, so that finding it again is one comparison.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_FIGURES_H
#define CHAIN_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "chain/delta.h"
#include "kstat.h"

enum ks_how {
	KS_HOW_RATE,  /* change per second, see ks_delta_rate() */
	KS_HOW_DELTA, /* a counter's change, a gauge as it is now: see ks_delta_cursor_next() */
	KS_HOW_NOW,   /* as it is in the later sample */
	/*
	 * Of a sum to which once a second something is added, as in unix:0:vminfo: its mean over the
	 * interval, rounded down. A statistic `updates` counts the additions; without any the mean
	 * stays what it was at the last tick, and without that it is not known.
	 */
	KS_HOW_MEAN,
	KS_HOW_PERCENT, /* its change, in percent of that of other statistics: ks_figures_add_whole() */
	KS_HOW_COUNT /* 1 for each kstat; no statistic is read */
};

struct ks_figure {
	double sum;
	bool known; /* false: the kstat has none of its statistics, or no time went by */
};

struct ks_figures;

/* n figures without statistics; owned by the caller. NULL with errno ENOMEM. */
struct ks_figures *ks_figures_new(size_t n);

/* Figure i is how many kstats there are. */
void ks_figures_count_kstats(struct ks_figures *f, size_t i);

/*
 * Adds a statistic to figure i < n; all those of a figure have the same `how`. 0, or -1 with errno ENOMEM, or
 * EINVAL: the name is too long.
 */
int ks_figures_add(struct ks_figures *f, size_t i, enum ks_how how, const char *stat);

size_t ks_figures_count(const struct ks_figures *f);

/* Adds a statistic to those that figure i is a percentage of. Errors as above. */
int ks_figures_add_whole(struct ks_figures *f, size_t i, const char *stat);

/* Figure i is multiplied by this. */
void ks_figures_scale(struct ks_figures *f, size_t i, double factor);

/*
 * Stores all n figures of the kstat in `out`, which has room for ks_figures_room(f). Times count in seconds.
 * kc: the chain, or NULL if it is closed.
 */
void ks_figures_read(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *out);

/*
 * The same of several kstats together, of which each is added to `sum`, zeros at first; the figures are those that
 * ks_figures_finish() makes of it.
 */
void ks_figures_add_up(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *sum);
void ks_figures_finish(const struct ks_figures *f, struct ks_figure *sum);

size_t ks_figures_room(const struct ks_figures *f);

void ks_figures_free(struct ks_figures *f);

#endif
