/*
 * flush.c - merges the samples that wait in a t-digest with its centroids, and compresses them.
 * SPDX-License-Identifier: MIT
 *
 * As long as all nodes are exact, samples and nodes make one list, which is cut into cells if
 * it has more items than there are nodes. Once there are inexact nodes, a sample joins the centroid that
 * is nearer in value, if that does not become wider than two cells; only the other samples are
 * cut by rank. To cut all by rank would be simpler, but the ranks of a hundred new samples
 * differ from their true ranks by a cell and more, so each time some samples would join the
 * wrong centroid.
 */
#include "stats/tdigest/scale.h"
#include "stats/tdigest/work.h"

/* --- the list of items --- */

/* Lists a tree, which happens only for reading: an update makes it an array first. */
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

/* Returns by how many bits m is finer than a waiting sample. */
KS_TDGST_INLINE unsigned
sample_shift(const void *td, int kind, enum ks_tdgst_mode mode)
{
	return td_extra(mode) + (mode == KS_TDGST_INT ? td_frac(td, kind) : 0);
}

/* Appends a sample to the list whose last item is `it`, and returns the new last item. */
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

/* Samples as they are read, and what sorting has to know of them. */
struct reading {
	int64_t *to;
	int64_t least, greatest;
	uint64_t bits; /* that any of them has */
};

KS_TDGST_INLINE void
read_sample(struct reading *r, int64_t m)
{
	r->least = m < r->least ? m : r->least;
	r->greatest = m > r->greatest ? m : r->greatest;
	r->bits |= (uint64_t)m;
	*r->to++ = m;
}

/* The m of the sample in a place among the links. */
KS_TDGST_INLINE int64_t
sample_in_link(const void *td, int kind, enum ks_tdgst_mode mode, size_t place, unsigned shift)
{
	uint64_t link;

	if (TD_LITTLE && kind == KS_TDGST64 && mode == KS_TDGST_FIX) {
		memcpy(&link, td_cnode(td, kind, place), sizeof(link));
		return (int64_t)(link << 16 | 1); /* six bytes, times 2^16 */
	}
	return td_inlink(td, kind, mode, place) * (INT64_C(1) << shift) + 1;
}

/*
 * Stores the address of the waiting samples, and m if w is 1, in *sorted: in ascending order, with INT64_MAX
 * behind them. Returns how many there are.
 */
KS_TDGST_INLINE size_t
samples(const void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk,
    int64_t m, uint64_t w, int64_t **sorted)
{
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX), cur = (uint16_t)td_get6(td, kind, TD_CUR);
	size_t places = td_places(kind, mode, cur, max), links = td_inlinks(kind, mode, max);
	size_t place = (size_t)(-2 - td_get6(td, kind, TD_ROOT)), n;
	unsigned shift = sample_shift(td, kind, mode);
	const ptrdiff_t half = kind == KS_TDGST64 ? 8 : 4;
	const uint8_t *in_node;
	struct reading r = { wk->sort[0], INT64_MAX, INT64_MIN, 0 };

	if (w == 1)
		read_sample(&r, m);
	/* The latest come first: those in links, then two in each free node, from the last node down. */
	links = places < links ? places : links;
	for (; place < links; place++)
		read_sample(&r, sample_in_link(td, kind, mode, place, shift));
	place -= links;
	in_node = (const uint8_t *)td + td_place_at(kind, place, max);
	for (; place + links < places; place++) {
		read_sample(&r, td_infree(in_node, kind) * (INT64_C(1) << shift) + 1);
		in_node += (place & 1) == 0 ? half : -half - (ptrdiff_t)td_nodesize(kind);
	}
	n = (size_t)(r.to - wk->sort[0]);
	/* Distances are multiples of the values' lowest bit; all have the flag. */
	*sorted = ks_tdgst_sort(wk->sort[0], wk->sort[1], wk->bucket, n, r.least, r.greatest,
	    (unsigned)__builtin_ctzll((r.bits & ~UINT64_C(1)) | UINT64_C(1) << 62));
	(*sorted)[n] = INT64_MAX;
	return n;
}

