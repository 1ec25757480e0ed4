/*
 * merge.c - adding blobs of one template up, so that workers, processes and hosts do.
 * SPDX-License-Identifier: MIT
 */
#include "stats/blob.h"
#include "stats/static_histogram.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"

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
