/*
 * scale.h - how wide a centroid of a t-digest may be at which rank, and the cells into which ranks are cut by that.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_TDIGEST_SCALE_H
#define STATS_TDIGEST_SCALE_H

#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

struct ks_tdgst_scale {
	double a, b, c;  /* dk/dq ~ q^-a (1-q)^-b + c (q (1-q))^-1/2 */
	double integral; /* of dk/dq from 0 to 1 - 2^-63 */
	uint64_t q[129]; /* q at k = i/128, in units of 2^-63 */
};

extern const struct ks_tdgst_scale ks_tdgst_scales[2];

static inline const struct ks_tdgst_scale *
ks_tdgst_scale(size_t n)
{
	return &ks_tdgst_scales[n >= 40];
}

/* Returns q at k: q in units of 2^-63, k in units of 2^-32 table entries and below the last entry. */
static inline uint64_t
td_q_of(const uint64_t *tab, uint64_t k)
{
	uint64_t i = k >> 32, q = tab[i];

	return q + ks_wide_shift(ks_wide_product(tab[i + 1] - q, (uint32_t)k), 32);
}

/* Returns the rank at q among total samples. */
static inline uint64_t
td_rank(uint64_t q, uint64_t total)
{
	return ks_wide_shift(ks_wide_product(q, total), 63);
}

/* Returns k at q, the inverse of td_q_of(). */
uint64_t ks_tdgst_k_of(const uint64_t *tab, uint64_t q);

/*
 * The cells into which the ranks of total samples are cut when a digest of max nodes shall have `target` of
 * them: n cells, from k on in equal steps. Outside of the cells are the least sample and the greatest
 * ones that are kept, or the greatest one if none is kept.
 */
struct ks_tdgst_cells {
	size_t n;
	uint64_t k, step;
};

struct ks_tdgst_cells ks_tdgst_cells(uint64_t total, size_t max, uint64_t kept, size_t target);

#endif
