/*
 * core_statsvec.c - performs the operations of a file of statsblob vectors and prints what
 * came of each case, one JSON object a line; spec/core/stats_vectors_spec.lua compares. A case
 * runs in a process of its own, because templates live as long as the process does.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "base/buf.h"
#include "base/json.h"
#include "stats/abi.h"
#include "stats/template.h"

static struct ks_buf out;

/* --- reading JSON ---------------------------------------------------------------- */

static yajl_val
get(yajl_val v, const char *key)
{
	const char *path[] = { key, NULL };

	return yajl_tree_get(v, path, yajl_t_any);
}

/* A string's text; "" for anything else. */
static const char *
text_of(yajl_val v)
{
	return YAJL_IS_STRING(v) ? v->u.string : "";
}

static const char *
str(yajl_val v, const char *key)
{
	return YAJL_GET_STRING(get(v, key));
}

static long long
num(yajl_val v, const char *key, long long dflt)
{
	yajl_val n = get(v, key);

	return YAJL_IS_NUMBER(n) ? YAJL_GET_INTEGER(n) : dflt;
}

static bool
is_true(yajl_val v, const char *key)
{
	return YAJL_IS_TRUE(get(v, key));
}

/* A 64-bit value in decimal, negative ones wrapped. */
static uint64_t
u64(const char *s)
{
	return s[0] == '-' ? (uint64_t)strtoll(s, NULL, 10) : strtoull(s, NULL, 10);
}

static uint64_t
u64key(yajl_val v, const char *key)
{
	const char *s = str(v, key);

	return s != NULL ? u64(s) : 0;
}

static bool
has(yajl_val v, const char *key, const char *word)
{
	yajl_val a = get(v, key);

	for (size_t i = 0; YAJL_IS_ARRAY(a) && i < a->u.array.len; i++) {
		if (strcmp(text_of(a->u.array.values[i]), word) == 0)
			return true;
	}
	return false;
}

static int
dtype_of(const char *name)
{
	for (int i = 0; i < VSD_NUM_DTYPES; i++) {
		if (strcmp(ks_dtypes[i].name, name) == 0)
			return i;
	}
	return -1;
}

static int
stype_of(const char *name)
{
	for (int i = 0; i < VS_NUM_STYPES; i++) {
		if (strcmp(ks_stypes[i], name) == 0)
			return i;
	}
	return -1;
}

/* --- writing JSON ---------------------------------------------------------------- */

static const char *
err_name(int e)
{
	switch (e) {
	case 0: return "OK";
	case EINVAL: return "EINVAL";
	case ENOMEM: return "ENOMEM";
	case EEXIST: return "EEXIST";
	case ESRCH: return "ESRCH";
	case ENOENT: return "ENOENT";
	case EOVERFLOW: return "EOVERFLOW";
	case ERANGE: return "ERANGE";
	case EFBIG: return "EFBIG";
	case EOPNOTSUPP: return "EOPNOTSUPP";
	case EFTYPE: return "EFTYPE";
	case EAGAIN: return "EAGAIN";
	default: return "?";
	}
}

static void
put_str(const char *s, size_t n)
{
	ks_json_string(&(struct ks_json){ .out = &out }, s, n);
}

static void
put_err(int e)
{
	ks_buf_addf(&out, "{\"err\":\"%s\"", err_name(e));
}

static void
put_hex(const void *p, size_t n)
{
	const unsigned char *s = p;

	ks_buf_addc(&out, '"');
	for (size_t i = 0; i < n; i++)
		ks_buf_addf(&out, "%02x", s[i]);
	ks_buf_addc(&out, '"');
}

/* --- blobs by name --------------------------------------------------------------- */

static struct named {
	char name[16];
	struct statsblob *sb;
} blobs[16];
static int nblobs;

static void
name_blob(const char *name, struct statsblob *sb)
{
	for (int i = 0; i < nblobs; i++) {
		if (strcmp(blobs[i].name, name) == 0) {
			stats_blob_destroy(blobs[i].sb);
			blobs[i].sb = sb;
			return;
		}
	}
	if (nblobs == 16)
		abort();
	(void)snprintf(blobs[nblobs].name, sizeof(blobs[0].name), "%s", name);
	blobs[nblobs++].sb = sb;
}

static struct statsblob *
blob_of(yajl_val op)
{
	yajl_val v = get(op, "blob");
	const char *name = v == NULL ? "b" : YAJL_GET_STRING(v);

	for (int i = 0; name != NULL && i < nblobs; i++) {
		if (strcmp(blobs[i].name, name) == 0)
			return blobs[i].sb;
	}
	return NULL;
}

/* --- templates ------------------------------------------------------------------- */

