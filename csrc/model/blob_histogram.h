/*
 * blob_histogram.h - the histogram of a VOI of a statsblob, from the statistics of its kstat.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_BLOB_HISTOGRAM_H
#define MODEL_BLOB_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"
#include "model/decode.h"

/* It points into the kstat's data. */
struct ks_blob_histogram {
	size_t n;                         /* buckets */
	struct ks_value buckets, bounds;  /* INTS; INTS or STRS */
	const char *bounds_name;          /* the statistic, which has the unit of the values */
	const char *text;                 /* of bound `at`, where they are STRS */
	size_t at;
};

/*
 * Returns the name of the VOI's statistic with this ending and stores its value; NULL if there is none. The
 * search begins at statistic number `from`, because the statistics of a VOI mostly lie side by side.
 */
const char *ks_blob_find(const kstat_t *ksp, const char *voi, size_t voi_len, const char *ending, uint32_t from,
    struct ks_value *v);

/*
 * Fills *h. False if the kstat is no statsblob that was read, or the VOI has no histogram with bounds. `from`
 * is as above.
 */
bool ks_blob_histogram_open(struct ks_blob_histogram *h, const kstat_t *ksp, const char *voi, size_t voi_len,
    uint32_t from);

/* Returns the number of values in bucket i < n. */
uint64_t ks_blob_histogram_count(const struct ks_blob_histogram *h, size_t i);

/* Stores the lower bound of bucket i < n: U64, or STRING. It is fast for ascending i. */
void ks_blob_histogram_bound(struct ks_blob_histogram *h, size_t i, struct ks_value *v);

#endif
