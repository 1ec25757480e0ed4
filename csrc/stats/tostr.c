/*
 * tostr.c - blobs as text: the free form and JSON of the manual page, with the error counts
 * the reference prints. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/number.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"

static void
put_u64(struct ks_buf *b, uint64_t v)
{
	char *to = ks_buf_room(b, KS_NUMBER_MAX);

	if (to != NULL)
		b->len += ks_format_u64(to, v);
}

static void
put_value(struct ks_buf *b, unsigned dt, uint64_t v)
{
	char *to;

	if (ks_dtypes[dt].is_q) {
		ks_q_print(b, dt, v);
	} else if (!ks_dtypes[dt].is_signed) {
		put_u64(b, v);
	} else if ((to = ks_buf_room(b, KS_NUMBER_MAX)) != NULL) {
		b->len += ks_format_i64(to, (int64_t)v);
	}
}

/* Returns the greatest value of a VOI's type, in the precision of a given one. */
static uint64_t
greatest(unsigned dt, uint64_t like)
{
	if (ks_dtypes[dt].is_q)
		return ks_q_max(dt, (unsigned)(like & KS_Q_CTL));
	return UINT64_MAX >> (64 - ks_dtypes[dt].size * 8 + ks_dtypes[dt].is_signed);
}

/* Begins item i of a list with the name of its first member. numbered: what items are called before their numbers. */
static void
begin_item(struct ks_buf *b, size_t i, bool json, const char *numbered, const char *member)
{
	ks_buf_adds(b, !json ? "\n\t\t\t\t" : i > 0 ? ",{" : "{");
	if (numbered != NULL)
		ks_buf_addf(b, json ? "\"%s\":%zu," : "%s[%zu].", numbered, i);
	ks_buf_addf(b, json ? "\"%s\":" : "{%s=", member);
}

static void
put_hist(struct ks_buf *b, const void *hist, size_t dsz, unsigned dt, unsigned voi_dt, bool json,
    bool objdump)
{
	unsigned n = ks_hist_nbkts(dt, dsz);

	ks_buf_addf(b, json ? "\"nbkts\":%u,\"oob\":" : "nbkts=%u, oob=", n);
	put_u64(b, ks_hist_oob(hist, dt));
	if (json)
		ks_buf_adds(b, ",\"bkts\":[");
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *bkt = ks_hist_bkt(hist, dt, i);
		uint64_t lb = ks_ldval(bkt, voi_dt), ub = lb;

		if (ks_dtype_is_dr(dt))
			ub = ks_ldval(bkt + 8, voi_dt);
		else if (ks_dtype_is_cr(dt))
			ub = i + 1 < n ? ks_ldval(ks_hist_bkt(hist, dt, i + 1), voi_dt)
			               : greatest(voi_dt, lb);
		begin_item(b, i, json, objdump ? "bkt" : NULL, "lb");
		put_value(b, voi_dt, lb);
		ks_buf_adds(b, json ? ",\"ub\":" : ",ub=");
		put_value(b, voi_dt, ub);
		ks_buf_adds(b, json ? ",\"cnt\":" : ",cnt=");
		put_u64(b, ks_hist_cnt(hist, dt, i));
		ks_buf_addc(b, '}');
	}
	if (json)
		ks_buf_addc(b, ']');
}

static void
put_tdgst(struct ks_buf *b, const void *td, unsigned dt, bool json, bool objdump)
{
	size_t max = ks_tdgst_maxctds(td, (int)dt), used, n;
	unsigned frac = ks_tdgst_frac(td, (int)dt);
	struct ks_tdgst_ctd *ctds = calloc(max, sizeof(*ctds));

	if (ctds == NULL) {
		b->failed = true;
		return;
	}
	used = n = ks_tdgst_ctds(td, (int)dt, ctds, max);
	if (objdump)
		n = ks_tdgst_slots(td, (int)dt, ctds, max);
	ks_buf_adds(b, json ? "\"smplcnt\":" : "smplcnt=");
	put_u64(b, ks_tdgst_count(td, (int)dt));
	ks_buf_addf(b, json ? ",\"compcnt\":%u,\"maxctds\":%zu,\"nctds\":%zu" :
	                      ", compcnt=%u, maxctds=%zu, nctds=%zu",
	    ks_tdgst_compcnt(td, (int)dt), max, used);
	if (json)
		ks_buf_adds(b, ",\"ctds\":[");
	for (size_t i = 0; i < n; i++) {
		begin_item(b, i, json, objdump ? "ctd" : NULL, "mu");
		ks_q_print_fix(b, ctds[i].mu, frac);
		ks_buf_adds(b, json ? ",\"cnt\":" : ",cnt=");
		put_u64(b, ctds[i].cnt);
		ks_buf_addc(b, '}');
	}
	if (json)
		ks_buf_addc(b, ']');
	free(ctds);
}

