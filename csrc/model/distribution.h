/*
 * distribution.h - a distribution of values as counts of buckets: what a histogram kstat, or a VOI of a
 * statsblob, counted since its creation or between two readings. The one place that subtracts, merges, and
 * computes quantiles: of the statistics that the decoder adds to histograms, of C programs (kstat2.h) and of
 * Lua.
 *
 * A distribution is one of three:
 *   - a view: `now` and `before` point into the data of kstats, and nothing is owned. ks_dist_view() makes it
 *     without memory, so that the decoder can.
 *   - of its own: `counts` holds the differences. Only such a one can change.
 *   - a digest's, which knows quantiles since creation only: it neither subtracts nor merges.
 *
 * The statistics of a histogram are computed from the bytes of two readings when somebody asks, so that recordings
 * store none. A difference passes the earlier reading to the decoder (ks_cursor_open_since()): a percentile is no end
 * of a subtraction. In an exponential bucket a quantile is the value from which the others are at most the bound of the
 * scale away, 2lh / (l + h); a point on a straight line could be wrong by twice that. The least and the greatest value
 * of an interval are those of its outermost buckets, unless the counted ones changed in it.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_DISTRIBUTION_H
#define MODEL_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat2.h"
#include "model/decode.h"
#include "model/histogram.h"
#include "model/record.h"

struct kstat_hist {
	struct ks_hist_layout layout; /* of a statsblob's: n alone */
	double *bounds;      /* owned: n least values and then n greatest ones, of a statsblob's buckets; else NULL */
	const char *now;     /* n numbers, maybe unaligned */
	const char *before;  /* nbefore numbers that are taken from them; the rest counts as 0 */
	uint32_t n, nbefore; /* at most layout.n */
	uint64_t *counts;    /* owned: where `now` points, layout.n of them; NULL: a view */
	struct statsblob *digest; /* owned */
	int32_t voi;         /* of the digest */
	uint64_t count;      /* in all buckets */
	uint64_t out_of_range;
	bool has_sum;        /* the sum was counted; else it is estimated from the buckets when asked for */
	bool has_min, has_max; /* these are exact; else they are the ends of the buckets in use */
	struct ks_value sum; /* if it was counted */
	struct ks_value min, max; /* if there are values */
	hrtime_t created;    /* of the kstat; 0: of several */
	char unit[24];
	char name[2 * KSTAT_STRLEN + 48]; /* for messages */
};

/*
 * Opens a view of a histogram kstat that was read: what it counted since `before`, an earlier reading of the
 * same kstat (NULL: since its creation). If the earlier one has other buckets, everything counts. 0, or -1
 * with errno EINVAL: it is no histogram, or one that does not fit.
 */
int ks_dist_view(struct kstat_hist *d, const kstat_t *now, const kstat_t *before);

/*
 * The same as a distribution of its own, to be freed; voi (may be NULL) names a VOI of a statsblob. `unit` is
 * that of the values of a histogram kstat. NULL with errno EINVAL, ENOENT (no such VOI, or one that is not
 * distributed) or ENOMEM.
 */
struct kstat_hist *ks_dist_read(const kstat_t *now, const kstat_t *before, const char *voi, const char *unit);

/*
 * Counts anew what follows from the counts: of all values, and of those since `before`, whose counts were
 * taken away already (NULL: none were).
 */
void ks_dist_settle(struct kstat_hist *d, const struct kstat_hist *before);

/* Returns how many values bucket i < layout.n holds. */
uint64_t ks_dist_count(const struct kstat_hist *d, uint32_t i);

/* Stores the ends of bucket i; a statsblob's may be infinite. */
void ks_dist_bounds(const struct kstat_hist *d, uint32_t i, double *low, double *high);

/* Stores the sum: counted, or estimated from the middles of the buckets. False if it is not known. */
bool ks_dist_sum(const struct kstat_hist *d, struct ks_value *v);

/*
 * The statistics that every histogram kstat has beside what its source stores, which may have some of them,
 * too: count, sum, min, max, mean, p50, p90, p99 and p999.
 */
#define KS_DIST_STATISTICS 9u
extern const char *const ks_dist_names[KS_DIST_STATISTICS];

/* Returns whether that is one of these names. */
bool ks_dist_is_name(const char *stat);

/* Returns whether there is number i of them: without values there are but count and sum. */
bool ks_dist_has(const struct kstat_hist *d, unsigned i);

/* Stores number i of them, which is there. */
void ks_dist_statistic(const struct kstat_hist *d, unsigned i, struct ks_value *v);

/*
 * Programs in C look statistics up in the data. The first function appends data records for these statistics
 * to the record of a histogram that is not finished yet; the second gives them their values in the finished
 * data, and leaves out those without.
 */
void ks_dist_reserve(struct ks_record *r);
void ks_dist_fill(kstat_t *ksp);

/*
 * Stores what a percentile of a statsblob, `stat`, is of the interval: true, and v->kind is KS_VALUE_STRS if
 * there was no value in it. False if the statistic is no percentile, or one of a digest.
 */
bool ks_dist_percentile(const kstat_t *now, const kstat_t *before, const char *stat, struct ks_value *v);

/* Returns whether both have the same unit, buckets and counts. */
bool ks_dist_equal(const struct kstat_hist *a, const struct kstat_hist *b);

#endif
