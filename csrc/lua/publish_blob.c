/* publish_blob.c - publishing statsblobs; see publish.c. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "kstat_blob.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "provider/blob_layout.h"
#include "provider/provider.h"

/* blob(segment, module, instance, name, class, flags, slot, shards) -> kstat | nil, message, errno */
static int
blob_create(lua_State *L)
{
	struct ks_lua_segment *s = ks_lua_checksegment(L, 1);
	const char *module = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 4);
	const char *class_ = luaL_checkstring(L, 5);
	int instance = (int)ks_lua_checkinteger(L, 3);
	lua_Integer slot = ks_lua_checkinteger(L, 7), shards = ks_lua_checkinteger(L, 8);
	struct ks_lua_published *b = ks_lua_newpublished(L, s);

	luaL_argcheck(L, slot >= 0 && slot <= INT32_MAX, 7, "slot out of range");
	if (shards < 0 || shards > UINT16_MAX)
		shards = 0; /* refused as such */
	b->ksp = kstat_publish_statsblob(s->pub, module, instance, name, class_, (uint32_t)slot,
	    (uint_t)shards, (uchar_t)ks_lua_checkinteger(L, 6));
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

/* blob_describe(kstat, id, unit, desc) -> true | nil, message, errno */
static int
blob_describe(lua_State *L)
{
	return ks_lua_result(L, kstat_blob_describe(ks_lua_checkpublished(L, 1)->ksp,
	    (int32_t)ks_lua_checkinteger(L, 2), luaL_optstring(L, 3, NULL), luaL_optstring(L, 4, NULL)));
}

/* --- methods: closures over a copy of the kstat_blob_t, which outlives the kstat, and a table of names ------------ */

static kstat_blob_t *
this_blob(lua_State *L)
{
	return lua_touserdata(L, lua_upvalueindex(1));
}

/* The VOI at index 2, an ID or a name; -1 if there is none. */
static int32_t
check_voi(lua_State *L)
{
	lua_Number id;

	if (lua_type(L, 2) == LUA_TSTRING) {
		lua_pushvalue(L, 2);
		lua_rawget(L, lua_upvalueindex(2));
		id = lua_isnil(L, -1) ? -1 : lua_tonumber(L, -1);
		lua_pop(L, 1);
		for (lua_pushnil(L); id < 0 && lua_next(L, lua_upvalueindex(2)) != 0; lua_pop(L, 1))
			id = strcasecmp(lua_tostring(L, -2), lua_tostring(L, 2)) == 0 ? lua_tonumber(L, -1) : -1;
		lua_settop(L, 3);
	} else {
		id = luaL_checknumber(L, 2);
		ks_lua_checkwhole(L, id, 2);
	}
	return id >= 0 && id <= INT16_MAX ? (int32_t)id : -1;
}

static int
update(lua_State *L, bool rel)
{
	kstat_blob_t *b = this_blob(L);
	int32_t voi = check_voi(L);
	int rc;

#if KS_LUA_INTEGERS
	int whole;
	lua_Integer v = lua_tointegerx(L, 3, &whole);

	if (whole)
		rc = kstat_blob_update_int(b, voi, (int64_t)v, rel);
	else
#endif
		rc = kstat_blob_update_dbl(b, voi, (double)luaL_checknumber(L, 3), rel);
	if (rc != 0 && errno == EINVAL)
		return luaL_error(L, "%s", kstat_errmsg());
	return ks_lua_result(L, rc);
}

/* update(self, voi, v), add(self, voi, dv) */
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

/* merge(self, blob) */
static int
blob_merge(lua_State *L)
{
	const struct statsblob *from = luaL_checkudata(L, 2, KS_LUA_BLOB);

	return ks_lua_result(L, kstat_blob_merge(this_blob(L), from));
}

/* store(self, blob), reset(self) */
static int
blob_store(lua_State *L)
{
	const struct statsblob *from = luaL_checkudata(L, 2, KS_LUA_BLOB);

	return ks_lua_result(L, kstat_blob_store(this_blob(L), from));
}

static int
blob_reset(lua_State *L)
{
	return ks_lua_result(L, kstat_blob_store(this_blob(L), NULL));
}

/* bytes(self) -> the blob as it is now | nil, message, errno */
static int
blob_bytes(lua_State *L)
{
	struct statsblob *copy, *in_lua;
	size_t n = this_blob(L)->blob_size;

	/* Memory of Lua's own first: what comes after the copy cannot fail then. */
	in_lua = lua_newuserdata(L, n);
	if (kstat_blob_copy(this_blob(L), &copy) != 0)
		return ks_lua_fail(L);
	memcpy(in_lua, copy, n);
	stats_blob_destroy(copy);
	lua_pushlstring(L, (const char *)in_lua, n);
	return 1;
}

/* Pushes the IDs of the VOIs by name; of equal names the first. */
static void
push_ids(lua_State *L, const kstat_blob_t *b)
{
	const struct ks_blob_voi *vois = ks_blob_known_vois(b);

	lua_createtable(L, 0, (int)b->nvois);
	for (uint32_t i = b->nvois; i-- > 0;) {
		lua_pushinteger(L, vois[i].id);
		lua_setfield(L, -2, vois[i].name);
	}
}

/* blob_vois(kstat) -> {name = id}; before it is installed */
static int
blob_vois(lua_State *L)
{
	const struct ks_provider *p = (const struct ks_provider *)ks_lua_checkpublished(L, 1)->ksp;

	luaL_argcheck(L, p->blob != NULL, 1, "a statsblob expected");
	push_ids(L, p->blob);
	return 1;
}

/*
 * blob_methods(kstat, table) -> userdata | nil, message, errno: enters the methods into the table. The functions for
 * LuaJIT's FFI take the userdata.
 */
static int
blob_methods(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "update", blob_update }, { "add", blob_add }, { "merge", blob_merge },
		{ "store", blob_store }, { "reset", blob_reset }, { "bytes", blob_bytes }, { NULL, NULL }
	};
	kstat_blob_t *b = kstat_blob(ks_lua_checkpublished(L, 1)->ksp);

	luaL_checktype(L, 2, LUA_TTABLE);
	if (b == NULL)
		return ks_lua_fail(L);
	memcpy(lua_newuserdata(L, b->size), b, b->size);
	push_ids(L, b);
	ks_lua_setclosures(L, 2, methods, 2);
	lua_pop(L, 1);
	return 1;
}

void
ks_lua_add_publish_blob(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "blob", blob_create }, { "blob_describe", blob_describe },
		{ "blob_vois", blob_vois }, { "blob_methods", blob_methods }, { NULL, NULL }
	};

	ks_lua_addto(L, "publish", functions);
}
