/*
 * read.c - reads a t-digest: checks one that came from elsewhere, lists its
 * centroids, computes quantiles. SPDX-License-Identifier: MIT
 *
 * A quantile is computed from a curve of value over rank. A centroid whose samples are all
 * equal is a step as wide as its weight; any other is a point at the middle of its ranks. Between
 * them the curve is a cubic that never falls (Fritsch and Carlson's condition, with
 * the harmonic mean of the neighbouring slopes), or a line next to a step.
 */
#include "stats/tdigest/scale.h"
#include "stats/tdigest/work.h"

#include <errno.h>
#include <math.h>

uint64_t
ks_tdgst_count(const void *td, int kind)
{
	return td_smplcnt(td, kind);
}

uint32_t
ks_tdgst_compcnt(const void *td, int kind)
{
	uint32_t n;

	memcpy(&n, (const uint8_t *)td + (kind == KS_TDGST64 ? 8 : 4), sizeof(n));
	return n;
}

/* --- checking --- */

KS_TDGST_INLINE bool
magnitude_below(int64_t v, int64_t end)
{
	return v > -end && v < end;
}

KS_TDGST_INLINE bool
check_waiting(const void *td, int kind, enum ks_tdgst_mode mode, size_t i, size_t places,
    size_t max)
{
	size_t links = td_inlinks(kind, mode, max);
	int64_t end = INT64_C(1) << td_bits(kind);

	if (kind == KS_TDGST64 && mode == KS_TDGST_FIX)
		end = KS_TDGST_FIXMAX;
	if (mode == KS_TDGST_INT)
		end >>= ks_tdgst_frac(td, kind);
	for (; i < places && i < links; i++)
		if (!magnitude_below(td_inlink(td, kind, mode, i), end))
			return false;
	for (; i < places; i++)
		if (!magnitude_below(td_infree((const uint8_t *)td + td_place_at(kind, i - links, max), kind), end))
			return false;
	return true;
}

/* Checks the nodes of an array, and adds up their counts. */
KS_TDGST_INLINE bool
check_nodes(const void *td, int kind, enum ks_tdgst_mode mode, size_t cur, uint64_t most, uint64_t *sum)
{
	unsigned ctl = td_ctl(td, kind);
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < cur; i++) {
		const uint8_t *node = td_cnode(td, kind, i);
		uint64_t cnt = td_getcnt(node, kind);
		struct ks_tdgst_item it;

		if (cnt - 1 >= most - *sum || (node[td_ctlbyte(kind)] & 7) != ctl)
			return false;
		*sum += cnt;
		if (kind == KS_TDGST64 && mode == KS_TDGST_FIX &&
		    !magnitude_below(td_getmu(node, kind), KS_TDGST_FIXMAX))
			return false;
		it = td_load(node, kind, td_extra(mode));
		if (it.m < last)
			return false;
		last = it.m;
	}
	return true;
}

KS_TDGST_INLINE bool
check_array(const void *td, int kind, enum ks_tdgst_mode mode, size_t cur, size_t max)
{
	size_t left = (size_t)(-2 - td_get6(td, kind, TD_ROOT)), places;
	uint64_t most = kind == KS_TDGST64 ? INT64_MAX : INT32_MAX;
	uint64_t count = td_smplcnt(td, kind), sum = 0;

	/* No count that grew sample by sample is so large that further samples could bring it to 2^64. */
	if (mode > KS_TDGST_WIDE || count > UINT64_MAX - (UINT64_C(1) << 62))
		return false;
	places = td_places(kind, mode, cur, max);
	if (left > places || !check_nodes(td, kind, mode, cur, most, &sum))
		return false;
	if (kind == KS_TDGST64 && places - left > most - sum)
		return false;
	sum += places - left;
	if (count <= td_limit(kind) ? sum != count : sum == 0)
		return false;
	return check_waiting(td, kind, mode, left, places, max);
}