/* As ks_tdgst_gather() of an array, with w more samples of value m. */
KS_TDGST_INLINE size_t
gather(const void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk,
    int64_t m, uint64_t w)
{
	struct ks_tdgst_item *it = wk->item, node;
	size_t cur = (uint16_t)td_get6(td, kind, TD_CUR), n;
	unsigned extra = td_extra(mode);
	int64_t *s, *end;

	n = samples(td, kind, mode, wk, m, w, &s);
	end = s + n;
	it->m = INT64_MIN; /* before the first, and even: nothing joins it */
	for (size_t i = 0; i < cur; i++) {
		node = td_load(td_cnode(td, kind, i), kind, extra);
		while (*s < node.m)
			it = append(it, *s++);
		if (node.m == it->m && (node.m & 1) != 0)
			it->w += node.w;
		else
			*++it = node;
	}
	while (s < end)
		it = append(it, *s++);
	n = (size_t)(it - wk->item);
	if (w > 1) { /* these are one item, which goes to its place from the end */
		for (it++, n++; it[-1].m > m; it--)
			it[0] = it[-1];
		*it = (struct ks_tdgst_item){ m, w };
	}
	return n;
}

/* --- compressing --- */

#define ZERO ks_wide_of(0, 0)

/* Walks over the cells, and makes one centroid of the samples whose middles fall into the same cell. */
struct grid {
	const uint64_t *tab;
	uint64_t k, step, total;
	size_t left;           /* cells behind this one */
	uint64_t below, limit; /* the ranks between which this cell lies */
	uint64_t end;          /* the rank at which the last one ends */
};

struct open {
	struct ks_tdgst_item *to; /* the place of the centroid when it is finished */
	uint64_t limit;           /* of the cell of the centroid */
	uint64_t w;               /* weight so far; 0: no centroid is begun */
	int64_t m;                /* odd: all samples so far have this value; otherwise the base, which is even */
	ks_wide acc;              /* the sum of distances from m & ~1 */
};

KS_TDGST_INLINE struct grid
grid_begin(uint64_t total, size_t max, uint64_t first, uint64_t kept, size_t target)
{
	const struct ks_tdgst_cells cl = ks_tdgst_cells(total, max, kept, target);
	struct grid g = { ks_tdgst_scale(max)->q, cl.k + cl.step, cl.step, total, cl.n - 1,
		first, 0, total - kept };

	g.limit = g.left > 0 ? td_rank(td_q_of(g.tab, g.k), total) : g.end;
	return g;
}

/* Moves to the cell into which a middle falls that is not beyond the end. */
KS_TDGST_INLINE void
grid_to(struct grid *g, uint64_t middle)
{
	while (g->limit < middle) {
		g->below = g->limit;
		g->k += g->step;
		g->limit = --g->left > 0 ? td_rank(td_q_of(g->tab, g->k), g->total) : g->end;
	}
}

/*
 * Sums and differences of means. Only those of a digest that others damaged leave 64 bits; then the result is any
 * number.
 */
static inline int64_t
plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t
minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

KS_TDGST_INLINE void
finish(struct open *o)
{
	uint64_t w;

	if (o->w == 0)
		return;
	if ((o->m & 1) == 0) { /* the nearest even m */
		w = ks_wide_quotient(ks_wide_add(o->acc, ks_wide_of(0, o->w)), 2 * o->w);
		o->m = plus(o->m, (int64_t)(2 * w));
	}
	*o->to++ = (struct ks_tdgst_item){ o->m, o->w };
	o->w = 0;
}

/*
 * Adds w samples whose middle has that rank: to the centroid that is being made if the middle is in its
 * cell, otherwise to a new one. Their mean is base + acc / w. base is even; if it is odd, all samples have
 * the value base.
 */
KS_TDGST_INLINE void
take(struct grid *g, struct open *o, uint64_t middle, int64_t base, ks_wide acc, uint64_t w)
{
	if (middle <= o->limit && o->w != 0) {
		o->m &= ~INT64_C(1);
		acc = ks_wide_add(acc, ks_wide_signed_product(w, minus(base & ~INT64_C(1), o->m)));
		o->acc = ks_wide_add(o->acc, acc);
		o->w += w;
		return;
	}
	finish(o);
	grid_to(g, middle);
	o->limit = g->limit;
	o->m = base;
	o->acc = acc;
	o->w = w;
}

/*
 * Returns how many items at the end of the list are exact and together have no more weight than may be
 * kept.
 */
static size_t
kept_items(const struct ks_tdgst_item *it, size_t n, size_t keep, uint64_t *w)
{
	size_t r = 0;

	for (*w = 0; r + 2 < n && (it[n - 1 - r].m & 1) != 0 && it[n - 1 - r].w <= keep - *w; r++)
		*w += it[n - 1 - r].w;
	return r;
}

