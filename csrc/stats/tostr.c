/*
 * tostr.c - blobs as text: the free form and JSON of the manual page, with the error counts
 * the reference prints. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/number.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"

/* A rendering: its parameters besides the blob, and the text so far. */
struct ctx {
	struct ks_buf out;
	struct ks_json json;               /* which writes to `out`; not for the free form */
	bool is_json, objdump;
	const struct ks_sb *sb;
	const struct statsblob_tpl *tpl;   /* META: the template, else NULL */
};

/* Begins a member of either form; the free form has `before` in front of its name. */
static void
name_member(struct ctx *c, const char *before, const char *name)
{
	if (c->is_json) {
		ks_json_name(&c->json, name);
	} else {
		ks_buf_adds(&c->out, before);
		ks_buf_adds(&c->out, name);
		ks_buf_addc(&c->out, '=');
	}
}

/* Returns where the digits of a value go. */
static struct ks_buf *
begin_digits(struct ctx *c)
{
	return c->is_json ? ks_json_value(&c->json) : &c->out;
}

static void
put_value(struct ctx *c, unsigned dt, uint64_t v)
{
	struct ks_buf *b = begin_digits(c);
	char text[KS_NUMBER_MAX];

	if (ks_dtypes[dt].is_q)
		ks_q_print(b, dt, v);
	else
		ks_buf_add(b, text, ks_dtypes[dt].is_signed ? ks_format_i64(text, (int64_t)v) : ks_format_u64(text, v));
}

/* Adds a member of either form. */
static void
put_u64(struct ctx *c, const char *before, const char *name, uint64_t v)
{
	name_member(c, before, name);
	put_value(c, VSD_DTYPE_INT_U64, v);
}

/* Returns the greatest value of a VOI's type, in the precision of a given one. */
static uint64_t
greatest(unsigned dt, uint64_t like)
{
	if (ks_dtypes[dt].is_q)
		return ks_q_max(dt, (unsigned)(like & KS_Q_CTL));
	return UINT64_MAX >> (64 - ks_dtypes[dt].size * 8 + ks_dtypes[dt].is_signed);
}

/* Adds brackets that JSON alone has; name: of the member that they begin, or NULL. */
static void
json_bracket(struct ctx *c, const char *name, char bracket)
{
	if (!c->is_json)
		return;
	if (name != NULL)
		ks_json_name(&c->json, name);
	if (bracket == '[' || bracket == '{')
		ks_json_open(&c->json, bracket);
	else
		ks_json_close(&c->json, bracket);
}

/* Begins item i of a list. name: what items are called before their numbers, with objdump. */
static void
open_item(struct ctx *c, size_t i, const char *name)
{
	if (c->is_json) {
		ks_json_open(&c->json, '{');
		if (c->objdump)
			ks_json_i64_member(&c->json, name, (int64_t)i);
		return;
	}
	ks_buf_adds(&c->out, "\n\t\t\t\t");
	if (c->objdump)
		ks_buf_addf(&c->out, "%s[%zu].", name, i);
	ks_buf_addc(&c->out, '{');
}

static void
close_item(struct ctx *c)
{
	if (c->is_json)
		ks_json_close(&c->json, '}');
	else
		ks_buf_addc(&c->out, '}');
}

static void
put_hist(struct ctx *c, const void *hist, size_t dsz, unsigned dt, unsigned voi_dt)
{
	unsigned n = ks_hist_nbkts(dt, dsz);

	put_u64(c, "", "nbkts", n);
	put_u64(c, ", ", "oob", ks_hist_oob(hist, dt));
	json_bracket(c, "bkts", '[');
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *bkt = ks_hist_bkt(hist, dt, i);
		uint64_t lb = ks_ldval(bkt, voi_dt), ub = lb;

		if (ks_dtype_is_dr(dt))
			ub = ks_ldval(bkt + 8, voi_dt);
		else if (ks_dtype_is_cr(dt))
			ub = i + 1 < n ? ks_ldval(ks_hist_bkt(hist, dt, i + 1), voi_dt)
			               : greatest(voi_dt, lb);
		open_item(c, i, "bkt");
		name_member(c, "", "lb");
		put_value(c, voi_dt, lb);
		name_member(c, ",", "ub");
		put_value(c, voi_dt, ub);
		put_u64(c, ",", "cnt", ks_hist_cnt(hist, dt, i));
		close_item(c);
	}
	json_bracket(c, NULL, ']');
}

