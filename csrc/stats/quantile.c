/*
 * quantile.c - quantiles and distributions of a blob.
 *
 * The error of a digest is bounded in rank, by a number that depends on its centroids; statsblob.h
 * has a table of it. The error of a histogram is bounded in value: estimate and true value lie in the
 * same range of values (static_histogram.h), so they differ by at most the width of that range.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "stats/abi.h"
#include "stats/q.h"
#include "stats/static_histogram.h"
#include "stats/tdigest/tdigest.h"

static double
to_double(unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		return ks_q_double(dt, w);
	return ks_dtypes[dt].is_signed ? (double)(int64_t)w : (double)w;
}

/* A range of values and the number of samples in it, if those of its bucket lie evenly in its ranges. */
struct range {
	double lo, hi;
	double cnt;
	unsigned bkt;
};

/* The samples of a bucket, and their least and greatest possible value. */
struct hull {
	double lo, hi;
	double cnt;
	double width; /* sum over its ranges */
	unsigned ranges, unbounded;
	bool possible; /* MIN and MAX allow samples in it */
};

/* A distribution in a blob: a digest, or ranges in ascending order. */
struct dist {
	const void *td;
	unsigned dt;
	struct range *ranges;
	struct hull *hulls; /* by bucket */
	size_t n, nhulls;
	bool split; /* some bucket has several ranges, and it is not known in which its samples lie */
	bool exact;
	double total, min, max;
};

static void
limits(const struct ks_sb *sb, const struct ks_voi *voi, struct dist *d)
{
	const struct ks_vs *vs = ks_sb_find_vs(sb, voi, VS_STYPE_MIN);

	d->min = -INFINITY;
	d->max = INFINITY;
	if (vs != NULL && (vs->flags & KS_VS_SET) != 0)
		d->min = to_double(voi->dtype, ks_ldval(ks_sb_data(sb, vs), voi->dtype));
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_MAX);
	if (vs != NULL && (vs->flags & KS_VS_SET) != 0)
		d->max = to_double(voi->dtype, ks_ldval(ks_sb_data(sb, vs), voi->dtype));
}

/* Returns whether all statistics of a fixed-point VOI have the precision of its histogram's bounds. */
static bool
one_precision(const struct ks_sb *sb, const struct ks_voi *voi, const void *hist, unsigned dt)
{
	uint64_t bound = ks_ldval(ks_hist_bkt(hist, dt, 0), voi->dtype);

	for (int st = VS_STYPE_SUM; ks_dtypes[voi->dtype].is_q && st <= VS_STYPE_MIN; st++) {
		const struct ks_vs *vs = ks_sb_find_vs(sb, voi, st);

		if (vs != NULL &&
		    ((ks_ldval(ks_sb_data(sb, vs), voi->dtype) ^ bound) & KS_Q_CTL) != 0)
			return false;
	}
	return true;
}

static bool
is_possible(const struct dist *d, const struct ks_extent *x)
{
	return x->hi >= d->min && x->lo <= d->max;
}

/* Collects the ranges of values except those that MIN and MAX show to be empty. */
static void
bound_ranges(struct dist *d, const struct ks_extent *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		d->hulls[x[i].bkt].possible |= is_possible(d, &x[i]);
	for (size_t i = 0; i < n; i++) {
		struct hull *h = &d->hulls[x[i].bkt];
		struct range *r = &d->ranges[d->n];

		if (h->cnt == 0 || (h->possible && !is_possible(d, &x[i])))
			continue;
		r->bkt = x[i].bkt;
		r->lo = fmax(x[i].lo, fmin(d->min, x[i].hi));
		r->hi = fmin(x[i].hi, fmax(d->max, r->lo));
		if (h->ranges++ == 0)
			h->lo = r->lo;
		else
			d->split = true;
		h->hi = r->hi;
		h->width += r->hi - r->lo;
		h->unbounded += isinf(r->hi - r->lo) != 0;
		d->n++;
	}
}

/* Shares a bucket's samples among its ranges by their widths; a range without a bound gets all of them. */
static void
share_out(struct dist *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct range *r = &d->ranges[i];
		const struct hull *h = &d->hulls[r->bkt];
		double width = r->hi - r->lo;

		if (h->unbounded > 0)
			r->cnt = isinf(width) ? h->cnt / h->unbounded : 0;
		else if (h->width > 0)
			r->cnt = h->cnt * (width / h->width);
		else
			r->cnt = h->cnt / h->ranges;
	}
}

