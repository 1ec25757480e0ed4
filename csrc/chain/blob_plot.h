/*
 * blob_plot.h - the histogram of a value of interest in a statsblob kstat as people see it.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_BLOB_PLOT_H
#define CHAIN_BLOB_PLOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "kstat.h"

/*
 * True if ksp, which was read, is a statsblob kstat and the statistic "VOI_buckets" a histogram
 * whose buckets VOI_bounds tells.
 */
bool ks_is_blob_histogram(const kstat_t *ksp, const char *stat);

/*
 * Appends its lines, each after a tab, labelled with the least value of each bucket. Nothing if
 * it is none.
 */
void ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat);

#endif