static void
put_tdgst(struct ctx *c, const void *td, unsigned dt)
{
	size_t max = ks_tdgst_maxctds(td, (int)dt), used, n;
	unsigned frac = ks_tdgst_frac(td, (int)dt);
	struct ks_tdgst_ctd *ctds = calloc(max, sizeof(*ctds));

	if (ctds == NULL) {
		c->out.failed = true;
		return;
	}
	used = n = ks_tdgst_ctds(td, (int)dt, ctds, max);
	if (c->objdump)
		n = ks_tdgst_slots(td, (int)dt, ctds, max);
	put_u64(c, "", "smplcnt", ks_tdgst_count(td, (int)dt));
	put_u64(c, ", ", "compcnt", ks_tdgst_compcnt(td, (int)dt));
	put_u64(c, ", ", "maxctds", max);
	put_u64(c, ", ", "nctds", used);
	json_bracket(c, "ctds", '[');
	for (size_t i = 0; i < n; i++) {
		open_item(c, i, "ctd");
		name_member(c, "", "mu");
		ks_q_print_fix(begin_digits(c), ctds[i].mu, frac);
		put_u64(c, ",", "cnt", ctds[i].cnt);
		close_item(c);
	}
	json_bracket(c, NULL, ']');
	free(ctds);
}

/* Appends the members of one statistic's data; the caller adds the braces of JSON objects. */
static void
put_vsd(struct ctx *c, const void *vsd, size_t dsz, unsigned dt, unsigned voi_dt)
{
	if (ks_dtype_is_hist(dt)) {
		put_hist(c, vsd, dsz, dt, voi_dt);
	} else if (ks_dtype_is_tdgst(dt)) {
		put_tdgst(c, vsd, dt);
	} else {
		if (dt == VSD_DTYPE_VOISTATE)
			name_member(c, "", "prev");
		else if (c->is_json)
			ks_json_name(&c->json, "val");
		put_value(c, voi_dt, ks_ldval(vsd, voi_dt));
	}
}

/* Returns the name of a VOI; NULL if names are not wanted or it is empty, as those of several VOIs may be. */
static const char *
voi_name(const struct ctx *c, uint32_t i)
{
	const char *name = c->tpl != NULL ? c->tpl->voi_names[i] : NULL;

	return name != NULL && name[0] != '\0' ? name : NULL;
}

/* --- the free form ------------------------------------------------------------------------------------- */

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
	put_vsd(c, ks_sb_data(c->sb, vs), vs->dsz, vs->dtype, voi->dtype);
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

/* --- JSON ---------------------------------------------------------------------------------------------- */

/* Adds a member that is a name, or null. */
static void
json_text(struct ks_json *j, const char *member, const char *name)
{
	ks_json_name(j, member);
	if (name != NULL)
		ks_json_string(j, name, strlen(name));
	else
		ks_json_word(j, "null");
}

/* Names a member of a list that is an object: by a name, or if that is NULL by its number. */
static void
json_numbered(struct ks_json *j, const char *name, unsigned i)
{
	char number[KS_NUMBER_MAX];

	(void)snprintf(number, sizeof(number), "[%u]", i);
	ks_json_name(j, name != NULL ? name : number);
}

