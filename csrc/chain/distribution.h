/*
 * distribution.h - counts of buckets as bars of text, in the shape that DTrace draws: the one place
 * that draws distributions, for histogram kstats and for aggregations. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_DISTRIBUTION_H
#define CHAIN_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The line above the bars. title: what the labels are, "value" or with its unit "value (us)". */
void ks_distribution_head(struct ks_buf *b, const char *title);

/*
 * One bucket: its label (the least value in it, or what else tells it), a bar whose length is the share
 * of `total`, which is above 0, in 40 characters, and the count.
 */
void ks_distribution_line(struct ks_buf *b, const char *label, uint64_t count, double total);

struct ks_distribution_bucket {
	const char *label;
	uint64_t count;
};

/*
 * All of it, in the order given, without the empty buckets at both ends but for one each. Nothing if
 * all are empty. width: the columns that there are, 0: as many as DTrace takes; with fewer, labels
 * take what they need and bars the rest, at least 14.
 */
void ks_distribution(struct ks_buf *b, const char *title, const struct ks_distribution_bucket *bucket,
    size_t n, size_t width);

#endif
