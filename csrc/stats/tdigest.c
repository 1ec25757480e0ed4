/*
 * tdigest.c - the t-digest in a blob: adding, merging, compressing.
 * SPDX-License-Identifier: MIT
 *
 * This is a merging t-digest. A sample is appended to a list that waits in the links of
 * the nodes (nothing needs them, the nodes being kept in order). When the list is full it
 * is sorted and merged with the centroids; if that gives more than there are nodes, the
 * ranks are cut into cells by a scale function (tdigest_scale.c) and neighbours whose
 * middles fall into one cell become one centroid. So all n nodes are centroids, and the
 * work per sample is that of sorting one list and walking another, both short.
 *
 * What holds, beyond what an ordinary t-digest has:
 * - The first and last item are never merged with others: the extremes are exact (four
 *   nodes or more). Equal values are one centroid whatever the cell says, and such a
 *   centroid knows it: a digest of no more distinct values than nodes is exact.
 * - Cells span the ranks that samples can have, 1/N to 1 - 1/N, not 0 to 1: otherwise
 *   many in the tails would be narrower than a sample and their nodes never used.
 * - A mean is kept with 15 bits below the digest's precision, and a compression rounds it
 *   to nearest there, once. (Where values need the room, from 2^46 units on, it is kept
 *   to the precision itself.) Sums are taken in 128 bits.
 * - Only integers decide, so that the same samples make the same bytes everywhere.
 * - Weights add up to the sample count. Before they pass what cnt can hold, 2^31-1 or
 *   2^63-1, all are halved, at least to 1: the digest goes on and forgets older samples by
 *   half. The sample count itself stops at its type's maximum.
 */
#include "stats/tdigest_impl.h"

#include <errno.h>
#include <stdlib.h>

/* --- shape --- */

size_t
ks_tdgst_size(int kind, size_t n)
{
	size_t size;

	if (n == 0 || n > KS_TDGST_MAXCTDS || (kind != KS_TDGST32 && kind != KS_TDGST64))
		return 0;
	size = td_base(kind) + n * td_nodesize(kind);
	return size <= UINT16_MAX ? size : 0;
}

static unsigned
control(int kind, unsigned prec)
{
	unsigned ctl = 0;

	while (ctl < 7 && td_fracbits(kind, ctl) < prec)
		ctl++;
	while (ctl > 0 && td_fracbits(kind, ctl - 1) == td_fracbits(kind, ctl))
		ctl--; /* several stand for "all there are" */
	return ctl;
}

unsigned
ks_tdgst_round_frac(int kind, unsigned prec)
{
	return td_fracbits(kind, control(kind, prec));
}

/* Makes every node free; parent and left of nodes that were in a tree stay, unread. */
static void
clear(void *td, int kind, size_t n, unsigned ctl, bool links)
{
	uint8_t *node;
	size_t i;

	memset(td, 0, td_base(kind));
	td_put6(td, kind, TD_MAX, (int16_t)n);
	td_put6(td, kind, TD_ROOT, -1);
	td_put6(td, kind, TD_FREE, 0);
	td_put6(td, kind, TD_MIN, -1);
	td_put6(td, kind, TD_GREATEST, -1);
	for (i = 0; i < n; i++) {
		node = td_node(td, kind, i);
		if (links)
			memset(node, 0, TD_RIGHT);
		td_put16(node + TD_RIGHT, i + 1 < n ? (int16_t)(i + 1) : -1);
		node[TD_COLOUR] = 0xff;
		node[TD_COLOUR + 1] = 0;
		td_putmu(node, kind, 0, ctl);
		td_putcnt(node, kind, 0);
	}
}

void
ks_tdgst_init(void *td, int kind, size_t n, unsigned prec)
{
	clear(td, kind, n, control(kind, prec), true);
}

void
ks_tdgst_reset(void *td, int kind)
{
	clear(td, kind, ks_tdgst_maxctds(td, kind), td_ctl(td, kind),
	    td_get6(td, kind, TD_ROOT) <= -2);
}

/* --- a few samples: the tree --- */