size_t
ks_tdgst_compress(struct ks_tdgst_item *it, size_t n, uint64_t total, size_t max, uint64_t kept,
    size_t target)
{
	bool ends = max >= KS_TDGST_ENDS;
	size_t i = ends, end = n - (ends && kept == 0);
	uint64_t before = ends ? it->w : 0;
	struct grid g;
	struct open o = { it + i, 0, 0, 0, ZERO };

	if (ends && n < 3)
		return n;
	g = grid_begin(total, max, before, kept, target);
	for (; i < end; i++) {
		take(&g, &o, before + it[i].w / 2, it[i].m, ZERO, it[i].w);
		before += it[i].w;
	}
	finish(&o);
	if (end < n)
		*o.to++ = it[n - 1];
	return (size_t)(o.to - it);
}

/* Adds single samples, equal ones together. */
KS_TDGST_INLINE uint64_t
take_samples(struct grid *g, struct open *o, uint64_t before, const int64_t *s, const int64_t *end)
{
	uint64_t w;
	int64_t m;

	while (s < end) {
		m = *s++;
		if (*s != m && before <= o->limit && o->w != 0) { /* the usual case, made fast */
			o->m &= ~INT64_C(1);
			o->acc = ks_wide_add(o->acc, ks_wide_of(0, (uint64_t)minus(m - 1, o->m)));
			o->w++;
			before++;
			continue;
		}
		for (w = 1; s < end && *s == m; w++)
			s++;
		take(g, o, before + w / 2, m, ZERO, w);
		before += w;
	}
	return before;
}

/* Counts the samples s .. end-1 that are below `bound`, and adds up their distances from base. */
struct run {
	const int64_t *s;
	uint64_t n;
	ks_wide acc;
};

KS_TDGST_INLINE const int64_t *
run_to(struct run *r, const int64_t *s, int64_t bound, int64_t base)
{
	const int64_t *p = s;
	ks_wide acc = ZERO;

	for (; *p < bound; p++)
		acc = ks_wide_add(acc, ks_wide_of(0, (uint64_t)(*p - base)));
	r->s = s;
	r->n = (uint64_t)(p - s);
	r->acc = acc;
	return p;
}

/* Returns the middle of two centroids: samples below it are nearer to a, the others to b. */
KS_TDGST_INLINE int64_t
between(struct ks_tdgst_item a, struct ks_tdgst_item b)
{
	return plus(a.m, (int64_t)((uint64_t)minus(b.m, a.m) >> 1));
}

/*
 * Samples are merged into nodes, one node after the other. A sample belongs to the node that is nearer in value:
 * `below` are those of the node that are less than it, `above` those that are greater.
 */
struct absorption {
	struct grid grid;
	struct open open;
	uint64_t before;             /* the weight of all that was taken */
	struct ks_tdgst_item node;
	struct run below;            /* distances from `last` */
	struct run above;            /* distances from the node */
	int64_t last;                /* the m of the node before, made even */
};

/*
 * Takes the node with its samples as one centroid, unless that were wider than two cells. Only for a node that is
 * inexact: its m is even.
 */
KS_TDGST_INLINE bool
take_together(struct absorption *a)
{
	const struct grid was = a->grid;
	uint64_t w = a->below.n + a->node.w + a->above.n;
	ks_wide distances;

	grid_to(&a->grid, a->before + w / 2);
	if (w > 2 * (a->grid.limit - a->grid.below)) {
		a->grid = was;
		return false;
	}
	distances = ks_wide_product(a->node.w + a->above.n, (uint64_t)minus(a->node.m, a->last));
	distances = ks_wide_add(ks_wide_add(a->below.acc, distances), a->above.acc);
	take(&a->grid, &a->open, a->before + w / 2, a->last, distances, w);
	a->before += w;
	return true;
}

KS_TDGST_INLINE void
take_run(struct absorption *a, const struct run *r)
{
	a->before = take_samples(&a->grid, &a->open, a->before, r->s, r->s + r->n);
}

/* Takes the node and its samples by their ranks. */
KS_TDGST_INLINE void
take_apart(struct absorption *a)
{
	take_run(a, &a->below);
	take(&a->grid, &a->open, a->before + a->node.w / 2, a->node.m, ZERO, a->node.w);
	a->before += a->node.w;
	take_run(a, &a->above);
}

/*
 * Merges samples, which ascend and end with INT64_MAX, into a digest that has inexact
 * nodes. The last nkept samples, above all nodes, are not merged. Returns how many items
 * there are afterwards, without these.
 */
