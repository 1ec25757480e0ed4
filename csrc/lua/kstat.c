/*
 * kstat.c - one kstat as an object: of a live chain, of a sample, or of a difference. The first
 * holds the kstat's ID and finds it again after updates; the others refer to copies.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "chain/chain.h"
#include "chain/values.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

static const char *
semantic_type(uint8_t type)
{
	static const char *const names[] = { "unknown", "id", "count", "epoch", "duration",
		"accumulated time", "percent", "address", "celsius", "rpm", "volt", "watt", "ampere",
		"bytes", "bits", "state", "hertz", "flags", "limit" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

static int
kstat_meta(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	const kstat_t *ksp = ks_lua_head(L, u);
	const struct ks_meta *m;
	lua_Number scale;

	if (u->origin == KS_LUA_LIVE && u->chain->kc != NULL && u->ksp != NULL)
		ksp = u->ksp;
	m = ks_chain_meta(u->chain->kc, ksp, stat);
	if (m == NULL) {
		lua_pushnil(L);
		return 1;
	}
	scale = m->scale == 0 ? 1 : (lua_Number)m->scale;
	lua_createtable(L, 0, 5);
	lua_pushstring(L, ks_kind_name(m->kind));
	lua_setfield(L, -2, "kind");
	ks_lua_setstring(L, "type", semantic_type(m->type));
	ks_lua_setstring(L, "unit", m->unit != NULL ? m->unit : "");
	ks_lua_setnumber(L, "scale", m->flags & KSTAT2_NVMF_FRACT ? 1 / scale : scale);
	ks_lua_setstring(L, "description", m->desc != NULL ? m->desc : "");
	return 1;
}

static int
kstat_method_write(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	struct ks_values *values = &u->chain->values;
	kstat_t *ksp;

	luaL_argcheck(L, u->origin == KS_LUA_LIVE, 1, "a sample does not change");
	luaL_checktype(L, 2, LUA_TTABLE);
	ksp = ks_lua_findlive(L, u);
	if (ksp == NULL)
		return ks_lua_fail(L);
	values->n = 0;
	lua_pushnil(L);
	while (lua_next(L, 2) != 0) {
		struct ks_value v;

		luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, 2, "statistics have names");
		luaL_argcheck(L, ks_lua_tovalue(L, -1, &v), 2, "values are numbers or strings");
		if (ks_values_add(values, lua_tostring(L, -2), &v) != 0)
			return ks_lua_fail(L);
		lua_pop(L, 1);
	}
	if (ks_write_values(u->chain->kc, ksp, values->pair, values->n) < 0)
		return ks_lua_fail(L);
	lua_settop(L, 1);
	return 1;
}

/* --- differences ----------------------------------------------------------------- */

/* rate(kstat, statistic, ...) -> the rate of each, nil where there is none */
static int
kstat_rate(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkdiffering(L, 1);
	int i = 2, n = lua_gettop(L);
	struct ks_delta_cursor c;

	ks_delta_cursor_open(&c, &u->delta, u->chain->kc);
	luaL_checkstack(L, n, "too many statistics");
	do {
		double rate;

		if (ks_delta_rate(&c, luaL_checkstring(L, i), &rate))
			lua_pushnumber(L, rate);
		else
			lua_pushnil(L);
	} while (++i <= n);
	return i - 2;
}

/* Pushes the copy of the kstat at index 1 in a sample, which is [i] of its state. */
static int
push_end(lua_State *L, int i, struct ks_lua_sample *sample, const kstat_t *ksp)
{
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, -1, i);
	ks_lua_getuservalue(L, -1);
	ks_lua_pushsampled(L, -1, sample, ksp);
	return 1;
}

/* now(kstat), before(kstat): the two ends; before() is nil where everything since creation counts. */
static int
kstat_now(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkdiffering(L, 1);

	return push_end(L, 1, u->sample, u->delta.now);
}

static int
kstat_before(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkdiffering(L, 1);

	if (u->delta.prev != NULL)
		return push_end(L, 2, u->before, u->delta.prev);
	lua_pushnil(L);
	return 1;
}

/* --- fields ------------------------------------------------------------------------ */

static const char *
type_name(const kstat_t *k)
{
	static const char *const names[KSTAT_NUM_TYPES] = { "raw", "named", "intr", "io", "timer" };

	return k->ks_type < KSTAT_NUM_TYPES ? names[k->ks_type] : "unknown";
}

/* publisher, publisher_uid, publisher_pid: nil where there is none, or where it is not known any more. */
static void
push_publisher(lua_State *L, struct ks_lua_kstat *u, const char *what)
{
	struct ks_origin o;

	if (u->chain->kc == NULL || !ks_chain_publisher(u->chain->kc, ks_lua_head(L, u), &o))
		lua_pushnil(L);
	else if (*what == '\0')
		lua_pushstring(L, o.name);
	else if (strcmp(what, "_uid") == 0)
		lua_pushinteger(L, (lua_Integer)o.uid);
	else if (strcmp(what, "_pid") == 0 && o.pid != 0)
		lua_pushinteger(L, (lua_Integer)o.pid);
	else
		lua_pushnil(L);
}

