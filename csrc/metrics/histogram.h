/*
 * histogram.h - kstat2 histograms as samples of metrics. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_HISTOGRAM_H
#define METRICS_HISTOGRAM_H

#include "metrics/sample.h"
#include "model/histstat.h"

/*
 * Adds the samples of a histogram: the buckets, of which the text formats have a choice (struct ks_metric_borders), the
 * sum if it was counted, and the count. In protocol buffers an exponential one is a native histogram, too. Values are
 * multiplied by times and divided by per. 0, or -1 with errno ENOMEM.
 */
int ks_metric_add_histogram(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    const struct ks_histstat *h);

/*
 * Adds the last bucket, which holds all `total` values, their sum (NULL: not known), and the count, which OpenMetrics does
 * not allow without a sum.
 */
int ks_metric_add_total(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per, uint64_t total,
    const struct ks_value *sum);

/* Adds one bucket: `total` values are at most `high`. */
int ks_metric_add_bucket(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    const struct ks_value *high, uint64_t total);

#endif
