/*
 * vss.c - the helper constructors of simple statistics and digests; histograms have a file
 * of their own (static_histogram.c). SPDX-License-Identifier: MIT
 */
#include "stats/blob.h"

#include <stdlib.h>

#include "stats/abi.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"

uint64_t
ks_vss_start(int stype, unsigned dt, unsigned ctl)
{
	const struct ks_dtype *t = &ks_dtypes[dt];
	bool top = stype == VS_STYPE_MIN;
	uint64_t v;

	if (stype == VS_STYPE_SUM)
		return ctl;
	if (t->is_q)
		return top ? ks_q_max(dt, ctl) : ks_q_min(dt, ctl);
	if (!t->is_signed)
		v = top ? UINT64_MAX : 0;
	else if (t->size == 8)
		v = top ? INT64_MAX : (uint64_t)INT64_MIN;
	else
		v = top ? INT32_MAX : (uint64_t)(int64_t)INT32_MIN;
	return v;
}

int
stats_vss_numeric_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info)
{
	const struct vss_numeric_hlpr_info *ni = (const struct vss_numeric_hlpr_info *)(void *)info;
	unsigned ctl = 0;
	void *iv;

	if (!ks_dtype_is_voi(voi_dtype) || vss == NULL)
		return EINVAL;
	if (vss->stype < VS_STYPE_SUM || vss->stype > VS_STYPE_MIN)
		return EINVAL;
	if (ks_dtypes[voi_dtype].is_q) {
		if (ni == NULL)
			return EINVAL;
		ctl = ks_q_ctl(ni->prec);
	}
	iv = malloc(8);
	if (iv == NULL)
		return ENOMEM;
	ks_stval(iv, voi_dtype, ks_vss_start(vss->stype, voi_dtype, ctl));
	vss->iv = iv;
	vss->vsdsz = ks_dtypes[voi_dtype].size;
	vss->vs_dtype = voi_dtype;
	return 0;
}

int
stats_vss_tdgst_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info)
{
	const struct vss_tdgst_hlpr_info *ti = (const struct vss_tdgst_hlpr_info *)(void *)info;
	size_t size;
	void *iv;

	if (!ks_dtype_is_voi(voi_dtype) || vss == NULL || ti == NULL || ti->nctds == 0 ||
	    vss->stype != VS_STYPE_TDGST || !ks_dtype_is_tdgst(vss->vs_dtype))
		return EINVAL;
	size = ks_tdgst_size((int)vss->vs_dtype, ti->nctds);
	if (size == 0)
		return EFBIG;
	iv = calloc(1, size);
	if (iv == NULL)
		return ENOMEM;
	ks_tdgst_init(iv, (int)vss->vs_dtype, ti->nctds, ti->prec);
	vss->iv = iv;
	vss->vsdsz = size;
	return 0;
}
