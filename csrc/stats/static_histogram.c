/*
 * static_histogram.c - making, searching and clearing static histograms: an out-of-bucket counter
 * and buckets whose bounds are 8 bytes, all in the blob. SPDX-License-Identifier: MIT
 */
#include "stats/static_histogram.h"

#include <stdlib.h>

#include "base/wide.h"
#include "stats/abi.h"
#include "stats/q.h"

int
ks_hist_cmp(unsigned voi_dt, uint64_t a, uint64_t b)
{
	if (ks_dtypes[voi_dt].is_q)
		return ks_q_cmp(voi_dt, a, b);
	if (ks_dtypes[voi_dt].is_signed)
		return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
	return a < b ? -1 : a > b;
}

size_t
ks_hist_slot(const void *hist, size_t dsz, unsigned dt, unsigned voi_dt, uint64_t word)
{
	bool cr = ks_dtype_is_cr(dt), dr = ks_dtype_is_dr(dt);

	for (unsigned i = ks_hist_nbkts(dt, dsz); i-- > 0;) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);
		uint64_t bound = ks_ldval(b, voi_dt);
		int c = ks_hist_cmp(voi_dt, bound, word);
		bool hit;

		if (cr)
			hit = c <= 0;
		else if (dr)
			hit = c <= 0 && ks_hist_cmp(voi_dt, word, ks_ldval(b + 8, voi_dt)) < 0;
		else
			hit = c == 0;
		if (hit)
			return (size_t)(b - (const unsigned char *)hist) + ks_dtypes[dt].cntoff;
	}
	return 0;
}

void
ks_hist_count(void *hist, unsigned dt, size_t slot, uint64_t n)
{
	unsigned char *p = (unsigned char *)hist + slot;

	if (ks_dtypes[dt].wide)
		ks_st64(p, ks_ld64(p) + n);
	else
		ks_st32(p, ks_ld32(p) + (uint32_t)n);
}

void
ks_hist_reset(void *hist, size_t dsz, unsigned dt)
{
	unsigned n = ks_hist_nbkts(dt, dsz);

	memset(hist, 0, ks_dtypes[dt].wide ? 8 : 4);
	for (unsigned i = 0; i < n; i++)
		memset(ks_hist_bkt(hist, dt, i) + ks_dtypes[dt].cntoff, 0, ks_dtypes[dt].wide ? 8 : 4);
}

/*
 * The state of generating bounds. A bound is its distance from the type's least value, in units of the last
 * place.
 */
struct gen {
	unsigned dt;  /* of the VOI */
	unsigned ctl; /* of Q bounds */
	unsigned frac;
	uint64_t min; /* the least value, in two's complement */
	uint64_t max; /* the greatest bound */
	const struct vss_hist_hlpr_info *info;
	uint64_t step; /* EXP: of the next bucket; 0: beyond the range */
};

/* Returns a value of the VOI as a bound. */
static uint64_t
bound_of(const struct gen *g, uint64_t word)
{
	if (ks_dtypes[g->dt].is_q)
		word = (uint64_t)ks_q_fix(g->dt, word);
	else if (ks_dtypes[g->dt].size == 4) /* the part of a bound that is stored */
		word = ks_dtypes[g->dt].is_signed ? (uint64_t)(int64_t)(int32_t)(uint32_t)word : (uint32_t)word;
	return word - g->min;
}

/* Returns base^e; 0 if it is beyond 64 bits. */
static uint64_t
power(uint64_t base, uint64_t e)
{
	uint64_t p = 1;

	if (base <= 1)
		return e == 0 ? 1 : base;
	for (; e > 0; e--) {
		if (__builtin_mul_overflow(p, base, &p))
			return 0;
	}
	return p;
}

