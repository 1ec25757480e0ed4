/*
 * check.c - whether bytes from anywhere are a blob. What passes here can be given to every
 * other function without a further check of offsets. SPDX-License-Identifier: MIT
 */
#include "stats/blob.h"
#include "stats/abi.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"

static bool
same_bounds(const struct ks_sb *a, const struct ks_sb *b, const struct ks_vs *vs)
{
	const unsigned char *ha = (const unsigned char *)a + vs->data_off;
	const unsigned char *hb = (const unsigned char *)b + vs->data_off;
	unsigned n = ks_hist_nbkts(vs->dtype, vs->dsz);

	for (unsigned i = 0; i < n; i++) {
		if (memcmp(ks_hist_bkt(ha, vs->dtype, i), ks_hist_bkt(hb, vs->dtype, i),
		        ks_dtypes[vs->dtype].cntoff) != 0)
			return false;
	}
	return true;
}

bool
ks_sb_same_layout(const struct ks_sb *a, const struct ks_sb *b)
{
	uint32_t n = ks_sb_nvois(a);

	if (a->tplhash != b->tplhash || a->cursz != b->cursz || a->stats_off != b->stats_off ||
	    a->statsdata_off != b->statsdata_off ||
	    memcmp(ks_sb_voi(a, 0), ks_sb_voi(b, 0), n * sizeof(struct ks_voi)) != 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(a, i);

		for (int st = 0; voi->id >= 0 && st <= voi->maxstat; st++) {
			const struct ks_vs *va = ks_sb_vs(a, voi, st), *vb = ks_sb_vs(b, voi, st);

			/* Compares a slot without errs and flags, which are its last members. */
			if (memcmp(va, vb, offsetof(struct ks_vs, errs)) != 0)
				return false;
			if (va->stype == VS_STYPE_HIST && !same_bounds(a, b, va))
				return false;
		}
	}
	return true;
}

/* The bytes of a blob that a part of it uses already, because no two parts may share any. */
struct claim {
	uint64_t bits[(KS_SB_MAX + 64) / 64];
};

static bool
claim(struct claim *c, size_t off, size_t len)
{
	while (len > 0) {
		size_t at = off % 64, n = len < 64 - at ? len : 64 - at;
		uint64_t bits = UINT64_MAX >> (64 - n) << at, *word = &c->bits[off / 64];

		if ((*word & bits) != 0)
			return false;
		*word |= bits;
		off += n;
		len -= n;
	}
	return true;
}

static bool
check_stat(const struct ks_sb *sb, const struct ks_voi *voi, const struct ks_vs *vs)
{
	unsigned dt = vs->dtype;
	size_t dsz = vs->dsz;

	switch (vs->stype) {
	case VS_STYPE_VOISTATE:
		return dt == VSD_DTYPE_VOISTATE && dsz == 8 && (voi->flags & KS_VOI_REL) != 0;
	case VS_STYPE_SUM:
	case VS_STYPE_MAX:
	case VS_STYPE_MIN:
		return dt == voi->dtype && dsz == ks_dtypes[dt].size;
	case VS_STYPE_HIST:
		return ks_dtype_is_hist(dt) && dsz >= (size_t)KS_HIST_HDR + ks_dtypes[dt].stride &&
		    (dsz - KS_HIST_HDR) % ks_dtypes[dt].stride == 0;
	default:
		return ks_dtype_is_tdgst(dt) && ks_tdgst_check(ks_sb_data(sb, vs), dsz, (int)dt) == 0;
	}
}

static bool
check_voi(const struct ks_sb *sb, const struct ks_voi *voi, struct claim *c)
{
	size_t off = voi->stats_off, n;

	if (!ks_dtype_is_voi(voi->dtype) || voi->maxstat < 0 || voi->maxstat >= VS_NUM_STYPES ||
	    (voi->flags & ~KS_VOI_REL) != 0)
		return false;
	n = ((size_t)voi->maxstat + 1) * sizeof(struct ks_vs);
	if (off < sb->stats_off || off + n > sb->statsdata_off || !claim(c, off, n))
		return false;
	if ((voi->flags & KS_VOI_REL) != 0 &&
	    ks_sb_vs(sb, voi, VS_STYPE_VOISTATE)->stype != VS_STYPE_VOISTATE)
		return false;
	for (int st = 0; st <= voi->maxstat; st++) {
		const struct ks_vs *vs = ks_sb_vs(sb, voi, st);

		if (vs->stype == -1)
			continue;
		if (vs->stype != st || vs->data_off < sb->statsdata_off ||
		    (size_t)vs->data_off + vs->dsz > sb->cursz || !claim(c, vs->data_off, vs->dsz) ||
		    !check_stat(sb, voi, vs))
			return false;
	}
	return true;
}

/*
 * A blob with the hash of a known template must have the form of that template's blobs, because the hash
 * leads to the template's names and update plans.
 */
static bool
check_claim(const struct ks_sb *sb)
{
	struct statsblob_tpl *t;
	bool ok;

	ks_tpl_lock();
	t = ks_tpl_get(ks_tpl_by_hash(sb->tplhash));
	ok = t == NULL || ks_sb_same_layout(t->image, sb);
	if (t != NULL && ok)
		ks_tpl_plan(t);
	ks_tpl_unlock();
	return ok;
}

int
stats_blob_check(const void *p, size_t len)
{
	const struct ks_sb *sb = p;
	struct claim c;
	uint32_t n;

	if (p == NULL || len < sizeof(*sb))
		return EINVAL;
	if (sb->endian != SB_LE && sb->endian != SB_BE)
		return EINVAL;
	if (sb->endian != KS_SB_ENDIAN || (sb->abi != STATS_ABI_V1 && sb->abi != 0))
		return EOPNOTSUPP;
	if (sb->abi == 0 || sb->flags != 0 || sb->cursz > len || sb->cursz < sizeof(*sb) ||
	    sb->stats_off < sizeof(*sb) || sb->statsdata_off < sb->stats_off ||
	    sb->statsdata_off > sb->cursz || (sb->stats_off - sizeof(*sb)) % 8 != 0 ||
	    (sb->statsdata_off - sb->stats_off) % 8 != 0)
		return EINVAL;
	memset(&c, 0, sizeof(c));
	n = ks_sb_nvois(sb);
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(sb, i);

		if (voi->id == -1)
			continue;
		if (voi->id != (int32_t)i || !check_voi(sb, voi, &c))
			return EINVAL;
	}
	return check_claim(sb) ? 0 : EINVAL;
}
