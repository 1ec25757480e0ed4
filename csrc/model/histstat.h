/*
 * histstat.h - reads a histogram kstat: the layout of its buckets follows from the other values in its
 * data. SPDX-License-Identifier: MIT
 */
#ifndef MODEL_HISTSTAT_H
#define MODEL_HISTSTAT_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"
#include "model/histogram.h"
#include "model/record.h"

#define KS_HISTSTAT_VALUES 9u       /* buckets type range_min range_max stepping sum min max out_of_range */
#define KS_HISTSTAT_LEAST_VALUES 5u /* the first of them, where only buckets were counted */

struct ks_histstat {
	struct ks_hist_layout layout;
	const char *buckets; /* n numbers in the kstat's data, maybe unaligned */
	uint32_t n;          /* at most layout.n: a linear histogram ends with the highest bucket that was used */
	bool has_sum;        /* sum, min and max were counted: not in recordings and captures of older versions */
	uint64_t sum, min, max, out_of_range; /* 0 where they were not counted */
};

/* Returns whether it is a NAMED kstat that was read and starts with an array of buckets, as histograms do. */
bool ks_histstat_is(const kstat_t *ksp);

/* Appends the values of a histogram kstat with l->n counts; sums: NULL if they were not counted. */
void ks_histstat_add(struct ks_record *r, const struct ks_hist_layout *l, const uint64_t *buckets,
    const struct ks_hist_sums *sums);

/* Fills *h. False with errno EINVAL if the kstat was not read or lacks the five values of a valid histogram. */
bool ks_histstat_open(struct ks_histstat *h, const kstat_t *ksp);

/*
 * Checks a record from outside that is not finished yet: if it is a histogram of a known type, its range, buckets and sums must fit.
 * 0, or -1 with errno EBADMSG, ENOMEM.
 */
int ks_histstat_check(const struct ks_record *r);

#endif
