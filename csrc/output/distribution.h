/*
 * distribution.h - distributions as others take them: for people bars of text in the shape that DTrace draws, which
 * nothing else draws, of histogram kstats, statsblobs and aggregations; for programs the points of OpenTelemetry.
 * SPDX-License-Identifier: MIT
 */
#ifndef OUTPUT_DISTRIBUTION_H
#define OUTPUT_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/distribution.h"
#include "model/meta.h"

struct ks_distribution {
	const char *title;  /* what the labels are, "value" or with its unit "value (us)" */
	const char *margin; /* comes before each line */
	size_t width;       /* columns; 0: as many as DTrace takes; with fewer, labels take what they need and bars the
	                       rest, at least 14 */
	size_t n;           /* buckets */
	/*
	 * Returns the count of bucket i and, if label is not NULL, stores its label (the least value in it, or another
	 * text), which is valid until the next call. Labels are asked for in ascending order; twice with a width.
	 */
	uint64_t (*bucket)(void *arg, size_t i, const char **label);
	void *arg;
};

/*
 * Appends the title line and a line for each bucket: its label, a bar whose length is its share of all counts, and
 * the count; of the empty buckets at both ends one each. Returns false, and appends nothing, if all are empty.
 */
bool ks_distribution(struct ks_buf *b, const struct ks_distribution *d);

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

/*
 * Appends the fields of a message opentelemetry.proto.metrics.v1.ExponentialHistogramDataPoint: scale, count and buckets
 * as they are, and the sum and the extremes that were counted. start, end: the times between which it was counted, ns
 * since 1970. -1 with errno EINVAL: it is no exponential histogram.
 */
int ks_otlp_add(struct ks_buf *b, const struct kstat_hist *d, uint64_t start, uint64_t end);

#endif
