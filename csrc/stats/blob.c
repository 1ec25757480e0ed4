/*
 * blob.c - the life of a blob: made from a template's image, copied, merged with others of its template, walked over,
 * reset, destroyed, and its simple statistics read. SPDX-License-Identifier: MIT
 */
#include "stats/blob.h"

#include <stdlib.h>

#include "kstat.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/static_histogram.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"

int64_t
ks_sb_now(void)
{
	uint64_t ns = (uint64_t)gethrtime();

	return (int64_t)(((ns / 1000000000u) << 32) |
	    (((ns % 1000000000u) << 32) / 1000000000u));
}

/* The caller holds the lock of the list. */
static void
init_from(struct ks_sb *sb, struct statsblob_tpl *t)
{
	ks_tpl_plan(t);
	memcpy(sb, t->image, t->image->cursz);
	sb->created = sb->lastrst = ks_sb_now();
}

struct statsblob *
stats_blob_alloc(uint32_t tpl_id, uint32_t flags)
{
	struct statsblob_tpl *t;
	void *sb = NULL;

	if (flags != 0)
		return NULL;
	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t != NULL && (sb = malloc(t->image->cursz)) != NULL)
		init_from(sb, t);
	ks_tpl_unlock();
	return sb;
}

int
stats_blob_init(struct statsblob *b, uint32_t tpl_id, uint32_t flags)
{
	struct ks_sb *sb = ks_sb(b);
	struct statsblob_tpl *t;
	int ret = 0;

	if (sb == NULL || flags != 0)
		return EINVAL;
	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t == NULL) {
		ret = EINVAL;
	} else if (sb->maxsz < t->image->cursz) {
		/* Only the 8 bytes of the public head are certain to be the caller's. */
		if (sb->maxsz >= sizeof(struct statsblob))
			sb->cursz = t->image->cursz;
		ret = EOVERFLOW;
	} else {
		init_from(sb, t);
	}
	ks_tpl_unlock();
	return ret;
}

int
stats_blob_clone(struct statsblob **dst, size_t dstmaxsz, struct statsblob *src, uint32_t flags)
{
	const uint32_t usr = SB_CLONE_USRDST | SB_CLONE_USRDSTNOFAULT;
	const struct ks_sb *from = ks_sb(src);
	struct ks_sb *to;
	uint16_t maxsz;
	void *mem;

	if (dst == NULL || !ks_sb_ok(from))
		return EINVAL;
	if ((flags & SB_CLONE_ALLOCDST) != 0) {
		if ((flags & usr) != 0)
			return EINVAL;
		mem = malloc(from->cursz);
		if (mem == NULL)
			return ENOMEM;
		memcpy(mem, from, from->cursz);
		ks_sb(mem)->maxsz = from->cursz;
		*dst = mem;
		return 0;
	}
	to = ks_sb(*dst);
	if (to == NULL || dstmaxsz < sizeof(struct statsblob))
		return EINVAL;
	maxsz = to->maxsz;
	memcpy(to, from, from->cursz <= dstmaxsz ? from->cursz : sizeof(struct statsblob));
	to->maxsz = maxsz;
	return from->cursz <= dstmaxsz ? 0 : EOVERFLOW;
}

int
stats_blob_snapshot(struct statsblob **dst, size_t dstmaxsz, struct statsblob *src,
    uint32_t flags)
{
	int ret = stats_blob_clone(dst, dstmaxsz, src, flags);

	if (ret == 0 && (flags & SB_CLONE_RSTSRC) != 0)
		ret = stats_blob_reset(src);
	return ret;
}

void
stats_blob_destroy(struct statsblob *sb)
{
	free(sb);
}

static void
reset_stat(const struct ks_sb *sb, const struct ks_voi *voi, struct ks_vs *vs)
{
	void *p = ks_sb_data(sb, vs);
	unsigned ctl = 0;

	switch (vs->stype) {
	case VS_STYPE_HIST:
		ks_hist_reset(p, vs->dsz, vs->dtype);
		break;
	case VS_STYPE_TDGST:
		ks_tdgst_reset(p, vs->dtype);
		break;
	default:
		if (ks_dtypes[voi->dtype].is_q)
			ctl = (unsigned)(ks_ldval(p, voi->dtype) & KS_Q_CTL);
		ks_stval(p, voi->dtype, ks_vss_start(vs->stype, voi->dtype, ctl));
		break;
	}
	vs->errs = 0;
	vs->flags &= (uint8_t)~KS_VS_SET;
}

