/*
 * blob.c - the life of a blob: made from a template's image, copied, reset, destroyed, and
 * its simple statistics read. SPDX-License-Identifier: MIT
 */
#include "stats/blob.h"

#include <stdlib.h>

#include "kstat.h"
#include "stats/static_histogram.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"
#include "stats/vss.h"

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
