/*
 * stats_template.c - statsblob templates for Lua: lua/kstat/stats.lua makes objects of it.
 * Templates are slot IDs here; nothing is owned. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "stats/abi.h"
#include "stats/q.h"
#include "stats/template.h"

#define MAX_SPECS 8 /* statistics of one VOI; there are five kinds */

/* Raises at whoever called the function of lua/kstat/stats.lua that called this one. */
static int
usage(lua_State *L, const char *format, ...)
{
	va_list ap;

	luaL_where(L, 2);
	va_start(ap, format);
	(void)lua_pushvfstring(L, format, ap);
	va_end(ap);
	lua_concat(L, 2);
	return lua_error(L);
}

/* The slot that is the result, or, if it is negative, nil, message, errno. */
static int
slot_result(lua_State *L, int slot, const char *what)
{
	if (slot < 0)
		return ks_lua_failerrno(L, -slot, what);
	lua_pushinteger(L, slot);
	return 1;
}

/* slot = tpl_alloc(name): of a new template, or the one that the process has by this name */
static int
tpl_alloc(lua_State *L)
{
	size_t len;
	const char *name = luaL_checklstring(L, 1, &len);
	int slot;

	if (strlen(name) != len)
		return usage(L, "bad argument #1 to 'template' (name contains a NUL byte)");
	slot = stats_tpl_alloc(name, 0);
	if (slot == -EEXIST)
		slot = stats_tpl_fetch_allocid(name, 0);
	return slot_result(L, slot, name);
}

/* slot = tpl_fetch(spec) */
static int
tpl_fetch(lua_State *L)
{
	size_t len;
	const char *spec = luaL_checklstring(L, 1, &len);

	return slot_result(L, stats_tpl_fetch_spec(spec, len), spec);
}

/* name, hash, size = tpl_info(slot) */
static int
tpl_info(lua_State *L)
{
	uint32_t slot = (uint32_t)ks_lua_checkinteger(L, 1), hash;
	char name[TPL_MAX_NAME_LEN + 1];
	size_t size;

	if (stats_tpl_id2name(slot, name, sizeof(name)) != 0 || stats_tpl_id2hash(slot, &hash) != 0 ||
	    stats_tpl_blobsize(slot, &size) != 0)
		return ks_lua_failerrno(L, ENOENT, "template");
	lua_pushstring(L, name);
	ks_lua_pushu64(L, hash);
	ks_lua_pushu64(L, size);
	return 3;
}

static int
index_of(lua_State *L, const char *s, const char *what, bool dtypes)
{
	int n = dtypes ? VSD_NUM_DTYPES : VS_NUM_STYPES;

	for (int i = 0; i < n; i++) {
		if (strcmp(s, dtypes ? ks_dtypes[i].name : ks_stypes[i]) == 0)
			return i;
	}
	return usage(L, "unknown %s '%s'", what, s);
}

/* A field that is a whole number from least to most; nil: dflt, if that is one. */
static uint64_t
field_count(lua_State *L, int t, const char *key, lua_Number least, lua_Number most,
    lua_Number dflt)
{
	lua_Number v = dflt;

	lua_getfield(L, t, key);
	if (lua_type(L, -1) == LUA_TNUMBER)
		v = lua_tonumber(L, -1);
	else if (!lua_isnil(L, -1))
		v = -1;
	if (!(v >= least && v <= most) || v != floor(v)) {
		lua_pushnumber(L, least);
		lua_pushnumber(L, most);
		usage(L, "%s must be a whole number from %s to %s", key, lua_tostring(L, -2),
		    lua_tostring(L, -1));
	}
	lua_pop(L, 1);
	return (uint64_t)v;
}

/* Pushes a field that every constructor makes a text; returns it. */
static const char *
field_text(lua_State *L, int t, const char *key)
{
	lua_getfield(L, t, key);
	if (lua_type(L, -1) != LUA_TSTRING)
		usage(L, "bad argument #4 to 'add_voi' (a statistic must come from a constructor)");
	return lua_tostring(L, -1);
}

#define FIELD_COUNT(L, t, key) field_count(L, t, key, 0, 0x1p53, -1)
#define FIELD_PREC(L, t, dflt) ((uint32_t)field_count(L, t, "prec", 0, 64, dflt))