static void
json_stat(struct ctx *c, const struct ks_voi *voi, int st)
{
	const struct ks_vs *vs = ks_sb_vs(c->sb, voi, st);
	struct ks_json *j = &c->json;

	if (!c->objdump && (vs->stype < 0 || vs->stype == VS_STYPE_VOISTATE))
		return;
	json_numbered(j, c->tpl != NULL && vs->stype >= 0 ? ks_stypes[vs->stype] : NULL, (unsigned)st);
	if (vs->stype >= 0 && !c->objdump && (vs->flags & KS_VS_SET) == 0) {
		ks_json_word(j, "null");
		return;
	}
	ks_json_open(j, '{');
	if (vs->stype < 0) {
		ks_json_i64_member(j, "stype", -1);
		ks_json_close(j, '}');
		return;
	}
	if (c->objdump)
		ks_json_string_member(j, "stype", ks_stypes[vs->stype]);
	ks_json_i64_member(j, "errs", vs->errs);
	if (c->objdump) {
		ks_json_i64_member(j, "flags", vs->flags);
		ks_json_string_member(j, "dtype", ks_dtypes[vs->dtype].name);
		ks_json_i64_member(j, "data_off", vs->data_off);
		ks_json_name(j, "voistatdata");
		ks_json_open(j, '{');
	}
	put_vsd(c, ks_sb_data(c->sb, vs), vs->dsz, vs->dtype, voi->dtype);
	if (c->objdump)
		ks_json_close(j, '}');
	ks_json_close(j, '}');
}

static void
json_voi(struct ctx *c, uint32_t i)
{
	const struct ks_voi *voi = ks_sb_voi(c->sb, i);
	const char *name = voi_name(c, i);
	struct ks_json *j = &c->json;

	json_numbered(j, voi->id >= 0 ? name : NULL, i);
	ks_json_open(j, '{');
	if (voi->id < 0) {
		ks_json_i64_member(j, "id", -1);
		ks_json_close(j, '}');
		return;
	}
	if (c->objdump) {
		ks_json_i64_member(j, "id", voi->id);
		json_text(j, "name", name);
		ks_json_i64_member(j, "flags", voi->flags);
		ks_json_string_member(j, "dtype", ks_dtypes[voi->dtype].name);
		ks_json_i64_member(j, "voistatmaxid", voi->maxstat);
		ks_json_i64_member(j, "stats_off", voi->stats_off);
	}
	ks_json_name(j, "stats");
	ks_json_open(j, '{');
	for (int st = 0; st <= voi->maxstat; st++)
		json_stat(c, voi, st);
	ks_json_close(j, '}');
	ks_json_close(j, '}');
}

static void
json(struct ctx *c)
{
	const struct ks_sb *sb = c->sb;
	struct ks_json *j = &c->json;
	uint32_t n = ks_sb_nvois(sb);

	ks_json_open(j, '{');
	if (c->objdump) {
		ks_json_i64_member(j, "abi", sb->abi);
		ks_json_i64_member(j, "endian", sb->endian);
		ks_json_i64_member(j, "maxsz", sb->maxsz);
		ks_json_i64_member(j, "cursz", sb->cursz);
		ks_json_i64_member(j, "created", sb->created);
		ks_json_i64_member(j, "lastrst", sb->lastrst);
		ks_json_i64_member(j, "flags", sb->flags);
		ks_json_i64_member(j, "stats_off", sb->stats_off);
		ks_json_i64_member(j, "statsdata_off", sb->statsdata_off);
	}
	json_text(j, "tplname", c->tpl != NULL ? c->tpl->name : NULL);
	ks_json_i64_member(j, "tplhash", sb->tplhash);
	ks_json_name(j, "vois");
	ks_json_open(j, '{');
	for (uint32_t i = 0; i < n; i++) {
		if (ks_sb_voi(sb, i)->id >= 0 || c->objdump)
			json_voi(c, i);
	}
	ks_json_close(j, '}');
	ks_json_close(j, '}');
}

/* --- both ---------------------------------------------------------------------------------------------- */

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
	struct ctx c = { .json.out = &c.out, .is_json = fmt == SB_STRFMT_JSON, .sb = ks_sb(b),
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
	if (c.is_json)
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
	struct ctx c = { .json.out = &c.out, .is_json = fmt == SB_STRFMT_JSON, .objdump = objdump != 0 };

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
		put_value(&c, voi_dtype, ks_ldval(vsd, voi_dtype));
	} else {
		json_bracket(&c, NULL, '{');
		put_vsd(&c, vsd, vsd_sz, vsd_dtype, voi_dtype);
		json_bracket(&c, NULL, '}');
	}
	return deliver(&c.out, buf);
}
