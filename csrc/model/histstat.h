/*
 * histstat.h - a histogram kstat that was read, as its reader understands it: the layout of its buckets
 * follows from what it says of itself. SPDX-License-Identifier: MIT
 */
#ifndef MODEL_HISTSTAT_H
#define MODEL_HISTSTAT_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"
#include "model/histogram.h"

struct ks_histstat {
	struct ks_hist_layout layout;
	const char *buckets; /* n numbers in the kstat's data, maybe unaligned */
	uint32_t n;          /* at most layout.n: a linear one ends with the highest that was used */
};

/* False if the kstat was not read, or does not hold the five values of a histogram that make sense. */
bool ks_histstat_open(struct ks_histstat *h, const kstat_t *ksp);

#endif
