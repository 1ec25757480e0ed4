/*
 * publish_counter.c - counters of published kstats: functions that hold the address of their cell; see
 * publish.c. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "provider/segment/segment.h"

/* The upvalue of a counter's functions. */
struct counter {
	kstat_counter_t *cell;
	struct ks_lua_published *box; /* kept alive by the associated table, which also has examine() */
	const void *self; /* the object whose function it is; only compared */
	uint32_t forks;
	bool is_double;
	bool counts; /* it never falls */
	uint64_t most; /* each value up to it is one of the type */
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

/*
 * Calls counter.lua's examine(object, function, value, is_self), which raises for a mistake. True: the value that the
 * statistic takes is at index 2; false: nil, message, errno are on top.
 */
static bool
examine(lua_State *L, const char *function)
{
	bool is_self = lua_topointer(L, 1) == this_counter(L)->self;

	lua_settop(L, 2);
	lua_pushvalue(L, lua_upvalueindex(1));
	ks_lua_getuservalue(L, 3);
	lua_rawgeti(L, 4, 2);
	lua_pushvalue(L, 1);
	lua_pushstring(L, function);
	lua_pushvalue(L, 2);
	lua_pushboolean(L, is_self);
	lua_call(L, 4, 3);
	if (lua_isnil(L, -3))
		return false;
	lua_pushvalue(L, -3);
	lua_replace(L, 2);
	return true;
}

/* Whether the value at index 2 is surely one that the statistic takes, without a look at its type. */
static bool
is_fine(lua_State *L, const struct counter *c, bool is_add, uint64_t *bits)
{
	lua_Number d = lua_tonumber(L, 2);

	if (lua_type(L, 2) != LUA_TNUMBER || lua_topointer(L, 1) != c->self)
		return false;
	if (c->is_double)
		return !c->counts || (d >= 0 && d < HUGE_VAL);
	return ks_lua_tobits(L, 2, bits) && (d >= 0 ? *bits <= c->most : is_add && !c->counts);
}

/* op(self [, value]); without a value add() adds 1 */
static inline int
change(lua_State *L, const char *function, void (*whole)(kstat_counter_t *, uint64_t),
    void (*real)(kstat_counter_t *, double), bool is_add)
{
	const struct counter *c = this_counter(L);
	uint64_t bits = 1;

	if (is_add && lua_isnoneornil(L, 2)) {
		lua_settop(L, 1);
		lua_pushinteger(L, 1);
	}
	if (!is_fine(L, c, is_add, &bits)) {
		if (!examine(L, function))
			return 3;
		(void)ks_lua_tobits(L, 2, &bits);
	}
	if (c->is_double)
		real(c->cell, lua_tonumber(L, 2));
	else
		whole(c->cell, bits);
	lua_pushboolean(L, 1);
	return 1;
}

/* add(self [, n = 1]) */
static int
counter_add(lua_State *L)
{
#if KS_LUA_INTEGERS
	const struct counter *c = this_counter(L);
	int is_integer;
	lua_Integer n = lua_tointegerx(L, 2, &is_integer);

	/* Behind a dot there is no second argument: looking at the first would be a tenth of the call. */
	if (is_integer && (n >= 0 || !c->counts) && !c->is_double) {
		kstat_counter_add(c->cell, (uint64_t)n);
		lua_pushboolean(L, 1);
		return 1;
	}
#endif
	return change(L, "add", kstat_counter_add, kstat_counter_add_double, true);
}

/* set(self, value) */
static int
counter_set(lua_State *L)
{
	return change(L, "set", kstat_counter_set, kstat_counter_set_double, false);
}

/* max(self, value) */
static int
counter_max(lua_State *L)
{
	return change(L, "max", kstat_counter_max, kstat_counter_set_double, false);
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

/* counter(kstat, stat, is_double, object, examine) -> the object's add, set, max | nil, message, errno */
static int
box_counter(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	struct counter *c = ks_lua_newuserdata(L, sizeof(*c));
	lua_Number d;

	c->box = b;
	c->forks = ks_forks;
	c->is_double = lua_toboolean(L, 3);
	luaL_checktype(L, 4, LUA_TTABLE);
	c->self = lua_topointer(L, 4);
	lua_getfield(L, 4, "counts");
	c->counts = lua_toboolean(L, -1);
	lua_getfield(L, 4, "ending");
	d = lua_tonumber(L, -1);
	c->most = d < 0x1p63 ? (uint64_t)d - 1 : INT64_MAX;
	lua_pop(L, 2);
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
