/*
 * update.c - adds values to blobs. This code runs millions of times a
 * second: it touches the blob's own cache lines and, for histograms, the template's plan.
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>

#include "stats/static_histogram.h"
#include "stats/abi.h"
#include "stats/plan.h"
#include "stats/q.h"
#include "stats/tdigest/impl.h"

/* abi and endian of a blob that this library can work on; they are read together. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SB_HEAD (STATS_ABI_V1 | KS_SB_ENDIAN << 8)
#else
#define SB_HEAD (STATS_ABI_V1 << 8 | KS_SB_ENDIAN)
#endif

#define INLINE static inline __attribute__((always_inline))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define VOI_KEY(id, dt) ((uint32_t)(id) | (uint32_t)(dt) << 16)
#define VOI_KEY_MASK 0x00ffffffu
#else
#define VOI_KEY(id, dt) ((uint32_t)(id) << 16 | (uint32_t)(dt) << 8)
#define VOI_KEY_MASK 0xffffff00u
#endif

/* Returns the VOI if it exists and has this data type. ID and type are checked in one comparison. */
INLINE struct ks_voi *
find(struct statsblob *b, int32_t id, unsigned dt)
{
	struct ks_sb *sb = ks_sb(b);
	struct ks_voi *voi;

	if (__builtin_expect(sb == NULL, 0) || __builtin_expect(ks_ld16(sb) != SB_HEAD, 0))
		return NULL;
	/* A negative ID is a large unsigned one. */
	if (__builtin_expect(
	        sizeof(*sb) + (uint64_t)(uint32_t)id * sizeof(*voi) >= sb->stats_off, 0))
		return NULL;
	voi = ks_sb_voi(sb, (uint32_t)id);
	if (__builtin_expect((ks_ld32(voi) & VOI_KEY_MASK) != VOI_KEY(id, dt), 0))
		return NULL;
	return voi;
}

/* v is of the integer type dt, sign-extended. */
INLINE bool
less(uint64_t a, uint64_t b, bool sgn)
{
	return sgn ? (int64_t)a < (int64_t)b : a < b;
}

INLINE uint64_t
load(const void *p, unsigned size, bool sgn)
{
	if (size == 8)
		return ks_ld64(p);
	return sgn ? (uint64_t)(int64_t)(int32_t)ks_ld32(p) : ks_ld32(p);
}

INLINE void
store(void *p, unsigned size, uint64_t v)
{
	if (size == 8)
		ks_st64(p, v);
	else
		ks_st32(p, (uint32_t)v);
}

/* Updates a statistic that may fail. As it needs a call in any case, it is the last act of an update. */
static __attribute__((noinline)) int
update_tdgst_call(struct ks_sb *sb, struct ks_vs *vs, uint64_t v, bool sgn)
{
	void *td = ks_sb_data(sb, vs);
	int ret;

	if (sgn)
		ret = ks_tdgst_add_s64(td, vs->dtype, (int64_t)v, 1);
	else
		ret = ks_tdgst_add_u64(td, vs->dtype, v, 1);
	if (ret == 0)
		vs->flags |= KS_VS_SET;
	else
		ks_vs_err(vs);
	return ret;
}

/* In most cases the sample is only appended to those that wait. */
INLINE int
update_tdgst(struct ks_sb *sb, struct ks_vs *vs, uint64_t v, bool sgn)
{
	void *td = ks_sb_data(sb, vs);

	if (__builtin_expect(vs->dtype == KS_TDGST64, 1) &&
	    __builtin_expect(td_add(td, KS_TDGST64, (int64_t)v, td_frac(td, KS_TDGST64), sgn), 1)) {
		vs->flags = KS_VS_SET;
		return 0;
	}
	return update_tdgst_call(sb, vs, v, sgn);
}