/* Appends the members of one statistic's data; the caller adds the braces of JSON objects. */
static void
put_vsd(struct ks_buf *b, const void *vsd, size_t dsz, unsigned dt, unsigned voi_dt, bool json,
    bool objdump)
{
	if (ks_dtype_is_hist(dt)) {
		put_hist(b, vsd, dsz, dt, voi_dt, json, objdump);
	} else if (ks_dtype_is_tdgst(dt)) {
		put_tdgst(b, vsd, dt, json, objdump);
	} else {
		if (dt == VSD_DTYPE_VOISTATE)
			ks_buf_adds(b, json ? "\"prev\":" : "prev=");
		else if (json)
			ks_buf_adds(b, "\"val\":");
		put_value(b, voi_dt, ks_ldval(vsd, voi_dt));
	}
}

/* The parameters of a rendering besides the blob. */
struct ctx {
	struct ks_buf out;
	const struct ks_sb *sb;
	const struct statsblob_tpl *tpl; /* META: the template, else NULL */
	bool objdump;
};

/* Returns the name of a VOI; NULL if names are not wanted or it is empty, as those of several VOIs may be. */
static const char *
voi_name(const struct ctx *c, uint32_t i)
{
	const char *name = c->tpl != NULL ? c->tpl->voi_names[i] : NULL;

	return name != NULL && name[0] != '\0' ? name : NULL;
}

static void
put_name(struct ks_buf *b, const char *name)
{
	if (name != NULL)
		ks_json_string(b, name, strlen(name));
	else
		ks_buf_adds(b, "null");
}

static void
freeform_stat(struct ctx *c, uint32_t i, const struct ks_voi *voi, int st)
{
	const struct ks_vs *vs = ks_sb_vs(c->sb, voi, st);
	struct ks_buf *b = &c->out;

	if (vs->stype < 0 || vs->stype == VS_STYPE_VOISTATE) {
		if (!c->objdump)
			return;
	}
	ks_buf_addf(b, "\n\t\tvois[%u]stat[%d]: stype=", i, st);
	if (vs->stype < 0) {
		ks_buf_adds(b, "-1");
		return;
	}
	ks_buf_addf(b, "%s, errs=%u", ks_stypes[vs->stype], vs->errs);
	if (c->objdump)
		ks_buf_addf(b, ", flags=0x%04x, dtype=%s, dsz=%u, data_off=%u", vs->flags,
		    ks_dtypes[vs->dtype].name, vs->dsz, vs->data_off);
	ks_buf_adds(b, "\n\t\t\tvoistatdata: ");
	put_vsd(b, ks_sb_data(c->sb, vs), vs->dsz, vs->dtype, voi->dtype, false, c->objdump);
}

static void
freeform(struct ctx *c)
{
	const struct ks_sb *sb = c->sb;
	struct ks_buf *b = &c->out;
	uint32_t n = ks_sb_nvois(sb);

	ks_buf_addf(b, "struct statsblobv1@%p", (const void *)sb);
	if (c->objdump)
		ks_buf_addf(b, ", abi=%u, endian=%u, maxsz=%u, cursz=%u, created=%lld, "
		    "lastrst=%lld, flags=0x%04x, stats_off=%u, statsdata_off=%u",
		    sb->abi, sb->endian, sb->maxsz, sb->cursz, (long long)sb->created,
		    (long long)sb->lastrst, sb->flags, sb->stats_off, sb->statsdata_off);
	ks_buf_addf(b, ", tplhash=%u", sb->tplhash);
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(sb, i);
		const char *name = voi_name(c, i);

		if (voi->id < 0) {
			if (c->objdump)
				ks_buf_addf(b, "\n\tvois[%u]: id=-1", i);
			continue;
		}
		ks_buf_addf(b, "\n\tvois[%u]: id=%d, name=\"", i, voi->id);
		ks_buf_adds(b, name != NULL ? name : "");
		ks_buf_addc(b, '"');
		if (c->objdump)
			ks_buf_addf(b, ", flags=0x%04x, dtype=%s, voistatmaxid=%d, stats_off=%u",
			    voi->flags, ks_dtypes[voi->dtype].name, voi->maxstat, voi->stats_off);
		for (int st = 0; st <= voi->maxstat; st++)
			freeform_stat(c, i, voi, st);
	}
}