static void
set_node(void *td, int kind, size_t i, int parent, int left, int right)
{
	uint8_t *node = td_node(td, kind, i);

	td_put16(node + TD_PARENT, (int16_t)parent);
	td_put16(node + TD_LEFT, (int16_t)left);
	td_put16(node + TD_RIGHT, (int16_t)right);
	node[TD_COLOUR] = parent >= 0; /* black root, red leaves */
	node[TD_COLOUR + 1] = 0;
}

/* The indices of the tree's nodes in ascending order, equal ones in the order they came. */
static size_t
tree_order(const void *td, int kind, size_t order[KS_TDGST_TREEMAX])
{
	size_t n = (size_t)td_get6(td, kind, TD_CUR), i, j;
	int64_t v[KS_TDGST_TREEMAX];

	for (i = 0; i < n; i++) {
		v[i] = td_getmu(td_cnode(td, kind, i), kind);
		for (j = i; j > 0 && v[order[j - 1]] > v[i]; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	return n;
}

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
	tree_order(td, kind, o);
	if (n == 3) {
		set_node(td, kind, o[1], -1, (int)o[0], (int)o[2]);
		set_node(td, kind, o[0], (int)o[1], -1, -1);
		set_node(td, kind, o[2], (int)o[1], -1, -1);
	} else if (n == 2) {
		set_node(td, kind, 0, -1, o[0] == 1 ? 1 : -1, o[1] == 1 ? 1 : -1);
		set_node(td, kind, 1, 0, -1, -1);
	} else {
		set_node(td, kind, 0, -1, -1, -1);
	}
	td_put6(td, kind, TD_ROOT, n == 3 ? (int16_t)o[1] : 0);
	td_put6(td, kind, TD_MIN, (int16_t)o[0]);
	td_put6(td, kind, TD_GREATEST, (int16_t)o[n - 1]);
}

/* Says that the first n nodes are the digest, nothing waiting. */
static void
set_array(void *td, int kind, size_t n)
{
	td_put6(td, kind, TD_CUR, (int16_t)n);
	td_put6(td, kind, TD_ROOT, -2);
	td_put6(td, kind, TD_FREE, n < ks_tdgst_maxctds(td, kind) ? (int16_t)n : -1);
	td_put6(td, kind, TD_MIN, n > 0 ? 0 : -1);
	td_put6(td, kind, TD_GREATEST, (int16_t)((int)n - 1));
}

static void
tree_to_array(void *td, int kind)
{
	struct ks_tdgst_item it[KS_TDGST_TREEMAX];
	size_t o[KS_TDGST_TREEMAX], n = tree_order(td, kind, o), i;
	unsigned ctl = td_ctl(td, kind);

	for (i = 0; i < n; i++) {
		it[i].m = td_getmu(td_cnode(td, kind, o[i]), kind);
		it[i].w2 = 3; /* one sample, and exact */
	}
	for (i = 0; i < n; i++) {
		set_node(td, kind, i, -1, -1, -1);
		td_store(td_node(td, kind, i), kind, 0, it[i], ctl);
	}
	set_array(td, kind, n);
	/* A tree holds any value, an array only what its mode has room for. */
	if (kind == KS_TDGST64)
		for (i = 0; i < n; i++)
			if (it[i].m >= KS_TDGST_FIXMAX || it[i].m <= -KS_TDGST_FIXMAX)
				((uint8_t *)td)[TD_MODE] = KS_TDGST_INT;
}

/* --- sorting --- */

#define RUN 6 /* runs of so many are sorted by insertion, then merged */

static int64_t *
sort(int64_t *v, int64_t *tmp, size_t n)
{
	int64_t *swap, *to, x;
	size_t i, j, lo, mid, hi, len, a, b;
	bool first;

	for (i = 1; i < n && v[i - 1] <= v[i]; i++)
		;
	if (i >= n)
		return v;
	for (lo = 0; lo < n; lo = hi) {
		hi = lo + RUN < n ? lo + RUN : n;
		for (i = lo + 1; i < hi; i++) {
			x = v[i];
			for (j = i; j > lo && v[j - 1] > x; j--)
				v[j] = v[j - 1];
			v[j] = x;
		}
	}
	for (len = RUN; len < n; len *= 2) {
		for (lo = 0; lo < n; lo = hi) {
			mid = lo + len < n ? lo + len : n;
			hi = mid + len < n ? mid + len : n;
			to = tmp + lo;
			a = lo;
			b = mid;
			while (a < mid && b < hi) {
				first = v[a] <= v[b];
				*to++ = first ? v[a] : v[b];
				a += first;
				b += !first;
			}
			memcpy(to, v + a, (mid - a) * sizeof(*v));
			memcpy(to + (mid - a), v + b, (hi - b) * sizeof(*v));
		}
		swap = v;
		v = tmp;
		tmp = swap;
	}
	return v;
}

/* --- the list of items --- */

KS_TDGST_INLINE size_t
gather(const void *td, int kind, const struct ks_tdgst_work *wk, int64_t m, uint64_t w,
    unsigned *extra, uint64_t *total)
{
	enum ks_tdgst_mode mode = td_mode(td, kind);
	struct ks_tdgst_item *it = wk->item, node;
	int root = td_get6(td, kind, TD_ROOT);
	size_t cur = (size_t)td_get6(td, kind, TD_CUR), nwait, i, j, n = 0, o[KS_TDGST_TREEMAX];
	int64_t *s = wk->sort[0], scale;
	uint64_t sum = w;

	if (root > -2) { /* only to be read: an update has made an array of it */
		*extra = 0;
		*total = tree_order(td, kind, o);
		for (i = 0; i < *total; i++)
			n = td_push(it, n, td_getmu(td_cnode(td, kind, o[i]), kind), 3);
		return n;
	}
	*extra = td_extra(mode);
	nwait = (size_t)(-2 - root);
	sum += nwait;
	scale = mode == KS_TDGST_WIDE ? 1 : INT64_C(1) << (mode == KS_TDGST_FIX ?
	    KS_TDGST_EXTRA : td_fracbits(kind, td_ctl(td, kind)));
	for (i = 0; i < nwait; i++)
		s[i] = td_waiting(td, kind, mode, i) * scale;
	if (w == 1)
		s[nwait++] = m;
	s = sort(s, wk->sort[1], nwait);
	for (i = 0, j = 0; i < cur; i++) {
		node = td_load(td_cnode(td, kind, i), kind, *extra);
		while (j < nwait && s[j] < node.m)
			n = td_push(it, n, s[j++], 3);
		sum += node.w2 >> 1;
		n = td_push(it, n, node.m, node.w2);
	}
	while (j < nwait)
		n = td_push(it, n, s[j++], 3);
	if (w > 1) {
		for (i = n; i > 0 && it[i - 1].m > m; i--)
			it[i] = it[i - 1];
		it[i].m = m;
		it[i].w2 = w << 1 | 1;
		n++;
	}
	*total = sum;
	return n;
}

size_t
ks_tdgst_gather(const void *td, int kind, const struct ks_tdgst_work *wk, int64_t m,
    uint64_t w, unsigned *extra, uint64_t *total)
{
	return kind == KS_TDGST64 ? gather(td, KS_TDGST64, wk, m, w, extra, total) :
	    gather(td, KS_TDGST32, wk, m, w, extra, total);
}

/* --- compressing --- */

/* k for a rank q in units of 2^-63: the table's index in units of 2^-32. */
static uint64_t
find_k(const uint64_t *tab, uint64_t q)
{
	size_t lo = 0, hi = 128, mid;
	uint64_t num, den;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (tab[mid] <= q)
			lo = mid;
		else
			hi = mid;
	}
	num = q - tab[lo];
	den = tab[hi] - tab[lo];
	while (den >> 31 != 0) {
		num >>= 1;
		den >>= 1;
	}
	return ((uint64_t)lo << 32) + (den != 0 ? (num << 32) / den : 0);
}

