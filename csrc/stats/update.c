/*
 * update.c - adds values to blobs. This code runs millions of times a
 * second: it touches the blob's own cache lines and, for histograms, the template's plan.
 *
 * Each function gets a blob twice. `form` says where everything is, and what never changes: slots, bounds of
 * buckets, sizes of digests. `to` is where the numbers are. They are the same blob, or else `form` is a
 * private blob of the same template, and `to` lies in memory in which others may write at any time: then no
 * bit of `to` decides about an address, a length or a divisor. Whatever lies there is a number, or it is
 * copied and checked before it is used.
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>

#include "stats/static_histogram.h"
#include "stats/abi.h"
#include "stats/blob.h"
#include "stats/plan.h"
#include "stats/q.h"
#include "stats/tdigest/bytes.h"

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
INLINE const struct ks_voi *
find(const struct ks_sb *sb, int32_t id, unsigned dt)
{
	const struct ks_voi *voi;

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

/* Returns the place in `to` of what lies in `form`. */
INLINE void *
in(struct ks_sb *to, const struct ks_sb *form, const void *what)
{
	return (unsigned char *)to + ((const unsigned char *)what - (const unsigned char *)form);
}

INLINE void
set(struct ks_sb *to, const struct ks_sb *form, const struct ks_vs *vs)
{
	((struct ks_vs *)in(to, form, vs))->flags = KS_VS_SET;
}

/* Notes what became of an update that may fail, and returns it. */
static int
note(struct ks_vs *vs, int err)
{
	if (err == 0)
		vs->flags |= KS_VS_SET;
	else
		ks_vs_err(vs);
	return err;
}

/* Updates a statistic that may fail. As it needs a call in any case, it is the last act of an update. */
static __attribute__((noinline)) int
update_tdgst_call(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, uint64_t v, bool sgn)
{
	void *td = ks_sb_data(to, vs);
	int ret;

	if (form != to)
		ret = ks_tdgst_add_checked(ks_sb_data(form, vs), td, vs->dtype, vs->dsz, (int64_t)v,
		    sgn ? KS_TDGST_SIGNED : KS_TDGST_UNSIGNED);
	else if (sgn)
		ret = ks_tdgst_add_s64(td, vs->dtype, (int64_t)v, 1);
	else
		ret = ks_tdgst_add_u64(td, vs->dtype, v, 1);
	return note(in(to, form, vs), ret);
}

/* In most cases the sample is only appended to those that wait. */
INLINE int
update_tdgst(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, uint64_t v, bool sgn)
{
	const void *shape = ks_sb_data(form, vs);

	if (__builtin_expect(vs->dtype == KS_TDGST64, 1) &&
	    __builtin_expect(td_add(shape, ks_sb_data(to, vs), KS_TDGST64, (int64_t)v, td_frac(shape, KS_TDGST64),
	    sgn), 1)) {
		set(to, form, vs);
		return 0;
	}
	return update_tdgst_call(form, to, vs, v, sgn);
}

/* Updates a histogram without a plan, by the definition. */
static __attribute__((noinline)) void
update_hist(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, unsigned dt, uint64_t v)
{
	size_t slot = ks_hist_slot(ks_sb_data(form, vs), vs->dsz, vs->dtype, dt, v);

	ks_hist_count(ks_sb_data(to, vs), vs->dtype, slot, 1);
	((struct ks_vs *)in(to, form, vs))->flags |= KS_VS_SET;
}