static int
add_voi(int slot, yajl_val v)
{
	yajl_val stats = get(v, "stats"), dt = get(v, "dtype");
	size_t n = stats->u.array.len;
	struct voistatspec vss[8];
	struct vss_numeric_hlpr_info ni[8];
	struct vss_hist_hlpr_info hi[8];
	struct vss_tdgst_hlpr_info ti[8];
	struct vss_hist_bkt *bkts[8] = { NULL };
	int ret;

	memset(vss, 0, sizeof(vss));
	memset(hi, 0, sizeof(hi));
	for (size_t i = 0; i < n; i++) {
		yajl_val s = stats->u.array.values[i];
		const char *kind = str(s, "stat"), *scheme = str(s, "scheme");

		vss[i].stype = (enum voi_stype)stype_of(kind);
		if (strcmp(kind, "HIST") == 0) {
			vss[i].vs_dtype = (enum vsd_dtype)dtype_of(str(s, "hist"));
			vss[i].hlpr = stats_vss_hist_hlpr;
			vss[i].hlprinfo = (void *)&hi[i];
			hi[i].flags = (has(s, "flags", "LBOUND_INF") ? VSD_HIST_LBOUND_INF : 0) |
			    (has(s, "flags", "UBOUND_INF") ? VSD_HIST_UBOUND_INF : 0);
			hi[i].lb = u64key(s, "lb");
			hi[i].ub = u64key(s, "ub");
			if (strcmp(scheme, "LIN") == 0) {
				hi[i].scheme = BKT_LIN;
				hi[i].lin.stepinc = u64key(s, "stepinc");
			} else if (strcmp(scheme, "EXP") == 0) {
				hi[i].scheme = BKT_EXP;
				hi[i].exp.stepbase = u64key(s, "stepbase");
				hi[i].exp.stepexp = u64key(s, "stepexp");
			} else if (strcmp(scheme, "LINEXP") == 0) {
				hi[i].scheme = BKT_LINEXP;
				hi[i].linexp.stepbase = u64key(s, "stepbase");
				hi[i].linexp.nlinsteps = u64key(s, "nlinsteps");
			} else {
				yajl_val b = get(s, "bkts");

				hi[i].scheme = BKT_USR;
				hi[i].usr.nbkts = b->u.array.len;
				hi[i].usr.bkts = bkts[i] = calloc(b->u.array.len, sizeof(**bkts));
				for (size_t k = 0; k < b->u.array.len; k++) {
					yajl_val p = b->u.array.values[k];

					bkts[i][k].lb = u64(text_of(p->u.array.values[0]));
					bkts[i][k].ub = u64(text_of(p->u.array.values[1]));
				}
			}
		} else if (strcmp(kind, "TDGST") == 0) {
			vss[i].vs_dtype = (enum vsd_dtype)dtype_of(str(s, "tdgst"));
			vss[i].hlpr = stats_vss_tdgst_hlpr;
			vss[i].hlprinfo = (void *)&ti[i];
			ti[i].nctds = (uint32_t)num(s, "nctds", 0);
			ti[i].prec = (uint32_t)num(s, "prec", 0);
		} else {
			vss[i].hlpr = stats_vss_numeric_hlpr;
			if (get(s, "prec") != NULL) {
				ni[i].prec = (uint32_t)num(s, "prec", 0);
				vss[i].hlprinfo = (void *)&ni[i];
			}
		}
	}
	ret = stats_tpl_add_voistats((uint32_t)slot, (int32_t)num(v, "id", 0), str(v, "name"),
	    (enum vsd_dtype)(YAJL_IS_NUMBER(dt) ? YAJL_GET_INTEGER(dt)
	                                        : dtype_of(text_of(dt))),
	    (uint32_t)n, vss, is_true(v, "relupdate") ? SB_VOI_RELUPDATE : 0);
	for (size_t i = 0; i < n; i++)
		free(bkts[i]);
	return ret;
}

static uint32_t
slot_hash(long slot)
{
	uint32_t h = 0;

	(void)stats_tpl_id2hash((uint32_t)slot, &h);
	return h;
}

/* --- dumps ----------------------------------------------------------------------- */

static const char *const it_names[] = { "FIRST_CB", "LAST_CB", "FIRST_VOI", "LAST_VOI",
	"FIRST_VOISTAT", "LAST_VOISTAT", "NULLVOI", "NULLVOISTAT" };

static void
put_it_flags(uint32_t flags)
{
	bool first = true;

	ks_buf_addc(&out, '[');
	for (int i = 0; i < 8; i++) {
		if ((flags >> i & 1) == 0)
			continue;
		ks_buf_addf(&out, "%s\"%s\"", first ? "" : ",", it_names[i]);
		first = false;
	}
	ks_buf_addc(&out, ']');
}

struct visit {
	struct statsblob *sb;
	int n, stop;
};

