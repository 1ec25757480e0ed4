/*
 * stats_histogram.c - fuzzes the constructors of histograms, and compares the quick update
 * through a plan with the definition. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "stats/static_histogram.h"
#include "stats/abi.h"
#include "stats/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *p;
	size_t left;
};

static uint64_t
take(struct input *in, size_t n)
{
	uint64_t v = 0;

	if (n > in->left)
		n = in->left;
	memcpy(&v, in->p, n);
	in->p += n;
	in->left -= n;
	return v;
}

/* Small numbers often, any number sometimes. */
static uint64_t
number(struct input *in)
{
	switch (take(in, 1) % 4) {
	case 0: return take(in, 8);
	case 1: return (uint64_t)(int64_t)(int8_t)take(in, 1);
	case 2: return (uint64_t)(int64_t)(int32_t)take(in, 4);
	default: return take(in, 1);
	}
}

/* A blob as the template makes it, without one: templates would pile up. */
static struct ks_sb *
image(unsigned voi_dt, const struct voistatspec *vss, size_t *size)
{
	size_t slots = 5 * sizeof(struct ks_vs), off = 40 + slots;
	struct ks_sb *sb;

	*size = off + vss->vsdsz;
	if (*size > KS_SB_MAX || (sb = calloc(1, *size)) == NULL)
		return NULL;
	*sb = (struct ks_sb){ .abi = STATS_ABI_V1, .endian = KS_SB_ENDIAN, .maxsz = (uint16_t)*size,
		.cursz = (uint16_t)*size, .tplhash = 1, .stats_off = 40,
		.statsdata_off = (uint16_t)off };
	*ks_sb_voi(sb, 0) = (struct ks_voi){ .dtype = (uint8_t)voi_dt, .maxstat = VS_STYPE_HIST,
		.stats_off = 40 };
	for (int st = 0; st < VS_STYPE_HIST; st++)
		ks_sb_vs(sb, ks_sb_voi(sb, 0), st)->stype = -1;
	*ks_sb_vs(sb, ks_sb_voi(sb, 0), VS_STYPE_HIST) = (struct ks_vs){ .stype = VS_STYPE_HIST,
		.dtype = (uint8_t)vss->vs_dtype, .data_off = (uint16_t)off,
		.dsz = (uint16_t)vss->vsdsz };
	memcpy((char *)sb + off, vss->iv, vss->vsdsz);
	return sb;
}

static void
compare(const struct ks_sb *sb, const struct ks_histplan *h, struct input *in)
{
	const struct ks_voi *voi = ks_sb_voi(sb, 0);
	const struct ks_vs *vs = ks_sb_vs(sb, voi, VS_STYPE_HIST);
	const unsigned char *hist = ks_sb_data(sb, vs);
	bool sgn = ks_dtypes[voi->dtype].is_signed;
	unsigned n = ks_hist_nbkts(vs->dtype, vs->dsz);

	for (unsigned i = 0; i < 3 * n + 32; i++) {
		unsigned char raw[8];
		uint64_t v;

		/* Around each bound, and anywhere. */
		if (i < 3 * n)
			v = ks_ldval(ks_hist_bkt(hist, vs->dtype, i / 3), voi->dtype) + i % 3 - 1;
		else
			v = number(in);
		ks_st64(raw, v);
		v = ks_ldval(raw, voi->dtype);
		if ((h->magic != 0 ? ks_plan_linear(h, v, sgn) : ks_plan_search(h, v, sgn)) !=
		    ks_hist_slot(hist, vs->dsz, vs->dtype, voi->dtype, v))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct vss_hist_bkt bkts[32];
	struct vss_hist_hlpr_info info = { .scheme = (enum hist_bkt_alloc)(take(&in, 1) % 4),
		.flags = (uint32_t)(take(&in, 1) % 4) };
	unsigned voi_dt = 1 + (unsigned)(take(&in, 1) % 10);
	struct voistatspec vss = { .stype = VS_STYPE_HIST,
		.vs_dtype = (enum vsd_dtype)(VSD_DTYPE_CRHIST32 + take(&in, 1) % 6) };
	struct ks_histplan *h;
	struct ks_sb *sb;
	size_t n, total;

	info.lb = number(&in);
	info.ub = number(&in);
	n = take(&in, 1) % 32;
	if (info.scheme == BKT_USR) {
		for (size_t i = 0; i < n; i++) {
			bkts[i].lb = number(&in);
			bkts[i].ub = number(&in);
		}
		info.usr.bkts = bkts;
		info.usr.nbkts = n;
	} else {
		/* One union: stepinc, or stepbase and stepexp, or nlinsteps and stepbase. */
		info.exp.stepbase = number(&in);
		info.exp.stepexp = number(&in);
	}
	if (stats_vss_hist_hlpr((enum vsd_dtype)voi_dt, &vss, (void *)&info) != 0)
		return 0;
	sb = image(voi_dt, &vss, &total);
	if (sb != NULL && ks_hist_nbkts(vss.vs_dtype, vss.vsdsz) <= 256) {
		if (stats_blob_check(sb, total) != 0)
			abort();
		if (!ks_dtypes[voi_dt].is_q) {
			h = ks_histplan_new(sb, ks_sb_voi(sb, 0), ks_sb_vs(sb, ks_sb_voi(sb, 0), VS_STYPE_HIST));
			if (h != NULL)
				compare(sb, h, &in);
			ks_histplan_free(h);
		}
	}
	free(sb);
	free(vss.iv);
	return 0;
}