static int
hist_ranges(struct dist *d, const void *hist, size_t dsz, unsigned dt, unsigned voi_dt)
{
	struct ks_extent *x;
	size_t n;
	bool exact;

	d->nhulls = ks_hist_nbkts(dt, dsz);
	if (ks_hist_extents(hist, dsz, dt, voi_dt, &x, &n, &exact) != 0)
		return ENOMEM;
	d->exact &= exact;
	d->ranges = calloc(n + 1, sizeof(*d->ranges));
	d->hulls = calloc(d->nhulls, sizeof(*d->hulls));
	if (d->ranges == NULL || d->hulls == NULL) {
		free(x);
		return ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		d->hulls[x[i].bkt].cnt = (double)ks_hist_cnt(hist, dt, x[i].bkt);
	for (size_t i = 0; i < d->nhulls; i++)
		d->total += d->hulls[i].cnt;
	bound_ranges(d, x, n);
	free(x);
	share_out(d);
	return d->total > 0 ? 0 : ENOENT;
}

/* The caller must call dist_close(), also after a failure. */
static int
dist_open(const struct statsblob *b, int32_t id, struct dist *d)
{
	const struct ks_sb *sb = ks_sb(b);
	const struct ks_voi *voi;
	const struct ks_vs *vs;
	const void *hist;

	*d = (struct dist){ 0 };
	if (!ks_sb_ok(sb) || (voi = ks_sb_find(sb, id)) == NULL)
		return EINVAL;
	limits(sb, voi, d);
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_TDGST);
	if (vs != NULL) {
		d->td = ks_sb_data(sb, vs);
		d->dt = vs->dtype;
		return ks_tdgst_count(d->td, (int)d->dt) > 0 ? 0 : ENOENT;
	}
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_HIST);
	if (vs == NULL)
		return EINVAL;
	hist = ks_sb_data(sb, vs);
	d->exact = one_precision(sb, voi, hist, vs->dtype);
	return hist_ranges(d, hist, vs->dsz, vs->dtype, voi->dtype);
}

static void
dist_close(struct dist *d)
{
	free(d->ranges);
	free(d->hulls);
}

static int
by_least(const void *a, const void *b)
{
	double x = ((const struct hull *)a)->lo, y = ((const struct hull *)b)->lo;

	return x < y ? -1 : x > y;
}

static int
by_greatest(const void *a, const void *b)
{
	double x = ((const struct hull *)a)->hi, y = ((const struct hull *)b)->hi;

	return x < y ? -1 : x > y;
}

/* Returns the one of the sorted hulls that the want-th sample is in. */
static const struct hull *
hull_at(const struct dist *d, double want)
{
	const struct hull *h = NULL;
	double cum = 0;

	for (size_t i = 0; i < d->nhulls; i++) {
		if (d->hulls[i].cnt == 0)
			continue;
		h = &d->hulls[i];
		cum += h->cnt;
		if (cum >= want)
			break;
	}
	return h;
}

static double
in_range(const struct range *r, double part)
{
	if (isinf(r->lo))
		return isinf(r->hi) ? 0 : r->hi;
	if (isinf(r->hi) || r->hi == r->lo)
		return r->lo;
	return r->lo + (r->hi - r->lo) * fmin(1, fmax(0, part));
}

/*
 * It is not known in which ranges of a split bucket its samples lie. But the quantile lies between the one if
 * every sample had its least possible value and the one if every sample had its greatest. Sorts d->hulls.
 */
static double
hist_quantile(struct dist *d, double q, double *err)
{
	double want = q * d->total, cum = 0, value, lo, hi;
	const struct range *r = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->ranges[i].cnt == 0)
			continue;
		if (r != NULL)
			cum += r->cnt;
		r = &d->ranges[i];
		if (cum + r->cnt >= want)
			break;
	}
	value = in_range(r, (want - cum) / r->cnt);
	lo = r->lo;
	hi = r->hi;
	if (d->split) {
		qsort(d->hulls, d->nhulls, sizeof(*d->hulls), by_least);
		lo = hull_at(d, want)->lo;
		qsort(d->hulls, d->nhulls, sizeof(*d->hulls), by_greatest);
		hi = hull_at(d, want)->hi;
		value = fmin(fmax(value, lo), hi);
	}
	*err = d->exact ? hi - lo : INFINITY;
	return value;
}