static bool
check_tree(const void *td, int kind, size_t cur, size_t max)
{
	size_t i;

	if (cur == 0 || cur > KS_TDGST_TREEMAX || cur > max || td_smplcnt(td, kind) != cur)
		return false;
	for (i = 0; i < cur; i++)
		if (td_getcnt(td_cnode(td, kind, i), kind) != 1 ||
		    (td_cnode(td, kind, i)[td_ctlbyte(kind)] & 7) != td_ctl(td, kind))
			return false;
	return td_mode(td, kind) == KS_TDGST_FIX;
}

int
ks_tdgst_check(const void *td, size_t size, int kind)
{
	int max, cur, root;
	bool ok;

	if ((kind != KS_TDGST32 && kind != KS_TDGST64) ||
	    size < td_base(kind) + td_nodesize(kind))
		return EINVAL;
	max = td_get6(td, kind, TD_MAX);
	cur = td_get6(td, kind, TD_CUR);
	root = td_get6(td, kind, TD_ROOT);
	if (max <= 0 || ks_tdgst_size(kind, (size_t)max) != size || cur < 0 || cur > max)
		return EINVAL;
	if (td_get6(td, kind, TD_FREE) != (cur < max ? cur : -1))
		return EINVAL;
	if (root <= -2 && kind == KS_TDGST64 && td_mode(td, kind) == KS_TDGST_FIX) /* the usual case, made fast */
		ok = check_array(td, KS_TDGST64, KS_TDGST_FIX, (size_t)cur, (size_t)max);
	else if (root <= -2)
		ok = check_array(td, kind, td_mode(td, kind), (size_t)cur, (size_t)max);
	else if (root == -1)
		ok = cur == 0 && td_smplcnt(td, kind) == 0 &&
		    td_mode(td, kind) == KS_TDGST_FIX;
	else
		ok = root < cur && check_tree(td, kind, (size_t)cur, (size_t)max);
	return ok ? 0 : EINVAL;
}

/* --- the content --- */

struct reading {
	const void *td;
	int kind;
	enum ks_tdgst_what what;
	int (*fn)(const struct ks_tdgst_list *list, void *ctx);
	void *ctx;
};

static int
list_job(void *memory, void *ctx)
{
	const struct reading *r = ctx;
	size_t max = ks_tdgst_maxctds(r->td, r->kind);
	struct ks_tdgst_work wk = ks_tdgst_work_in(memory, max);
	struct ks_tdgst_list list;
	unsigned extra;

	list.n = (r->what != KS_TDGST_ALL ? ks_tdgst_absorb : ks_tdgst_gather)(r->td, r->kind, &wk, &extra,
	    &list.total);
	list.few = td_get6(r->td, r->kind, TD_ROOT) > -2;
	if (r->what == KS_TDGST_NODES && list.n > max)
		list.n = ks_tdgst_compress(wk.item + 1, list.n, list.total, max, 0, max);
	list.item = wk.item + 1;
	list.unit = ks_tdgst_frac(r->td, r->kind) + extra;
	return r->fn(&list, r->ctx);
}

int
ks_tdgst_with_list(const void *td, int kind, enum ks_tdgst_what what,
    int (*fn)(const struct ks_tdgst_list *list, void *ctx), void *ctx)
{
	struct reading r = { td, kind, what, fn, ctx };
	size_t n = ks_tdgst_maxctds(td, kind);

	return ks_tdgst_with_memory(KS_TDGST_SCRATCH_SIZE(n), KS_TDGST_SCRATCH_SIZE(512), list_job, &r);
}

struct copy {
	struct ks_tdgst_ctd *to;
	size_t max;
	size_t n;
	unsigned frac;
};

static int
copy_list(const struct ks_tdgst_list *list, void *ctx)
{
	struct copy *c = ctx;
	unsigned extra = list->unit - c->frac;
	const struct ks_tdgst_item *it;
	size_t i;

	for (i = 0; i < list->n && i < c->max; i++) {
		it = &list->item[i];
		c->to[i].mu = ((it->m & ~INT64_C(1)) + (INT64_C(1) << extra >> 1)) >> extra;
		c->to[i].cnt = it->w;
		c->to[i].exact = (it->m & 1) != 0;
	}
	c->n = list->n;
	return 0;
}