/* Updates a histogram without a plan, by the definition. */
static __attribute__((noinline)) void
update_hist(struct ks_sb *sb, struct ks_vs *vs, unsigned dt, uint64_t v)
{
	void *hist = ks_sb_data(sb, vs);

	ks_hist_count(hist, vs->dtype, ks_hist_slot(hist, vs->dsz, vs->dtype, dt, v), 1);
	vs->flags |= KS_VS_SET;
}

/* Updates SUM, MAX and MIN of a VOI that has slots up to top. */
INLINE void
update_simple(struct ks_sb *sb, struct ks_vs *vs, int top, unsigned size, bool sgn, uint64_t v)
{
	unsigned char *p;

	if (__builtin_expect(top >= VS_STYPE_MIN, 1) &&
	    __builtin_expect(vs[VS_STYPE_MIN].stype == VS_STYPE_MIN, 1)) {
		p = ks_sb_data(sb, vs + VS_STYPE_MIN);
		vs[VS_STYPE_MIN].flags = KS_VS_SET;
		if (less(v, load(p, size, sgn), sgn))
			store(p, size, v);
	}
	if (__builtin_expect(top >= VS_STYPE_MAX, 1) &&
	    __builtin_expect(vs[VS_STYPE_MAX].stype == VS_STYPE_MAX, 1)) {
		p = ks_sb_data(sb, vs + VS_STYPE_MAX);
		vs[VS_STYPE_MAX].flags = KS_VS_SET;
		if (less(load(p, size, sgn), v, sgn))
			store(p, size, v);
	}
	if (__builtin_expect(top >= VS_STYPE_SUM, 1) &&
	    __builtin_expect(vs[VS_STYPE_SUM].stype == VS_STYPE_SUM, 1)) {
		p = ks_sb_data(sb, vs + VS_STYPE_SUM);
		vs[VS_STYPE_SUM].flags = KS_VS_SET;
		store(p, size, load(p, size, sgn) + v);
	}
}

/* Updates all of a VOI except its histogram and its previous value. */
INLINE int
update_rest(struct ks_sb *sb, struct ks_vs *vs, int top, unsigned size, bool sgn, uint64_t v)
{
	update_simple(sb, vs, top, size, sgn, v);
	if (top == VS_STYPE_TDGST && vs[VS_STYPE_TDGST].stype == VS_STYPE_TDGST)
		return update_tdgst_call(sb, vs + VS_STYPE_TDGST, v, sgn);
	return 0;
}

/* The same for a VOI that has a digest. */
#define DIGEST(name, size, sgn)                                                           \
	static __attribute__((noinline)) int name(struct ks_sb *sb, struct ks_vs *vs,     \
	    uint64_t v)                                                                   \
	{                                                                                 \
		update_simple(sb, vs, VS_STYPE_TDGST, size, sgn, v);                      \
		return update_tdgst(sb, vs + VS_STYPE_TDGST, v, sgn);                     \
	}
DIGEST(digest_s32, 4, true)
DIGEST(digest_u32, 4, false)
DIGEST(digest_s64, 8, true)
DIGEST(digest_u64, 8, false)

/* Updates a VOI with a histogram without a plan; this is rare, so one function serves all types. */
static __attribute__((noinline)) int
update_planless(struct ks_sb *sb, struct ks_vs *vs, int top, unsigned dt, uint64_t v)
{
	bool sgn = ks_dtypes[dt].is_signed;

	update_hist(sb, vs + VS_STYPE_HIST, dt, v);
	return update_rest(sb, vs, top, ks_dtypes[dt].size, sgn, v);
}

INLINE void
count(struct ks_sb *sb, struct ks_vs *vs, const struct ks_histplan *h, size_t slot)
{
	unsigned char *p = ks_sb_data(sb, vs) + slot;

	if (__builtin_expect(h->wide, 0))
		ks_st64(p, ks_ld64(p) + 1);
	else
		ks_st32(p, ks_ld32(p) + 1);
	vs->flags = KS_VS_SET;
}

