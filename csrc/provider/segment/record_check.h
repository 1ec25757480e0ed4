/*
 * record_check.h - the check of values that are changed together: who copies them while others write knows by it that
 * they are of one instant. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_RECORD_CHECK_H
#define PROVIDER_SEGMENT_RECORD_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/wide.h"

/* Multiplying pairs of words and folding the halves is a few cycles for a kstat_io_t. */
static inline uint64_t
ks_rec_fold(uint64_t a, uint64_t b)
{
	ks_wide m = ks_wide_product(a, b);

	return ks_wide_low(m) ^ ks_wide_high(m);
}

#define KS_REC_CHECK_START(seq) (0x9e3779b97f4a7c15ULL ^ (seq))
#define KS_REC_CHECK_PAIR(a, b, left) \
	ks_rec_fold((a) ^ 0xa0761d6478bd642fULL, (b) ^ 0xe7037ed1a0b428dbULL ^ (left))
#define KS_REC_CHECK_END(h) ks_rec_fold((h) ^ 0x589965cc75374cc3ULL, 0x1d8e4e27c47d124fULL)

/* The check of a copy: n bytes, a multiple of 8, that are the version number seq. */
static inline uint64_t
ks_rec_check(const void *value, size_t n, uint32_t seq)
{
	const char *p = value;
	uint64_t h = KS_REC_CHECK_START(seq);
	uint64_t a, b;

	for (; n >= 16; n -= 16, p += 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h += KS_REC_CHECK_PAIR(a, b, n);
	}
	if (n >= 8) {
		memcpy(&a, p, 8);
		h += a * 0x8ebc6af09c88c6e3ULL;
	}
	return KS_REC_CHECK_END(h);
}

#endif
