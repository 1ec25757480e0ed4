/*
 * add.c - adding values to the t-digest in a blob.
 * SPDX-License-Identifier: MIT
 *
 * This is a merging t-digest. A new sample is appended to a list that waits in the links of
 * the nodes (nobody needs the links, because the nodes are kept in order) and in free nodes.
 * When the list is full, it is sorted (work.c) and merged with the centroids (flush.c): each
 * sample joins the nearer centroid if that does not become too wide. Then the ranks are cut
 * into cells by a scale function (scale.c), and neighbours whose middles fall into one cell
 * become one centroid. The work per sample is that of sorting one list and walking another;
 * both are short.
 *
 * This digest has properties that an ordinary t-digest does not have:
 * - The first and last item are never merged with others: the extremes are exact (with four
 *   nodes or more). Equal values are one centroid, which stores that all its samples are
 *   equal: a digest of no more distinct values than nodes is exact.
 * - The greatest samples are not merged but continue to wait, so that the upper tail is exact to
 *   that depth. These are few samples, or many in digests of less than 100 nodes.
 * - Cells span the ranks that samples can have, 1/N to 1 - 1/N, not 0 to 1: otherwise
 *   many cells in the tails would be narrower than a sample, and their nodes would never be used.
 * - A mean is kept with 15 bits below the digest's precision, and a compression rounds it
 *   to nearest there, once. (Where values need the room, from 2^46 units on, it is kept
 *   with the precision itself.) Sums are computed in 128 bits.
 * - All decisions use integers, so that the same samples make the same bytes everywhere.
 * - Weights add up to the sample count. Before they exceed the largest cnt, 2^31-1 or
 *   2^63-1, all are halved, at least to 1: the digest continues, and older samples count
 *   half. The sample count itself stops at 2^32-1 or 2^63-1.
 */
#include "stats/tdigest/work.h"

#include <errno.h>

/* --- adding --- */

static void
tree_add(void *td, int kind, int64_t q)
{
	size_t n = (size_t)td_get6(td, kind, TD_CUR), max = ks_tdgst_maxctds(td, kind);
	size_t o[KS_TDGST_TREEMAX];

	td_putmu(td_node(td, kind, n), kind, q, td_ctl(td, kind));
	td_putcnt(td_node(td, kind, n), kind, 1);
	n++;
	td_put6(td, kind, TD_CUR, (int16_t)n);
	td_put6(td, kind, TD_FREE, n < max ? (int16_t)n : -1);
	ks_tdgst_tree_order(td, kind, o);
	if (n == 3) {
		ks_tdgst_set_node(td, kind, o[1], -1, (int)o[0], (int)o[2]);
		ks_tdgst_set_node(td, kind, o[0], (int)o[1], -1, -1);
		ks_tdgst_set_node(td, kind, o[2], (int)o[1], -1, -1);
	} else if (n == 2) {
		ks_tdgst_set_node(td, kind, 0, -1, o[0] == 1 ? 1 : -1, o[1] == 1 ? 1 : -1);
		ks_tdgst_set_node(td, kind, 1, 0, -1, -1);
	} else {
		ks_tdgst_set_node(td, kind, 0, -1, -1, -1);
	}
	td_put6(td, kind, TD_ROOT, n == 3 ? (int16_t)o[1] : 0);
	td_put6(td, kind, TD_MIN, (int16_t)o[0]);
	td_put6(td, kind, TD_GREATEST, (int16_t)o[n - 1]);
}

/* Computes the number that td_wait() stores for q in the mode; false if it does not fit. */
KS_TDGST_INLINE bool
as_waiting(int64_t q, enum ks_tdgst_mode mode, unsigned frac, int64_t *v)
{
	*v = q;
	if (mode == KS_TDGST_FIX)
		return q < KS_TDGST_FIXMAX && q > -KS_TDGST_FIXMAX;
	if (mode == KS_TDGST_WIDE)
		return true;
	*v = q / (INT64_C(1) << frac);
	return *v * (INT64_C(1) << frac) == q && *v < KS_TDGST_INTMAX && *v > -KS_TDGST_INTMAX;
}

void
ks_tdgst_next_mode(void *td)
{
	uint8_t *mode = (uint8_t *)td + TD_MODE, *node;
	size_t cur = (size_t)td_get6(td, KS_TDGST64, TD_CUR), i;
	int16_t exact;

	for (i = 0; *mode == KS_TDGST_FIX && i < cur; i++) { /* the fraction is lost */
		node = td_node(td, KS_TDGST64, i);
		exact = td_get16(node + TD_COLOUR) == 1;
		td_put16(node + TD_COLOUR, exact);
		/*
		 * An inexact node may not follow an exact one of the same mean: only the fraction allowed that.
		 */
		if (i > 0 && exact == 0 &&
		    td_getmu(node - td_nodesize(KS_TDGST64), KS_TDGST64) ==
		    td_getmu(node, KS_TDGST64))
			td_put16(node - td_nodesize(KS_TDGST64) + TD_COLOUR, 0);
	}
	++*mode;
	ks_tdgst_set_array(td, KS_TDGST64, cur); /* places depend on the mode */
}

