/*
 * quantile.c - distributions out of a blob. SPDX-License-Identifier: MIT
 *
 * The bound of a digest is one of rank and depends on the number of centroids; it is stated
 * in tdigest.c. That of a histogram is one of value: an estimate lies in the bucket of the
 * true value, so they differ by at most the bucket's width.
 */
#include <math.h>
#include <stdlib.h>

#include "stats/histogram.h"
#include "stats/layout.h"
#include "stats/q.h"
#include "stats/tdigest.h"

static double
to_double(unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		return ks_q_double(dt, w);
	return ks_dtypes[dt].is_signed ? (double)(int64_t)w : (double)w;
}

struct range {
	double lo, hi;
	uint64_t cnt;
};

/* A distribution in a blob: a digest, or ranges in ascending order. */
struct dist {
	const void *td;
	unsigned dt;
	struct range *ranges;
	size_t n;
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

static int
by_lo(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Whether a bound stands for "no bound", as the INF flags of the constructors make it. */
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

static int
hist_ranges(struct dist *d, const void *hist, size_t dsz, unsigned dt, unsigned voi_dt)
{
	unsigned n = ks_hist_nbkts(dt, dsz);

	d->ranges = calloc(n, sizeof(*d->ranges));
	if (d->ranges == NULL)
		return ENOMEM;
	d->n = n;
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);
		uint64_t lb = ks_ldval(b, voi_dt), ub;
		struct range *r = &d->ranges[i];

		r->cnt = ks_hist_cnt(hist, dt, i);
		r->lo = is_least(voi_dt, lb) ? -INFINITY : to_double(voi_dt, lb);
		r->hi = r->lo;
		if (ks_dtype_is_dr(dt)) {
			ub = ks_ldval(b + 8, voi_dt);
			r->hi = is_greatest(voi_dt, ub) ? INFINITY : to_double(voi_dt, ub);
		}
		d->total += (double)r->cnt;
	}
	qsort(d->ranges, n, sizeof(*d->ranges), by_lo);
	for (unsigned i = 0; ks_dtype_is_cr(dt) && i < n; i++)
		d->ranges[i].hi = i + 1 < n ? d->ranges[i + 1].lo : INFINITY;
	for (unsigned i = 0; i < n; i++) {
		struct range *r = &d->ranges[i];

		r->lo = fmax(r->lo, fmin(d->min, r->hi));
		r->hi = fmin(r->hi, fmax(d->max, r->lo));
	}
	return d->total > 0 ? 0 : ENOENT;
}

/* The caller frees d->ranges whatever comes back. */
static int
dist_open(const struct statsblob *b, int32_t id, struct dist *d)
{
	const struct ks_sb *sb = ks_sb(b);
	const struct ks_voi *voi;
	const struct ks_vs *vs;

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
	return hist_ranges(d, ks_sb_data(sb, vs), vs->dsz, vs->dtype, voi->dtype);
}

static double
hist_quantile(const struct dist *d, double q, double *err)
{
	double want = q * d->total, cum = 0;
	const struct range *r = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->ranges[i].cnt == 0)
			continue;
		if (r != NULL)
			cum += (double)r->cnt;
		r = &d->ranges[i];
		if (cum + (double)r->cnt >= want)
			break;
	}
	*err = r->hi - r->lo;
	if (isinf(r->lo))
		return isinf(r->hi) ? 0 : r->hi;
	if (isinf(r->hi) || r->hi == r->lo)
		return r->lo;
	return r->lo + (r->hi - r->lo) * fmin(1, fmax(0, (want - cum) / (double)r->cnt));
}

static double
hist_cdf(const struct dist *d, double x)
{
	double below = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct range *r = &d->ranges[i];

		if (x >= r->hi)
			below += (double)r->cnt;
		else if (x > r->lo && !isinf(r->lo) && !isinf(r->hi))
			below += (double)r->cnt * (x - r->lo) / (r->hi - r->lo);
	}
	return below / d->total;
}

int
stats_voi_quantile(const struct statsblob *sb, int32_t voi_id, double q, double *value,
    double *err)
{
	struct dist d = { 0 };
	double e = NAN;
	int ret = EINVAL;

	if (value != NULL && q >= 0 && q <= 1)
		ret = dist_open(sb, voi_id, &d);
	if (ret == 0 && d.td != NULL) {
		ret = ks_tdgst_quantile(d.td, (int)d.dt, q, value);
		if (ret == 0)
			*value = fmin(fmax(*value, d.min), d.max);
	} else if (ret == 0) {
		*value = hist_quantile(&d, q, &e);
	}
	if (ret == 0 && err != NULL)
		*err = e;
	free(d.ranges);
	return ret;
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
	free(d.ranges);
	return ret;
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