/* Returns whether something was written. */
static bool
json_stat(struct ctx *c, const struct ks_voi *voi, int st, bool first)
{
	const struct ks_vs *vs = ks_sb_vs(c->sb, voi, st);
	struct ks_buf *b = &c->out;

	if (!c->objdump && (vs->stype < 0 || vs->stype == VS_STYPE_VOISTATE))
		return false;
	if (!first)
		ks_buf_addc(b, ',');
	if (c->tpl != NULL && vs->stype >= 0)
		ks_buf_addf(b, "\"%s\":", ks_stypes[vs->stype]);
	else
		ks_buf_addf(b, "\"[%d]\":", st);
	if (vs->stype < 0) {
		ks_buf_adds(b, "{\"stype\":-1}");
		return true;
	}
	if (!c->objdump && (vs->flags & KS_VS_SET) == 0) {
		ks_buf_adds(b, "null");
		return true;
	}
	if (c->objdump)
		ks_buf_addf(b, "{\"stype\":\"%s\",\"errs\":%u,\"flags\":%u,\"dtype\":\"%s\","
		    "\"data_off\":%u,\"voistatdata\":{",
		    ks_stypes[vs->stype], vs->errs, vs->flags, ks_dtypes[vs->dtype].name,
		    vs->data_off);
	else
		ks_buf_addf(b, "{\"errs\":%u,", vs->errs);
	put_vsd(b, ks_sb_data(c->sb, vs), vs->dsz, vs->dtype, voi->dtype, true, c->objdump);
	ks_buf_adds(b, c->objdump ? "}}" : "}");
	return true;
}

static void
json_voi(struct ctx *c, uint32_t i)
{
	const struct ks_voi *voi = ks_sb_voi(c->sb, i);
	const char *name = voi_name(c, i);
	struct ks_buf *b = &c->out;
	bool first = true;

	if (name != NULL && voi->id >= 0)
		put_name(b, name);
	else
		ks_buf_addf(b, "\"[%u]\"", i);
	if (voi->id < 0) {
		ks_buf_adds(b, ":{\"id\":-1}");
		return;
	}
	ks_buf_adds(b, ":{");
	if (c->objdump) {
		ks_buf_addf(b, "\"id\":%d,\"name\":", voi->id);
		put_name(b, name);
		ks_buf_addf(b, ",\"flags\":%u,\"dtype\":\"%s\",\"voistatmaxid\":%d,\"stats_off\":%u,",
		    voi->flags, ks_dtypes[voi->dtype].name, voi->maxstat, voi->stats_off);
	}
	ks_buf_adds(b, "\"stats\":{");
	for (int st = 0; st <= voi->maxstat; st++) {
		if (json_stat(c, voi, st, first))
			first = false;
	}
	ks_buf_adds(b, "}}");
}

static void
json(struct ctx *c)
{
	const struct ks_sb *sb = c->sb;
	struct ks_buf *b = &c->out;
	uint32_t n = ks_sb_nvois(sb);
	bool first = true;

	ks_buf_addc(b, '{');
	if (c->objdump)
		ks_buf_addf(b, "\"abi\":%u,\"endian\":%u,\"maxsz\":%u,\"cursz\":%u,\"created\":%lld,"
		    "\"lastrst\":%lld,\"flags\":%u,\"stats_off\":%u,\"statsdata_off\":%u,",
		    sb->abi, sb->endian, sb->maxsz, sb->cursz, (long long)sb->created,
		    (long long)sb->lastrst, sb->flags, sb->stats_off, sb->statsdata_off);
	ks_buf_adds(b, "\"tplname\":");
	put_name(b, c->tpl != NULL ? c->tpl->name : NULL);
	ks_buf_addf(b, ",\"tplhash\":%u,\"vois\":{", sb->tplhash);
	for (uint32_t i = 0; i < n; i++) {
		if (ks_sb_voi(sb, i)->id < 0 && !c->objdump)
			continue;
		if (!first)
			ks_buf_addc(b, ',');
		first = false;
		json_voi(c, i);
	}
	ks_buf_adds(b, "}}");
}

