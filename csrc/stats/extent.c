/* extent.c - see extent.h. SPDX-License-Identifier: MIT */
#include "stats/extent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/abi.h"
#include "stats/q.h"

#define Q_ONE 64 /* coordinates of fixed-point values are in units of 2^-64 */
#define BEYOND ((__int128)1 << 126)

/* A place where ranges start and end, and its value as the bound of the range on either side. */
struct cut {
	__int128 at;
	double from; /* as a lower bound */
	double to;   /* as an upper bound */
};

/* The ranges between two cuts: the bucket that has each range, and the next range that no bucket has yet. */
struct cell {
	unsigned bkt;
	unsigned next;
};
#define NOBODY UINT32_MAX

struct cuts {
	struct cut *list;
	size_t n;
	unsigned voi_dt;
};

static __int128
coordinate(unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		return (__int128)ks_q_fix(dt, w) * ((__int128)1 << (Q_ONE - ks_q_frac(dt, w)));
	return ks_dtypes[dt].is_signed ? (__int128)(int64_t)w : (__int128)w;
}

/* Returns the distance from a value to the next greater one. */
static __int128
last_place(unsigned dt, uint64_t w)
{
	return ks_dtypes[dt].is_q ? (__int128)1 << (Q_ONE - ks_q_frac(dt, w)) : 1;
}

static double
to_double(unsigned dt, __int128 at)
{
	return ks_dtypes[dt].is_q ? ldexp((double)at, -Q_ONE) : (double)at;
}

/* Returns whether a bound means "no bound", as the INF flags of the constructors make it. */
static bool
is_least(unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		return ks_dtypes[dt].is_signed && w == ks_q_abi_min(dt, (unsigned)(w & KS_Q_CTL));
	return ks_dtypes[dt].is_signed &&
	    (int64_t)w == (ks_dtypes[dt].size == 4 ? (int64_t)INT32_MIN : INT64_MIN);
}

static bool
is_greatest(unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		return w == ks_q_max(dt, (unsigned)(w & KS_Q_CTL));
	return w == UINT64_MAX >> (64 - ks_dtypes[dt].size * 8 + ks_dtypes[dt].is_signed);
}

static void
add_cut(struct cuts *c, __int128 at, double from, double to)
{
	c->list[c->n++] = (struct cut){ at, from, to };
}

/* Returns the coordinate of the end of a bucket. */
static __int128
end_of(const unsigned char *b, unsigned dt, unsigned voi_dt)
{
	uint64_t w = ks_ldval(b, voi_dt);

	if (ks_dtype_is_cr(dt))
		return BEYOND;
	if (ks_dtype_is_dr(dt))
		return coordinate(voi_dt, ks_ldval(b + 8, voi_dt));
	return coordinate(voi_dt, w) + last_place(voi_dt, w);
}

static void
add_bucket(struct cuts *c, const unsigned char *b, unsigned dt)
{
	uint64_t w = ks_ldval(b, c->voi_dt);
	__int128 at = coordinate(c->voi_dt, w), end = end_of(b, dt, c->voi_dt);
	double v = to_double(c->voi_dt, at);

	add_cut(c, at, is_least(c->voi_dt, w) ? -INFINITY : v, v);
	if (ks_dtype_is_dr(dt)) {
		w = ks_ldval(b + 8, c->voi_dt);
		v = to_double(c->voi_dt, end);
		add_cut(c, end, v, is_greatest(c->voi_dt, w) ? INFINITY : v);
	} else if (!ks_dtype_is_cr(dt)) {
		add_cut(c, end, to_double(c->voi_dt, end), v);
	}
}