static double
hist_cdf(const struct dist *d, double x)
{
	double below = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct range *r = &d->ranges[i];

		if (x >= r->hi)
			below += r->cnt;
		else if (x > r->lo && !isinf(r->lo) && !isinf(r->hi))
			below += r->cnt * (x - r->lo) / (r->hi - r->lo);
	}
	return fmin(1, below / d->total);
}

static int
dist_quantile(struct dist *d, double q, double *value, double *err)
{
	int ret;

	*err = NAN;
	if (d->td == NULL) {
		*value = hist_quantile(d, q, err);
		return 0;
	}
	ret = ks_tdgst_quantile(d->td, (int)d->dt, q, value);
	if (ret == 0)
		*value = fmin(fmax(*value, d->min), d->max);
	return ret;
}

int
stats_voi_quantile(const struct statsblob *sb, int32_t voi_id, double q, double *value,
    double *err)
{
	struct dist d = { 0 };
	double e;
	int ret = EINVAL;

	if (value != NULL && q >= 0 && q <= 1)
		ret = dist_open(sb, voi_id, &d);
	if (ret == 0)
		ret = dist_quantile(&d, q, value, &e);
	if (ret == 0 && err != NULL)
		*err = e;
	dist_close(&d);
	return ret;
}

void
ks_voi_quantiles(const struct statsblob *sb, int32_t voi_id, const double *q, size_t n, double *value)
{
	struct dist d;
	double err;
	int ret = dist_open(sb, voi_id, &d);

	for (size_t i = 0; i < n; i++) {
		if (ret != 0 || dist_quantile(&d, q[i], &value[i], &err) != 0)
			value[i] = NAN;
	}
	dist_close(&d);
}

int
stats_voi_cdf(const struct statsblob *sb, int32_t voi_id, double x, double *share)
{
	struct dist d = { 0 };
	int ret = EINVAL;

	if (share != NULL && !isnan(x))
		ret = dist_open(sb, voi_id, &d);
	if (ret == 0 && d.td != NULL)
		ret = ks_tdgst_cdf(d.td, (int)d.dt, x, share);
	else if (ret == 0)
		*share = hist_cdf(&d, x);
	dist_close(&d);
	return ret;
}

int
stats_voi_rank_error(const struct statsblob *sb, int32_t voi_id, double q, double *err)
{
	struct dist d = { 0 };
	int ret = EINVAL;

	if (err != NULL && q >= 0 && q <= 1)
		ret = dist_open(sb, voi_id, &d);
	if (ret == 0 && d.td != NULL)
		*err = ks_tdgst_bound(d.td, (int)d.dt, q);
	else if (ret == 0)
		ret = EINVAL;
	dist_close(&d);
	return ret;
}

double
stats_tdgst_error_bound(uint32_t nctds, uint64_t samples, double q)
{
	if (nctds == 0 || nctds > KS_TDGST_MAXCTDS || !(q >= 0 && q <= 1))
		return NAN;
	return ks_tdgst_bound_of(nctds, (double)samples, q);
}

int
stats_voi_count(const struct statsblob *b, int32_t voi_id, uint64_t *count)
{
	const struct ks_sb *sb = ks_sb(b);
	const struct ks_voi *voi;
	const struct ks_vs *vs;
	const void *p;

	if (!ks_sb_ok(sb) || count == NULL || (voi = ks_sb_find(sb, voi_id)) == NULL)
		return EINVAL;
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_TDGST);
	if (vs != NULL) {
		*count = ks_tdgst_count(ks_sb_data(sb, vs), vs->dtype);
		return 0;
	}
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_HIST);
	if (vs == NULL)
		return EINVAL;
	p = ks_sb_data(sb, vs);
	*count = ks_hist_oob(p, vs->dtype);
	for (unsigned i = 0; i < ks_hist_nbkts(vs->dtype, vs->dsz); i++)
		*count += ks_hist_cnt(p, vs->dtype, i);
	return 0;
}
