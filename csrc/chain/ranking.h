/*
 * ranking.h - the statistics of many kstats in the order of a figure, of which the first ones are kept.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_RANKING_H
#define CHAIN_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "chain/delta.h"
#include "select/selector.h"

/*
 * A ranking takes in the differences of kstats one by one, in the order of kstat(8), and walks over the
 * statistics of each once. A row is a counter or a gauge that is a number. While there are more than `most`
 * rows, the ranking keeps those that come first, in a heap with the last of them on top; nothing is kept of
 * the others. The rows point into the data of the samples, which have to stay.
 */

enum ks_ranking_by { KS_RANKING_RATE, KS_RANKING_VALUE, KS_RANKING_NAME };

/*
 * Which rows, and in which order: the greatest figure first, what has none last, equals in the order of
 * kstat(8).
 */
struct ks_ranking_query {
	const struct ks_selector *const *selectors; /* borrowed */
	size_t nselectors; /* 0: all statistics */
	enum ks_ranking_by by;
	bool reverse; /* the least first; names backwards */
	bool no_counters, no_gauges;
	bool no_idle; /* none that stood still, and no gauge that is 0 */
	bool no_twins; /* of the statistics NAME and NAME64 of a kstat only the latter */
	const char *text; /* only names (ks_ranked_name()) with this in them, without case; NULL: all. Borrowed */
	const struct ks_pattern *pattern; /* only names that match it; NULL: all. Borrowed */
	size_t most;
	const char *name; /* only the row of this name; NULL: all. Borrowed */
	const struct ks_ranked *behind; /* rows that come before this one are counted; NULL: none. Borrowed */
};

struct ks_ranked {
	const kstat_t *ksp;
	const char *timer; /* its name, not ended by a NUL, if the kstat is of KSTAT_TYPE_TIMER */
	size_t ntimer;
	const char *stat;
	struct ks_value value; /* now */
	double unit;    /* of value and rate, as in struct ks_delta_stat */
	double number;  /* the value as a number, times in seconds */
	double rate;    /* of a counter, per second; times in seconds; NaN: it has none */
	bool counter;
	uint32_t kstat, position; /* of the row in the order of kstat(8) */
};

struct ks_ranking {
	struct ks_ranking_query query;
	struct ks_ranked *row; /* n of them; owned. In order after ks_ranking_finish() */
	size_t n, cap;
	size_t total;  /* rows that there are, twins not counted if they are not wanted */
	size_t passed; /* those that the query wants */
	size_t ahead;  /* of these, those before query.behind, of the same kstats */
	uint32_t kstats;
	struct ks_buf name; /* scratch */
};

void ks_ranking_start(struct ks_ranking *r, const struct ks_ranking_query *query);

void ks_ranking_free(struct ks_ranking *r);

/*
 * Takes in one kstat. kc: where metadata is asked for; NULL if the chain is closed. 0, or -1 with errno
 * ENOMEM.
 */
int ks_ranking_add(struct ks_ranking *r, const struct ks_delta *d, kstat_ctl_t *kc);

/* Puts the rows in order. */
void ks_ranking_finish(struct ks_ranking *r);

/* Appends module:instance:name:statistic; of a timer module:instance:name:timer:statistic. */
void ks_ranked_name(const struct ks_ranked *row, struct ks_buf *out);

#endif
