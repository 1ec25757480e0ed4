/*
 * extent.h - which values each bucket of a histogram holds. Buckets may overlap and come in
 * any order; a value is counted in the last that holds it (ks_hist_slot), so that a bucket
 * holds what its bounds say less what later buckets take: none, one or several ranges.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_EXTENT_H
#define STATS_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

/* Values from lo up to hi, which is excluded where it is not lo; without a bound: infinite. */
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