size_t
ks_tdgst_ctds(const void *td, int kind, struct ks_tdgst_ctd *ctds, size_t max)
{
	struct copy c = { ctds, max, 0, ks_tdgst_frac(td, kind) };

	ks_tdgst_with_list(td, kind, KS_TDGST_NODES, copy_list, &c);
	return c.n;
}

size_t
ks_tdgst_slots(const void *td, int kind, struct ks_tdgst_ctd *ctds, size_t max)
{
	size_t slots = ks_tdgst_maxctds(td, kind), n, i;

	if (td_get6(td, kind, TD_ROOT) <= -2) {
		n = ks_tdgst_ctds(td, kind, ctds, max);
	} else {
		n = (size_t)td_get6(td, kind, TD_CUR);
		for (i = 0; i < n && i < max; i++)
			ctds[i] = (struct ks_tdgst_ctd){
				td_getmu(td_cnode(td, kind, i), kind), 1, true
			};
	}
	for (i = n; i < slots && i < max; i++)
		ctds[i] = (struct ks_tdgst_ctd){ 0, 0, false };
	return slots;
}

/* --- the curve --- */

static double
value_of(const struct ks_tdgst_item *it, unsigned unit)
{
	return ldexp((double)(it->m & ~INT64_C(1)), -(int)unit);
}

static bool
is_exact(const struct ks_tdgst_item *it)
{
	return (it->m & 1) != 0;
}

struct point {
	double left, right, y; /* the curve has value y from rank left to rank right */
};

static struct point
point_of(const struct ks_tdgst_item *it, uint64_t before, unsigned unit)
{
	double w = (double)it->w, b = (double)before;
	struct point p;

	p.y = value_of(it, unit);
	p.left = p.right = b + w / 2;
	if (is_exact(it)) {
		p.left = b;
		p.right = b + w;
	}
	return p;
}

/* The piece of the curve between two items, as a cubic over 0..1. */
struct piece {
	double x0, x1, y0, y1, m0, m1; /* slopes times x1 - x0 */
};

static double
slope(double before, double after, double width_before, double width_after)
{
	double w1 = 2 * width_after + width_before, w2 = width_after + 2 * width_before;

	if (before <= 0 || after <= 0)
		return 0;
	return (w1 + w2) / (w1 / before + w2 / after);
}

/* Computes the piece between items i and i + 1; before is the weight of the items below i. */
static struct piece
piece_of(const struct ks_tdgst_list *l, size_t i, uint64_t before)
{
	uint64_t next = before + l->item[i].w;
	struct point a = point_of(&l->item[i], before, l->unit);
	struct point b = point_of(&l->item[i + 1], next, l->unit), o;
	struct piece p = { a.right, b.left, a.y, b.y, 0, 0 };
	double h = p.x1 - p.x0, d = h > 0 ? (p.y1 - p.y0) / h : 0;

	p.m0 = p.m1 = d;
	if (h > 0 && i > 0 && !is_exact(&l->item[i])) {
		o = point_of(&l->item[i - 1], before - l->item[i - 1].w, l->unit);
		p.m0 = slope((a.y - o.y) / (a.left - o.right), d, a.left - o.right, h);
	}
	if (h > 0 && i + 2 < l->n && !is_exact(&l->item[i + 1])) {
		o = point_of(&l->item[i + 2], next + l->item[i + 1].w, l->unit);
		p.m1 = slope(d, (o.y - b.y) / (o.left - b.right), h, o.left - b.right);
	}
	p.m0 *= h;
	p.m1 *= h;
	return p;
}

static double
value_at(const struct piece *p, double x)
{
	double u, v, y;

	if (x <= p->x0 || p->x1 <= p->x0)
		return p->y0;
	if (x >= p->x1)
		return p->y1;
	u = (x - p->x0) / (p->x1 - p->x0);
	v = 1 - u;
	y = p->y0 * v * v * (1 + 2 * u) + p->m0 * u * v * v + p->y1 * u * u * (3 - 2 * u) -
	    p->m1 * u * u * v;
	return y < p->y0 ? p->y0 : y > p->y1 ? p->y1 : y;
}

struct query {
	double arg;
	double result;
};