static int
on_visit(struct sb_visit *v, void *ctx)
{
	struct visit *c = ctx;

	ks_buf_addf(&out, "%s{\"voi\":%d,\"voi_dtype\":\"%s\",\"stat\":\"%s\",\"dtype\":\"%s\","
	    "\"dsz\":%d,\"errs\":%u,\"data_off\":%td,\"flags\":",
	    c->n > 0 ? "," : "", v->voi_id, ks_dtypes[v->voi_dtype].name, ks_stypes[v->vs_stype],
	    ks_dtypes[v->vs_dtype].name, v->vs_dsz, v->vs_errs,
	    (char *)v->vs_data - (char *)c->sb);
	put_it_flags(v->flags);
	ks_buf_addc(&out, '}');
	return ++c->n == c->stop;
}

static void
put_visits(struct statsblob *sb, int stop, bool null_fn)
{
	struct visit c = { sb, 0, stop };
	size_t at = out.len;
	int err;

	ks_buf_adds(&out, "\"visits\":[");
	err = stats_blob_visit(sb, null_fn ? NULL : on_visit, &c);
	if (err != 0)
		out.len = at;
	else
		ks_buf_addf(&out, "],\"callbacks\":%d,", c.n);
	ks_buf_addf(&out, "\"err\":\"%s\"", err_name(err));
}

static void
put_value(unsigned dt, const void *p)
{
	uint64_t v = ks_ldval(p, dt);

	if (ks_dtypes[dt].is_signed)
		ks_buf_addf(&out, "\"%lld\"", (long long)v);
	else
		ks_buf_addf(&out, "\"%llu\"", (unsigned long long)v);
}

/* The typed functions themselves: one row a data type. */
static int
fetch_typed(struct statsblob *sb, int32_t voi, int stype, unsigned dt, void *v)
{
	enum voi_stype st = (enum voi_stype)stype;

	switch (dt) {
	case VSD_DTYPE_INT_S32: return stats_voistat_fetch_s32(sb, voi, st, v);
	case VSD_DTYPE_INT_U32: return stats_voistat_fetch_u32(sb, voi, st, v);
	case VSD_DTYPE_INT_S64: return stats_voistat_fetch_s64(sb, voi, st, v);
	case VSD_DTYPE_INT_U64: return stats_voistat_fetch_u64(sb, voi, st, v);
	case VSD_DTYPE_INT_SLONG: return stats_voistat_fetch_slong(sb, voi, st, v);
	case VSD_DTYPE_INT_ULONG: return stats_voistat_fetch_ulong(sb, voi, st, v);
	case VSD_DTYPE_Q_S32: return stats_voistat_fetch_sq32(sb, voi, st, v);
	case VSD_DTYPE_Q_U32: return stats_voistat_fetch_uq32(sb, voi, st, v);
	case VSD_DTYPE_Q_S64: return stats_voistat_fetch_sq64(sb, voi, st, v);
	default: return stats_voistat_fetch_uq64(sb, voi, st, v);
	}
}

static void
put_fetch(struct statsblob *sb, int32_t voi, int stype, unsigned dt)
{
	unsigned char v[8];
	int err = fetch_typed(sb, voi, stype, dt, v);

	put_err(err);
	if (err == 0) {
		ks_buf_adds(&out, ",\"value\":");
		put_value(dt, v);
	}
	ks_buf_addc(&out, '}');
}

static int
update_typed(struct statsblob *sb, int32_t voi, unsigned dt, uint64_t v, bool rel)
{
	switch (dt) {
#define UPD(d, sfx, type)                                                                 \
	case d:                                                                           \
		return rel ? stats_voi_update_rel_##sfx(sb, voi, (type)v)                 \
		           : stats_voi_update_abs_##sfx(sb, voi, (type)v)
	UPD(VSD_DTYPE_INT_S32, s32, int32_t);
	UPD(VSD_DTYPE_INT_U32, u32, uint32_t);
	UPD(VSD_DTYPE_INT_S64, s64, int64_t);
	UPD(VSD_DTYPE_INT_U64, u64, uint64_t);
	UPD(VSD_DTYPE_INT_SLONG, slong, long);
	UPD(VSD_DTYPE_INT_ULONG, ulong, unsigned long);
	UPD(VSD_DTYPE_Q_S32, sq32, s32q_t);
	UPD(VSD_DTYPE_Q_U32, uq32, u32q_t);
	UPD(VSD_DTYPE_Q_S64, sq64, s64q_t);
	default:
	UPD(VSD_DTYPE_Q_U64, uq64, u64q_t);
	}
}

/* The address, which no two runs share, becomes 0x0. */
static void
put_text(char *s)
{
	char *at = strstr(s, "struct statsblobv1@"), *end;

	if (at != NULL) {
		at += strlen("struct statsblobv1@");
		end = strchr(at, ',');
		memcpy(at, "0x0", 3);
		memmove(at + 3, end, strlen(end) + 1);
	}
	put_str(s, strlen(s));
}

