/* compat.c - see compat.h. SPDX-License-Identifier: MIT */
#include "lua/compat.h"

#include <string.h>

void *
ks_lua_newuserdata(lua_State *L, size_t size)
{
#if LUA_VERSION_NUM >= 504
	void *p = lua_newuserdatauv(L, size, 1);
#else
	void *p = lua_newuserdata(L, size);
#endif

	return memset(p, 0, size);
}

void
ks_lua_setuservalue(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 504
	(void)lua_setiuservalue(L, i, 1);
#elif LUA_VERSION_NUM >= 502
	lua_setuservalue(L, i);
#else
	(void)lua_setfenv(L, i);
#endif
}

void
ks_lua_getuservalue(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 504
	(void)lua_getiuservalue(L, i, 1);
#elif LUA_VERSION_NUM >= 502
	lua_getuservalue(L, i);
#else
	lua_getfenv(L, i);
#endif
}

void
ks_lua_setstate(lua_State *L, int first, int second)
{
	lua_createtable(L, 2, 1);
	lua_pushvalue(L, -2);
	lua_rawseti(L, -2, 0);
	if (first != 0) {
		lua_pushvalue(L, first);
		lua_rawseti(L, -2, 1);
	}
	if (second != 0) {
		lua_pushvalue(L, second);
		lua_rawseti(L, -2, 2);
	}
	ks_lua_setuservalue(L, -2);
}

void
ks_lua_copyarray(lua_State *L, int i)
{
	size_t n = lua_istable(L, i) ? ks_lua_rawlen(L, i) : 0;

	if (!lua_istable(L, i))
		return;
	lua_newtable(L);
	for (size_t at = 1; at <= n; at++) {
		lua_rawgeti(L, i, (int)at);
		lua_rawseti(L, -2, (int)at);
	}
	lua_replace(L, i);
}

void
ks_lua_setmetatable(lua_State *L, const char *name)
{
	luaL_getmetatable(L, name);
	lua_setmetatable(L, -2);
}

void
ks_lua_setfuncs(lua_State *L, const luaL_Reg *functions)
{
	ks_lua_setclosures(L, -1, functions, 0);
}

void
ks_lua_setclosures(lua_State *L, int t, const luaL_Reg *functions, int n)
{
	t = ks_lua_absindex(L, t);
	for (; functions->name != NULL; functions++) {
		for (int i = 0; i < n; i++)
			lua_pushvalue(L, -n);
		lua_pushstring(L, functions->name); /* for errors, see check.c */
		lua_pushcclosure(L, functions->func, n + 1);
		lua_setfield(L, t, functions->name);
	}
}

void
ks_lua_setaddress(lua_State *L, const char *name, void (*function)(void))
{
	void *p;

	_Static_assert(sizeof(function) == sizeof(p), "function addresses");
	memcpy(&p, &function, sizeof(p)); /* C has no conversion from one to the other */
	lua_pushlightuserdata(L, p);
	lua_setfield(L, -2, name);
}

void
ks_lua_addto(lua_State *L, const char *name, const luaL_Reg *functions)
{
	lua_getfield(L, -1, name);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setfield(L, -3, name);
	}
	ks_lua_setfuncs(L, functions);
	lua_pop(L, 1);
}

void
ks_lua_newtype(lua_State *L, const char *name, lua_CFunction release, const luaL_Reg *meta,
    const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	ks_lua_setstring(L, "__name", name);
	ks_lua_setstring(L, "__metatable", name);
	if (release != NULL)
		ks_lua_setfunction(L, "__gc", release);
	if (meta != NULL)
		ks_lua_setfuncs(L, meta);
	if (methods != NULL) {
		lua_newtable(L);
		ks_lua_setfuncs(L, methods);
		lua_getfield(L, -1, "close");
		lua_setfield(L, -3, "__close");
		lua_setfield(L, -2, "__index");
	}
	lua_pop(L, 1);
}

bool
ks_lua_flag(lua_State *L, int i, const char *field)
{
	bool flag;

	lua_getfield(L, i, field);
	flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}