/* Passes the text on; the first error counts. */
static int
deliver(struct ks_buf *out, struct sbuf *buf)
{
	if (out->failed && buf->s_error == 0)
		buf->s_error = ENOMEM;
	else if (out->len > 0)
		(void)stats_sbuf_bcat(buf, out->data, out->len);
	ks_buf_free(out);
	return stats_sbuf_error(buf);
}

int
stats_blob_tostr(struct statsblob *b, struct sbuf *buf, enum sb_str_fmt fmt, uint32_t flags)
{
	struct ctx c = { .out = KS_BUF_INIT, .sb = ks_sb(b),
		.objdump = (flags & SB_TOSTR_OBJDUMP) != 0 };
	bool meta = (flags & SB_TOSTR_META) != 0;

	if (!ks_sb_ok(c.sb) || buf == NULL || (unsigned)fmt >= SB_STRFMT_NUM_FMTS)
		return EINVAL;
	/* As in the reference, a template without VOIs is not rendered. */
	if (ks_sb_nvois(c.sb) == 0)
		return stats_sbuf_error(buf);
	if (meta) {
		ks_tpl_lock();
		c.tpl = ks_tpl_get(ks_tpl_by_hash(c.sb->tplhash));
		/* An unequal blob with an equal hash must not be shown with this template's names. */
		if (c.tpl == NULL || ks_sb_nvois(c.tpl->image) != ks_sb_nvois(c.sb)) {
			ks_tpl_unlock();
			return EINVAL;
		}
	}
	if (fmt == SB_STRFMT_JSON)
		json(&c);
	else
		freeform(&c);
	if (meta)
		ks_tpl_unlock();
	return deliver(&c.out, buf);
}

int
stats_voistatdata_tostr(const struct voistatdata *vsd, enum vsd_dtype voi_dtype,
    enum vsd_dtype vsd_dtype, size_t vsd_sz, enum sb_str_fmt fmt, struct sbuf *buf, int objdump)
{
	struct ks_buf out = KS_BUF_INIT;
	bool is_json = fmt == SB_STRFMT_JSON;

	if (vsd == NULL || buf == NULL || (unsigned)fmt >= SB_STRFMT_NUM_FMTS ||
	    !ks_dtype_is_voi(voi_dtype) || (unsigned)vsd_dtype >= VSD_NUM_DTYPES)
		return EINVAL;
	if (ks_dtype_is_hist(vsd_dtype)) {
		if (vsd_sz < (size_t)KS_HIST_HDR + ks_dtypes[vsd_dtype].stride ||
		    (vsd_sz - KS_HIST_HDR) % ks_dtypes[vsd_dtype].stride != 0)
			return EINVAL;
	} else if (ks_dtype_is_tdgst(vsd_dtype)) {
		if (ks_tdgst_check(vsd, vsd_sz, (int)vsd_dtype) != 0)
			return EINVAL;
	} else if (vsd_sz < ks_dtypes[vsd_dtype].size ||
	    (vsd_dtype != VSD_DTYPE_VOISTATE && vsd_dtype != voi_dtype)) {
		return EINVAL;
	}
	/* A simple value stands alone, everything else is an object. */
	if (ks_dtype_is_voi(vsd_dtype)) {
		put_value(&out, voi_dtype, ks_ldval(vsd, voi_dtype));
	} else {
		if (is_json)
			ks_buf_addc(&out, '{');
		put_vsd(&out, vsd, vsd_sz, vsd_dtype, voi_dtype, is_json, objdump != 0);
		if (is_json)
			ks_buf_addc(&out, '}');
	}
	return deliver(&out, buf);
}