/* Changes a TDGSTCLUST64 array to a mode that q fits. Modes only grow. */
static void
widen(void *td, int64_t q)
{
	unsigned frac = ks_tdgst_frac(td, KS_TDGST64);
	int64_t v;

	while (!as_waiting(q, td_mode(td, KS_TDGST64), frac, &v)) {
		ks_tdgst_flush(td, KS_TDGST64, 0, 0);
		ks_tdgst_next_mode(td);
	}
}

/* Adds a sample in all but the ordinary case; q is within the kind's range. */
static void
add_slowly(void *td, int kind, int64_t q, uint64_t w)
{
	size_t max = ks_tdgst_maxctds(td, kind), cur = (size_t)td_get6(td, kind, TD_CUR);
	enum ks_tdgst_mode mode;
	uint64_t weight = w;
	int left = td_get6(td, kind, TD_ROOT);
	int64_t v;

	if (w == 0)
		return;
	if (left > -2 && w == 1 && cur < max && cur < KS_TDGST_TREEMAX) {
		tree_add(td, kind, q);
		td_count(td, kind, 1);
		return;
	}
	if (left > -2)
		ks_tdgst_tree_to_array(td, kind);
	if (kind == KS_TDGST64)
		widen(td, q);
	mode = td_mode(td, kind);
	as_waiting(q, mode, ks_tdgst_frac(td, kind), &v);
	left = -2 - td_get6(td, kind, TD_ROOT);
	if (w <= 8 && w <= (uint64_t)left) {
		for (; weight > 0; weight--)
			td_wait(td, kind, mode, (size_t)--left, max, v);
		td_put6(td, kind, TD_ROOT, (int16_t)(-2 - left));
	} else {
		if (weight > td_limit(kind) / 2)
			weight = td_limit(kind) / 2;
		ks_tdgst_flush(td, kind, q * (INT64_C(1) << td_extra(mode)) + 1, weight);
	}
	td_count(td, kind, w);
}

/* Adds a value in units of 2^-(frac - shift), in every case. */
static __attribute__((noinline)) int
add_any(void *td, int kind, int64_t value, unsigned shift, uint64_t w)
{
	int64_t end = INT64_C(1) << (td_bits(kind) - shift);

	if (value >= end || value <= -end)
		return EOVERFLOW;
	add_slowly(td, kind, value * (INT64_C(1) << shift), w);
	return 0;
}

int
ks_tdgst_add_fix(void *td, int kind, int64_t value, uint64_t w)
{
	if (w == 1 && (kind == KS_TDGST64 ? td_add(td, td, KS_TDGST64, value, 0, true) :
	    td_add(td, td, KS_TDGST32, value, 0, true)))
		return 0;
	return add_any(td, kind, value, 0, w);
}

int
ks_tdgst_add_s64(void *td, int kind, int64_t value, uint64_t w)
{
	if (w == 1 && (kind == KS_TDGST64 ?
	    td_add(td, td, KS_TDGST64, value, td_frac(td, KS_TDGST64), true) :
	    td_add(td, td, KS_TDGST32, value, td_frac(td, KS_TDGST32), true)))
		return 0;
	return add_any(td, kind, value, td_frac(td, kind), w);
}

int
ks_tdgst_add_u64(void *td, int kind, uint64_t value, uint64_t w)
{
	int64_t v = (int64_t)value;

	if (w == 1 && (kind == KS_TDGST64 ?
	    td_add(td, td, KS_TDGST64, v, td_frac(td, KS_TDGST64), false) :
	    td_add(td, td, KS_TDGST32, v, td_frac(td, KS_TDGST32), false)))
		return 0;
	return v < 0 ? EOVERFLOW : add_any(td, kind, v, td_frac(td, kind), w);
}

/* --- digests into which others may write --- */

static int
add_as(void *td, int kind, int64_t value, enum ks_tdgst_as as)
{
	switch (as) {
	case KS_TDGST_SIGNED:
		return ks_tdgst_add_s64(td, kind, value, 1);
	case KS_TDGST_UNSIGNED:
		return ks_tdgst_add_u64(td, kind, (uint64_t)value, 1);
	default:
		return ks_tdgst_add_fix(td, kind, value, 1);
	}
}

struct addition {
	const void *shape;
	void *td;
	int kind;
	size_t size;
	int64_t value;
	enum ks_tdgst_as as;
};

/* Adds to a copy that is checked, and copies the result back. */
static int
add_job(void *copy, void *ctx)
{
	const struct addition *a = ctx;
	int err;

	memcpy(copy, a->td, a->size);
	if (ks_tdgst_check(copy, a->size, a->kind) != 0 || td_ctl(copy, a->kind) != td_ctl(a->shape, a->kind))
		return EBADMSG;
	err = add_as(copy, a->kind, a->value, a->as);
	if (err == 0)
		memcpy(a->td, copy, a->size);
	return err;
}

int
ks_tdgst_add_checked(const void *shape, void *td, int kind, size_t size, int64_t value,
    enum ks_tdgst_as as)
{
	struct addition a = { shape, td, kind, size, value, as };
	unsigned shift = as == KS_TDGST_FIXED ? 0 : td_frac(shape, kind);
	bool sgn = as != KS_TDGST_UNSIGNED;

	if (kind == KS_TDGST64 ? td_add(shape, td, KS_TDGST64, value, shift, sgn) :
	    td_add(shape, td, KS_TDGST32, value, shift, sgn))
		return 0;
	return ks_tdgst_with_memory(size, KS_TDGST_SCRATCH_SIZE(256), add_job, &a);
}