KS_TDGST_INLINE size_t
absorb(const void *td, int kind, enum ks_tdgst_mode mode, const int64_t *s, int64_t *kept,
    size_t nkept, struct ks_tdgst_item *to, uint64_t total)
{
	const int64_t least_kept = *kept;
	const size_t max = (uint16_t)td_get6(td, kind, TD_MAX);
	const unsigned extra = td_extra(mode);
	size_t left = (uint16_t)td_get6(td, kind, TD_CUR); /* nodes from this one on */
	const uint8_t *bytes = td_cnode(td, kind, 0);
	struct absorption a = { .node = td_load(bytes, kind, extra), .open = { to + 1, 0, 0, 0, ZERO } };
	struct ks_tdgst_item next;

	*kept = INT64_MAX; /* ends the inner loops */
	a.last = a.node.m;
	to->m = *s < a.node.m ? *s : a.node.m;
	to->w = 0;
	if (*s < a.node.m) { /* samples are the least item, and lie below the first node */
		for (; *s == to->m; s++)
			to->w++;
		a.before = to->w;
		a.grid = grid_begin(total, max, a.before, nkept, td_target(max));
		s = run_to(&a.below, s, a.node.m, to->m | 1);
		take_run(&a, &a.below);
	}
	a.below = (struct run){ s, 0, ZERO };
	for (;;) {
		if ((a.node.m & 1) != 0)
			for (; *s == a.node.m; s++)
				a.node.w++;
		left--;
		if (left == 0 && nkept == 0)
			break;
		next = (struct ks_tdgst_item){ least_kept, 1 };
		if (left > 0)
			next = td_load(bytes += td_nodesize(kind), kind, extra);
		s = run_to(&a.above, s, between(a.node, next), a.node.m | 1);
		if (a.before == 0) { /* the node is the least item */
			*to = a.node;
			a.before = a.node.w;
			a.grid = grid_begin(total, max, a.before, nkept, td_target(max));
			take_run(&a, &a.above);
		} else if ((a.node.m & 1) != 0 || !take_together(&a)) {
			take_apart(&a);
		}
		s = run_to(&a.below, s, left > 0 ? next.m : INT64_MAX, a.node.m | 1);
		a.last = a.node.m & ~INT64_C(1);
		a.node = next;
		if (left == 0)
			break;
	}
	*kept = least_kept;
	if (a.before == 0) {
		*to = a.node;
		return 1;
	}
	take_run(&a, &a.below);
	finish(&a.open);
	if (nkept == 0)
		*a.open.to++ = a.node;
	return (size_t)(a.open.to - to);
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

/* Returns the sum of weights, including w and those of waiting samples. */
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

/* Halves the counts until the sum of weights, including w, fits cnt. */
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

KS_TDGST_INLINE bool
has_inexact(const void *td, int kind)
{
	size_t cur = (uint16_t)td_get6(td, kind, TD_CUR), i;

	for (i = 0; i < cur; i++)
		if ((td_get16(td_cnode(td, kind, i) + TD_COLOUR) & 1) == 0)
			return true;
	return false;
}

/* Returns how many of n ascending samples to keep: those above all nodes, at most as many as may be kept. */
KS_TDGST_INLINE size_t
keep_above(const void *td, int kind, enum ks_tdgst_mode mode, const int64_t *s, size_t n)
{
	size_t cur = (uint16_t)td_get6(td, kind, TD_CUR), max = (uint16_t)td_get6(td, kind, TD_MAX);
	size_t most = td_keep(kind, mode, max), kept = 0;
	int64_t m = td_load(td_cnode(td, kind, cur - 1), kind, td_extra(mode)).m;

	while (kept < most && kept < n && s[n - 1 - kept] > m)
		kept++;
	return kept;
}

/* Samples that are not merged and wait again, the last one of the array as the one that came last. */
struct kept {
	int64_t *m;
	size_t n;
};

/* Merges each sample with the nearest node, where there are inexact nodes. Returns how many items there are then. */
KS_TDGST_INLINE size_t
merge_by_value(void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk, int64_t m,
    struct kept *kept)
{
	uint64_t total = total_weight(td, kind, 1);
	int64_t *s;
	size_t n = samples(td, kind, mode, wk, m, 1, &s);

	kept->n = keep_above(td, kind, mode, s, n);
	kept->m = s + (n - kept->n);
	ks_tdgst_count_compression(td, kind);
	return absorb(td, kind, mode, s, kept->m, kept->n, wk->item + 1, total);
}

/* Makes one list of nodes and samples, and compresses it if it must be. Returns how many items there are then. */
KS_TDGST_INLINE size_t
merge_by_rank(void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk, int64_t m, uint64_t w,
    struct kept *kept)
{
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX), n = gather(td, kind, mode, wk, m, w);
	struct ks_tdgst_item *it = wk->item + 1;
	uint64_t total, weight;

	kept->m = wk->sort[0];
	kept->n = 0;
	if (!ks_tdgst_must_compress(it, n, max))
		return n;
	total = total_weight(td, kind, w);
	for (size_t items = w == 1 ? kept_items(it, n, td_keep(kind, mode, max), &weight) : 0; items > 0; items--) {
		n--;
		for (weight = it[n].w; weight > 0; weight--)
			kept->m[kept->n++] = it[n].m;
	}
	ks_tdgst_count_compression(td, kind);
	return ks_tdgst_compress(it, n, total, max, kept->n, td_target(max));
}

