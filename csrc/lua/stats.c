/*
 * stats.c - blobs for Lua. A blob is a userdata whose payload is the blob itself: no
 * pointer to follow, nothing to free, and LuaJIT's FFI can be given it as it is.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"
#include "stats/template.h"

/* Every method has the blobs' metatable as its first upvalue: faster than by name. Of a closed blob nothing is left. */
static struct statsblob *
check_any_blob(lua_State *L, int i)
{
	void *p = lua_touserdata(L, i);

	if (p != NULL && lua_getmetatable(L, i)) {
		bool same = lua_topointer(L, -1) == lua_topointer(L, lua_upvalueindex(1));

		lua_pop(L, 1);
		if (same)
			return p;
	}
	luaL_argerror(L, i, "blob expected");
	__builtin_unreachable();
}

static struct statsblob *
check_blob(lua_State *L, int i)
{
	struct statsblob *sb = check_any_blob(L, i);

	if (sb->cursz == 0)
		(void)luaL_error(L, "the blob is closed");
	return sb;
}

/* The name of a VOI, in the blob's template; NULL if that is not in this process, or has changed since. */
static const char *
voi_name(const struct ks_sb *sb, int32_t id)
{
	struct statsblob_tpl *t;

	ks_tpl_lock();
	t = ks_tpl_get(ks_tpl_by_hash(sb->tplhash));
	ks_tpl_unlock(); /* a template and its names stay */
	return t != NULL ? t->voi_names[id] : NULL;
}

/* The ID of a VOI of the blob at index 1: a number, or a name of its template, in capitals or small letters. */
static int32_t
check_id(lua_State *L, int i)
{
	const struct ks_sb *sb = lua_touserdata(L, 1);
	const char *name;
	lua_Number id;

	if (lua_type(L, i) == LUA_TSTRING && !lua_isnumber(L, i)) {
		for (int32_t voi = 0; voi < (int32_t)ks_sb_nvois(sb); voi++) {
			name = voi_name(sb, voi);
			if (name != NULL && strcasecmp(name, lua_tostring(L, i)) == 0)
				return voi;
		}
		lua_pushfstring(L, "no value of interest is named '%s'", lua_tostring(L, i));
		luaL_argerror(L, i, lua_tostring(L, -1));
	}
	id = luaL_checknumber(L, i);
	ks_lua_checkwhole(L, id, i);
	return id >= 0 && id <= INT16_MAX ? (int32_t)id : -1;
}

/* id = blob:id(voi) */
static int
blob_id(lua_State *L)
{
	(void)check_blob(L, 1);
	lua_pushinteger(L, check_id(L, 2));
	return 1;
}

/* blob:close(): its memory is Lua's */
static int
blob_close(lua_State *L)
{
	struct statsblob *sb = check_any_blob(L, 1);

	sb->abi = 0; /* so that an update through the FFI is refused, too */
	sb->cursz = 0;
	return 0;
}

/* A new blob of size bytes on the stack, not yet initialised. */
static struct statsblob *
new_blob(lua_State *L, size_t size)
{
#if LUA_VERSION_NUM >= 504
	struct statsblob *sb = lua_newuserdatauv(L, size, 0);
#else
	struct statsblob *sb = lua_newuserdata(L, size);
#endif

	memset(sb, 0, size);
	sb->maxsz = (uint16_t)size;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_setmetatable(L, -2);
	return sb;
}

/* blob = blob(slot) */
static int
blob_new(lua_State *L)
{
	uint32_t slot = (uint32_t)ks_lua_checkinteger(L, 1);
	size_t size;
	int err = stats_tpl_blobsize(slot, &size);

	if (err == 0)
		err = stats_blob_init(new_blob(L, size), slot, 0);
	return err == 0 ? 1 : ks_lua_failerrno(L, err, "blob");
}

/* blob = from_bytes(s) */
static int
blob_from_bytes(lua_State *L)
{
	size_t len;
	const char *s = luaL_checklstring(L, 1, &len);
	int err = stats_blob_check(s, len);
	struct statsblob *sb;

	if (err == EOPNOTSUPP)
		return ks_lua_failerrno(L, err, "blob of another byte order or version");
	if (err != 0 || ks_sb((const void *)s)->cursz != len)
		return ks_lua_failerrno(L, EINVAL, "not a blob");
	sb = new_blob(L, len);
	memcpy(sb, s, len);
	sb->maxsz = (uint16_t)len;
	return 1;
}