/* Completes an update whose histogram is searched. */
INLINE int
update_searched(struct ks_sb *sb, struct ks_vs *vs, int top, const struct ks_histplan *h,
    unsigned size, bool sgn, uint64_t v)
{
	count(sb, vs + VS_STYPE_HIST, h, ks_plan_search(h, v, sgn));
	return update_rest(sb, vs, top, size, sgn, v);
}

#define SEARCHED(name, size, sgn)                                                         \
	static __attribute__((noinline)) int name(struct ks_sb *sb, struct ks_vs *vs,     \
	    int top, const struct ks_histplan *h, uint64_t v)                             \
	{                                                                                 \
		return update_searched(sb, vs, top, h, size, sgn, v);                     \
	}
SEARCHED(searched_s32, 4, true)
SEARCHED(searched_u32, 4, false)
SEARCHED(searched_s64, 8, true)
SEARCHED(searched_u64, 8, false)

/*
 * The order in which statistics are updated cannot be seen, because only the digest of an integer VOI can
 * fail. The common paths call other functions only as their last act, so that no registers are saved.
 */
INLINE int
update_int(struct statsblob *b, int32_t id, unsigned dt, unsigned size, bool sgn, uint64_t v,
    bool rel)
{
	struct ks_voi *voi = find(b, id, dt);
	struct ks_sb *sb = ks_sb(b);
	struct ks_vs *vs;
	unsigned char *p;
	int top;

	if (__builtin_expect(voi == NULL, 0))
		return EINVAL;
	vs = (struct ks_vs *)((unsigned char *)sb + voi->stats_off);
	if (__builtin_expect((voi->flags & KS_VOI_REL) != 0, rel)) {
		p = ks_sb_data(sb, vs + VS_STYPE_VOISTATE);
		if (rel)
			v += load(p, size, sgn);
		store(p, size, v);
		if (rel && size == 4) /* it wraps as its type does */
			v = load(p, size, sgn);
	} else if (rel) {
		return EINVAL;
	}
	top = voi->maxstat;
	if (top == VS_STYPE_TDGST && vs[VS_STYPE_HIST].stype != VS_STYPE_HIST &&
	    vs[VS_STYPE_TDGST].stype == VS_STYPE_TDGST) {
		if (size == 8)
			return (sgn ? digest_s64 : digest_u64)(sb, vs, v);
		return (sgn ? digest_s32 : digest_u32)(sb, vs, v);
	}
	if (top >= VS_STYPE_HIST &&
	    __builtin_expect(vs[VS_STYPE_HIST].stype == VS_STYPE_HIST, 1)) {
		const struct ks_histplan *h = ks_plan_find(sb->tplhash, (uint32_t)id);

		if (__builtin_expect((ks_ld64(vs + VS_STYPE_HIST) & KS_PLAN_SLOT) != h->slot, 0))
			return update_planless(sb, vs, top, dt, v);
		if (__builtin_expect(h->magic == 0, 0)) {
			if (size == 8)
				return (sgn ? searched_s64 : searched_u64)(sb, vs, top, h, v);
			return (sgn ? searched_s32 : searched_u32)(sb, vs, top, h, v);
		}
		count(sb, vs + VS_STYPE_HIST, h, ks_plan_linear(h, v, sgn));
	}
	return update_rest(sb, vs, top, size, sgn, v);
}

#define UPDATE_INT(sfx, type, dt, sgn)                                                    \
	int stats_voi_update_abs_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update_int(sb, voi_id, dt, sizeof(type), sgn,                      \
		    sgn ? (uint64_t)(int64_t)voival : (uint64_t)voival, false);           \
	}                                                                                 \
	int stats_voi_update_rel_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update_int(sb, voi_id, dt, sizeof(type), sgn,                      \
		    sgn ? (uint64_t)(int64_t)voival : (uint64_t)voival, true);            \
	}