/* Stores the samples that were not merged in an array in which none waits. */
KS_TDGST_INLINE void
wait_again(void *td, int kind, enum ks_tdgst_mode mode, const struct kept *kept)
{
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX);
	size_t room = (size_t)(-2 - td_get6(td, kind, TD_ROOT)) - kept->n;
	unsigned shift = sample_shift(td, kind, mode);

	for (size_t i = 0; i < kept->n; i++)
		td_wait(td, kind, mode, room + i, max, (kept->m[kept->n - 1 - i] - 1) >> shift);
	td_put6(td, kind, TD_ROOT, (int16_t)(-2 - (int)room));
}

KS_TDGST_INLINE void
flush_with(void *td, int kind, enum ks_tdgst_mode mode, const struct ks_tdgst_work *wk,
    int64_t m, uint64_t w)
{
	unsigned ctl = td_ctl(td, kind), extra = td_extra(mode);
	struct kept kept;
	size_t n;

	if (w == 0 && td_nwaiting(td, kind) == 0)
		return;
	if (td_smplcnt(td, kind) > td_limit(kind) - w)
		make_room(td, kind, w);
	if (w == 1 && (uint16_t)td_get6(td, kind, TD_MAX) >= KS_TDGST_ENDS && has_inexact(td, kind))
		n = merge_by_value(td, kind, mode, wk, m, &kept);
	else
		n = merge_by_rank(td, kind, mode, wk, m, w, &kept);
	for (size_t i = 0; i < n; i++)
		td_store(td_node(td, kind, i), kind, extra, wk->item[i + 1], ctl);
	ks_tdgst_set_array(td, kind, n);
	wait_again(td, kind, mode, &kept);
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

struct flush {
	void *td;
	int kind;
	int64_t m;
	uint64_t w;
};

static int
flush_job(void *memory, void *ctx)
{
	const struct flush *f = ctx;
	struct ks_tdgst_work wk = ks_tdgst_work_in(memory, ks_tdgst_maxctds(f->td, f->kind));

	flush_any(f->td, f->kind, &wk, f->m, f->w);
	return 0;
}

void
ks_tdgst_flush(void *td, int kind, int64_t m, uint64_t w)
{
	struct flush f = { td, kind, m, w };
	size_t n = ks_tdgst_maxctds(td, kind);

	(void)ks_tdgst_with_memory(KS_TDGST_SCRATCH_SIZE(n), KS_TDGST_SCRATCH_SIZE(512), flush_job, &f);
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

size_t
ks_tdgst_absorb(const void *td, int kind, const struct ks_tdgst_work *wk, unsigned *extra,
    uint64_t *total)
{
	enum ks_tdgst_mode mode = td_mode(td, kind);
	size_t max = (uint16_t)td_get6(td, kind, TD_MAX), n, nodes, kept;
	struct ks_tdgst_item *it;
	int64_t *s, *end;
	uint64_t w;

	if (td_get6(td, kind, TD_ROOT) > -2 || max < KS_TDGST_ENDS || !has_inexact(td, kind)) {
		n = ks_tdgst_gather(td, kind, wk, extra, total);
		if (td_get6(td, kind, TD_ROOT) > -2 || td_nwaiting(td, kind) == 0 ||
		    !ks_tdgst_must_compress(wk->item + 1, n, max))
			return n;
		it = wk->item + 1;
		kept = kept_items(it, n, td_keep(kind, mode, max), &w);
		n -= kept;
		nodes = ks_tdgst_compress(it, n, *total, max, w, td_target(max));
		memmove(it + nodes, it + n, kept * sizeof(*it));
		return nodes + kept;
	}
	n = samples(td, kind, mode, wk, 0, 0, &s);
	end = s + n;
	kept = keep_above(td, kind, mode, s, n);
	if (kept == n)
		return ks_tdgst_gather(td, kind, wk, extra, total);
	*extra = td_extra(mode);
	*total = total_weight(td, kind, 0);
	n = absorb(td, kind, mode, s, end - kept, kept, wk->item + 1, *total);
	it = wk->item + n;
	for (s = end - kept; s < end; s++)
		it = append(it, *s);
	return (size_t)(it - wk->item);
}
