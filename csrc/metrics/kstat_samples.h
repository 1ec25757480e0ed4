/*
 * kstat_samples.h - kstats as samples of metrics, by our own rules: their labels, and what their values, histograms and
 * percentiles become. See exposition.h. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_KSTAT_SAMPLES_H
#define METRICS_KSTAT_SAMPLES_H

#include "metrics/sample.h"

/*
 * Adds the samples of a kstat of the chain, of these of its values. Texts are labels of all of them, and those that
 * are states of kstat_MODULE_info alone. 0, or -1 with errno
 * ENOMEM.
 */
int ks_metric_samples_add(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values);

#endif
