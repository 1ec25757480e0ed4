/*
 * histogram_plot.h - a histogram kstat as people see it: a distribution as DTrace draws it.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_HISTOGRAM_PLOT_H
#define CHAIN_HISTOGRAM_PLOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/meta.h"

/*
 * Appends lines of "lower bound |@@@@ count", each after a tab: from the bucket before the first used
 * one to that behind the last. meta, of "buckets", may be NULL: it gives the unit. Nothing if
 * ksp is no histogram; without counts one line says so.
 */
void ks_histogram_plot(struct ks_buf *b, const kstat_t *ksp, const struct ks_meta *meta);

#endif
