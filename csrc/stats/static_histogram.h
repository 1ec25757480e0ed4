/* static_histogram.h - static histograms inside a blob. SPDX-License-Identifier: MIT */
#ifndef STATS_STATIC_HISTOGRAM_H
#define STATS_STATIC_HISTOGRAM_H

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

#endif
