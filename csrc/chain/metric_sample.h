/*
 * metric_sample.h - kstats as samples of metrics: their labels, and what their values, histograms and
 * percentiles become. See exposition.h. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_METRIC_SAMPLE_H
#define CHAIN_METRIC_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "chain/metric_family.h"
#include "chain/values.h"

/* What a sample's name ends with, and which label of its own it has. */
enum ks_metric_part { KS_PART_VALUE, KS_PART_BUCKET, KS_PART_COUNT, KS_PART_SUM, KS_PART_QUANTILE };

struct ks_metric_sample {
	uint32_t family;
	uint32_t labels; /* offset of the labels of its kstat */
	uint32_t own;    /* BUCKET, QUANTILE: offset of the value of `le` or `quantile` */
	uint8_t part;
	struct ks_metric_value value;
};

/* A statistic of a kstat that had a value. */
struct ks_metric_use {
	kid_t kid;
	uint32_t stat;
};

struct ks_metric_uses {
	struct ks_metric_use *use; /* owned */
	size_t n, cap;
};

/* All of them; zeros are an empty collection. */
struct ks_metric_samples {
	bool is_open;                    /* for OpenMetrics, which is stricter about histograms */
	struct ks_metric_families families;
	struct ks_buf labels;            /* NUL-terminated texts */
	struct ks_table by_kstat;        /* labels of kstats, by module, instance and name */
	struct ks_metric_sample *sample; /* owned; in the order of kstats */
	size_t n, cap;
	uint32_t kstats;
	bool is_again;                   /* it is worth while to note the uses */
	struct ks_metric_uses uses, last; /* now, and of the exposition before, which most likely had the same */
	size_t expected;                 /* number of the one of `last` that is likely to come next */
	/* The members below are about the kstat that is being added. */
	kid_t kid;
	kstat_ctl_t *kc;
	const kstat_t *ksp;
	const struct ks_values *values;
	uint32_t ksp_labels;
	struct ks_buf taken;             /* names of labels */
};

void ks_metric_samples_free(struct ks_metric_samples *s);

/* Removes all samples, and keeps the memory and what is known of families. */
void ks_metric_samples_again(struct ks_metric_samples *s);

/*
 * Adds the samples of a kstat of the chain, of these of its values; texts are labels. 0, or -1 with errno
 * ENOMEM.
 */
int ks_metric_samples_add(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values);

#endif