/* A whole number as one of an integer type, widened; false if it is none of its values. */
static bool
integer_word(lua_State *L, unsigned dt, uint64_t *w)
{
	unsigned bits = ks_dtypes[dt].size * 8u - (ks_dtypes[dt].is_signed ? 1u : 0u);
	lua_Number v, most = (lua_Number)ldexp(1, (int)bits);

#if KS_LUA_INTEGERS
	if (lua_isinteger(L, -1)) {
		lua_Integer n = lua_tointeger(L, -1);

		*w = (uint64_t)n;
		if (bits >= 63)
			return n >= 0 || ks_dtypes[dt].is_signed;
		return n < ((lua_Integer)1 << bits) &&
		    n >= (ks_dtypes[dt].is_signed ? -((lua_Integer)1 << bits) : 0);
	}
#endif
	v = lua_tonumber(L, -1);
	if (v != floor(v) || !(v < most) || !(v >= (ks_dtypes[dt].is_signed ? -most : 0)))
		return false;
	*w = v < 0x1p63 ? (uint64_t)(int64_t)v : (uint64_t)v;
	return true;
}

/* The number on top as a bound of a VOI of type dt; prec for Q types. */
static uint64_t
bound(lua_State *L, const char *key, unsigned dt, unsigned prec)
{
	uint64_t w = 0;

	if (lua_type(L, -1) != LUA_TNUMBER)
		usage(L, "%s must be a number", key);
	if (ks_dtypes[dt].is_q) {
		unsigned ctl = ks_q_ctl(prec);
		double v = (double)lua_tonumber(L, -1);
		double scaled = rint(ldexp(v, (int)ks_q_frac(dt, ctl)));

		if (!(fabs(scaled) < 0x1p62) || !ks_q_word(dt, ctl, (int64_t)scaled, &w))
			usage(L, "%s is not a number of the type %s", key, ks_dtypes[dt].name);
	} else if (!integer_word(L, dt, &w)) {
		usage(L, "%s is not a whole number of the type %s", key, ks_dtypes[dt].name);
	}
	return w;
}

static uint64_t
field_bound(lua_State *L, int t, const char *key, unsigned dt, unsigned prec)
{
	uint64_t w;

	lua_getfield(L, t, key);
	w = bound(L, key, dt, prec);
	lua_pop(L, 1);
	return w;
}

/* What the constructors of one statistic point to. */
struct spec {
	struct vss_numeric_hlpr_info ni;
	struct vss_hist_hlpr_info hi;
	struct vss_tdgst_hlpr_info ti;
};

/* The buckets {lb, ub} of the list on top, in memory that the stack keeps. */
static void
user_buckets(lua_State *L, struct vss_hist_hlpr_info *hi, unsigned dt, unsigned prec)
{
	size_t n = ks_lua_rawlen(L, -1);
	struct vss_hist_bkt *b;
	int list = lua_gettop(L);

	if (n == 0 || n > KS_SB_MAX)
		usage(L, "buckets must be a list of 1 to 65535 pairs");
	b = lua_newuserdata(L, n * sizeof(*b));
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, list, (int)i + 1);
		if (!lua_istable(L, -1))
			usage(L, "a bucket must be a table");
		lua_rawgeti(L, -1, 1);
		b[i].lb = bound(L, "bucket", dt, prec);
		lua_rawgeti(L, -2, 2);
		b[i].ub = lua_isnil(L, -1) ? b[i].lb : bound(L, "bucket", dt, prec);
		lua_pop(L, 3);
	}
	hi->usr.bkts = b;
	hi->usr.nbkts = n;
}

