/*
 * histogram.h - the four bucket layouts of kstat2 histograms: how many buckets there are, which
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
	uint64_t stepping;
	/* The members below are derived from those above. */
	uint64_t first;     /* linear: the least value of bucket 1 if the first bucket were [0, first) */
	uint32_t per_level; /* log10-linear: buckets in one power of ten */
	uint32_t skipped;   /* log10-linear: steps that lie below the level's own power of ten */
};

/*
 * Checks the parameters of kstat2_create_histogram(9F) and derives the layout. 0, or -1 with
 * errno EINVAL and a message that says which one is wrong and what is allowed.
 */
int ks_hist_layout_init(struct ks_hist_layout *l, kstat2_nv_hist_type_t type, uint64_t range_min,
    uint64_t range_max, uint64_t stepping);

/* Returns the bucket that holds a value; below l->n. */
uint32_t ks_hist_index(const struct ks_hist_layout *l, uint64_t value);

/* Stores the least and greatest value of bucket i < l->n; the last bucket ends at 2^64-1. */
void ks_hist_bounds(const struct ks_hist_layout *l, uint32_t i, uint64_t *low, uint64_t *high);

/* Returns "linear", "log2", "log10" or "log10_lin"; NULL for no such type. */
const char *ks_hist_type_name(int type);

/* Returns the type of that name (n bytes), or -1. */
int ks_hist_type_parse(const char *name, size_t n);

#endif