static void
put_tostr(struct statsblob *sb, const char *key, enum sb_str_fmt fmt, uint32_t flags)
{
	struct sbuf *s = sbuf_new_auto();
	int err = stats_blob_tostr(sb, s, fmt, flags);

	(void)sbuf_finish(s);
	if (err == 0) {
		ks_buf_addf(&out, ",\"%s\":", key);
		put_text(sbuf_data(s));
	}
	sbuf_delete(s);
}

/* Members of a dump, without braces. */
static void
put_dump(struct statsblob *orig)
{
	struct statsblob *b = NULL;
	struct ks_sb *sb;
	bool first = true;

	if (stats_blob_clone(&b, 0, orig, SB_CLONE_ALLOCDST) != 0)
		abort();
	sb = ks_sb(b);
	sb->maxsz = ks_sb(orig)->maxsz;
	sb->created = sb->lastrst = 0;
	ks_buf_addf(&out, "\"tplhash\":\"%u\",\"cursz\":%u,\"stats_off\":%u,\"statsdata_off\":%u",
	    sb->tplhash, sb->cursz, sb->stats_off, sb->statsdata_off);
	put_tostr(b, "json", SB_STRFMT_JSON, 0);
	put_tostr(b, "json_meta", SB_STRFMT_JSON, SB_TOSTR_META);
	put_tostr(b, "json_objdump", SB_STRFMT_JSON, SB_TOSTR_OBJDUMP);
	put_tostr(b, "json_both", SB_STRFMT_JSON, SB_TOSTR_OBJDUMP | SB_TOSTR_META);
	put_tostr(b, "freeform", SB_STRFMT_FREEFORM, 0);
	put_tostr(b, "freeform_objdump", SB_STRFMT_FREEFORM, SB_TOSTR_OBJDUMP);
	ks_buf_adds(&out, ",\"fetch\":[");
	for (uint32_t i = 0; i < ks_sb_nvois(sb); i++) {
		const struct ks_voi *voi = ks_sb_voi(sb, i);

		for (int st = VS_STYPE_SUM; st <= VS_STYPE_MIN; st++) {
			if (ks_dtypes[voi->dtype].is_q || ks_sb_find(sb, (int32_t)i) == NULL ||
			    ks_sb_find_vs(sb, voi, st) == NULL)
				continue;
			ks_buf_addf(&out, "%s[%u,\"%s\",\"%s\",", first ? "" : ",", i, ks_stypes[st],
			    ks_dtypes[voi->dtype].name);
			first = false;
			put_value(voi->dtype, ks_sb_data(sb, ks_sb_vs(sb, voi, st)));
			ks_buf_addc(&out, ']');
		}
	}
	ks_buf_adds(&out, "],");
	put_visits(b, 0, false);
	ks_buf_adds(&out, ",\"blob_hex\":");
	put_hex(sb, sb->cursz);
	stats_blob_destroy(b);
}

/* --- operations ------------------------------------------------------------------ */

static void
op_update(yajl_val op, bool rel)
{
	struct statsblob *sb = blob_of(op);
	int32_t voi = (int32_t)num(op, "voi", 0);
	const char *dt = str(op, "dtype");
	unsigned d = dt != NULL ? (unsigned)dtype_of(dt) : ks_sb_voi(ks_sb(sb), (uint32_t)voi)->dtype;

	ks_buf_addf(&out, "\"%s\"", err_name(update_typed(sb, voi, d, u64key(op, "value"), rel)));
}

struct seq {
	struct statsblob *sb;
	int32_t voi;
	unsigned dt;
	bool rel;
	long ok, n, failed;
	struct ks_buf errors;
};

static void
seq_one(struct seq *s, uint64_t v)
{
	int err = update_typed(s->sb, s->voi, s->dt, v, s->rel);

	if (err == 0)
		s->ok++;
	else
		ks_buf_addf(&s->errors, "%s[%ld,\"%s\"]", s->failed++ > 0 ? "," : "", s->n,
		    err_name(err));
	s->n++;
}

