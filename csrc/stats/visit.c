/* visit.c - walking a blob. SPDX-License-Identifier: MIT */
#include "stats/abi.h"

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
