/*
 * distribution.h - counts of buckets as bars of text, in the shape that DTrace draws: the one place
 * that draws distributions, for histogram kstats and for aggregations. SPDX-License-Identifier: MIT
 */
#ifndef OUTPUT_DISTRIBUTION_H
#define OUTPUT_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

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

#endif