/* The rank of k among total samples. */
KS_TDGST_INLINE uint64_t
rank_of(const uint64_t *tab, uint64_t k, uint64_t total)
{
	uint64_t i = k >> 32, q = tab[i];

	q += (uint64_t)(((unsigned __int128)(tab[i + 1] - q) * (uint32_t)k) >> 32);
	return (uint64_t)(((unsigned __int128)q * total) >> 63);
}

size_t
ks_tdgst_compress(struct ks_tdgst_item *it, size_t nitems, uint64_t total, size_t n)
{
	const uint64_t *tab = ks_tdgst_scale(n)->q;
	bool ends = n >= 4;
	size_t cells = ends ? n - 2 : n, cell = 0, i = 0, first, out = 0, end = nitems;
	uint64_t one = (UINT64_C(1) << 63) / total;
	uint64_t k = ends ? find_k(tab, one) : 0;
	uint64_t kend = ends ? find_k(tab, (UINT64_C(1) << 63) - one) : UINT64_C(128) << 32;
	uint64_t step, before = 0, limit, w, sum, d;
	unsigned __int128 acc;

	step = (kend - k) / cells;
	if (ends) {
		before = it[0].w2 >> 1;
		out = i = 1;
		end--;
	}
	while (i < end) {
		/* Cells whose end lies before the middle of this item stay empty. */
		w = it[i].w2 >> 1;
		do {
			k += step;
			limit = ++cell < cells ? rank_of(tab, k, total) : total;
		} while (limit < before + w / 2);
		acc = 0;
		sum = 0;
		first = i;
		do {
			acc += (unsigned __int128)w * (uint64_t)(it[i].m - it[first].m);
			sum += w;
			before += w;
			i++;
			w = it[i].w2 >> 1;
		} while (i < end && before + w / 2 <= limit);
		it[out] = it[first];
		if (i - first > 1) {
			acc += sum / 2;
			d = acc >> 64 == 0 ? (uint64_t)acc / sum : (uint64_t)(acc / sum);
			it[out].m += (int64_t)d;
			it[out].w2 = sum << 1;
		}
		out++;
	}
	if (ends)
		it[out++] = it[end];
	return out;
}