static void
op_update_seq(yajl_val op, bool rel)
{
	struct seq s = { .sb = blob_of(op), .voi = (int32_t)num(op, "voi", 0), .rel = rel,
		.errors = KS_BUF_INIT };
	yajl_val values = get(op, "values"), gen = get(op, "gen");
	uint64_t rnd;
	long n;

	s.dt = ks_sb_voi(ks_sb(s.sb), (uint32_t)s.voi)->dtype;
	if (values != NULL) {
		for (size_t i = 0; i < values->u.array.len; i++)
			seq_one(&s, u64(text_of(values->u.array.values[i])));
	} else {
		const char *kind = str(gen, "kind");

		n = (long)num(gen, "n", 0);
		rnd = u64key(gen, "seed");
		for (long i = 0; i < n; i++) {
			if (strcmp(kind, "constant") == 0) {
				seq_one(&s, u64key(gen, "value"));
				continue;
			}
			if (strcmp(kind, "arith") == 0) {
				seq_one(&s, u64key(gen, "start") + (uint64_t)i * u64key(gen, "step"));
				continue;
			}
			rnd = rnd * 6364136223846793005u + 1442695040888963407u;
			if (strcmp(kind, "lcg_uniform") == 0) {
				seq_one(&s, u64key(gen, "lo") + (rnd >> 33) % u64key(gen, "span"));
			} else {
				uint64_t e = (rnd >> 58) % (uint64_t)num(gen, "maxbits", 1);

				seq_one(&s, (1ULL << e) + ((rnd >> 20) % (1ULL << e)));
			}
		}
	}
	if (s.failed == 0)
		ks_buf_adds(&out, "\"OK\"");
	else
		ks_buf_addf(&out, "{\"ok\":%ld,\"errors\":[%.*s]}", s.ok, (int)s.errors.len,
		    s.errors.data);
	ks_buf_free(&s.errors);
}

static void
op_clone(yajl_val op, bool snapshot)
{
	struct statsblob *src = is_true(op, "null_src") ? NULL : blob_of(op), *dst = NULL;
	bool alloc = is_true(op, "alloc");
	long long max = num(op, "dstmaxsz", 0);
	uint32_t flags = (alloc ? SB_CLONE_ALLOCDST : 0) |
	    (is_true(op, "reset") ? SB_CLONE_RSTSRC : 0) |
	    (has(op, "extra_flags", "USRDST") ? SB_CLONE_USRDST : 0) |
	    (has(op, "extra_flags", "USRDSTNOFAULT") ? SB_CLONE_USRDSTNOFAULT : 0);
	size_t room = (size_t)max < 64 ? 64 : (size_t)max;
	unsigned char *mem = NULL;
	uint16_t field = (uint16_t)num(op, "dst_maxsz_field", max);
	bool untouched = true;
	int err;

	if (!alloc && !is_true(op, "null_dst")) {
		mem = malloc(room);
		memset(mem, 0xaa, room);
		memcpy(mem + 4, &field, sizeof(field));
		dst = (void *)mem;
	}
	err = (snapshot ? stats_blob_snapshot : stats_blob_clone)(
	    is_true(op, "null_dstp") ? NULL : &dst, (size_t)max, src, flags);
	put_err(err);
	if (mem != NULL && (err == 0 || err == EOVERFLOW)) {
		ks_buf_adds(&out, ",\"dst_header_hex\":");
		put_hex(mem, 8);
	}
	for (size_t i = 8; mem != NULL && i < room; i++)
		untouched = untouched && mem[i] == 0xaa;
	if (err == EOVERFLOW)
		ks_buf_addf(&out, ",\"dst_rest_untouched\":%s", untouched ? "true" : "false");
	if (err == 0) {
		if (alloc)
			ks_buf_addf(&out, ",\"dst_maxsz\":%u", dst->maxsz);
		ks_buf_adds(&out, ",\"dump\":{");
		put_dump(dst);
		ks_buf_addc(&out, '}');
		name_blob(str(op, "as") != NULL ? str(op, "as") : "tmp", dst);
	} else {
		free(mem);
	}
	ks_buf_addc(&out, '}');
}

static void
op_tostr(yajl_val op)
{
	yajl_val f = get(op, "fmt");
	enum sb_str_fmt fmt = (enum sb_str_fmt)(YAJL_IS_NUMBER(f) ? YAJL_GET_INTEGER(f)
	    : strcmp(text_of(f), "JSON") == 0             ? SB_STRFMT_JSON
	                                                          : SB_STRFMT_FREEFORM);
	uint32_t flags = (has(op, "flags", "META") ? SB_TOSTR_META : 0) |
	    (has(op, "flags", "OBJDUMP") ? SB_TOSTR_OBJDUMP : 0);
	struct statsblob *orig = blob_of(op), *b = NULL;
	long len = (long)num(op, "buflen", -1);
	struct sbuf *s = len < 0 ? sbuf_new_auto() : sbuf_new(NULL, NULL, (size_t)len, SBUF_FIXEDLEN);
	int err;

	if (orig != NULL && stats_blob_clone(&b, 0, orig, SB_CLONE_ALLOCDST) == 0)
		ks_sb(b)->created = ks_sb(b)->lastrst = 0;
	err = stats_blob_tostr(b, is_true(op, "null_buf") ? NULL : s, fmt, flags);
	put_err(err);
	if (err == 0) {
		ks_buf_adds(&out, ",\"text\":");
		put_text(sbuf_data(s));
	}
	ks_buf_addc(&out, '}');
	sbuf_delete(s);
	stats_blob_destroy(b);
}