/* A histogram's description at index t; may leave one value on the stack. */
static void
hist_spec(lua_State *L, int t, struct voistatspec *vss, struct vss_hist_hlpr_info *hi, unsigned dt)
{
	unsigned prec = FIELD_PREC(L, t, 0);
	const char *scheme;

	vss->hlpr = stats_vss_hist_hlpr;
	vss->hlprinfo = (struct vss_hlpr_info *)(void *)hi;
	vss->vs_dtype = (enum vsd_dtype)index_of(L, field_text(L, t, "hist"), "histogram", true);
	scheme = field_text(L, t, "scheme");
	lua_getfield(L, t, "lbound_inf");
	lua_getfield(L, t, "ubound_inf");
	hi->flags = (lua_toboolean(L, -2) ? VSD_HIST_LBOUND_INF : 0) |
	    (lua_toboolean(L, -1) ? VSD_HIST_UBOUND_INF : 0);
	if (strcmp(scheme, "USR") == 0) {
		hi->scheme = BKT_USR;
		lua_pop(L, 4);
		lua_getfield(L, t, "buckets");
		if (!lua_istable(L, -1))
			usage(L, "buckets must be a list of 1 to 65535 pairs");
		user_buckets(L, hi, dt, prec);
		return;
	}
	hi->lb = field_bound(L, t, "lb", dt, prec);
	hi->ub = field_bound(L, t, "ub", dt, prec);
	if (strcmp(scheme, "LIN") == 0) {
		hi->scheme = BKT_LIN;
		hi->lin.stepinc = FIELD_COUNT(L, t, "stepinc");
	} else if (strcmp(scheme, "EXP") == 0) {
		hi->scheme = BKT_EXP;
		hi->exp.stepbase = FIELD_COUNT(L, t, "stepbase");
		hi->exp.stepexp = FIELD_COUNT(L, t, "stepexp");
	} else if (strcmp(scheme, "LINEXP") == 0) {
		hi->scheme = BKT_LINEXP;
		hi->linexp.nlinsteps = FIELD_COUNT(L, t, "nlinsteps");
		hi->linexp.stepbase = FIELD_COUNT(L, t, "stepbase");
	} else {
		usage(L, "unknown scheme '%s'", scheme);
	}
	lua_pop(L, 4);
}

/* A statistic's description at index t; may leave one value on the stack. */
static void
statistic_spec(lua_State *L, int t, struct voistatspec *v, struct spec *info, unsigned dt)
{
	v->stype = (enum voi_stype)index_of(L, field_text(L, t, "stat"), "statistic", false);
	lua_pop(L, 1);
	if (v->stype == VS_STYPE_HIST) {
		hist_spec(L, t, v, &info->hi, dt);
	} else if (v->stype == VS_STYPE_TDGST) {
		v->vs_dtype = (enum vsd_dtype)index_of(L, field_text(L, t, "tdgst"), "digest", true);
		lua_pop(L, 1);
		info->ti.nctds = (uint32_t)field_count(L, t, "nctds", 1, KS_SB_MAX, 0);
		info->ti.prec = FIELD_PREC(L, t, -1);
		v->hlpr = stats_vss_tdgst_hlpr;
		v->hlprinfo = (struct vss_hlpr_info *)(void *)&info->ti;
	} else {
		info->ni.prec = FIELD_PREC(L, t, 16);
		v->hlpr = stats_vss_numeric_hlpr;
		v->hlprinfo = (struct vss_hlpr_info *)(void *)&info->ni;
	}
}

/* tpl_add(slot, id, name, dtype, specs, relupdate) */
static int
tpl_add(lua_State *L)
{
	uint32_t slot = (uint32_t)ks_lua_checkinteger(L, 1);
	lua_Number id = luaL_checknumber(L, 2);
	size_t len, n;
	const char *name = luaL_checklstring(L, 3, &len);
	int dt = index_of(L, luaL_checkstring(L, 4), "data type", true), ret;
	struct voistatspec vss[MAX_SPECS];
	struct spec info[MAX_SPECS];

	luaL_checktype(L, 5, LUA_TTABLE);
	if (!(id >= 0 && id <= INT16_MAX) || id != floor(id))
		return usage(L, "bad argument #1 to 'add_voi' (a whole number from 0 to 32767 expected)");
	if (strlen(name) != len)
		return usage(L, "bad argument #2 to 'add_voi' (name contains a NUL byte)");
	if (!ks_dtype_is_voi((unsigned)dt))
		return usage(L, "bad argument #3 to 'add_voi' (not the data type of a VOI)");
	n = ks_lua_rawlen(L, 5);
	if (n < 1 || n > MAX_SPECS)
		return usage(L, "bad argument #4 to 'add_voi' (1 to 8 statistics expected)");
	luaL_checkstack(L, 4 * MAX_SPECS, NULL);
	memset(vss, 0, sizeof(vss));
	memset(info, 0, sizeof(info));
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 5, (int)i + 1);
		if (!lua_istable(L, -1))
			return usage(L, "statistic %d must come from a constructor", (int)i + 1);
		statistic_spec(L, lua_gettop(L), &vss[i], &info[i], (unsigned)dt);
	}
	ret = ks_tpl_ensure_voistats(slot, (int32_t)id, name, (enum vsd_dtype)dt, (uint32_t)n, vss,
	    lua_toboolean(L, 6) ? SB_VOI_RELUPDATE : 0);
	if (ret == EOPNOTSUPP) {
		lua_pushnil(L);
		lua_pushfstring(L, "value of interest %d: the template has another one of this number; another layout "
		    "needs a template of another name", (int)id);
		lua_pushliteral(L, "EOPNOTSUPP");
		return 3;
	}
	if (ret != 0)
		return ks_lua_failerrno(L, ret, name);
	lua_pushboolean(L, 1);
	return 1;
}

