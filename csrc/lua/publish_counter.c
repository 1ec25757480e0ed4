/*
 * publish_counter.c - counters of published kstats: functions that hold the address of their cell; see
 * publish.c. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/publish.h"
#include "lua/value.h"
#include "provider/segment/segment.h"

/* The upvalue of a counter's functions. */
struct counter {
	kstat_counter_t *cell;
	struct ks_lua_published *box; /* kept alive by the associated table, which also has refuse() */
	const void *self; /* the object whose function it is; only compared */
	uint32_t forks;
	bool is_double;
	char stat[KSTAT_STRLEN];
};

/* cell(kstat, stat, own) -> pointer, whether it is this thread's own | nil, message, errno */
static int
box_cell(lua_State *L)
{
	struct ks_lua_published *b = luaL_checkudata(L, 1, KS_LUA_PUBLISHED);
	const char *stat = luaL_checkstring(L, 2);
	int own = 0;
	kstat_counter_t *cell;

	/* A counter may outlive its kstat. */
	if (b->ksp == NULL || b->segment->pub == NULL)
		return ks_lua_failwith(L, ENXIO, "the kstat was deleted");
	cell = lua_toboolean(L, 3) ? kstat_counter_own(b->ksp, stat, &own) :
	    kstat_counter(b->ksp, stat);

	if (cell == NULL)
		return ks_lua_fail(L);
	lua_pushlightuserdata(L, cell);
	lua_pushboolean(L, own);
	return 2;
}

/* Returns the upvalue. After a fork the cell belongs to the parent, so the child gets its own. */
static inline struct counter *
this_counter(lua_State *L)
{
	struct counter *c = lua_touserdata(L, lua_upvalueindex(1));

	if (c->forks != ks_forks) {
		kstat_counter_t *cell = NULL;

		if (c->box->ksp != NULL && c->box->segment->pub != NULL)
			cell = kstat_counter_own(c->box->ksp, c->stat, NULL);
		if (cell != NULL)
			c->cell = cell;
		c->forks = ks_forks;
	}
	return c;
}

/* Calls counter.lua's refuse(function, is_self, value, is_double), which raises. */
static void
refuse(lua_State *L, const char *function, bool is_self)
{
	const struct counter *c = lua_touserdata(L, lua_upvalueindex(1));

	lua_settop(L, 2);
	lua_pushvalue(L, lua_upvalueindex(1));
	ks_lua_getuservalue(L, 3);
	lua_rawgeti(L, 4, 2);
	lua_pushstring(L, function);
	lua_pushboolean(L, is_self);
	lua_pushvalue(L, 2);
	lua_pushboolean(L, c->is_double);
	lua_call(L, 4, 0);
}

/* Refuses counter.add(n), with a dot in place of the colon, where the first argument is not the counter. */
static struct counter *
check_self(lua_State *L, const char *function)
{
	struct counter *c = this_counter(L);

	if (lua_topointer(L, 1) != c->self)
		refuse(L, function, false);
	return c;
}

static lua_Number
number_value(lua_State *L, const char *function)
{
	if (!lua_isnumber(L, 2))
		refuse(L, function, true);
	return lua_tonumber(L, 2);
}

static uint64_t
integer_value(lua_State *L, const char *function)
{
	uint64_t bits;

	if (!ks_lua_tobits(L, 2, &bits))
		refuse(L, function, true);
	return bits;
}

/* add(self [, n = 1]) */
static int
counter_add(lua_State *L)
{
	struct counter *c;

#if KS_LUA_INTEGERS
	int is_integer;
	lua_Integer n = lua_tointegerx(L, 2, &is_integer);

	/* Behind a dot there is no second argument: looking at the first would be a tenth of the call. */
	if (is_integer) {
		c = this_counter(L);
		if (c->is_double)
			kstat_counter_add_double(c->cell, (double)n);
		else
			kstat_counter_add(c->cell, (uint64_t)n);
		return 0;
	}
#endif
	c = check_self(L, "add");
	if (c->is_double)
		kstat_counter_add_double(c->cell, lua_isnoneornil(L, 2) ? 1 : number_value(L, "add"));
	else
		kstat_counter_add(c->cell, lua_isnoneornil(L, 2) ? 1 : integer_value(L, "add"));
	return 0;
}

/* set(self, value) */
static int
counter_set(lua_State *L)
{
	struct counter *c = check_self(L, "set");

	if (c->is_double)
		kstat_counter_set_double(c->cell, number_value(L, "set"));
	else
		kstat_counter_set(c->cell, integer_value(L, "set"));
	return 0;
}

/* max(self, value) */
static int
counter_max(lua_State *L)
{
	struct counter *c = check_self(L, "max");

	kstat_counter_max(c->cell, integer_value(L, "max"));
	return 0;
}

/* reclaim(kstat, stat) -> integer | nil, message, errno */
static int
box_reclaim(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	int64_t taken;

	if (kstat_counter_reclaim(b->ksp, luaL_checkstring(L, 2), &taken) != 0)
		return ks_lua_fail(L);
	ks_lua_pushi64(L, taken);
	return 1;
}

/* counter(kstat, stat, is_double, object, refuse) -> the object's add, set, max | nil, message, errno */
static int
box_counter(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	struct counter *c = ks_lua_newuserdata(L, sizeof(*c));

	c->box = b;
	c->forks = ks_forks;
	c->is_double = lua_toboolean(L, 3);
	luaL_checktype(L, 4, LUA_TTABLE);
	c->self = lua_topointer(L, 4);
	luaL_checktype(L, 5, LUA_TFUNCTION);
	strncpy(c->stat, stat, sizeof(c->stat) - 1);
	c->cell = kstat_counter_own(b->ksp, stat, NULL);
	if (c->cell == NULL)
		return ks_lua_fail(L);
	ks_lua_setstate(L, 1, 5);
	lua_pushvalue(L, -1);
	lua_pushcclosure(L, counter_add, 1);
	lua_pushvalue(L, -2);
	lua_pushcclosure(L, counter_set, 1);
	lua_pushvalue(L, -3);
	lua_pushcclosure(L, counter_max, 1);
	return 3;
}

void
ks_lua_add_publish_counter(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "cell", box_cell }, { "counter", box_counter }, { "reclaim", box_reclaim }, { NULL, NULL }
	};

	ks_lua_addto(L, "publish", functions);
}