static void
op_vsd_tostr(yajl_val op)
{
	struct sbuf *s = sbuf_new_auto();
	struct voistatdata *vsd;
	enum vsd_dtype dt;
	size_t size;
	int err = stats_voistat_fetch_dptr(blob_of(op), (int32_t)num(op, "voi", 0),
	    (enum voi_stype)stype_of(str(op, "stat")), &dt, &vsd, &size);

	if (err == 0)
		err = stats_voistatdata_tostr(vsd, (enum vsd_dtype)dtype_of(str(op, "voi_dtype")), dt,
		    size, strcmp(str(op, "fmt"), "JSON") == 0 ? SB_STRFMT_JSON : SB_STRFMT_FREEFORM, s,
		    is_true(op, "objdump"));
	put_err(err);
	ks_buf_adds(&out, ",\"text\":");
	put_text(sbuf_data(s));
	ks_buf_addc(&out, '}');
	sbuf_delete(s);
}

/* The owner of a list of rates, as a user of the library would write one. */
static struct stats_tpl_sample_rate *rates;
static int nrates;
static int rates_locked;

static int
rates_cb(enum stats_tpl_sr_cb_action action, struct stats_tpl_sample_rate **list, int *n,
    void *ctx)
{
	struct stats_tpl_sample_rate *old = rates;
	int nold = nrates;

	(void)ctx;
	switch (action) {
	case TPL_SR_RLOCKED_GET:
		rates_locked++;
		/* FALLTHROUGH */
	case TPL_SR_UNLOCKED_GET:
		*list = rates;
		*n = nrates;
		return 0;
	case TPL_SR_RUNLOCK:
		rates_locked--;
		return 0;
	case TPL_SR_PUT:
		rates = *list;
		nrates = *n;
		*list = old;
		*n = nold;
		return 0;
	}
	return EINVAL;
}

static void
op_rates_set(yajl_val op)
{
	const char *p = str(op, "text"), *at;
	struct ks_buf text = KS_BUF_INIT;
	int err;

	/* "{hash:N}" stands for the hash of slot N, "\0" for a NUL byte. */
	while (*p != '\0') {
		if (strncmp(p, "{hash:", 6) == 0) {
			ks_buf_addf(&text, "%u", slot_hash(strtol(p + 6, NULL, 10)));
			at = strchr(p, '}');
			p = at + 1;
		} else if (p[0] == '\\' && p[1] == '0') {
			ks_buf_addc(&text, '\0');
			p += 2;
		} else {
			ks_buf_addc(&text, *p++);
		}
	}
	/* An exact copy, so that reading past its end is seen. */
	at = text.len > 0 ? memcpy(malloc(text.len), text.data, text.len) : malloc(1);
	err = stats_tpl_sample_rates(rates_cb, 0, NULL, NULL, at, text.len);
	free((void *)(uintptr_t)at);
	put_err(err);
	ks_buf_adds(&out, ",\"input\":");
	put_str(text.data != NULL ? text.data : "", text.len);
	ks_buf_adds(&out, ",\"rates\":[");
	for (int i = 0; i < nrates; i++)
		ks_buf_addf(&out, "%s[%d,%u]", i > 0 ? "," : "", rates[i].tpl_slot_id,
		    rates[i].tpl_sample_pct);
	ks_buf_adds(&out, "]}");
	ks_buf_free(&text);
}

static void
op_rates_get(void)
{
	size_t len = 0;
	char *buf;
	int err = stats_tpl_sample_rates(rates_cb, 16, NULL, &len, NULL, 0);

	buf = malloc(len);
	if (err == 0)
		err = stats_tpl_sample_rates(rates_cb, 16, buf, &len, NULL, 0);
	put_err(err);
	ks_buf_adds(&out, ",\"text\":");
	put_str(buf, len - 1);
	ks_buf_addf(&out, ",\"length_with_nul\":%zu,\"locked\":%d}", len, rates_locked);
	free(buf);
}

static void
op_rollthedice(yajl_val op)
{
	yajl_val r = get(op, "rates");
	struct stats_tpl_sample_rate list[16];
	const char *hex = str(op, "seed_hex");
	unsigned char seed[128];
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < r->u.array.len; i++) {
		yajl_val p = r->u.array.values[i];

		list[i].tpl_slot_id = (int32_t)YAJL_GET_INTEGER(p->u.array.values[0]);
		list[i].tpl_sample_pct = (uint32_t)YAJL_GET_INTEGER(p->u.array.values[1]);
	}
	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		seed[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	ks_buf_addf(&out, "{\"slot\":%d,\"seed_hash\":\"%u\"}",
	    stats_tpl_sample_rollthedice(list, (int)r->u.array.len, seed, n),
	    ks_tpl_hash32(0, seed, n));
}