/* Halves the counts until they and w more leave cnt room. */
static void
make_room(void *td, int kind, uint64_t w)
{
	size_t cur = (size_t)td_get6(td, kind, TD_CUR), i;
	uint64_t sum, c;
	uint8_t *node;

	for (;;) {
		for (sum = w, i = 0; i < cur; i++)
			sum += td_getcnt(td_cnode(td, kind, i), kind);
		if (sum <= td_limit(kind))
			return;
		for (i = 0; i < cur; i++) {
			node = td_node(td, kind, i);
			c = td_getcnt(node, kind);
			td_putcnt(node, kind, c - c / 2);
		}
	}
}

static void
count_compression(void *td, int kind)
{
	uint8_t *at = (uint8_t *)td + (kind == KS_TDGST64 ? 8 : 4);
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	n += n < UINT32_MAX;
	memcpy(at, &n, sizeof(n));
}

/* Merges the waiting samples, and w more of mean m, into the nodes of an array. */
KS_TDGST_INLINE void
flush_with(void *td, int kind, const struct ks_tdgst_work *wk, int64_t m, uint64_t w)
{
	size_t max = ks_tdgst_maxctds(td, kind), n, i;
	uint64_t nwait = (uint64_t)(-2 - td_get6(td, kind, TD_ROOT)), total;
	unsigned ctl = td_ctl(td, kind), extra;

	if (td_smplcnt(td, kind) > td_limit(kind) - w)
		make_room(td, kind, nwait + w);
	n = gather(td, kind, wk, m, w, &extra, &total);
	if (n > max) {
		n = ks_tdgst_compress(wk->item, n, total, max);
		count_compression(td, kind);
	}
	for (i = 0; i < n; i++)
		td_store(td_node(td, kind, i), kind, extra, wk->item[i], ctl);
	set_array(td, kind, n);
}

static void
flush_any(void *td, int kind, const struct ks_tdgst_work *wk, int64_t m, uint64_t w)
{
	if (kind == KS_TDGST64)
		flush_with(td, KS_TDGST64, wk, m, w);
	else
		flush_with(td, KS_TDGST32, wk, m, w);
}

static __attribute__((noinline)) void
flush_small(void *td, int kind, int64_t m, uint64_t w)
{
	KS_TDGST_SCRATCH(KS_TDGST_SMALL) sc;

	flush_any(td, kind, &(struct ks_tdgst_work){ { sc.sort[0], sc.sort[1] }, sc.item }, m, w);
}

static __attribute__((noinline)) void
flush_large(void *td, int kind, int64_t m, uint64_t w)
{
	KS_TDGST_SCRATCH(KS_TDGST_MAXCTDS) sc;

	flush_any(td, kind, &(struct ks_tdgst_work){ { sc.sort[0], sc.sort[1] }, sc.item }, m, w);
}

