/*
 * tdigest_flush.c - how a t-digest takes in the samples that wait: sort them, merge them
 * with the centroids, compress. SPDX-License-Identifier: MIT
 */
#include "stats/tdigest_impl.h"

/* --- sorting --- */

/*
 * Buckets: a value's distance d from the least goes by its leading bits, three of them
 * below the highest, which spreads samples well whether they lie densely or over many
 * orders of magnitude. Below 8 each d has its own; after that there are eight an octave.
 */
#define BUCKETS 512
#define CROWD 32 /* more in one bucket are not sorted by insertion */

KS_TDGST_INLINE size_t
bucket_of(uint64_t d)
{
	unsigned e;

	d += 8;
	e = (63 ^ (unsigned)__builtin_clzll(d)) - 3;
	return e * 8 + (size_t)(d >> e) - 8;
}

/* For what crowds in few buckets: sorts v with the help of as much memory at tmp. */
static int64_t *
merge_sort(int64_t *v, int64_t *tmp, size_t n)
{
	int64_t *swap, *to;
	size_t lo, mid, hi, len, a, b;
	bool first;

	for (len = 1; len < n; len *= 2) {
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

/*
 * Sorts n values, the least of which is min; distances count in units of 2^shift, which
 * all of them are multiples of. bucket has room for n. Returns v or tmp, whichever holds
 * the result.
 */
static int64_t *
sort(int64_t *v, int64_t *tmp, uint16_t *bucket, size_t n, int64_t min, unsigned shift)
{
	uint16_t place[BUCKETS] = { 0 };
	unsigned at = 0, c, most = 0;
	int64_t *p, x;
	size_t i, b;

	for (i = 0; i < n; i++) {
		b = bucket_of((uint64_t)(v[i] - min) >> shift);
		bucket[i] = (uint16_t)b;
		place[b]++;
	}
	for (i = 0; at < n; i++) {
		c = place[i];
		place[i] = (uint16_t)at;
		at += c;
		most = c > most ? c : most;
	}
	for (i = 0; i < n; i++)
		tmp[place[bucket[i]]++] = v[i];
	if (most > CROWD) {
		for (i = 1; i < n && tmp[i - 1] <= tmp[i]; i++)
			; /* often a crowd of equal values */
		return i < n ? merge_sort(tmp, v, n) : tmp;
	}
	for (i = 1; i < n; i++) {
		x = tmp[i];
		if (tmp[i - 1] <= x)
			continue;
		p = tmp + i;
		do {
			p[0] = p[-1];
			p--;
		} while (p > tmp && p[-1] > x);
		p[0] = x;
	}
	return tmp;
}

/* --- the list of items --- */

/* A tree is only read: an update makes it an array first. */
static size_t
gather_tree(const void *td, int kind, struct ks_tdgst_item *it, unsigned *extra, uint64_t *total)
{
	size_t o[KS_TDGST_TREEMAX], n = ks_tdgst_tree_order(td, kind, o), i;
	struct ks_tdgst_item *out = it;
	int64_t m;

	*extra = td_extra(KS_TDGST_INT);
	*total = n;
	for (i = 0; i < n; i++) {
		m = td_getmu(td_cnode(td, kind, o[i]), kind) * 2 + 1;
		if (out > it && out[-1].m == m)
			out[-1].w++;
		else
			*out++ = (struct ks_tdgst_item){ m, 1 };
	}
	return (size_t)(out - it);
}

/* Appends a sample to the list that ends with it. */
KS_TDGST_INLINE struct ks_tdgst_item *
append(struct ks_tdgst_item *it, int64_t m)
{
	if (m == it->m) {
		it->w++;
		return it;
	}
	it[1].m = m;
	it[1].w = 1;
	return it + 1;
}

KS_TDGST_INLINE size_t
gather(const void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk,
    int64_t m, uint64_t w)
{
	struct ks_tdgst_item *it = wk->item, node;
	uint64_t u;
	size_t left = (size_t)(-2 - td_get6(td, kind, TD_ROOT)), i;
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX), links = td_inlinks(kind, mode, max);
	size_t cur = (uint16_t)td_get6(td, kind, TD_CUR), places;
	unsigned extra = td_extra(mode);
	unsigned shift = extra + (mode == KS_TDGST_INT ? td_frac(td, kind) : 0);
	const ptrdiff_t half = kind == KS_TDGST64 ? 8 : 4;
	const uint8_t *p;
	int64_t *s = wk->sort[0], *to = s, v, min = INT64_MAX, bits = INT64_MIN;

	/* Two in each free node, from the last node down; then those in links. */
	places = td_places(kind, mode, cur, max);
	i = left > links ? left - links : 0;
	p = (const uint8_t *)td + td_place_at(kind, i, max);
	for (; i + links < places; i++) {
		v = td_infree(p, kind) * (INT64_C(1) << shift) + 1;
		p += (i & 1) == 0 ? half : -half - (ptrdiff_t)td_nodesize(kind);
		min = v < min ? v : min;
		bits |= v;
		*to++ = v;
	}
	for (i = places < links ? places : links; i > left; ) {
		if (TD_LITTLE && kind == KS_TDGST64 && mode == KS_TDGST_FIX) {
			memcpy(&u, td_cnode(td, kind, --i), sizeof(u));
			v = (int64_t)(u << 16 | 1); /* six bytes of it, by 2^16 */
		} else {
			v = td_inlink(td, kind, mode, --i) * (INT64_C(1) << shift) + 1;
		}
		min = v < min ? v : min;
		bits |= v;
		*to++ = v;
	}
	if (w == 1) {
		min = m < min ? m : min;
		bits |= m;
		*to++ = m;
	}
	i = (size_t)(to - s);
	/* Distances are multiples of the values' lowest bit; all have the flag. */
	s = sort(s, wk->sort[1], wk->bucket, i, min,
	    (unsigned)__builtin_ctzll((uint64_t)bits & ~UINT64_C(1)));
	to = s + i;
	*to = INT64_MAX; /* ends the inner loop below */
	it->m = INT64_MIN; /* before the first, and even: nothing joins it */
	for (i = 0; i < cur; i++) {
		node = td_load(td_cnode(td, kind, i), kind, extra);
		while (*s < node.m)
			it = append(it, *s++);
		if (node.m == it->m && (node.m & 1) != 0)
			it->w += node.w;
		else
			*++it = node;
	}
	while (s < to)
		it = append(it, *s++);
	i = (size_t)(it - wk->item);
	if (w > 1) {
		for (it++, i++; it[-1].m > m; it--)
			it[0] = it[-1];
		*it = (struct ks_tdgst_item){ m, w };
	}
	return i;
}

/* --- compressing --- */

size_t
ks_tdgst_compress(struct ks_tdgst_item *it, size_t nitems, uint64_t total, size_t max)
{
	const struct ks_tdgst_cells cl = ks_tdgst_cells(total, max);
	const uint64_t *tab = ks_tdgst_scale(max)->q;
	bool ends = max >= KS_TDGST_ENDS;
	size_t cells = cl.n, cell = 0;
	struct ks_tdgst_item *in = it, *end = it + nitems, *out = it;
	uint64_t k = cl.k, step = cl.step, before = 0, start, limit, w, sum, twice;
	struct ks_tdgst_item last;
	unsigned __int128 acc;
	int64_t base, room;

	if (ends && nitems < 3)
		return nitems;
	if (ends) {
		before = it->w;
		in++;
		out++;
		end--;
	}
	last = *end;
	end->w = UINT64_MAX; /* ends the inner loop below */
	while (in < end) {
		/* Cells whose end lies before the middle of this item stay empty. */
		w = in->w;
		do {
			k += step;
			limit = ++cell < cells ? td_rank(td_q_of(tab, k), total) : total;
		} while (limit < before + w / 2);
		base = in->m;
		*out = *in++;
		start = before;
		before += w;
		room = (int64_t)(limit - before);
		if ((int64_t)(in->w / 2) <= room) {
			acc = 0;
			do {
				w = in->w;
				acc += (unsigned __int128)w * (uint64_t)(in->m - base);
				room -= (int64_t)w;
				in++;
			} while ((int64_t)(in->w / 2) <= room);
			sum = limit - (uint64_t)room - start;
			before = start + sum;
			/* The nearest even m; an odd base is one more than even. */
			acc += sum + (base & 1 ? sum : 0);
			twice = 2 * sum;
			w = acc >> 64 == 0 ? (uint64_t)acc / twice : (uint64_t)(acc / twice);
			out->m = (int64_t)(((uint64_t)base & ~UINT64_C(1)) + 2 * w);
			out->w = sum;
		}
		out++;
	}
	if (ends)
		*out++ = last;
	return (size_t)(out - it);
}

void
ks_tdgst_count_compression(void *td, int kind)
{
	uint8_t *at = (uint8_t *)td + (kind == KS_TDGST64 ? 8 : 4);
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	n += n < UINT32_MAX;
	memcpy(at, &n, sizeof(n));
}

/* The sum of weights, w more and those that wait included. */
static uint64_t
total_weight(const void *td, int kind, uint64_t w)
{
	size_t cur = (size_t)td_get6(td, kind, TD_CUR), i;
	uint64_t sum = td_smplcnt(td, kind);

	if (sum <= td_limit(kind) - w) /* nothing was ever halved */
		return sum + w;
	sum = w + td_nwaiting(td, kind);
	for (i = 0; i < cur; i++)
		sum += td_getcnt(td_cnode(td, kind, i), kind);
	return sum;
}

bool
ks_tdgst_must_compress(const struct ks_tdgst_item *it, size_t n, size_t max)
{
	size_t i;

	for (i = 0; n <= max && i < n; i++)
		if ((it[i].m & 1) == 0)
			return true;
	return n > max;
}

/* Halves the counts until the sum of weights, w more included, leaves cnt room. */
static void
make_room(void *td, int kind, uint64_t w)
{
	size_t cur = (size_t)td_get6(td, kind, TD_CUR), i;
	uint64_t c;
	uint8_t *node;

	while (total_weight(td, kind, w) > td_limit(kind)) {
		for (i = 0; i < cur; i++) {
			node = td_node(td, kind, i);
			c = td_getcnt(node, kind);
			td_putcnt(node, kind, c - c / 2);
		}
	}
}

KS_TDGST_INLINE void
flush_with(void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk,
    int64_t m, uint64_t w)
{
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX), n, i;
	unsigned ctl = td_ctl(td, kind), extra = td_extra(mode);

	if (w == 0 && td_nwaiting(td, kind) == 0)
		return;
	if (td_smplcnt(td, kind) > td_limit(kind) - w)
		make_room(td, kind, w);
	n = gather(td, kind, mode, wk, m, w);
	if (ks_tdgst_must_compress(wk->item + 1, n, max)) {
		n = ks_tdgst_compress(wk->item + 1, n, total_weight(td, kind, w), max);
		ks_tdgst_count_compression(td, kind);
	}
	for (i = 0; i < n; i++)
		td_store(td_node(td, kind, i), kind, extra, wk->item[i + 1], ctl);
	ks_tdgst_set_array(td, kind, n);
}