static void
op_blob_init(yajl_val op)
{
	unsigned max = (unsigned)num(op, "maxsz", 0);
	struct statsblob *sb = NULL;
	int err;

	if (!is_true(op, "null_blob")) {
		sb = calloc(1, max < 8 ? 8 : max);
		sb->maxsz = (uint16_t)max;
	}
	err = stats_blob_init(sb, (uint32_t)num(op, "slot", 0), 0);
	put_err(err);
	if (err == 0)
		ks_buf_addf(&out, ",\"maxsz_after\":%u,\"cursz\":%u", sb->maxsz, sb->cursz);
	ks_buf_addc(&out, '}');
	if (err == 0)
		name_blob(str(op, "as") != NULL ? str(op, "as") : "b", sb);
	else
		free(sb);
}

static void
op_tpl(const char *name, yajl_val op)
{
	const char *tpl = str(op, "tplname"), *h;
	struct statsblob_tpl *t;
	char buf[128];
	uint32_t hash = 0;
	int slot = (int)num(op, "slot", 0), ret;

	if (strcmp(name, "tpl_alloc") == 0 || strcmp(name, "tpl_fetch_allocid") == 0) {
		h = str(op, "hash");
		if (h != NULL)
			hash = strncmp(h, "slot:", 5) == 0 ? slot_hash(atol(h + 5)) : (uint32_t)u64(h);
		ret = strcmp(name, "tpl_alloc") == 0 ? stats_tpl_alloc(tpl, 0)
		                                     : stats_tpl_fetch_allocid(tpl, hash);
		if (ret < 0)
			ks_buf_addf(&out, "{\"err\":\"-%s\"}", err_name(-ret));
		else
			ks_buf_addf(&out, "{\"slot\":%d}", ret);
	} else if (strcmp(name, "tpl_fetch") == 0) {
		ks_buf_addf(&out, "\"%s\"", err_name(stats_tpl_fetch(slot, &t)));
	} else if (strcmp(name, "tpl_hash") == 0) {
		ks_buf_addf(&out, "{\"hash\":\"%u\"}", slot_hash(slot));
	} else if (strcmp(name, "tpl_list") == 0) {
		struct sbuf *s = sbuf_new_auto();

		put_err(stats_tpl_list(s));
		ks_buf_adds(&out, ",\"text\":");
		put_text(sbuf_data(s));
		ks_buf_addc(&out, '}');
		sbuf_delete(s);
	} else {
		ret = stats_tpl_id2name((uint32_t)slot, is_true(op, "null_buf") ? NULL : buf,
		    (size_t)num(op, "len", 0));
		put_err(ret);
		if (ret == 0) {
			ks_buf_adds(&out, ",\"name\":");
			put_str(buf, strlen(buf));
		}
		ks_buf_addc(&out, '}');
	}
}

static void
op_other(const char *name, yajl_val op)
{
	struct statsblob *sb;

	if (strcmp(name, "add_voi") == 0) {
		ks_buf_addf(&out, "\"%s\"",
		    err_name(add_voi((int)num(op, "slot", 0), get(op, "voi"))));
	} else if (strcmp(name, "blob_alloc") == 0) {
		sb = stats_blob_alloc((uint32_t)num(op, "slot", 0), 0);
		ks_buf_addf(&out, "\"%s\"", sb != NULL ? "OK" : "NULL");
		if (sb != NULL)
			name_blob(str(op, "as") != NULL ? str(op, "as") : "b", sb);
	} else if (strcmp(name, "fetch") == 0) {
		put_fetch(blob_of(op), (int32_t)num(op, "voi", 0), stype_of(str(op, "stat")),
		    (unsigned)dtype_of(str(op, "as")));
	} else if (strcmp(name, "fetch_dptr") == 0) {
		struct voistatdata *vsd;
		enum vsd_dtype dt;
		size_t size;
		int err = stats_voistat_fetch_dptr(blob_of(op), (int32_t)num(op, "voi", 0),
		    (enum voi_stype)stype_of(str(op, "stat")), &dt,
		    is_true(op, "null_ret") ? NULL : &vsd, &size);

		put_err(err);
		if (err == 0)
			ks_buf_addf(&out, ",\"dtype\":\"%s\",\"dsz\":%zu,\"data_off\":%td",
			    ks_dtypes[dt].name, size, (char *)vsd - (char *)blob_of(op));
		ks_buf_addc(&out, '}');
	} else if (strcmp(name, "dump") == 0) {
		ks_buf_addc(&out, '{');
		put_dump(blob_of(op));
		ks_buf_addc(&out, '}');
	} else if (strcmp(name, "visit") == 0) {
		ks_buf_addc(&out, '{');
		put_visits(blob_of(op), (int)num(op, "stop_after", 0), is_true(op, "null_fn"));
		ks_buf_addc(&out, '}');
	} else if (strcmp(name, "sample_rates_size") == 0) {
		size_t len = 0;

		put_err(stats_tpl_sample_rates(rates_cb, 0, NULL, &len, NULL, 0));
		ks_buf_addf(&out, ",\"size\":%zu}", len);
	} else {
		ks_buf_addf(&out, "\"unknown operation %s\"", name);
	}
}