static int
gen_start(struct gen *g, unsigned dt, const struct vss_hist_hlpr_info *info)
{
	g->dt = dt;
	g->info = info;
	g->ctl = 0;
	g->frac = 0;
	g->step = 0;
	if (ks_dtypes[dt].is_q) {
		g->ctl = (unsigned)(info->lb & KS_Q_CTL);
		g->frac = ks_q_frac(dt, info->lb);
		g->min = (uint64_t)ks_q_fix(dt, ks_q_min(dt, g->ctl));
		g->max = (uint64_t)ks_q_fix(dt, ks_q_max(dt, g->ctl)) - g->min;
		if (info->scheme != BKT_USR && ks_q_frac(dt, info->ub) != g->frac)
			return EINVAL;
	} else {
		g->max = UINT64_MAX >> (64 - ks_dtypes[dt].size * 8);
		g->min = ks_dtypes[dt].is_signed ? ~(g->max >> 1) : 0;
	}
	switch (info->scheme) {
	case BKT_LIN:
		g->step = info->lin.stepinc;
		return g->step == 0 ? EINVAL : 0;
	case BKT_EXP:
		g->step = power(info->exp.stepbase, info->exp.stepexp);
		return g->step == 0 ? EINVAL : 0;
	case BKT_LINEXP:
		return info->linexp.stepbase < 2 || info->linexp.nlinsteps == 0 ? EINVAL : 0;
	default:
		return EINVAL;
	}
}

/* Returns the step from a bound of a LINEXP histogram, in whole units; 0 if it is beyond 64 bits. */
static uint64_t
linexp_step(const struct gen *g, uint64_t bound)
{
	uint64_t base = g->info->linexp.stepbase, n = g->info->linexp.nlinsteps, v = bound + g->min, step;
	ks_wide p = ks_wide_of(0, base);

	/* The least power of the base above the bound, which may be beyond 64 bits. */
	if (!ks_dtypes[g->dt].is_signed || (int64_t)v >= 0) {
		while (ks_wide_high(p) == 0 && ks_wide_low(p) <= v >> g->frac)
			p = ks_wide_product(ks_wide_low(p), base);
	}
	if (ks_wide_high(p) >= n)
		return 0;
	step = ks_wide_quotient(p, n);
	return step > 0 ? step : 1;
}

/* Computes the bound after lb; false if it is beyond the type's range. */
static bool
gen_next(struct gen *g, uint64_t lb, uint64_t *next)
{
	uint64_t step = g->info->scheme == BKT_LINEXP ? linexp_step(g, lb) : g->step;

	if (step == 0 || step > UINT64_MAX >> g->frac)
		return false;
	if (g->info->scheme == BKT_EXP && __builtin_mul_overflow(g->step, g->info->exp.stepbase, &g->step))
		g->step = 0;
	return !__builtin_add_overflow(lb, step << g->frac, next) && *next <= g->max;
}

static void
put_bound(unsigned char *to, const struct gen *g, uint64_t bound)
{
	uint64_t w = bound + g->min;

	if (ks_dtypes[g->dt].is_q)
		(void)ks_q_word(g->dt, g->ctl, (int64_t)w, &w);
	ks_stval(to, g->dt, w);
}

/* Returns the type's least value as a lower-infinite bucket has it. */
static void
put_least(unsigned char *to, const struct gen *g)
{
	ks_st64(to, 0);
	if (ks_dtypes[g->dt].is_q)
		ks_stval(to, g->dt, ks_q_abi_min(g->dt, g->ctl));
	else
		put_bound(to, g, 0);
}

static void
put_greatest(unsigned char *to, const struct gen *g)
{
	ks_st64(to, 0);
	put_bound(to, g, g->max);
}

/* Bounds of 32-bit VOIs keep the upper half of the configured lower bound (ABI v1). */
static void
put_generated(unsigned char *to, const struct gen *g, uint64_t bound)
{
	ks_st64(to, g->info->lb);
	put_bound(to, g, bound);
}

/*
 * Writes the generated buckets behind the header, or only counts them if hist is NULL.
 * Returns their number; 0 if the parameters make no finite list.
 */