/* The usual cases have code of their own. */
static void
flush_any(void *td, int kind, const struct ks_tdgst_work *wk, int64_t m, uint64_t w)
{
	enum ks_tdgst_mode mode = td_mode(td, kind);

	if (kind == KS_TDGST32)
		flush_with(td, KS_TDGST32, KS_TDGST_FIX, wk, m, w);
	else if (mode == KS_TDGST_FIX)
		flush_with(td, KS_TDGST64, KS_TDGST_FIX, wk, m, w);
	else
		flush_with(td, KS_TDGST64, mode, wk, m, w);
}

static __attribute__((noinline)) void
flush_small(void *td, int kind, int64_t m, uint64_t w)
{
	KS_TDGST_SCRATCH(KS_TDGST_SMALL) sc;

	flush_any(td, kind, KS_TDGST_WORK(sc), m, w);
}

static __attribute__((noinline)) void
flush_large(void *td, int kind, int64_t m, uint64_t w)
{
	KS_TDGST_SCRATCH(KS_TDGST_MAXCTDS) sc;

	flush_any(td, kind, KS_TDGST_WORK(sc), m, w);
}

void
ks_tdgst_flush(void *td, int kind, int64_t m, uint64_t w)
{
	if (ks_tdgst_maxctds(td, kind) <= KS_TDGST_SMALL)
		flush_small(td, kind, m, w);
	else
		flush_large(td, kind, m, w);
}

size_t
ks_tdgst_gather(const void *td, int kind, const struct ks_tdgst_work *wk, unsigned *extra,
    uint64_t *total)
{
	enum ks_tdgst_mode mode = td_mode(td, kind);

	if (td_get6(td, kind, TD_ROOT) > -2)
		return gather_tree(td, kind, wk->item + 1, extra, total);
	*extra = td_extra(mode);
	*total = total_weight(td, kind, 0);
	return kind == KS_TDGST64 ? gather(td, KS_TDGST64, mode, wk, 0, 0) :
	    gather(td, KS_TDGST32, KS_TDGST_FIX, wk, 0, 0);
}