UPDATE_INT(s32, int32_t, VSD_DTYPE_INT_S32, true)
UPDATE_INT(u32, uint32_t, VSD_DTYPE_INT_U32, false)
UPDATE_INT(s64, int64_t, VSD_DTYPE_INT_S64, true)
UPDATE_INT(u64, uint64_t, VSD_DTYPE_INT_U64, false)
UPDATE_INT(slong, long, VSD_DTYPE_INT_SLONG, true)
UPDATE_INT(ulong, unsigned long, VSD_DTYPE_INT_ULONG, false)

/*
 * Computes the previous value plus v. A previous value of 0, which it starts with, is compatible with every
 * precision.
 */
static int
q_relative(unsigned dt, uint64_t prev, uint64_t *v)
{
	if (ks_q_fix(dt, prev) == 0)
		return 0;
	return ks_q_add(dt, v, prev) == 0 ? 0 : ERANGE; /* nothing is counted */
}

static int
update_q_stat(struct ks_sb *sb, struct ks_vs *vs, unsigned dt, uint64_t v)
{
	void *p = ks_sb_data(sb, vs);
	uint64_t old;
	unsigned from, to;
	int64_t fix;
	int ret = 0;

	switch (vs->stype) {
	case VS_STYPE_TDGST:
		/* The value is cut to the digest's precision. */
		from = ks_q_frac(dt, v);
		to = ks_tdgst_frac(p, vs->dtype);
		fix = ks_q_fix(dt, v);
		if (to < from)
			fix /= (int64_t)1 << (from - to);
		else if (__builtin_mul_overflow(fix, (int64_t)1 << (to - from), &fix))
			return EOVERFLOW;
		return ks_tdgst_add_fix(p, vs->dtype, fix, 1);
	case VS_STYPE_HIST:
		ks_hist_count(p, vs->dtype, ks_hist_slot(p, vs->dsz, vs->dtype, dt, v), 1);
		return 0;
	case VS_STYPE_SUM:
		old = ks_ldval(p, dt);
		ret = ks_q_add(dt, &old, v);
		break;
	default:
		old = ks_ldval(p, dt);
		if (vs->stype == VS_STYPE_MIN ? ks_q_cmp(dt, v, old) < 0 : ks_q_cmp(dt, old, v) < 0)
			ret = ks_q_copy(dt, &old, v);
		break;
	}
	if (ret == 0)
		ks_stval(p, dt, old);
	return ret;
}

static int
update_q(struct statsblob *b, int32_t id, unsigned dt, uint64_t v, bool rel)
{
	struct ks_voi *voi = find(b, id, dt);
	struct ks_sb *sb = ks_sb(b);
	int ret = 0;

	if (voi == NULL)
		return EINVAL;
	if (voi->flags & KS_VOI_REL) {
		void *prev = ks_sb_data(sb, ks_sb_vs(sb, voi, VS_STYPE_VOISTATE));

		if (rel && (ret = q_relative(dt, ks_ldval(prev, dt), &v)) != 0)
			return ret;
		ks_stval(prev, dt, v);
	} else if (rel) {
		return EINVAL;
	}
	for (int st = voi->maxstat; st >= VS_STYPE_SUM; st--) {
		struct ks_vs *vs = ks_sb_find_vs(sb, voi, st);
		int err;

		if (vs == NULL)
			continue;
		err = update_q_stat(sb, vs, dt, v);
		if (err == 0) {
			vs->flags |= KS_VS_SET;
		} else {
			ks_vs_err(vs);
			ret = err;
		}
	}
	return ret;
}

#define UPDATE_Q(sfx, type, dt, wide)                                                     \
	int stats_voi_update_abs_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update_q(sb, voi_id, dt, (uint64_t)(wide)voival, false);           \
	}                                                                                 \
	int stats_voi_update_rel_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update_q(sb, voi_id, dt, (uint64_t)(wide)voival, true);            \
	}