/* Updates SUM, MAX and MIN of a VOI that has slots up to top. */
INLINE void
update_simple(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, int top, unsigned size,
    bool sgn, uint64_t v)
{
	unsigned char *p;

	if (__builtin_expect(top >= VS_STYPE_MIN, 1) &&
	    __builtin_expect(vs[VS_STYPE_MIN].stype == VS_STYPE_MIN, 1)) {
		p = ks_sb_data(to, vs + VS_STYPE_MIN);
		set(to, form, vs + VS_STYPE_MIN);
		if (less(v, load(p, size, sgn), sgn))
			store(p, size, v);
	}
	if (__builtin_expect(top >= VS_STYPE_MAX, 1) &&
	    __builtin_expect(vs[VS_STYPE_MAX].stype == VS_STYPE_MAX, 1)) {
		p = ks_sb_data(to, vs + VS_STYPE_MAX);
		set(to, form, vs + VS_STYPE_MAX);
		if (less(load(p, size, sgn), v, sgn))
			store(p, size, v);
	}
	if (__builtin_expect(top >= VS_STYPE_SUM, 1) &&
	    __builtin_expect(vs[VS_STYPE_SUM].stype == VS_STYPE_SUM, 1)) {
		p = ks_sb_data(to, vs + VS_STYPE_SUM);
		set(to, form, vs + VS_STYPE_SUM);
		store(p, size, load(p, size, sgn) + v);
	}
}

/* Updates all of a VOI except its histogram and its previous value. */
INLINE int
update_rest(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, int top, unsigned size,
    bool sgn, uint64_t v)
{
	update_simple(form, to, vs, top, size, sgn, v);
	if (top == VS_STYPE_TDGST && vs[VS_STYPE_TDGST].stype == VS_STYPE_TDGST)
		return update_tdgst_call(form, to, vs + VS_STYPE_TDGST, v, sgn);
	return 0;
}

/* The same for a VOI that has a digest: of a blob alone, and with a form beside it. */
#define DIGEST(name, size, sgn)                                                           \
	static __attribute__((noinline)) int name(struct ks_sb *to, const struct ks_vs *vs, \
	    uint64_t v)                                                                   \
	{                                                                                 \
		update_simple(to, to, vs, VS_STYPE_TDGST, size, sgn, v);                  \
		return update_tdgst(to, to, vs + VS_STYPE_TDGST, v, sgn);                 \
	}                                                                                 \
	static __attribute__((noinline)) int name##_in(const struct ks_sb *form,          \
	    struct ks_sb *to, const struct ks_vs *vs, uint64_t v)                         \
	{                                                                                 \
		update_simple(form, to, vs, VS_STYPE_TDGST, size, sgn, v);                \
		return update_tdgst(form, to, vs + VS_STYPE_TDGST, v, sgn);               \
	}
DIGEST(digest_s32, 4, true)
DIGEST(digest_u32, 4, false)
DIGEST(digest_s64, 8, true)
DIGEST(digest_u64, 8, false)

/* Updates a VOI with a histogram without a plan; this is rare, so one function serves all types. */
static __attribute__((noinline)) int
update_planless(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, int top, unsigned dt,
    uint64_t v)
{
	bool sgn = ks_dtypes[dt].is_signed;

	update_hist(form, to, vs + VS_STYPE_HIST, dt, v);
	return update_rest(form, to, vs, top, ks_dtypes[dt].size, sgn, v);
}

INLINE void
count(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, const struct ks_histplan *h,
    size_t slot)
{
	unsigned char *p = ks_sb_data(to, vs) + slot;

	if (__builtin_expect(h->wide, 0))
		ks_st64(p, ks_ld64(p) + 1);
	else
		ks_st32(p, ks_ld32(p) + 1);
	set(to, form, vs);
}

/* Completes an update whose histogram is searched. */
INLINE int
update_searched(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, int top,
    const struct ks_histplan *h, unsigned size, bool sgn, uint64_t v)
{
	count(form, to, vs + VS_STYPE_HIST, h, ks_plan_search(h, v, sgn));
	return update_rest(form, to, vs, top, size, sgn, v);
}