static int
quantile_of(const struct ks_tdgst_list *l, void *ctx)
{
	struct query *q = ctx;
	double rank = q->arg * (double)l->total;
	uint64_t before = 0;
	struct piece p;
	struct point a;
	size_t i;

	if (l->n == 0)
		return ENOENT;
	for (i = 0; i < l->n; i++) {
		a = point_of(&l->item[i], before, l->unit);
		if (rank <= a.right || i + 1 == l->n) {
			q->result = a.y;
			return 0;
		}
		p = piece_of(l, i, before);
		if (rank < p.x1) {
			q->result = value_at(&p, rank);
			return 0;
		}
		before += l->item[i].w;
	}
	return 0;
}

static int
cdf_of(const struct ks_tdgst_list *l, void *ctx)
{
	struct query *q = ctx;
	double lo, hi, mid;
	uint64_t before = 0;
	struct piece p;
	size_t i;
	int k;

	if (l->n == 0)
		return ENOENT;
	q->result = 0;
	if (q->arg < value_of(&l->item[0], l->unit))
		return 0;
	q->result = 1;
	for (i = 0; i + 1 < l->n; i++) {
		if (q->arg < value_of(&l->item[i + 1], l->unit))
			break;
		before += l->item[i].w;
	}
	if (i + 1 == l->n)
		return 0;
	p = piece_of(l, i, before);
	lo = p.x0;
	hi = p.x1;
	for (k = 0; k < 64 && lo < hi; k++) { /* the last rank whose value is not above x */
		mid = lo + (hi - lo) / 2;
		if (value_at(&p, mid) <= q->arg)
			lo = mid;
		else
			hi = mid;
	}
	q->result = lo / (double)l->total;
	return 0;
}

int
ks_tdgst_quantile(const void *td, int kind, double q, double *value)
{
	struct query qr = { q < 0 ? 0 : q > 1 ? 1 : q, 0 };
	int err;

	if (isnan(q))
		return EINVAL;
	err = ks_tdgst_with_list(td, kind, KS_TDGST_ABSORBED, quantile_of, &qr);
	if (err == 0)
		*value = qr.result;
	return err;
}

int
ks_tdgst_cdf(const void *td, int kind, double x, double *share)
{
	struct query qr = { x, 0 };
	int err;

	if (isnan(x))
		return EINVAL;
	err = ks_tdgst_with_list(td, kind, KS_TDGST_ABSORBED, cdf_of, &qr);
	if (err == 0)
		*share = qr.result;
	return err;
}

/* --- the bound --- */

static int
exact_total(const struct ks_tdgst_list *l, void *ctx)
{
	size_t i;

	*(double *)ctx = (double)l->total;
	for (i = 0; i < l->n; i++)
		if (!is_exact(&l->item[i]))
			return 0;
	return 1;
}

double
ks_tdgst_bound_of(size_t max, double total, double q)
{
	const uint64_t *tab = ks_tdgst_scale(max)->q;
	const uint64_t end = UINT64_C(128) << 32;
	struct ks_tdgst_cells cl;
	double below, above;
	uint64_t k, width;

	if (total <= 0 || isnan(q))
		return 1;
	q = q < 0 ? 0 : q > 1 ? 1 : q;
	cl = ks_tdgst_cells(total < 0x1p63 ? (uint64_t)total : INT64_MAX, max, 1, td_target(max));
	k = ks_tdgst_k_of(tab, (uint64_t)ldexp(q, 63));
	width = max < 40 ? 2 * cl.step : cl.step + cl.step / 2;
	below = k > width ? q - ldexp((double)td_q_of(tab, k - width), -63) : q;
	above = end - k > width ? ldexp((double)td_q_of(tab, k + width), -63) - q : 1 - q;
	return fmin((max < 40 ? 2 : 1) * (below > above ? below : above) + 1 / total, 1);
}

double
ks_tdgst_bound(const void *td, int kind, double q)
{
	double total;
	int exact = ks_tdgst_with_list(td, kind, KS_TDGST_ABSORBED, exact_total, &total);

	return exact && total > 0 && !isnan(q) ? 0 :
	    ks_tdgst_bound_of(ks_tdgst_maxctds(td, kind), total, q);
}