UPDATE_Q(sq32, s32q_t, VSD_DTYPE_Q_S32, int64_t)
UPDATE_Q(uq32, u32q_t, VSD_DTYPE_Q_U32, uint64_t)
UPDATE_Q(sq64, s64q_t, VSD_DTYPE_Q_S64, int64_t)
UPDATE_Q(uq64, u64q_t, VSD_DTYPE_Q_U64, uint64_t)

/* Returns the control bits that values of a Q VOI should have: those of its first simple statistic. */
static unsigned
q_voi_ctl(const struct ks_sb *sb, const struct ks_voi *voi)
{
	for (int st = VS_STYPE_SUM; st <= VS_STYPE_HIST; st++) {
		const struct ks_vs *vs = ks_sb_find_vs(sb, voi, st);
		const unsigned char *p;

		if (vs == NULL)
			continue;
		p = ks_sb_data(sb, vs);
		/* Histogram bounds carry the precision, too. */
		if (st == VS_STYPE_HIST)
			p = ks_hist_bkt(p, vs->dtype, 0);
		return (unsigned)(ks_ldval(p, voi->dtype) & KS_Q_CTL);
	}
	return ks_q_ctl(16);
}

/*
 * Updates a Q VOI with a value in units of the last place of its precision, which has at most 62 bits. An
 * unsigned type has no word for a negative distance, only for the value that it leads to.
 */
static int
update_q_fix(struct statsblob *b, const struct ks_voi *voi, unsigned ctl, int64_t fix, bool rel)
{
	unsigned dt = voi->dtype;
	uint64_t prev, w;

	if (rel && (voi->flags & KS_VOI_REL) == 0)
		return EINVAL;
	if (ks_q_word(dt, ctl, fix, &w))
		return update_q(b, voi->id, dt, w, rel);
	if (!rel || fix >= 0)
		return ERANGE;
	prev = ks_ldval(ks_sb_data(ks_sb(b), ks_sb_vs(ks_sb(b), voi, VS_STYPE_VOISTATE)), dt);
	if ((prev & KS_Q_CTL) != ctl || !ks_q_word(dt, ctl, ks_q_fix(dt, prev) + fix, &w))
		return ERANGE;
	return update_q(b, voi->id, dt, w, false);
}

/* Returns v in units of 2^-frac; what exceeds every Q type becomes a number that does so, too. */
static int64_t
q_fix_of(int64_t v, unsigned frac)
{
	const int64_t beyond = INT64_C(1) << 62;
	int64_t fix;

	if (__builtin_mul_overflow(v, INT64_C(1) << frac, &fix) || fix > beyond || fix < -beyond)
		return v < 0 ? -beyond : beyond;
	return fix;
}

/* As update_whole, of the types that are not 64-bit integers. */
static __attribute__((noinline)) int
update_narrow(struct statsblob *b, int32_t id, int64_t v, bool rel)
{
	const struct ks_voi *voi = ks_sb_find(ks_sb(b), id);
	unsigned ctl;

	if (voi == NULL)
		return EINVAL;
	switch (voi->dtype) {
	case VSD_DTYPE_INT_S32:
		if (v != (int32_t)v)
			return ERANGE;
		return rel ? stats_voi_update_rel_s32(b, id, (int32_t)v)
		           : stats_voi_update_abs_s32(b, id, (int32_t)v);
	case VSD_DTYPE_INT_U32:
		if (v > UINT32_MAX || v < (rel ? -(int64_t)UINT32_MAX : 0))
			return ERANGE;
		return rel ? stats_voi_update_rel_u32(b, id, (uint32_t)v)
		           : stats_voi_update_abs_u32(b, id, (uint32_t)v);
	case VSD_DTYPE_INT_SLONG:
		if (v != (long)v)
			return ERANGE;
		return rel ? stats_voi_update_rel_slong(b, id, (long)v)
		           : stats_voi_update_abs_slong(b, id, (long)v);
	case VSD_DTYPE_INT_ULONG:
		if (!rel && (v < 0 || (uint64_t)v > ULONG_MAX))
			return ERANGE;
		return rel ? stats_voi_update_rel_ulong(b, id, (unsigned long)v)
		           : stats_voi_update_abs_ulong(b, id, (unsigned long)v);
	default:
		ctl = q_voi_ctl(ks_sb(b), voi);
		return update_q_fix(b, voi, ctl, q_fix_of(v, ks_q_frac(voi->dtype, ctl)), rel);
	}
}

