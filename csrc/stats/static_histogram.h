/* static_histogram.h - static histograms inside a blob, and which values their buckets hold. SPDX-License-Identifier: MIT */
#ifndef STATS_STATIC_HISTOGRAM_H
#define STATS_STATIC_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the offset of the counter of a value in the histogram's dsz bytes of type dt; 0 is the
 * out-of-bucket counter. The word is of the VOI's type, widened. This is the definition: the last
 * bucket that holds the value counts it.
 */
size_t ks_hist_slot(const void *hist, size_t dsz, unsigned dt, unsigned voi_dt, uint64_t word);

/* Adds n to the counter at that offset; it wraps as its type does. */
void ks_hist_count(void *hist, unsigned dt, size_t slot, uint64_t n);

void ks_hist_reset(void *hist, size_t dsz, unsigned dt);

/* Orders two words of a VOI's type: < 0, 0, > 0. */
int ks_hist_cmp(unsigned voi_dt, uint64_t a, uint64_t b);

/*
 * A range of values that a bucket holds (extent.c): from lo up to hi, which is excluded where it is not lo; without a
 * bound: infinite.
 */
struct ks_extent {
	double lo, hi;
	unsigned bkt;
};

/*
 * The ranges of a histogram of dsz bytes, in ascending order, disjoint: 0, and *list, which
 * the caller frees, of *n; or ENOMEM. *exact is false if values of the VOI may be counted
 * elsewhere: fixed-point bounds of several precisions, which are compared bit by bit.
 */
int ks_hist_extents(const void *hist, size_t dsz, unsigned dt, unsigned voi_dt,
    struct ks_extent **list, size_t *n, bool *exact);

#endif
