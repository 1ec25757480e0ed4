/*
 * merge_digests.c - adding one t-digest to another. SPDX-License-Identifier: MIT
 *
 * All centroids and waiting samples of both make one ascending list, which is compressed once, so that a
 * sum of many digests is as exact as one digest of all samples. The functions do not fail for lack of
 * memory, because half of a blob would be merged already.
 */
#include "stats/tdigest/work.h"

#include <errno.h>

/*
 * Converts v from units of 2^-from to units of 2^-to, rounded to nearest. A result that does not fit becomes
 * INT64_MAX or -INT64_MAX, which are no values of a digest.
 */
static int64_t
rescale(int64_t v, unsigned from, unsigned to)
{
	unsigned by = to >= from ? to - from : from - to;

	if (to >= from) {
		if (by >= 63 || __builtin_mul_overflow(v, INT64_C(1) << by, &v))
			return v == 0 ? 0 : v < 0 ? -INT64_MAX : INT64_MAX;
		return v;
	}
	return by < 64 ? (v >> by) + (v >> (by - 1) & 1) : 0;
}

/* Converts an m in units of 2^-from to one for frac fractional bits; it is exact if it still can be. */
static int64_t
convert(int64_t m, unsigned from, unsigned frac, unsigned extra)
{
	int64_t v = m & ~INT64_C(1), to;

	if (extra == 1)
		to = rescale(rescale(v, from, frac), frac, frac + 1);
	else
		to = rescale(v, from, frac + extra);
	to &= ~INT64_C(1);
	if ((m & 1) != 0 && rescale(rescale(to, frac + extra, frac), frac, from) == v)
		to |= 1;
	return to;
}

/* Appends to the list whose last item is `it`; the first item of a list is a placeholder. */
static struct ks_tdgst_item *
append(struct ks_tdgst_item *it, int64_t m, uint64_t w)
{
	if (m == it->m && (m & 1) != 0) {
		it->w += w;
		return it;
	}
	if (m < it->m) { /* m was rounded to the value of an exact item, but is not exact itself */
		it->m = m;
		it->w += w;
		return it;
	}
	it[1].m = m;
	it[1].w = w;
	return it + 1;
}

/* The items of the list that is made to merge a src of at most n nodes into a dst of n nodes. */
#define NLIST(n) ((n) + KS_TDGST_NITEMS(n) + 2)

/* Adds the items of src, which fit, to the array dst; list has room for the items of both and two more. */
static void
merge_into(void *dst, int kind, const struct ks_tdgst_list *src, struct ks_tdgst_item *list)
{
	size_t max = ks_tdgst_maxctds(dst, kind), cur, n, i, j = 0;
	unsigned ctl = td_ctl(dst, kind), frac = td_frac(dst, kind), extra;
	struct ks_tdgst_item *it, node;
	uint64_t total;
	int64_t m;

	extra = td_extra(td_mode(dst, kind));
	cur = (size_t)td_get6(dst, kind, TD_CUR);
	it = list;
	*it = (struct ks_tdgst_item){ INT64_MIN, 0 };
	for (i = 0; i <= cur; i++) {
		node = (struct ks_tdgst_item){ INT64_MAX, 0 };
		if (i < cur)
			node = td_load(td_cnode(dst, kind, i), kind, extra);
		for (; j < src->n; j++) {
			m = convert(src->item[j].m, src->unit, frac, extra);
			if (m >= node.m)
				break;
			it = append(it, m, src->item[j].w);
		}
		if (i < cur)
			it = append(it, node.m, node.w);
	}
	n = (size_t)(it - list);
	for (;;) {
		for (total = 0, i = 1; i <= n; i++)
			total += list[i].w;
		if (total <= td_limit(kind))
			break;
		for (i = 1; i <= n; i++)
			list[i].w -= list[i].w / 2;
	}
	if (ks_tdgst_must_compress(list + 1, n, max)) {
		n = ks_tdgst_compress(list + 1, n, total, max, 0, max);
		ks_tdgst_count_compression(dst, kind);
	}
	for (i = 0; i < n; i++)
		td_store(td_node(dst, kind, i), kind, extra, list[i + 1], ctl);
	ks_tdgst_set_array(dst, kind, n);
}