/* Scripts call this for each event, so it makes as few calls into Lua as possible. */
static int
update(lua_State *L, bool rel)
{
	struct statsblob *sb = lua_touserdata(L, 1);
	int32_t id = -1;
	int err = 0, whole = 0;

	lua_settop(L, 3);
	if (sb == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1)) || sb->cursz == 0)
		(void)check_blob(L, 1);
	if (lua_type(L, 2) == LUA_TSTRING) {
		lua_pushinteger(L, check_id(L, 2));
		lua_replace(L, 2);
	}
#if KS_LUA_INTEGERS
	{
		lua_Integer v, i = lua_tointegerx(L, 2, &whole);

		if (whole && i >= 0 && i <= INT16_MAX)
			id = (int32_t)i;
		v = lua_tointegerx(L, 3, &whole);
		if (whole)
			err = stats_voi_update_int(sb, id, (int64_t)v, rel);
	}
#else
	id = check_id(L, 2);
#endif
	if (!whole)
		err = stats_voi_update_dbl(sb, id, (double)luaL_checknumber(L, 3), rel);
	if (err == 0) {
		lua_pushboolean(L, 1);
		return 1;
	}
	(void)check_id(L, 2); /* a wrong ID is reported before a wrong value */
	if (err == EINVAL)
		return luaL_error(L, "no such VOI, or not one for this update");
	return ks_lua_failerrno(L, err, "value");
}

static int
blob_update(lua_State *L)
{
	return update(L, false);
}

static int
blob_add(lua_State *L)
{
	return update(L, true);
}

/* nil, message, errno = blob:failed(errno): what an update through the FFI returned */
static int
blob_failed(lua_State *L)
{
	return ks_lua_failerrno(L, (int)ks_lua_checkinteger(L, 2), "value");
}

static void
push_value(lua_State *L, unsigned dt, uint64_t w)
{
	if (ks_dtypes[dt].is_q)
		lua_pushnumber(L, (lua_Number)ks_q_double(dt, w));
	else if (ks_dtypes[dt].is_signed)
		ks_lua_pushi64(L, (int64_t)w);
	else
		ks_lua_pushu64(L, w);
}