#define SEARCHED(name, size, sgn)                                                         \
	static __attribute__((noinline)) int name(const struct ks_sb *form,               \
	    struct ks_sb *to, const struct ks_vs *vs, int top, const struct ks_histplan *h, \
	    uint64_t v)                                                                   \
	{                                                                                 \
		return update_searched(form, to, vs, top, h, size, sgn, v);               \
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
update_int(const struct ks_sb *form, struct ks_sb *to, int32_t id, unsigned dt, unsigned size, bool sgn,
    uint64_t v, bool rel)
{
	const struct ks_voi *voi = find(form, id, dt);
	const struct ks_vs *vs;
	unsigned char *p;
	int top;

	if (__builtin_expect(voi == NULL, 0))
		return EINVAL;
	vs = (const struct ks_vs *)((const unsigned char *)form + voi->stats_off);
	if (__builtin_expect((voi->flags & KS_VOI_REL) != 0, rel)) {
		p = ks_sb_data(to, vs + VS_STYPE_VOISTATE);
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
		if (form == to && size == 8)
			return (sgn ? digest_s64 : digest_u64)(to, vs, v);
		if (form == to)
			return (sgn ? digest_s32 : digest_u32)(to, vs, v);
		if (size == 8)
			return (sgn ? digest_s64_in : digest_u64_in)(form, to, vs, v);
		return (sgn ? digest_s32_in : digest_u32_in)(form, to, vs, v);
	}
	if (top >= VS_STYPE_HIST &&
	    __builtin_expect(vs[VS_STYPE_HIST].stype == VS_STYPE_HIST, 1)) {
		const struct ks_histplan *h = ks_plan_find(form->tplhash, (uint32_t)id);

		if (__builtin_expect((ks_ld64(vs + VS_STYPE_HIST) & KS_PLAN_SLOT) != h->slot, 0))
			return update_planless(form, to, vs, top, dt, v);
		if (__builtin_expect(h->magic == 0, 0)) {
			if (size == 8)
				return (sgn ? searched_s64 : searched_u64)(form, to, vs, top, h, v);
			return (sgn ? searched_s32 : searched_u32)(form, to, vs, top, h, v);
		}
		count(form, to, vs + VS_STYPE_HIST, h, ks_plan_linear(h, v, sgn));
	}
	return update_rest(form, to, vs, top, size, sgn, v);
}

/* The two functions of a type. */
#define UPDATE(update, sfx, type, dt, word)                                               \
	int stats_voi_update_abs_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update(ks_sb(sb), ks_sb(sb), voi_id, dt, word, false);             \
	}                                                                                 \
	int stats_voi_update_rel_##sfx(struct statsblob *sb, int32_t voi_id, type voival) \
	{                                                                                 \
		return update(ks_sb(sb), ks_sb(sb), voi_id, dt, word, true);              \
	}

