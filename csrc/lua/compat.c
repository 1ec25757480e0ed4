/* compat.c - see compat.h. SPDX-License-Identifier: MIT */
#include "lua/compat.h"

#include <math.h>
#include <string.h>

void
ks_lua_checkwhole(lua_State *L, lua_Number n, int i)
{
	luaL_argcheck(L, n == floor(n), i, "number has no integer representation");
}

#if !KS_LUA_INTEGERS
lua_Integer
ks_lua_checkinteger(lua_State *L, int i)
{
	lua_Number n = luaL_checknumber(L, i);

	ks_lua_checkwhole(L, n, i); /* false for NaN, too */
	luaL_argcheck(L, n >= -9007199254740992.0 && n <= 9007199254740992.0, i, "number out of range");
	return (lua_Integer)n;
}
#endif

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
ks_lua_setmetatable(lua_State *L, const char *name)
{
	luaL_getmetatable(L, name);
	lua_setmetatable(L, -2);
}

void *
ks_lua_testudata(lua_State *L, int i, const char *name)
{
	void *p = lua_touserdata(L, i);

	if (p == NULL || !lua_getmetatable(L, i))
		return NULL;
	luaL_getmetatable(L, name);
	if (!lua_rawequal(L, -1, -2))
		p = NULL;
	lua_pop(L, 2);
	return p;
}

void
ks_lua_setfuncs(lua_State *L, const luaL_Reg *functions)
{
	for (; functions->name != NULL; functions++) {
		lua_pushcfunction(L, functions->func);
		lua_setfield(L, -2, functions->name);
	}
}

void
ks_lua_newtype(lua_State *L, const char *name, const luaL_Reg *meta)
{
	luaL_newmetatable(L, name);
	lua_pushstring(L, name);
	lua_setfield(L, -2, "__name");
	lua_pushstring(L, name);
	lua_setfield(L, -2, "__metatable");
	ks_lua_setfuncs(L, meta);
}