static void
flush(void *td, int kind, int64_t m, uint64_t w)
{
	if (ks_tdgst_maxctds(td, kind) <= KS_TDGST_SMALL)
		flush_small(td, kind, m, w);
	else
		flush_large(td, kind, m, w);
}

/* --- adding --- */

/* What td_wait stores for q in the mode; false if it does not fit. */
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

/* Lets a TDGSTCLUST64 array, nothing waiting, have the next mode. */
static void
next_mode(void *td)
{
	uint8_t *mode = (uint8_t *)td + TD_MODE, *node;
	size_t cur = (size_t)td_get6(td, KS_TDGST64, TD_CUR), i;

	for (i = 0; *mode == KS_TDGST_FIX && i < cur; i++) { /* the extra bits go */
		node = td_node(td, KS_TDGST64, i);
		td_put16(node + TD_COLOUR, td_get16(node + TD_COLOUR) & 1);
	}
	++*mode;
}

/* Makes a TDGSTCLUST64 array one that q fits. Modes only grow. */
static void
widen(void *td, int64_t q)
{
	unsigned frac = ks_tdgst_frac(td, KS_TDGST64);
	int64_t v;

	while (!as_waiting(q, td_mode(td, KS_TDGST64), frac, &v)) {
		flush(td, KS_TDGST64, 0, 0);
		next_mode(td);
	}
}

/* Everything but the ordinary case: q is within the kind's range. */
static __attribute__((noinline)) void
add_slowly(void *td, int kind, int64_t q, uint64_t w)
{
	size_t max = ks_tdgst_maxctds(td, kind), cur = (size_t)td_get6(td, kind, TD_CUR);
	unsigned frac = ks_tdgst_frac(td, kind);
	enum ks_tdgst_mode mode;
	uint64_t nwait, weight = w;
	int root = td_get6(td, kind, TD_ROOT);
	int64_t v;

	if (w == 0)
		return;
	if (root > -2 && w == 1 && cur < max && cur < KS_TDGST_TREEMAX) {
		tree_add(td, kind, q);
		td_count(td, kind, 1);
		return;
	}
	if (root > -2)
		tree_to_array(td, kind);
	if (kind == KS_TDGST64)
		widen(td, q);
	mode = td_mode(td, kind);
	as_waiting(q, mode, frac, &v);
	nwait = (uint64_t)(-2 - td_get6(td, kind, TD_ROOT));
	if (w <= 8 && w <= td_room(kind, mode, max) - nwait) {
		for (; weight > 0; weight--)
			td_wait(td, kind, mode, nwait++, v);
		td_put6(td, kind, TD_ROOT, (int16_t)(-2 - (int)nwait));
	} else {
		if (weight > td_limit(kind) / 2)
			weight = td_limit(kind) / 2;
		flush(td, kind, mode == KS_TDGST_FIX ? q * (1 << KS_TDGST_EXTRA) : q, weight);
	}
	td_count(td, kind, w);
}

/* The ordinary case: an array with room, and a value that needs no other mode. */
KS_TDGST_INLINE void
add(void *td, int kind, int64_t q, uint64_t w)
{
	int root = td_get6(td, kind, TD_ROOT), max = td_get6(td, kind, TD_MAX);

	if (root > -2 || -2 - root >= max || w != 1 || (kind == KS_TDGST64 &&
	    (td_mode(td, kind) != KS_TDGST_FIX ||
	    (uint64_t)q + (KS_TDGST_FIXMAX - 1) > 2 * (KS_TDGST_FIXMAX - 1)))) {
		add_slowly(td, kind, q, w);
		return;
	}
	td_wait(td, kind, KS_TDGST_FIX, (size_t)(-2 - root), q);
	td_put6(td, kind, TD_ROOT, (int16_t)(root - 1));
	td_count(td, kind, 1);
}

int
ks_tdgst_add_fix(void *td, int kind, int64_t value, uint64_t w)
{
	int64_t end = INT64_C(1) << td_bits(kind);

	if (value >= end || value <= -end)
		return EOVERFLOW;
	if (kind == KS_TDGST64)
		add(td, KS_TDGST64, value, w);
	else
		add(td, KS_TDGST32, value, w);
	return 0;
}

