/*
 * figures.h - several sums over the statistics of one kstat of a difference at once: what a report needs
 * of it at every tick. Where a statistic stands is remembered, so that finding it again is one comparison.
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
	 * interval, rounded down. A statistic `updates` counts the additions; unknown if there was none.
	 */
	KS_HOW_MEAN
};

struct ks_figure {
	double sum;
	bool known; /* false: the kstat has none of its statistics, or no time went by */
};

struct ks_figures;

/* n figures without statistics; owned by the caller. NULL with errno ENOMEM. */
struct ks_figures *ks_figures_new(size_t n);

/*
 * Adds a statistic to figure i < n; all those of a figure are taken alike. 0, or -1 with errno ENOMEM, or
 * EINVAL: the name is too long.
 */
int ks_figures_add(struct ks_figures *f, size_t i, enum ks_how how, const char *stat);

size_t ks_figures_count(const struct ks_figures *f);

/* Stores all n figures of the kstat. Times count in seconds. kc: the chain, or NULL if it is closed. */
void ks_figures_read(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *out);

void ks_figures_free(struct ks_figures *f);

#endif