/* The most common types come first; each jumps to a function of its own, because Lua calls this often. */
INLINE int
update_whole(struct statsblob *b, int32_t id, int64_t v, bool rel)
{
	const struct ks_sb *sb = ks_sb(b);
	const struct ks_voi *voi;

	if (sb == NULL || ks_ld16(sb) != SB_HEAD ||
	    sizeof(*sb) + (uint64_t)(uint32_t)id * sizeof(*voi) >= sb->stats_off)
		return EINVAL;
	voi = ks_sb_voi(sb, (uint32_t)id);
	if (__builtin_expect(voi->dtype == VSD_DTYPE_INT_S64, 1))
		return rel ? stats_voi_update_rel_s64(b, id, v) : stats_voi_update_abs_s64(b, id, v);
	if (voi->dtype == VSD_DTYPE_INT_U64) {
		if (rel)
			return stats_voi_update_rel_u64(b, id, (uint64_t)v);
		return v < 0 ? ERANGE : stats_voi_update_abs_u64(b, id, (uint64_t)v);
	}
	return update_narrow(b, id, v, rel);
}

int
stats_voi_update_int(struct statsblob *b, int32_t id, int64_t v, bool rel)
{
	return rel ? update_whole(b, id, v, true) : update_whole(b, id, v, false);
}

int
stats_voi_update_uint(struct statsblob *b, int32_t id, uint64_t v, bool rel)
{
	const struct ks_voi *voi;

	if (v <= INT64_MAX)
		return stats_voi_update_int(b, id, (int64_t)v, rel);
	if (!ks_sb_ok(ks_sb(b)) || (voi = ks_sb_find(ks_sb(b), id)) == NULL ||
	    (rel && (voi->flags & KS_VOI_REL) == 0))
		return EINVAL;
	if (ks_dtypes[voi->dtype].size != 8 || ks_dtypes[voi->dtype].is_signed ||
	    ks_dtypes[voi->dtype].is_q)
		return ERANGE;
	return update_int(b, id, voi->dtype, 8, false, v, rel);
}

int
stats_voi_update_dbl(struct statsblob *b, int32_t id, double v, bool rel)
{
	const struct ks_voi *voi;
	double scaled;
	unsigned ctl;

	/* The common case: a whole number of 63 bits. */
	if (__builtin_expect(v >= -0x1p63 && v < 0x1p63 && v == (double)(int64_t)v, 1))
		return stats_voi_update_int(b, id, (int64_t)v, rel);
	if (v >= 0x1p63 && v < 0x1p64)
		return stats_voi_update_uint(b, id, (uint64_t)v, rel);
	if (!ks_sb_ok(ks_sb(b)) || (voi = ks_sb_find(ks_sb(b), id)) == NULL ||
	    (rel && (voi->flags & KS_VOI_REL) == 0))
		return EINVAL;
	if (!ks_dtypes[voi->dtype].is_q)
		return ERANGE;
	ctl = q_voi_ctl(ks_sb(b), voi);
	scaled = rint(ldexp(v, (int)ks_q_frac(voi->dtype, ctl)));
	if (!(scaled > -0x1p62 && scaled < 0x1p62)) /* nor is a NaN */
		return ERANGE;
	return update_q_fix(b, voi, ctl, (int64_t)scaled, rel);
}
