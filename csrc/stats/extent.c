/*
 * extent.c - which values each bucket of a static histogram holds. Buckets may overlap and come in any order; a value
 * is counted in the last that holds it (ks_hist_slot), so that a bucket holds what its bounds say less what later
 * buckets take: none, one or several ranges. SPDX-License-Identifier: MIT
 */
#include "stats/static_histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/abi.h"
#include "stats/q.h"

/*
 * Where a value lies, as a number of 128 bits: a fixed-point value in units of 2^-64, a whole number in units
 * of 1.
 */
struct place {
	int64_t high;
	uint64_t low;
};
static const struct place beyond = { INT64_MAX, 0 }; /* behind all values */

/* A place where ranges start and end, and its value as the bound of the range on either side. */
struct cut {
	struct place at;
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

/* Returns the place of a value or, if next is 1, of the next greater one. */
static struct place
place_of(unsigned dt, uint64_t w, unsigned next)
{
	unsigned frac = ks_q_frac(dt, w);
	struct place at = { 0, w };
	uint64_t unit = next;

	if (ks_dtypes[dt].is_q) {
		int64_t fix = ks_q_fix(dt, w);

		at = (struct place){ fix >> frac, (uint64_t)fix << (64 - frac) };
		unit = (uint64_t)next << (64 - frac);
	} else if (ks_dtypes[dt].is_signed && (int64_t)w < 0) {
		at.high = -1;
	}
	at.low += unit;
	at.high += at.low < unit;
	return at;
}

static int
compare(const struct place *a, const struct place *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->low < b->low ? -1 : a->low > b->low;
}

/* Returns the value of a word or, if next is 1, the next greater one. */
static double
to_double(unsigned dt, uint64_t w, unsigned next)
{
	if (ks_dtypes[dt].is_q)
		return ldexp((double)(ks_q_fix(dt, w) + next), -(int)ks_q_frac(dt, w));
	if (ks_dtypes[dt].is_signed)
		return (double)((int64_t)w + (int64_t)(next != 0 && (int64_t)w < INT64_MAX));
	return (double)(w + (next != 0 && w < UINT64_MAX));
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
add_cut(struct cuts *c, struct place at, double from, double to)
{
	c->list[c->n++] = (struct cut){ at, from, to };
}

/* Returns the end of a bucket. */
static struct place
end_of(const unsigned char *b, unsigned dt, unsigned voi_dt)
{
	if (ks_dtype_is_cr(dt))
		return beyond;
	if (ks_dtype_is_dr(dt))
		return place_of(voi_dt, ks_ldval(b + 8, voi_dt), 0);
	return place_of(voi_dt, ks_ldval(b, voi_dt), 1);
}

static void
add_bucket(struct cuts *c, const unsigned char *b, unsigned dt)
{
	uint64_t w = ks_ldval(b, c->voi_dt);
	struct place at = place_of(c->voi_dt, w, 0), end = end_of(b, dt, c->voi_dt);
	double v = to_double(c->voi_dt, w, 0);

	add_cut(c, at, is_least(c->voi_dt, w) ? -INFINITY : v, v);
	if (ks_dtype_is_dr(dt)) {
		w = ks_ldval(b + 8, c->voi_dt);
		v = to_double(c->voi_dt, w, 0);
		add_cut(c, end, v, is_greatest(c->voi_dt, w) ? INFINITY : v);
	} else if (!ks_dtype_is_cr(dt)) {
		add_cut(c, end, to_double(c->voi_dt, w, 1), v);
	}
}

static int
by_place(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	return compare(&x->at, &y->at);
}

/* Sorts the cuts and merges those in one place into one with the wider bounds. */
static void
sort_cuts(struct cuts *c)
{
	bool sorted = true;
	size_t n = 0;

	for (size_t i = 1; sorted && i < c->n; i++)
		sorted = compare(&c->list[i - 1].at, &c->list[i].at) <= 0;
	if (!sorted)
		qsort(c->list, c->n, sizeof(c->list[0]), by_place);
	for (size_t i = 0; i < c->n; i++) {
		if (n > 0 && compare(&c->list[n - 1].at, &c->list[i].at) == 0) {
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
find_cut(const struct cuts *c, const struct place *at)
{
	size_t lo = 0, hi = c->n - 1;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (compare(&c->list[mid].at, at) < 0)
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
		struct place at = place_of(c->voi_dt, ks_ldval(b, c->voi_dt), 0), end = end_of(b, dt, c->voi_dt);
		unsigned last;

		if (compare(&end, &at) <= 0)
			continue;
		last = find_cut(c, &end);
		for (unsigned k = first_free(cells, find_cut(c, &at)); k < last;
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
			add_cut(&c, beyond, INFINITY, INFINITY);
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
