/*
 * histogram.h - the five bucket layouts of kstat2 histograms: how many buckets there are, which
 * values each holds, and which bucket holds a value. SPDX-License-Identifier: MIT
 */
#ifndef MODEL_HISTOGRAM_H
#define MODEL_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat2.h"

struct ks_hist_layout {
	uint8_t type;       /* kstat2_nv_hist_type_t */
	bool grows;         /* linear: only the buckets up to the highest used one are shown */
	uint32_t n;         /* buckets */
	uint64_t range_min; /* as given; 0 where the type ignores it */
	uint64_t range_max;
	uint64_t stepping;  /* exponential: the scale */
	/* The members below are derived from those above. */
	uint64_t first;     /* linear: the least value of bucket 1 if the first bucket were [0, first) */
	uint32_t per_level; /* log10-linear: buckets in one power of ten */
	uint32_t skipped;   /* log10-linear: steps that lie below the level's own power of ten */
	int32_t offset;     /* exponential: the index of bucket 1 in model/exponential.h, which is OTLP's */
	uint64_t least;     /* values below this or above `greatest` are out of range, but for an exponential one's 0 */
	uint64_t greatest;
};

/* What is counted of all values beside the buckets. */
struct ks_hist_sums {
	uint64_t sum; /* modulo 2^64 */
	uint64_t min; /* UINT64_MAX: there was no value */
	uint64_t max;
	uint64_t out_of_range; /* in no bucket made for them, and values that were refused */
};

/*
 * Checks the parameters of kstat2_create_histogram(9F) and derives the layout. 0, or -1 with
 * errno EINVAL and a message that says which one is wrong and what is allowed.
 */
int ks_hist_layout_init(struct ks_hist_layout *l, kstat2_nv_hist_type_t type, uint64_t range_min,
    uint64_t range_max, uint64_t stepping);

/* Returns the bucket that holds a value, or the end bucket next to it; below l->n. */
uint32_t ks_hist_index(const struct ks_hist_layout *l, uint64_t value);

/* Returns whether two layouts have the same buckets. */
static inline bool
ks_hist_same_layout(const struct ks_hist_layout *a, const struct ks_hist_layout *b)
{
	return a->type == b->type && a->n == b->n && a->range_min == b->range_min && a->range_max == b->range_max &&
	    a->stepping == b->stepping;
}

/* Returns true if the value is in an end bucket that is not made for it, or in one for all that is below or above. */
static inline bool
ks_hist_is_outside(const struct ks_hist_layout *l, uint64_t value)
{
	return value > l->greatest ||
	    (value < l->least && !(value == 0 && l->type == KSTAT2_NVHIST_EXPONENTIAL));
}

/*
 * Stores the least and greatest value of bucket i < l->n. The last bucket ends at 2^64-1, but for an exponential one,
 * whose end buckets are as wide as the others. Low is never above high: an exponential bucket that is so narrow
 * that no whole number lies in it is said to hold the one below it.
 */
void ks_hist_bounds(const struct ks_hist_layout *l, uint32_t i, uint64_t *low, uint64_t *high);

/* Returns whether n counts, at most l->n, and sums can be of the same values. */
bool ks_hist_sums_fit(const struct ks_hist_layout *l, const uint64_t *buckets, uint32_t n,
    const struct ks_hist_sums *sums);

/* Returns "linear", "log2", "log10", "log10_lin" or "exponential"; NULL for no such type. */
const char *ks_hist_type_name(int type);

/* Returns the type of that name (n bytes), or -1. */
int ks_hist_type_parse(const char *name, size_t n);

#endif
