/*
 * exponential.h - buckets that grow by a constant factor, those of OTLP's exponential histograms: at scale s
 * bucket i holds the numbers above 2^(i/2^s) up to and including 2^((i+1)/2^s). All is exact, for every 64-bit number.
 *
 * No loop and no logarithm finds a bucket. The bounds of the finest scale are powers of the 256th root of two; as
 * 64-bit mantissas they are a table of 2 KB, whose floors decide exactly, because no bound but a power of two is a
 * whole number. The upper eight bits of a value's mantissa give a first guess, and two comparisons the bucket; a
 * coarser scale is a shift. So 2^53 + 1 and 2^53 never share a bucket by rounding.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_EXPONENTIAL_H
#define MODEL_EXPONENTIAL_H

#include <stdint.h>

#define KS_EXPONENTIAL_MOST_SCALE 8u

extern const uint64_t ks_exponential_root[256 + 2];
extern const uint8_t ks_exponential_ahead[256];

/* Returns the bucket that holds v > 0: from -1, which holds 1, to 64 * 2^scale - 1. scale: 0 to 8. */
static inline int32_t
ks_exponential_index(uint64_t v, uint32_t scale)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(v);
	uint64_t mantissa = v << zeros;
	uint32_t cell = (uint32_t)(mantissa >> 55) & 255;
	uint32_t j = cell + ks_exponential_ahead[cell];

	/* Between two cells lie at most two roots. */
	j += (uint32_t)(mantissa > ks_exponential_root[j]) + (uint32_t)(mantissa > ks_exponential_root[j + 1]);
	return ((int32_t)((63 - zeros) * 256 + j) - 1) >> (KS_EXPONENTIAL_MOST_SCALE - scale);
}

/* Returns the greatest 64-bit number that is at most 2^(i/2^scale); i: -2^scale to 64 * 2^scale. */
uint64_t ks_exponential_floor(int32_t i, uint32_t scale);

#endif
