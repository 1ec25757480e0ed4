/* idle.c - which rows of a publisher are idle, for Lua; see segment_idle.h. SPDX-License-Identifier: MIT */
#include "source/segment/segment_idle.h"

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

#define IDLE "kstat.idle"
#define MOST_CLASSES 32

/* idle() -> object that remembers */
static int
idle_new(lua_State *L)
{
	ks_lua_newuserdata(L, sizeof(struct ks_seg_idle));
	ks_lua_setmetatable(L, IDLE);
	return 1;
}

static int
idle_gc(lua_State *L)
{
	ks_seg_idle_free(luaL_checkudata(L, 1, IDLE));
	return 0;
}

/* begin(idle, path) -> true | nil, message, errno */
static int
idle_begin(lua_State *L)
{
	return ks_lua_result(L, ks_seg_idle_begin(luaL_checkudata(L, 1, IDLE), luaL_checkstring(L, 2)));
}

/*
 * next(idle, classes, now, seconds) -> the name of the next kstat of these classes in which nothing was
 * counted for so long | "": none so far, other work may be done | nil at the end | nil, message, errno
 */
static int
idle_next(lua_State *L)
{
	struct ks_seg_idle *s = luaL_checkudata(L, 1, IDLE);
	double now = luaL_checknumber(L, 3), seconds = luaL_checknumber(L, 4);
	const char *classes[MOST_CLASSES];
	char name[KSTAT_STRLEN];
	size_t n;

	luaL_checktype(L, 2, LUA_TTABLE);
	n = ks_lua_rawlen(L, 2);
	luaL_argcheck(L, n <= MOST_CLASSES && lua_checkstack(L, MOST_CLASSES), 2, "too many classes");
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 2, (int)i + 1); /* it stays on the stack */
		classes[i] = luaL_checkstring(L, -1);
	}
	switch (ks_seg_idle_next(s, classes, n, now, seconds, name)) {
	case KS_WALK_KSTAT:
		lua_pushstring(L, name);
		return 1;
	case KS_WALK_MORE:
		lua_pushliteral(L, "");
		return 1;
	case KS_WALK_END:
		return 0;
	default:
		return ks_lua_fail(L);
	}
}

void
ks_lua_add_idle(lua_State *L)
{
	static const luaL_Reg methods[] = { { "begin", idle_begin }, { "next", idle_next }, { NULL, NULL } };
	static const luaL_Reg functions[] = { { "idle", idle_new }, { NULL, NULL } };

	ks_lua_newtype(L, IDLE, idle_gc, NULL, methods);
	ks_lua_setfuncs(L, functions);
}