static bool
is(const char *key, const char *name)
{
	return *key == *name && strcmp(key, name) == 0;
}

/* Pushes the field of this name; nil if it is not known of this kstat. False if there is no such field. */
static bool
push_field(lua_State *L, struct ks_lua_kstat *u, const char *key)
{
	const kstat_t *k = ks_lua_head(L, u);
	bool differs = u->origin == KS_LUA_DIFFERING && !u->delta.alone, was_read = k->ks_snaptime != 0;

	if (is(key, "module"))
		lua_pushstring(L, k->ks_module);
	else if (is(key, "instance"))
		lua_pushinteger(L, k->ks_instance);
	else if (is(key, "name"))
		lua_pushstring(L, k->ks_name);
	else if (is(key, "class"))
		lua_pushstring(L, k->ks_class);
	else if (is(key, "type"))
		lua_pushstring(L, type_name(k));
	else if (is(key, "crtime"))
		ks_lua_pushseconds(L, k->ks_crtime);
	else if (is(key, "crtime_ns"))
		ks_lua_pushi64(L, k->ks_crtime);
	else if (was_read && is(key, "snaptime"))
		ks_lua_pushseconds(L, k->ks_snaptime);
	else if (was_read && is(key, "snaptime_ns"))
		ks_lua_pushi64(L, k->ks_snaptime);
	else if (is(key, "writable"))
		lua_pushboolean(L, k->ks_flags & KSTAT_FLAG_WRITABLE);
	else if (is(key, "kid"))
		lua_pushinteger(L, k->ks_kid);
	else if (is(key, "flags"))
		lua_pushinteger(L, k->ks_flags);
	else if (is(key, "ndata"))
		lua_pushinteger(L, k->ks_ndata);
	else if (is(key, "publisher") || is(key, "publisher_uid") || is(key, "publisher_pid"))
		push_publisher(L, u, key + sizeof("publisher") - 1);
	else if (differs && is(key, "elapsed"))
		ks_lua_pushseconds(L, u->delta.elapsed);
	else if (differs && is(key, "elapsed_ns"))
		ks_lua_pushi64(L, u->delta.elapsed);
	else if (differs && is(key, "reset"))
		lua_pushboolean(L, u->delta.reset);
	else if (is(key, "snaptime") || is(key, "snaptime_ns") || is(key, "elapsed") || is(key, "elapsed_ns") ||
	    is(key, "reset"))
		lua_pushnil(L);
	else
		return false;
	return true;
}

/*
 * k.nread: a method, a field, or else the statistic of that name, as k:get() has it. Upvalue 1: the table of methods;
 * 2: a table, whose function `missing` is called with the kstat and a name that nothing has.
 */
static int
kstat_index(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);

	lua_settop(L, 2);
	lua_pushvalue(L, 2);
	lua_rawget(L, lua_upvalueindex(1));
	if (!lua_isnil(L, 3) || lua_type(L, 2) != LUA_TSTRING)
		return 1;
	if (push_field(L, u, lua_tostring(L, 2)))
		return 1;
	lua_getfield(L, lua_upvalueindex(1), "get");
	lua_pushvalue(L, 1);
	lua_pushvalue(L, 2);
	lua_call(L, 2, 1);
	if (lua_isnil(L, 4)) {
		lua_getfield(L, lua_upvalueindex(2), "missing");
		lua_pushvalue(L, 1);
		lua_pushvalue(L, 2);
		lua_call(L, 2, 0);
	}
	return 1;
}

static int
kstat_newindex(lua_State *L)
{
	(void)ks_lua_checkkstat(L, 1);
	return luaL_error(L, "kstats are written with k:write{statistic = value}");
}

static int
kstat_tostring(lua_State *L)
{
	const kstat_t *k = ks_lua_head(L, ks_lua_checkkstat(L, 1));

	lua_pushfstring(L, "%s:%d:%s", k->ks_module, k->ks_instance, k->ks_name);
	return 1;
}

void
ks_lua_add_kstat(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__newindex", kstat_newindex },
		{ "__tostring", kstat_tostring },
		{ NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "meta", kstat_meta },
		{ "write", kstat_method_write },
		{ "rate", kstat_rate },
		{ "now", kstat_now },
		{ "before", kstat_before },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_KSTAT, NULL, meta, NULL);
	luaL_getmetatable(L, KS_LUA_KSTAT);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "kstat_meta");
	lua_newtable(L);
	ks_lua_setfuncs(L, methods);
	lua_pushvalue(L, -1);
	lua_setfield(L, -4, "kstat_methods");
	lua_newtable(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, -5, "kstat_hooks");
	lua_pushcclosure(L, kstat_index, 2);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}
