/*
 * tdigest_merge.c - adding one t-digest to another. SPDX-License-Identifier: MIT
 *
 * All centroids and waiting samples of both make one ascending list, which is compressed
 * once, so that a sum of many digests is as good as one digest of everything.
 */
#include "stats/tdigest_impl.h"

#include <errno.h>
#include <stdlib.h>

/* v in units of 2^-from as units of 2^-to, rounded to nearest. */
static __int128
rescale(__int128 v, unsigned from, unsigned to)
{
	if (to >= from)
		return v * ((__int128)1 << (to - from));
	return (v + ((__int128)1 << (from - to - 1))) >> (from - to);
}

/* An m in units of 2^-from as one for frac fractional bits; exact if it still is. */
static int64_t
convert(int64_t m, unsigned from, unsigned frac, unsigned extra)
{
	int64_t v = m & ~INT64_C(1), to;

	if (extra == 1)
		to = (int64_t)rescale(v, from, frac) * 2;
	else
		to = (int64_t)rescale(v, from, frac + extra) & ~INT64_C(1);
	if ((m & 1) != 0 && rescale(rescale(to, frac + extra, frac), frac, from) == v)
		to |= 1;
	return to;
}

/* Appends to a list that ends with it, whose first item is no item. */
static struct ks_tdgst_item *
append(struct ks_tdgst_item *it, int64_t m, uint64_t w)
{
	if (m == it->m && (m & 1) != 0) {
		it->w += w;
		return it;
	}
	if (m < it->m) { /* rounded to an exact one's value, without being it */
		it->m = m;
		it->w += w;
		return it;
	}
	it[1].m = m;
	it[1].w = w;
	return it + 1;
}

/* Adds src's items, which fit, to the array dst. */
static int
merge_items(void *dst, int kind, const struct ks_tdgst_list *src)
{
	size_t max = ks_tdgst_maxctds(dst, kind), cur, n, i, j = 0;
	unsigned ctl = td_ctl(dst, kind), frac = td_frac(dst, kind), extra;
	struct ks_tdgst_item *list, *it, node;
	uint64_t total;
	int64_t m;

	ks_tdgst_flush(dst, kind, 0, 0);
	extra = td_extra(td_mode(dst, kind));
	cur = (size_t)td_get6(dst, kind, TD_CUR);
	list = calloc(cur + src->n + 2, sizeof(*list));
	if (list == NULL)
		return ENOMEM;
	it = list;
	it->m = INT64_MIN;
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
		n = ks_tdgst_compress(list + 1, n, total, max, 0);
		ks_tdgst_count_compression(dst, kind);
	}
	for (i = 0; i < n; i++)
		td_store(td_node(dst, kind, i), kind, extra, list[i + 1], ctl);
	ks_tdgst_set_array(dst, kind, n);
	free(list);
	return 0;
}

struct merge {
	void *dst;
	int kind;
	uint64_t count;
};

static int
merge_list(const struct ks_tdgst_list *src, void *ctx)
{
	struct merge *mg = ctx;
	void *dst = mg->dst;
	int kind = mg->kind, err;
	unsigned frac = ks_tdgst_frac(dst, kind);
	__int128 end = (__int128)1 << td_bits(kind), lo, hi, v;
	size_t i;

	if (src->n == 0)
		return 0;
	lo = rescale(src->item[0].m & ~INT64_C(1), src->unit, frac);
	hi = rescale(src->item[src->n - 1].m & ~INT64_C(1), src->unit, frac);
	if (lo <= -end || hi >= end)
		return EOVERFLOW;
	for (i = 0; src->few && i < src->n; i++) { /* so that few and few stay few */
		v = rescale(src->item[i].m & ~INT64_C(1), src->unit, frac);
		(void)ks_tdgst_add_fix(dst, kind, (int64_t)v, src->item[i].w);
	}
	if (src->few)
		return 0;
	if (td_get6(dst, kind, TD_ROOT) > -2)
		ks_tdgst_tree_to_array(dst, kind);
	if (kind == KS_TDGST64 && td_mode(dst, kind) == KS_TDGST_FIX &&
	    (lo <= -KS_TDGST_FIXMAX || hi >= KS_TDGST_FIXMAX)) {
		ks_tdgst_flush(dst, kind, 0, 0);
		ks_tdgst_next_mode(dst);
	}
	err = merge_items(dst, kind, src);
	if (err == 0)
		td_count(dst, kind, mg->count);
	return err;
}

int
ks_tdgst_merge(void *dst, const void *src, int kind)
{
	struct merge mg = { dst, kind, ks_tdgst_count(src, kind) };
	size_t max = ks_tdgst_maxctds(dst, kind);

	if (td_get6(dst, kind, TD_ROOT) == -1 && ks_tdgst_maxctds(src, kind) == max &&
	    td_ctl(dst, kind) == td_ctl(src, kind)) { /* into an empty one: the same */
		memcpy(dst, src, ks_tdgst_size(kind, max));
		return 0;
	}
	return ks_tdgst_with_list(src, kind, KS_TDGST_ALL, merge_list, &mg);
}