/* list = rates(text): {{slot, percent}, ...} */
static int
parse_rates(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);
	/* An entry takes at least three bytes, "a=0": room that Lua owns, for what is pushed may raise an error. */
	struct stats_tpl_sample_rate *copy = lua_newuserdata(L, (len / 2 + 1) * sizeof(*copy));
	struct ks_rates r = { NULL, 0 };
	int err = ks_rates_parse(text, len, &r);

	if (err == 0 && r.n > 0)
		memcpy(copy, r.list, (size_t)r.n * sizeof(*copy));
	free(r.list);
	if (err != 0)
		return ks_lua_failerrno(L, err, "sampling rates");
	lua_newtable(L);
	for (int i = 0; i < r.n; i++) {
		lua_newtable(L);
		lua_pushinteger(L, copy[i].tpl_slot_id);
		lua_rawseti(L, -2, 1);
		lua_pushinteger(L, (lua_Integer)copy[i].tpl_sample_pct);
		lua_rawseti(L, -2, 2);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* slot = roll(list, seed); nil if none was selected */
static int
roll(lua_State *L)
{
	size_t len = 0, n;
	const char *seed = luaL_optlstring(L, 2, NULL, &len);
	struct stats_tpl_sample_rate *list;
	lua_Number sum = 0;
	int slot;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = ks_lua_rawlen(L, 1);
	if (n > INT16_MAX)
		return usage(L, "too many rates");
	list = lua_newuserdata(L, (n + 1) * sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		lua_Number id, pct;

		lua_rawgeti(L, 1, (int)i + 1);
		if (!lua_istable(L, -1))
			return usage(L, "rate %d must be {slot, percent}", (int)i + 1);
		lua_rawgeti(L, -1, 1);
		lua_rawgeti(L, -2, 2);
		id = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : -1;
		pct = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
		if (!(id >= 0 && id <= INT32_MAX) || id != floor(id) ||
		    stats_tpl_fetch((int)id, NULL) != 0)
			return usage(L, "rate %d: no such template", (int)i + 1);
		if (!(pct >= 0 && pct <= 100) || pct != floor(pct))
			return usage(L, "rate %d: a whole percentage from 0 to 100 expected", (int)i + 1);
		sum += pct;
		list[i].tpl_slot_id = (int32_t)id;
		list[i].tpl_sample_pct = (uint32_t)pct;
		lua_pop(L, 3);
	}
	if (sum > 100)
		return usage(L, "rates of more than 100 percent together");
	slot = stats_tpl_sample_rollthedice(list, (int)n, (void *)(uintptr_t)seed, len);
	if (slot < 0)
		lua_pushnil(L);
	else
		lua_pushinteger(L, slot);
	return 1;
}

void
ks_lua_add_stats_template(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "tpl_alloc", tpl_alloc },
		{ "tpl_fetch", tpl_fetch },
		{ "tpl_info", tpl_info },
		{ "tpl_add", tpl_add },
		{ "rates", parse_rates },
		{ "roll", roll },
		{ NULL, NULL }
	};

	ks_lua_addto(L, "stats", functions);
}
