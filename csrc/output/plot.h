/*
 * plot.h - histograms as people see them: distributions as DTrace draws them, each line after a tab.
 * SPDX-License-Identifier: MIT
 */
#ifndef OUTPUT_PLOT_H
#define OUTPUT_PLOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/meta.h"

/*
 * Appends the histogram of a histogram kstat, labelled with the lower bounds; open-ended buckets are labelled "< 100"
 * and ">= 100000". meta, of "buckets", may be NULL: it gives the unit. Nothing if ksp is no histogram; without counts
 * one line says so.
 */
void ks_histogram_plot(struct ks_buf *b, const kstat_t *ksp, const struct ks_meta *meta);

/*
 * True if ksp, which was read, is a statsblob kstat and the statistic "VOI_buckets" a histogram
 * whose statistic VOI_bounds gives the bounds.
 */
bool ks_is_blob_histogram(const kstat_t *ksp, const char *stat);

/* Appends that histogram, labelled with the least value of each bucket. Nothing if it is none. */
void ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat);

#endif