int
stats_blob_reset(struct statsblob *b)
{
	struct ks_sb *sb = ks_sb(b);
	uint32_t n;

	if (!ks_sb_ok(sb))
		return EINVAL;
	n = ks_sb_nvois(sb);
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(sb, i);

		/* The previous value of relative updates is kept, because it is no statistic. */
		for (int st = VS_STYPE_SUM; voi->id >= 0 && st <= voi->maxstat; st++) {
			struct ks_vs *vs = ks_sb_find_vs(sb, voi, st);

			if (vs != NULL)
				reset_stat(sb, voi, vs);
		}
	}
	sb->lastrst = ks_sb_now();
	return 0;
}

int
stats_voistat_fetch_dptr(struct statsblob *b, int32_t voi_id, enum voi_stype stype,
    enum vsd_dtype *retdtype, struct voistatdata **retvsd, size_t *retvsdsz)
{
	const struct ks_sb *sb = ks_sb(b);
	const struct ks_voi *voi;
	const struct ks_vs *vs;

	if (!ks_sb_ok(sb) || retvsd == NULL || (voi = ks_sb_find(sb, voi_id)) == NULL ||
	    (vs = ks_sb_find_vs(sb, voi, (int)stype)) == NULL)
		return EINVAL;
	if (retdtype != NULL)
		*retdtype = vs->dtype;
	if (retvsdsz != NULL)
		*retvsdsz = vs->dsz;
	*retvsd = (struct voistatdata *)ks_sb_data(sb, vs);
	return 0;
}

static int
fetch(struct statsblob *b, int32_t voi_id, enum voi_stype stype, enum vsd_dtype want, void *ret)
{
	struct voistatdata *vsd;
	enum vsd_dtype dtype;
	size_t size;
	int err;

	if (ret == NULL)
		return EINVAL;
	err = stats_voistat_fetch_dptr(b, voi_id, stype, &dtype, &vsd, &size);
	if (err != 0)
		return err;
	if (dtype != want)
		return EFTYPE;
	memcpy(ret, vsd, ks_dtypes[want].size);
	return 0;
}

#define FETCH(sfx, type, dt)                                                              \
	int stats_voistat_fetch_##sfx(struct statsblob *sb, int32_t voi_id,               \
	    enum voi_stype stype, type *ret)                                              \
	{                                                                                 \
		return fetch(sb, voi_id, stype, dt, ret);                                 \
	}

FETCH(s32, int32_t, VSD_DTYPE_INT_S32)
FETCH(u32, uint32_t, VSD_DTYPE_INT_U32)
FETCH(s64, int64_t, VSD_DTYPE_INT_S64)
FETCH(u64, uint64_t, VSD_DTYPE_INT_U64)
FETCH(slong, long, VSD_DTYPE_INT_SLONG)
FETCH(ulong, unsigned long, VSD_DTYPE_INT_ULONG)
FETCH(sq32, s32q_t, VSD_DTYPE_Q_S32)
FETCH(uq32, u32q_t, VSD_DTYPE_Q_U32)
FETCH(sq64, s64q_t, VSD_DTYPE_Q_S64)
FETCH(uq64, u64q_t, VSD_DTYPE_Q_U64)

static int
merge_value(int stype, unsigned dt, unsigned char *to, const unsigned char *from)
{
	uint64_t a = ks_ldval(to, dt), b = ks_ldval(from, dt);
	int c, ret = 0;

	if (stype == VS_STYPE_SUM && ks_dtypes[dt].is_q) {
		ret = ks_q_add(dt, &a, b);
	} else if (stype == VS_STYPE_SUM) {
		a += b;
	} else {
		c = ks_hist_cmp(dt, b, a);
		if (stype == VS_STYPE_MAX ? c > 0 : c < 0)
			a = b;
	}
	if (ret == 0)
		ks_stval(to, dt, a);
	return ret;
}

static void
merge_hist(unsigned char *to, const unsigned char *from, size_t dsz, unsigned dt)
{
	unsigned n = ks_hist_nbkts(dt, dsz);

	ks_hist_count(to, dt, 0, ks_hist_oob(from, dt));
	for (unsigned i = 0; i < n; i++)
		ks_hist_count(to, dt, (size_t)(ks_hist_bkt(to, dt, i) - to) + ks_dtypes[dt].cntoff,
		    ks_hist_cnt(from, dt, i));
}

static int
merge_stat(unsigned dt, struct ks_vs *vs, const struct ks_vs *from, unsigned char *to,
    const unsigned char *src)
{
	int ret = 0, errs = vs->errs + from->errs;

	vs->errs = (uint8_t)(errs > UINT8_MAX ? UINT8_MAX : errs);
	if ((from->flags & KS_VS_SET) == 0)
		return 0;
	switch (vs->stype) {
	case VS_STYPE_HIST:
		merge_hist(to, src, vs->dsz, vs->dtype);
		break;
	case VS_STYPE_TDGST:
		ret = ks_tdgst_merge(to, src, vs->dtype);
		break;
	default:
		ret = merge_value(vs->stype, dt, to, src);
		break;
	}
	if (ret == 0)
		vs->flags |= KS_VS_SET;
	else
		ks_vs_err(vs);
	return ret;
}