static void
push_hist(lua_State *L, const void *hist, size_t size, unsigned dt, unsigned voi_dt)
{
	unsigned n = ks_hist_nbkts(dt, size);

	lua_createtable(L, (int)n, 1);
	ks_lua_setu64(L, "oob", ks_hist_oob(hist, dt));
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);

		lua_createtable(L, 0, 3);
		push_value(L, voi_dt, ks_ldval(b, voi_dt));
		lua_setfield(L, -2, "lb");
		if (ks_dtype_is_dr(dt) || (ks_dtype_is_cr(dt) && i + 1 < n)) {
			b = ks_dtype_is_dr(dt) ? b + 8 : ks_hist_bkt(hist, dt, i + 1);
			push_value(L, voi_dt, ks_ldval(b, voi_dt));
			lua_setfield(L, -2, "ub");
		}
		ks_lua_setu64(L, "cnt", ks_hist_cnt(hist, dt, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
}

static void
push_tdgst(lua_State *L, const void *td, unsigned dt)
{
	size_t max = ks_tdgst_maxctds(td, (int)dt), n;
	unsigned frac = ks_tdgst_frac(td, (int)dt);
	struct ks_tdgst_ctd *ctds = lua_newuserdata(L, (max + 1) * sizeof(*ctds));

	n = ks_tdgst_ctds(td, (int)dt, ctds, max);
	lua_createtable(L, (int)n, 4);
	ks_lua_setu64(L, "smplcnt", ks_tdgst_count(td, (int)dt));
	ks_lua_setu64(L, "compcnt", ks_tdgst_compcnt(td, (int)dt));
	ks_lua_setu64(L, "maxctds", max);
	for (size_t i = 0; i < n; i++) {
		lua_createtable(L, 0, 2);
		ks_lua_setnumber(L, "mu", (lua_Number)ldexp((double)ctds[i].mu, -(int)frac));
		ks_lua_setu64(L, "cnt", ctds[i].cnt);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_remove(L, -2);
}

static void
push_vsd(lua_State *L, const void *vsd, size_t size, unsigned dtype, unsigned voi_dtype)
{
	luaL_checkstack(L, 6, NULL);
	if (ks_dtype_is_hist(dtype))
		push_hist(L, vsd, size, dtype, voi_dtype);
	else if (ks_dtype_is_tdgst(dtype))
		push_tdgst(L, vsd, dtype);
	else
		push_value(L, voi_dtype, ks_ldval(vsd, voi_dtype));
}

/* A statistic's value: MAX and MIN that saw nothing have none, nor has one that is not there. */
static void
push_stat(lua_State *L, const struct ks_sb *sb, const struct ks_voi *voi, const struct ks_vs *vs)
{
	if (vs == NULL || ((vs->stype == VS_STYPE_MAX || vs->stype == VS_STYPE_MIN) && (vs->flags & KS_VS_SET) == 0))
		lua_pushnil(L);
	else
		push_vsd(L, ks_sb_data(sb, vs), vs->dsz, vs->dtype, voi->dtype);
}

/* The statistic named at index i + 1 of the VOI at index i, which is stored in *voi; NULL: there is none. */
static const struct ks_vs *
find_stat(lua_State *L, const struct ks_sb *sb, int i, const struct ks_voi **voi)
{
	const struct ks_vs *vs = NULL;
	const char *stat;

	*voi = ks_sb_find(sb, check_id(L, i));
	stat = luaL_checkstring(L, i + 1);
	for (int st = 0; *voi != NULL && st < VS_NUM_STYPES; st++) {
		if (strcasecmp(ks_stypes[st], stat) == 0)
			vs = ks_sb_find_vs(sb, *voi, st);
	}
	return vs;
}

/* value, errs = blob:fetch(id, stat) */
static int
blob_fetch(lua_State *L)
{
	const struct ks_sb *sb = ks_sb(check_blob(L, 1));
	const struct ks_voi *voi;
	const struct ks_vs *vs = find_stat(L, sb, 2, &voi);

	if (vs == NULL)
		return ks_lua_failerrno(L, EINVAL, "no such statistic");
	push_stat(L, sb, voi, vs);
	lua_pushinteger(L, vs->errs);
	return 2;
}

/* list, oob = blob:counts(id): those of the histogram's buckets, and of values out of all buckets */
static int
blob_counts(lua_State *L)
{
	const struct ks_sb *sb = ks_sb(check_blob(L, 1));
	const struct ks_voi *voi = ks_sb_find(sb, check_id(L, 2));
	const struct ks_vs *vs = voi != NULL ? ks_sb_find_vs(sb, voi, VS_STYPE_HIST) : NULL;
	const void *hist;
	unsigned n;

	if (vs == NULL)
		return ks_lua_failerrno(L, EINVAL, "no such statistic");
	hist = ks_sb_data(sb, vs);
	n = ks_hist_nbkts(vs->dtype, vs->dsz);
	lua_createtable(L, (int)n, 0);
	for (unsigned i = 0; i < n; i++) {
		ks_lua_pushu64(L, ks_hist_cnt(hist, vs->dtype, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
	ks_lua_pushu64(L, ks_hist_oob(hist, vs->dtype));
	return 2;
}

struct rows {
	lua_State *L;
	const struct ks_sb *sb;
	int n;
};

static int
add_row(struct sb_visit *v, void *ctx)
{
	struct rows *r = ctx;
	lua_State *L = r->L;
	const struct ks_voi *voi = ks_sb_voi(r->sb, (uint32_t)v->voi_id);

	if (v->vs_stype == VS_STYPE_VOISTATE)
		return 0;
	lua_pushinteger(L, v->voi_id);
	lua_rawseti(L, -2, ++r->n);
	lua_pushstring(L, ks_stypes[v->vs_stype]);
	lua_rawseti(L, -2, ++r->n);
	push_stat(L, r->sb, voi, ks_sb_find_vs(r->sb, voi, v->vs_stype));
	lua_rawseti(L, -2, ++r->n);
	lua_createtable(L, 0, 6);
	lua_pushstring(L, voi_name(r->sb, v->voi_id));
	lua_setfield(L, -2, "name");
	ks_lua_setstring(L, "voi_type", ks_dtypes[v->voi_dtype].name);
	ks_lua_setstring(L, "type", ks_dtypes[v->vs_dtype].name);
	ks_lua_setinteger(L, "size", v->vs_dsz);
	ks_lua_setinteger(L, "errors", v->vs_errs);
	ks_lua_setinteger(L, "flags", v->flags);
	lua_rawseti(L, -2, ++r->n);
	return 0;
}

/* list = blob:rows(): voi, stat, value or nil, { name =, voi_type =, type =, size =, errors =, flags = }, ... */
static int
blob_rows(lua_State *L)
{
	struct statsblob *sb = check_blob(L, 1);
	struct rows r = { L, ks_sb(sb), 0 };

	lua_newtable(L);
	(void)stats_blob_visit(sb, add_row, &r);
	return 1;
}

/* copy = blob:copy(reset) */
static int
blob_copy(lua_State *L)
{
	struct statsblob *sb = check_blob(L, 1), *to;
	bool reset = lua_toboolean(L, 2);
	int err;

	to = new_blob(L, sb->cursz);
	err = stats_blob_snapshot(&to, sb->cursz, sb, reset ? SB_CLONE_RSTSRC : 0);
	return err == 0 ? 1 : ks_lua_failerrno(L, err, "snapshot");
}

static int
blob_reset(lua_State *L)
{
	(void)stats_blob_reset(check_blob(L, 1));
	lua_settop(L, 1);
	return 1;
}

static int
blob_merge(lua_State *L)
{
	struct statsblob *dst = check_blob(L, 1);
	const struct statsblob *src = check_blob(L, 2);
	int err;

	luaL_argcheck(L, dst != src, 2, "a blob cannot be merged with itself");
	err = stats_blob_merge(dst, src);
	if (err != 0)
		return ks_lua_failerrno(L, err, err == EINVAL ? "blobs of different templates" : "merge");
	lua_settop(L, 1);
	return 1;
}

/* The number that is the result, or nil, message, errno. */
static int
number_result(lua_State *L, int err, const char *what, double number)
{
	if (err != 0)
		return ks_lua_failerrno(L, err, what);
	lua_pushnumber(L, (lua_Number)number);
	return 1;
}

/* The share of values at index 3. */
static double
check_share(lua_State *L)
{
	double q = (double)luaL_checknumber(L, 3);

	luaL_argcheck(L, q >= 0 && q <= 1, 3, "not in 0..1");
	return q;
}

/* value, err = blob:quantile(id, q) */
static int
blob_quantile(lua_State *L)
{
	const struct statsblob *sb = check_blob(L, 1);
	int32_t id = check_id(L, 2);
	double value = 0, e = 0;
	int err = stats_voi_quantile(sb, id, check_share(L), &value, &e);
	int n = number_result(L, err, "quantile", value);

	return n == 1 && !isnan(e) ? 1 + number_result(L, 0, NULL, e) : n;
}

/* share = blob:rank_error(id, q) */
static int
blob_rank_error(lua_State *L)
{
	const struct statsblob *sb = check_blob(L, 1);
	int32_t id = check_id(L, 2);
	double share = 0;
	int err = stats_voi_rank_error(sb, id, check_share(L), &share);

	return number_result(L, err, "rank_error", share);
}

static int
blob_cdf(lua_State *L)
{
	const struct statsblob *sb = check_blob(L, 1);
	int32_t id = check_id(L, 2);
	double share = 0;
	int err = stats_voi_cdf(sb, id, (double)luaL_checknumber(L, 3), &share);

	return number_result(L, err, "cdf", share);
}

/* share = error_bound(nctds, samples, q) */
static int
error_bound(lua_State *L)
{
	lua_Integer n = ks_lua_checkinteger(L, 1);
	lua_Number samples = luaL_checknumber(L, 2);
	double q = (double)luaL_checknumber(L, 3);

	if (!(n > 0 && n <= UINT16_MAX))
		n = 0;
	if (!(samples >= 0 && samples < 0x1p64))
		samples = 0;
	lua_pushnumber(L, (lua_Number)stats_tdgst_error_bound((uint32_t)n, (uint64_t)samples, q));
	return 1;
}

static int
blob_count(lua_State *L)
{
	const struct statsblob *sb = check_blob(L, 1);
	uint64_t n;
	int err = stats_voi_count(sb, check_id(L, 2), &n);

	if (err != 0)
		return ks_lua_failerrno(L, err, "count");
	ks_lua_pushu64(L, n);
	return 1;
}

/* text = blob:text(json, objdump, meta [, id, stat]): of the blob, or of one statistic */
static int
blob_text(lua_State *L)
{
	struct statsblob *sb = check_blob(L, 1);
	enum sb_str_fmt fmt = lua_toboolean(L, 2) ? SB_STRFMT_JSON : SB_STRFMT_FREEFORM;
	uint32_t flags = (lua_toboolean(L, 3) ? SB_TOSTR_OBJDUMP : 0) |
	    (lua_toboolean(L, 4) ? SB_TOSTR_META : 0);
	const struct ks_voi *voi = NULL;
	const struct ks_vs *vs = lua_isnoneornil(L, 5) ? NULL : find_stat(L, ks_sb(sb), 5, &voi);

	if (vs == NULL && !lua_isnoneornil(L, 5))
		return ks_lua_failerrno(L, EINVAL, "no such statistic");
	/* In memory that Lua owns: what is pushed may raise an error. */
	for (size_t size = 4096;; size *= 4) {
		struct sbuf s;
		int err;

		(void)sbuf_new(&s, lua_newuserdata(L, size), size, SBUF_FIXEDLEN);
		err = vs == NULL ? stats_blob_tostr(sb, &s, fmt, flags) :
		    stats_voistatdata_tostr((void *)ks_sb_data(ks_sb(sb), vs), voi->dtype, vs->dtype, vs->dsz, fmt, &s, 0);
		if (err == 0) {
			lua_pushlstring(L, sbuf_data(&s), (size_t)sbuf_len(&s));
			return 1;
		}
		if (err != ENOMEM || size > ((size_t)1 << 28))
			return ks_lua_failerrno(L, err, err == EINVAL ? "no template for the blob" : "blob");
		lua_pop(L, 1);
	}
}

static int
blob_bytes(lua_State *L)
{
	const struct statsblob *sb = check_blob(L, 1);

	lua_pushlstring(L, (const char *)sb, sb->cursz);
	return 1;
}

static int
blob_hash(lua_State *L)
{
	ks_lua_pushu64(L, ks_sb(check_blob(L, 1))->tplhash);
	return 1;
}

static int
blob_tostring(lua_State *L)
{
	const struct statsblob *sb = check_any_blob(L, 1);

	lua_pushfstring(L, KS_LUA_BLOB ": %p, %d bytes", (const void *)sb, (int)sb->cursz);
	return 1;
}

void
ks_lua_add_stats(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__tostring", blob_tostring }, { "__close", blob_close }, { NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "blob", blob_new }, { "from_bytes", blob_from_bytes },
		{ "error_bound", error_bound }, { NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "update", blob_update }, { "add", blob_add }, { "fetch", blob_fetch },
		{ "counts", blob_counts }, { "failed", blob_failed },
		{ "rows", blob_rows }, { "copy", blob_copy }, { "reset", blob_reset },
		{ "merge", blob_merge }, { "quantile", blob_quantile }, { "cdf", blob_cdf },
		{ "rank_error", blob_rank_error },
		{ "count", blob_count }, { "text", blob_text }, { "bytes", blob_bytes },
		{ "hash", blob_hash }, { "id", blob_id }, { "close", blob_close }, { NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_BLOB, NULL, NULL, NULL);
	lua_newtable(L);
	lua_newtable(L);
	luaL_getmetatable(L, KS_LUA_BLOB);
	ks_lua_setclosures(L, -3, functions, 1);
	ks_lua_setclosures(L, -2, methods, 1);
	ks_lua_setclosures(L, -1, meta, 1);
	lua_pushvalue(L, -2);
	lua_setfield(L, -2, "__index");
	lua_setfield(L, -3, "metatable");
	lua_setfield(L, -2, "methods");
	ks_lua_setaddress(L, "update_dbl", (void (*)(void))stats_voi_update_dbl);
	ks_lua_setaddress(L, "update_int", (void (*)(void))stats_voi_update_int);
	ks_lua_setaddress(L, "update_uint", (void (*)(void))stats_voi_update_uint);
	ks_lua_setinteger(L, "EINVAL", EINVAL);
	lua_setfield(L, -2, "stats");
}