/* The same, and one for a form beside the blob. */
#define OF_TYPE(type, dt, sgn) dt, sizeof(type), sgn
#define WORD_OF(sgn) ((sgn) ? (uint64_t)(int64_t)voival : (uint64_t)voival)
#define UPDATE_INT(sfx, type, dt, sgn)                                                    \
	UPDATE(update_int, sfx, type, OF_TYPE(type, dt, sgn), WORD_OF(sgn))               \
	static int update_##sfx(const struct ks_sb *form, struct ks_sb *to,               \
	    int32_t voi_id, type voival, bool rel)                                        \
	{                                                                                 \
		return rel ? update_int(form, to, voi_id, OF_TYPE(type, dt, sgn), WORD_OF(sgn), true) \
		           : update_int(form, to, voi_id, OF_TYPE(type, dt, sgn), WORD_OF(sgn), false); \
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

/* The value is cut to the digest's precision. */
static int
update_q_tdgst(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, unsigned dt, uint64_t v)
{
	const void *shape = ks_sb_data(form, vs);
	unsigned from = ks_q_frac(dt, v), frac = ks_tdgst_frac(shape, vs->dtype);
	int64_t fix = ks_q_fix(dt, v);

	if (frac < from)
		fix /= (int64_t)1 << (from - frac);
	else if (__builtin_mul_overflow(fix, (int64_t)1 << (frac - from), &fix))
		return EOVERFLOW;
	return form == to ? ks_tdgst_add_fix(ks_sb_data(to, vs), vs->dtype, fix, 1) :
	    ks_tdgst_add_checked(shape, ks_sb_data(to, vs), vs->dtype, vs->dsz, fix, KS_TDGST_FIXED);
}

static int
update_q_stat(const struct ks_sb *form, struct ks_sb *to, const struct ks_vs *vs, unsigned dt, uint64_t v)
{
	void *p = ks_sb_data(to, vs);
	uint64_t old;
	int ret = 0;

	switch (vs->stype) {
	case VS_STYPE_TDGST:
		return update_q_tdgst(form, to, vs, dt, v);
	case VS_STYPE_HIST:
		ks_hist_count(p, vs->dtype, ks_hist_slot(ks_sb_data(form, vs), vs->dsz, vs->dtype, dt, v), 1);
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
update_q(const struct ks_sb *form, struct ks_sb *to, int32_t id, unsigned dt, uint64_t v, bool rel)
{
	const struct ks_voi *voi = find(form, id, dt);
	int ret = 0;

	if (voi == NULL)
		return EINVAL;
	if (voi->flags & KS_VOI_REL) {
		void *prev = ks_sb_data(to, ks_sb_vs(form, voi, VS_STYPE_VOISTATE));

		if (rel && (ret = q_relative(dt, ks_ldval(prev, dt), &v)) != 0)
			return ret;
		ks_stval(prev, dt, v);
	} else if (rel) {
		return EINVAL;
	}
	for (int st = voi->maxstat; st >= VS_STYPE_SUM; st--) {
		const struct ks_vs *vs = ks_sb_find_vs(form, voi, st);
		int err;

		if (vs == NULL)
			continue;
		err = update_q_stat(form, to, vs, dt, v);
		if (note(in(to, form, vs), err) != 0)
			ret = err;
	}
	return ret;
}

#define UPDATE_Q(sfx, type, dt, wide) UPDATE(update_q, sfx, type, dt, (uint64_t)(wide)voival)

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
update_q_fix(const struct ks_sb *form, struct ks_sb *to, const struct ks_voi *voi, unsigned ctl, int64_t fix,
    bool rel)
{
	unsigned dt = voi->dtype;
	uint64_t prev, w;

	if (rel && (voi->flags & KS_VOI_REL) == 0)
		return EINVAL;
	if (ks_q_word(dt, ctl, fix, &w))
		return update_q(form, to, voi->id, dt, w, rel);
	if (!rel || fix >= 0)
		return ERANGE;
	prev = ks_ldval(ks_sb_data(to, ks_sb_vs(form, voi, VS_STYPE_VOISTATE)), dt);
	if ((prev & KS_Q_CTL) != ctl || !ks_q_word(dt, ctl, ks_q_fix(dt, prev) + fix, &w))
		return ERANGE;
	return update_q(form, to, voi->id, dt, w, false);
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

/* As ks_sb_update_int(), of the types that are not 64-bit integers. */
static __attribute__((noinline)) int
update_narrow(const struct ks_sb *form, struct ks_sb *to, const struct ks_voi *voi, int64_t v, bool rel)
{
	int32_t id = voi->id;
	unsigned ctl;

	switch (voi->dtype) {
	case VSD_DTYPE_INT_S32:
		return v != (int32_t)v ? ERANGE : update_s32(form, to, id, (int32_t)v, rel);
	case VSD_DTYPE_INT_U32:
		return v > UINT32_MAX || v < (rel ? -(int64_t)UINT32_MAX : 0) ? ERANGE :
		    update_u32(form, to, id, (uint32_t)v, rel);
	case VSD_DTYPE_INT_SLONG:
		return v != (long)v ? ERANGE : update_slong(form, to, id, (long)v, rel);
	case VSD_DTYPE_INT_ULONG:
		return !rel && (v < 0 || (uint64_t)v > ULONG_MAX) ? ERANGE :
		    update_ulong(form, to, id, (unsigned long)v, rel);
	default:
		ctl = q_voi_ctl(form, voi);
		return update_q_fix(form, to, voi, ctl, q_fix_of(v, ks_q_frac(voi->dtype, ctl)), rel);
	}
}

/* The most common types come first; each jumps to a function of its own, because Lua calls this often. */
INLINE int
update_whole(const struct ks_sb *form, struct ks_sb *to, struct statsblob *alone, int32_t id, int64_t v,
    bool rel)
{
	const struct ks_voi *voi;

	if (form == NULL || ks_ld16(form) != SB_HEAD ||
	    sizeof(*form) + (uint64_t)(uint32_t)id * sizeof(*voi) >= form->stats_off)
		return EINVAL;
	voi = ks_sb_voi(form, (uint32_t)id);
	if (__builtin_expect(voi->dtype == VSD_DTYPE_INT_S64, 1) && alone != NULL)
		return rel ? stats_voi_update_rel_s64(alone, id, v) : stats_voi_update_abs_s64(alone, id, v);
	if (__builtin_expect(voi->dtype == VSD_DTYPE_INT_S64, 1))
		return update_s64(form, to, id, v, rel);
	if (voi->dtype == VSD_DTYPE_INT_U64)
		return !rel && v < 0 ? ERANGE : update_u64(form, to, id, (uint64_t)v, rel);
	return voi->id == id ? update_narrow(form, to, voi, v, rel) : EINVAL;
}

int
ks_sb_update_int(const struct ks_sb *form, struct ks_sb *to, int32_t id, int64_t v, bool rel)
{
	return update_whole(form, to, NULL, id, v, rel);
}

int
ks_sb_update_uint(const struct ks_sb *form, struct ks_sb *to, int32_t id, uint64_t v, bool rel)
{
	const struct ks_voi *voi;

	if (v <= INT64_MAX)
		return ks_sb_update_int(form, to, id, (int64_t)v, rel);
	if (!ks_sb_ok(form) || (voi = ks_sb_find(form, id)) == NULL || (rel && (voi->flags & KS_VOI_REL) == 0))
		return EINVAL;
	if (ks_dtypes[voi->dtype].size != 8 || ks_dtypes[voi->dtype].is_signed ||
	    ks_dtypes[voi->dtype].is_q)
		return ERANGE;
	return update_int(form, to, id, voi->dtype, 8, false, v, rel);
}

int
ks_sb_update_dbl(const struct ks_sb *form, struct ks_sb *to, int32_t id, double v, bool rel)
{
	const struct ks_voi *voi;
	double scaled;
	unsigned ctl;

	/* The common case: a whole number of 63 bits. */
	if (__builtin_expect(v >= -0x1p63 && v < 0x1p63 && v == (double)(int64_t)v, 1))
		return ks_sb_update_int(form, to, id, (int64_t)v, rel);
	if (v >= 0x1p63 && v < 0x1p64)
		return ks_sb_update_uint(form, to, id, (uint64_t)v, rel);
	if (!ks_sb_ok(form) || (voi = ks_sb_find(form, id)) == NULL || (rel && (voi->flags & KS_VOI_REL) == 0))
		return EINVAL;
	if (!ks_dtypes[voi->dtype].is_q)
		return ERANGE;
	ctl = q_voi_ctl(form, voi);
	scaled = rint(ldexp(v, (int)ks_q_frac(voi->dtype, ctl)));
	if (!(scaled > -0x1p62 && scaled < 0x1p62)) /* nor is a NaN */
		return ERANGE;
	return update_q_fix(form, to, voi, ctl, (int64_t)scaled, rel);
}

int
stats_voi_update_int(struct statsblob *b, int32_t id, int64_t v, bool rel)
{
	return rel ? update_whole(ks_sb(b), ks_sb(b), b, id, v, true) :
	    update_whole(ks_sb(b), ks_sb(b), b, id, v, false);
}

int
stats_voi_update_uint(struct statsblob *b, int32_t id, uint64_t v, bool rel)
{
	return ks_sb_update_uint(ks_sb(b), ks_sb(b), id, v, rel);
}

int
stats_voi_update_dbl(struct statsblob *b, int32_t id, double v, bool rel)
{
	return ks_sb_update_dbl(ks_sb(b), ks_sb(b), id, v, rel);
}
