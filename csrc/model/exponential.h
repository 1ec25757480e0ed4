/*
 * exponential.h - buckets that grow by a constant factor, those of OTLP's exponential histograms: at scale s
 * bucket i holds the numbers above 2^(i/2^s) up to and including 2^((i+1)/2^s). All is exact, for every 64-bit number.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_EXPONENTIAL_H
#define MODEL_EXPONENTIAL_H

#include <stdint.h>

#define KS_EXPONENTIAL_MOST_SCALE 8u

/* Returns the bucket that holds v > 0: from -1, which holds 1, to 64 * 2^scale - 1. scale: 0 to 8. */
int32_t ks_exponential_index(uint64_t v, uint32_t scale);

/* Returns the greatest 64-bit number that is at most 2^(i/2^scale); i: -2^scale to 64 * 2^scale. */
uint64_t ks_exponential_floor(int32_t i, uint32_t scale);

/* Returns 2^(i/2^scale), rounded to the nearest. */
double ks_exponential_power(int32_t i, uint32_t scale);

#endif