int
ks_tdgst_add_s64(void *td, int kind, int64_t value, uint64_t w)
{
	unsigned frac = ks_tdgst_frac(td, kind);
	int64_t end = INT64_C(1) << (td_bits(kind) - frac);

	if (value >= end || value <= -end)
		return EOVERFLOW;
	return ks_tdgst_add_fix(td, kind, value * (INT64_C(1) << frac), w);
}

int
ks_tdgst_add_u64(void *td, int kind, uint64_t value, uint64_t w)
{
	return value <= INT64_MAX ? ks_tdgst_add_s64(td, kind, (int64_t)value, w) : EOVERFLOW;
}

/* --- merging --- */

/* m in units of 2^-from as units of 2^-to, rounded to nearest. */
static __int128
rescale(int64_t m, unsigned from, unsigned to)
{
	__int128 v = m;

	if (to >= from)
		return v * ((__int128)1 << (to - from));
	return (v + ((__int128)1 << (from - to - 1))) >> (from - to);
}

/* Adds src's items, whose unit is 2^-unit and which fit, to the array dst. */
static int
merge_items(void *dst, int kind, const struct ks_tdgst_list *src)
{
	size_t max = ks_tdgst_maxctds(dst, kind), cur, n = 0, i, j = 0;
	unsigned ctl = td_ctl(dst, kind), extra, unit;
	struct ks_tdgst_item *it, node;
	uint64_t total = 0, w2;
	int64_t m;

	flush(dst, kind, 0, 0);
	extra = td_extra(td_mode(dst, kind));
	unit = td_fracbits(kind, ctl) + extra;
	cur = (size_t)td_get6(dst, kind, TD_CUR);
	it = malloc((cur + src->n) * sizeof(*it));
	if (it == NULL)
		return ENOMEM;
	for (i = 0; i <= cur; i++) {
		node = (struct ks_tdgst_item){ INT64_MAX, 0 };
		if (i < cur)
			node = td_load(td_cnode(dst, kind, i), kind, extra);
		for (; j < src->n; j++) {
			m = (int64_t)rescale(src->item[j].m, src->unit, unit);
			if (m >= node.m)
				break;
			w2 = src->item[j].w2;
			if (rescale(m, unit, src->unit) != src->item[j].m)
				w2 &= ~UINT64_C(1); /* rounded, so no longer exact */
			n = td_push(it, n, m, w2);
		}
		if (i < cur)
			n = td_push(it, n, node.m, node.w2);
	}
	for (;;) {
		for (total = 0, i = 0; i < n; i++)
			total += it[i].w2 >> 1;
		if (total <= td_limit(kind))
			break;
		for (i = 0; i < n; i++)
			it[i].w2 -= it[i].w2 >> 2 << 1;
	}
	if (n > max) {
		n = ks_tdgst_compress(it, n, total, max);
		count_compression(dst, kind);
	}
	for (i = 0; i < n; i++)
		td_store(td_node(dst, kind, i), kind, extra, it[i], ctl);
	set_array(dst, kind, n);
	free(it);
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
	__int128 end = (__int128)1 << td_bits(kind), lo, hi;
	size_t i;

	if (src->n == 0)
		return 0;
	lo = rescale(src->item[0].m, src->unit, frac);
	hi = rescale(src->item[src->n - 1].m, src->unit, frac);
	if (lo <= -end || hi >= end)
		return EOVERFLOW;
	if (src->few) { /* so that few and few stay few */
		for (i = 0; i < src->n; i++)
			(void)ks_tdgst_add_fix(dst, kind,
			    (int64_t)rescale(src->item[i].m, src->unit, frac),
			    src->item[i].w2 >> 1);
		return 0;
	}
	if (td_get6(dst, kind, TD_ROOT) > -2)
		tree_to_array(dst, kind);
	if (kind == KS_TDGST64 && td_mode(dst, kind) == KS_TDGST_FIX &&
	    (lo <= -KS_TDGST_FIXMAX || hi >= KS_TDGST_FIXMAX)) {
		flush(dst, kind, 0, 0);
		next_mode(dst);
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

	return ks_tdgst_with_list(src, kind, false, merge_list, &mg);
}