static size_t
gen_buckets(unsigned dt, unsigned voi_dt, const struct vss_hist_hlpr_info *info,
    unsigned char *hist)
{
	size_t n = 0, stride = ks_dtypes[dt].stride, most = KS_SB_MAX / stride;
	unsigned char *b = hist != NULL ? hist + KS_HIST_HDR : NULL;
	bool dr = ks_dtype_is_dr(dt);
	uint64_t lb, ub, next;
	struct gen g;

	if (gen_start(&g, voi_dt, info) != 0)
		return 0;
	lb = bound_of(&g, info->lb);
	ub = bound_of(&g, info->ub);
	if ((info->flags & VSD_HIST_LBOUND_INF) != 0) {
		if (hist != NULL) {
			put_least(b, &g);
			if (dr)
				put_generated(b + 8, &g, lb);
			b += stride;
		}
		n++;
	}
	do {
		if (!gen_next(&g, lb, &next))
			return 0;
		if (hist != NULL) {
			put_generated(b, &g, lb);
			if (dr)
				put_generated(b + 8, &g, next);
			b += stride;
		}
		n++;
		lb = next;
	} while (lb <= ub && n <= most);
	if ((info->flags & VSD_HIST_UBOUND_INF) != 0) {
		if (hist != NULL) {
			put_generated(b, &g, lb);
			if (dr)
				put_greatest(b + 8, &g);
		}
		n++;
	}
	return n;
}

static size_t
user_buckets(unsigned dt, unsigned voi_dt, const struct vss_hist_hlpr_info *info,
    unsigned char *hist)
{
	const struct vss_hist_bkt *bk = info->usr.bkts;
	size_t n = info->usr.nbkts, stride = ks_dtypes[dt].stride;
	bool low = (info->flags & VSD_HIST_LBOUND_INF) != 0, dr = ks_dtype_is_dr(dt);
	unsigned char *b;
	struct gen g;

	if (bk == NULL || n == 0 || (info->flags & VSD_HIST_UBOUND_INF) != 0)
		return 0;
	if (hist == NULL)
		return n + low;
	b = hist + KS_HIST_HDR;
	if (low) {
		struct vss_hist_hlpr_info first = { .scheme = BKT_LIN, .lb = bk[0].lb,
			.ub = bk[0].lb, .lin = { 1 } };

		(void)gen_start(&g, voi_dt, &first);
		put_least(b, &g);
		if (dr)
			ks_st64(b + 8, bk[0].lb);
		b += stride;
	}
	for (size_t i = 0; i < n; i++, b += stride) {
		ks_st64(b, bk[i].lb);
		if (dr)
			ks_st64(b + 8, bk[i].ub);
	}
	return n + low;
}

int
stats_vss_hist_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *hinfo)
{
	const struct vss_hist_hlpr_info *info = (const struct vss_hist_hlpr_info *)(void *)hinfo;
	const uint32_t inf = VSD_HIST_LBOUND_INF | VSD_HIST_UBOUND_INF;
	size_t n, size;
	unsigned dt;
	void *iv;

	if (!ks_dtype_is_voi(voi_dtype) || vss == NULL || info == NULL ||
	    vss->stype != VS_STYPE_HIST || !ks_dtype_is_hist(vss->vs_dtype) ||
	    (info->flags & ~inf) != 0)
		return EINVAL;
	dt = vss->vs_dtype;
	if (!ks_dtype_is_cr(dt) && !ks_dtype_is_dr(dt) && (info->flags & inf) != 0)
		return EINVAL;
	if (info->scheme == BKT_USR)
		n = user_buckets(dt, voi_dtype, info, NULL);
	else
		n = gen_buckets(dt, voi_dtype, info, NULL);
	if (n == 0)
		return EINVAL;
	if (__builtin_mul_overflow(n, (size_t)ks_dtypes[dt].stride, &size) ||
	    size > KS_SB_MAX - KS_HIST_HDR)
		return EFBIG;
	size += KS_HIST_HDR;
	iv = calloc(1, size);
	if (iv == NULL)
		return ENOMEM;
	if (info->scheme == BKT_USR)
		(void)user_buckets(dt, voi_dtype, info, iv);
	else
		(void)gen_buckets(dt, voi_dtype, info, iv);
	vss->iv = iv;
	vss->vsdsz = size;
	return 0;
}