static int
by_place(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts the cuts and merges those in one place into one with the wider bounds. */
static void
sort_cuts(struct cuts *c)
{
	bool sorted = true;
	size_t n = 0;

	for (size_t i = 1; sorted && i < c->n; i++)
		sorted = c->list[i - 1].at <= c->list[i].at;
	if (!sorted)
		qsort(c->list, c->n, sizeof(c->list[0]), by_place);
	for (size_t i = 0; i < c->n; i++) {
		if (n > 0 && c->list[n - 1].at == c->list[i].at) {
			c->list[n - 1].from = fmin(c->list[n - 1].from, c->list[i].from);
			c->list[n - 1].to = fmax(c->list[n - 1].to, c->list[i].to);
		} else {
			c->list[n++] = c->list[i];
		}
	}
	c->n = n;
}

/* Returns the index of the cut at that place, which exists. */
static unsigned
find_cut(const struct cuts *c, __int128 at)
{
	size_t lo = 0, hi = c->n - 1;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->list[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (unsigned)lo;
}

static unsigned
first_free(struct cell *cells, unsigned i)
{
	unsigned to = i, next;

	while (cells[to].next != to)
		to = cells[to].next;
	for (; i != to; i = next) {
		next = cells[i].next;
		cells[i].next = to;
	}
	return to;
}

/* From the last bucket to the first, each gets those of its ranges that no other bucket has yet. */
static void
hand_out(const struct cuts *c, const void *hist, unsigned dt, unsigned nbkts, struct cell *cells)
{
	for (unsigned i = 0; i < c->n; i++)
		cells[i] = (struct cell){ NOBODY, i };
	for (unsigned i = nbkts; i-- > 0;) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);
		__int128 at = coordinate(c->voi_dt, ks_ldval(b, c->voi_dt));
		__int128 end = end_of(b, dt, c->voi_dt);
		unsigned last;

		if (end <= at)
			continue;
		last = find_cut(c, end);
		for (unsigned k = first_free(cells, find_cut(c, at)); k < last;
		     k = first_free(cells, k + 1)) {
			cells[k].bkt = i;
			cells[k].next = k + 1;
		}
	}
}

/* Adjacent cells of one bucket are one range. Returns how many. */
static size_t
join(const struct cuts *c, const struct cell *cells, bool points, struct ks_extent *to)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < c->n; i++) {
		double hi = points ? c->list[i].from : c->list[i + 1].to;

		if (cells[i].bkt == NOBODY)
			continue;
		if (n > 0 && i > 0 && cells[i - 1].bkt == cells[i].bkt)
			to[n - 1].hi = hi;
		else
			to[n++] = (struct ks_extent){ c->list[i].from, hi, cells[i].bkt };
	}
	return n;
}

static bool
one_precision(const void *hist, unsigned dt, unsigned nbkts, unsigned voi_dt)
{
	uint64_t first = ks_ldval(ks_hist_bkt(hist, dt, 0), voi_dt);

	for (unsigned i = 0; ks_dtypes[voi_dt].is_q && i < nbkts; i++) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);

		if (((ks_ldval(b, voi_dt) ^ first) & KS_Q_CTL) != 0 ||
		    (ks_dtype_is_dr(dt) && ((ks_ldval(b + 8, voi_dt) ^ first) & KS_Q_CTL) != 0))
			return false;
	}
	return true;
}

int
ks_hist_extents(const void *hist, size_t dsz, unsigned dt, unsigned voi_dt,
    struct ks_extent **list, size_t *n, bool *exact)
{
	unsigned nbkts = ks_hist_nbkts(dt, dsz);
	size_t most = 2 * (size_t)nbkts + 1;
	struct cuts c = { calloc(most, sizeof(*c.list)), 0, voi_dt };
	struct cell *cells = calloc(most, sizeof(*cells));
	int ret = ENOMEM;

	*list = calloc(most, sizeof(**list));
	*n = 0;
	if (c.list != NULL && cells != NULL && *list != NULL) {
		for (unsigned i = 0; i < nbkts; i++)
			add_bucket(&c, ks_hist_bkt(hist, dt, i), dt);
		if (ks_dtype_is_cr(dt))
			add_cut(&c, BEYOND, INFINITY, INFINITY);
		sort_cuts(&c);
		hand_out(&c, hist, dt, nbkts, cells);
		*n = join(&c, cells,
		    !ks_dtype_is_cr(dt) && !ks_dtype_is_dr(dt) && !ks_dtypes[voi_dt].is_q, *list);
		*exact = one_precision(hist, dt, nbkts, voi_dt);
		ret = 0;
	} else {
		free(*list);
		*list = NULL;
	}
	free(c.list);
	free(cells);
	return ret;
}