struct merge {
	void *dst;
	int kind;
	uint64_t count;
	const struct ks_tdgst_list *src;
	struct ks_tdgst_item few[KS_TDGST_TREEMAX]; /* the items if src is a tree, in the units of dst */
	size_t nfew;
};

static int
merge_job(void *memory, void *ctx)
{
	const struct merge *mg = ctx;

	merge_into(mg->dst, mg->kind, mg->src, memory);
	return 0;
}

/* Returns whether all values of src are less than `end` away from 0, in the units of dst. */
static bool
is_below(int64_t end, const struct ks_tdgst_list *src, unsigned frac)
{
	return src->n == 0 ||
	    (rescale(src->item[0].m & ~INT64_C(1), src->unit, frac) > -end &&
	    rescale(src->item[src->n - 1].m & ~INT64_C(1), src->unit, frac) < end);
}

static int
check_list(const struct ks_tdgst_list *src, void *ctx)
{
	const struct merge *mg = ctx;

	return is_below(INT64_C(1) << td_bits(mg->kind), src, ks_tdgst_frac(mg->dst, mg->kind)) ? 0 : EOVERFLOW;
}

static int
merge_list(const struct ks_tdgst_list *src, void *ctx)
{
	struct merge *mg = ctx;
	void *dst = mg->dst;
	int kind = mg->kind;
	unsigned frac = ks_tdgst_frac(dst, kind);
	size_t i, n;

	for (i = 0; src->few && i < src->n; i++) {
		mg->few[i].m = rescale(src->item[i].m & ~INT64_C(1), src->unit, frac);
		mg->few[i].w = src->item[i].w;
	}
	if (src->few || src->n == 0) {
		mg->nfew = src->n;
		return 0;
	}
	if (kind == KS_TDGST64 && td_mode(dst, kind) == KS_TDGST_FIX &&
	    !is_below(KS_TDGST_FIXMAX, src, frac))
		ks_tdgst_next_mode(dst);
	mg->src = src;
	n = ks_tdgst_maxctds(dst, kind);
	(void)ks_tdgst_with_memory((n + src->n + 2) * sizeof(*src->item),
	    n <= 128 ? NLIST(128) * sizeof(*src->item) : 0, merge_job, mg);
	td_count(dst, kind, mg->count);
	return 0;
}

int
ks_tdgst_merge(void *dst, const void *src, int kind)
{
	struct merge mg = { .dst = dst, .kind = kind, .count = ks_tdgst_count(src, kind) };
	size_t max = ks_tdgst_maxctds(dst, kind);
	int err = 0;

	if (td_get6(dst, kind, TD_ROOT) == -1 && ks_tdgst_maxctds(src, kind) == max &&
	    td_ctl(dst, kind) == td_ctl(src, kind)) { /* dst is empty: copy src */
		memcpy(dst, src, ks_tdgst_size(kind, max));
		return 0;
	}
	if (td_ctl(dst, kind) != td_ctl(src, kind)) /* equal precision: all values fit */
		err = ks_tdgst_with_list(src, kind, KS_TDGST_ALL, check_list, &mg);
	if (err != 0)
		return err;
	/* Functions with scratch memory of their own are not called while that of src is in use. */
	if (td_get6(src, kind, TD_ROOT) <= -2) {
		if (td_get6(dst, kind, TD_ROOT) > -2)
			ks_tdgst_tree_to_array(dst, kind);
		ks_tdgst_flush(dst, kind, 0, 0);
	}
	(void)ks_tdgst_with_list(src, kind, KS_TDGST_ALL, merge_list, &mg);
	for (size_t i = 0; i < mg.nfew; i++) /* so that two trees with few samples make a tree */
		(void)ks_tdgst_add_fix(dst, kind, mg.few[i].m, mg.few[i].w);
	return 0;
}