static void
perform(yajl_val op)
{
	const char *name = str(op, "op");

	if (strncmp(name, "tpl_", 4) == 0)
		op_tpl(name, op);
	else if (strcmp(name, "update_abs") == 0 || strcmp(name, "update_rel") == 0)
		op_update(op, name[7] == 'r');
	else if (strcmp(name, "update_abs_seq") == 0 || strcmp(name, "update_rel_seq") == 0)
		op_update_seq(op, name[7] == 'r');
	else if (strcmp(name, "snapshot") == 0 || strcmp(name, "clone") == 0)
		op_clone(op, name[0] == 's');
	else if (strcmp(name, "tostr") == 0)
		op_tostr(op);
	else if (strcmp(name, "vsd_tostr") == 0)
		op_vsd_tostr(op);
	else if (strcmp(name, "sample_rates_set") == 0)
		op_rates_set(op);
	else if (strcmp(name, "sample_rates_get") == 0)
		op_rates_get();
	else if (strcmp(name, "rollthedice") == 0)
		op_rollthedice(op);
	else if (strcmp(name, "blob_init") == 0)
		op_blob_init(op);
	else
		op_other(name, op);
}

static void
run(yajl_val c)
{
	yajl_val tpl = get(c, "template"), ops = get(c, "ops");
	const char *name = str(c, "name");
	int slot;

	ks_buf_adds(&out, "{\"name\":");
	put_str(name, strlen(name));
	if (tpl != NULL) {
		yajl_val vois = get(tpl, "vois");

		slot = stats_tpl_alloc(str(tpl, "name"), 0);
		for (size_t i = 0; i < vois->u.array.len; i++) {
			int err = add_voi(slot, vois->u.array.values[i]);

			if (err != 0)
				ks_buf_addf(&out, ",\"setup\":\"%s\"", err_name(err));
		}
		name_blob("b", stats_blob_alloc((uint32_t)slot, 0));
	}
	ks_buf_adds(&out, ",\"results\":[");
	for (size_t i = 0; ops != NULL && i < ops->u.array.len; i++) {
		if (i > 0)
			ks_buf_addc(&out, ',');
		perform(ops->u.array.values[i]);
	}
	ks_buf_addc(&out, ']');
	for (int i = 0; i < nblobs; i++) {
		if (strcmp(blobs[i].name, "b") == 0) {
			/* Whatever we make must pass as a blob from outside. */
			ks_buf_addf(&out, ",\"check\":\"%s\",",
			    err_name(stats_blob_check(blobs[i].sb, blobs[i].sb->cursz)));
			put_dump(blobs[i].sb);
		}
	}
	ks_buf_adds(&out, "}\n");
	if (out.failed)
		abort();
	(void)fwrite(out.data, 1, out.len, stdout);
	(void)fflush(stdout);
	for (int i = 0; i < nblobs; i++)
		stats_blob_destroy(blobs[i].sb);
	free(rates);
	ks_buf_free(&out);
}

int
main(int argc, char **argv)
{
	struct ks_buf text = KS_BUF_INIT;
	yajl_val root, cases;
	char err[256];
	int bad = 0;
	FILE *f;

	if (argc != 2 || (f = fopen(argv[1], "r")) == NULL)
		return 2;
	for (size_t n = 1; n > 0;) {
		char *to = ks_buf_room(&text, 65536);

		n = fread(to, 1, 65536, f);
		text.len += n;
	}
	(void)fclose(f);
	ks_buf_addc(&text, '\0');
	root = yajl_tree_parse(text.data, err, sizeof(err));
	if (root == NULL) {
		(void)fprintf(stderr, "%s\n", err);
		return 2;
	}
	cases = get(root, "cases");
	for (size_t i = 0; i < cases->u.array.len; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			run(cases->u.array.values[i]);
			yajl_tree_free(root);
			ks_buf_free(&text);
			exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
			(void)fprintf(stderr, "case %zu of %s ended with %#x\n", i, argv[1], status);
			bad = 1;
		}
	}
	yajl_tree_free(root);
	ks_buf_free(&text);
	return bad;
}