int
stats_blob_merge(struct statsblob *dst, const struct statsblob *src)
{
	const struct ks_sb *from = ks_sb(src);
	struct ks_sb *to = ks_sb(dst);
	uint32_t n;
	int ret = 0;

	if (!ks_sb_ok(to) || !ks_sb_ok(from) || to == from || !ks_sb_same_layout(to, from))
		return EINVAL;
	n = ks_sb_nvois(to);
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(to, i);

		for (int st = VS_STYPE_SUM; voi->id >= 0 && st <= voi->maxstat; st++) {
			struct ks_vs *vs = ks_sb_find_vs(to, voi, st);
			int err;

			if (vs == NULL)
				continue;
			err = merge_stat(voi->dtype, vs, ks_sb_vs(from, voi, st), ks_sb_data(to, vs),
			    ks_sb_data(from, vs));
			if (err != 0)
				ret = err;
		}
	}
	return ret;
}

/* Returns the next VOI from i on that is to be visited; n if there is none. */
static uint32_t
next_voi(const struct ks_sb *sb, uint32_t i, uint32_t n, bool all)
{
	while (i < n && !all && ks_sb_voi(sb, i)->id < 0)
		i++;
	return i;
}

static int
next_stat(const struct ks_sb *sb, const struct ks_voi *voi, int st, bool all)
{
	while (st <= voi->maxstat && !all && ks_sb_vs(sb, voi, st)->stype < 0)
		st++;
	return st;
}

static struct sb_visit
describe(const struct ks_sb *sb, uint32_t i, const struct ks_voi *voi, int st)
{
	struct sb_visit v = { .tplhash = sb->tplhash, .voi_id = (int16_t)i, .vs_stype = -1 };
	const struct ks_vs *vs;

	if (voi->id < 0) {
		v.flags = SB_IT_NULLVOI | SB_IT_NULLVOISTAT;
		return v;
	}
	vs = ks_sb_vs(sb, voi, st);
	v.voi_dtype = voi->dtype;
	v.vs_stype = (int8_t)st;
	if (vs->stype < 0) {
		v.flags = SB_IT_NULLVOISTAT;
		return v;
	}
	v.vs_data = (struct voistatdata *)ks_sb_data(sb, vs);
	v.vs_dsz = (int16_t)vs->dsz;
	v.vs_errs = vs->errs;
	v.vs_dtype = vs->dtype;
	return v;
}

static int
visit(struct statsblob *b, stats_blob_visitcb_t func, void *usrctx, bool all)
{
	const struct ks_sb *sb = ks_sb(b);
	uint32_t n, i, next, first;

	if (!ks_sb_ok(sb) || func == NULL)
		return EINVAL;
	n = ks_sb_nvois(sb);
	first = next_voi(sb, 0, n, all);
	for (i = first; i < n; i = next) {
		const struct ks_voi *voi = ks_sb_voi(sb, i);
		uint32_t flags = SB_IT_FIRST_VOISTAT;
		int st, after, top = voi->id < 0 ? 0 : voi->maxstat;

		next = next_voi(sb, i + 1, n, all);
		st = voi->id < 0 ? 0 : next_stat(sb, voi, 0, all);
		for (; st <= top; st = after, flags = 0) {
			struct sb_visit v = describe(sb, i, voi, st);

			after = voi->id < 0 ? 1 : next_stat(sb, voi, st + 1, all);
			v.flags |= flags;
			if (after > top)
				v.flags |= SB_IT_LAST_VOISTAT;
			if (i == first)
				v.flags |= SB_IT_FIRST_VOI;
			if (next >= n)
				v.flags |= SB_IT_LAST_VOI;
			if (i == first && (flags & SB_IT_FIRST_VOISTAT) != 0)
				v.flags |= SB_IT_FIRST_CB;
			if (next >= n && after > top)
				v.flags |= SB_IT_LAST_CB;
			if (func(&v, usrctx) != 0)
				return 0;
		}
	}
	return 0;
}

int
stats_blob_visit(struct statsblob *sb, stats_blob_visitcb_t func, void *usrctx)
{
	return visit(sb, func, usrctx, false);
}

int
stats_blob_visit_all(struct statsblob *sb, stats_blob_visitcb_t func, void *usrctx)
{
	return visit(sb, func, usrctx, true);
}
