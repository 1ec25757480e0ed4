/*
 * compat.h - one Lua C API for 5.1 (LuaJIT) to 5.4. A module built for 5.1 uses nothing that only
 * LuaJIT adds, so that it loads in either. SPDX-License-Identifier: MIT
 */
#ifndef LUA_COMPAT_H
#define LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "lua/check.h"

#if LUA_VERSION_NUM >= 502
#define ks_lua_rawlen(L, i) lua_rawlen(L, i)
#define ks_lua_absindex(L, i) lua_absindex(L, i)
#else
#define ks_lua_rawlen(L, i) lua_objlen(L, i)
#define ks_lua_absindex(L, i) \
	((i) > 0 || (i) <= LUA_REGISTRYINDEX ? (i) : lua_gettop(L) + (i) + 1)
#endif

/* Whether integers are a type of their own, exact to 64 bits. */
#if LUA_VERSION_NUM >= 503
#define KS_LUA_INTEGERS 1
#else
#define KS_LUA_INTEGERS 0
#endif

/* A userdata of size bytes, zeroed, with room for one associated table. */
void *ks_lua_newuserdata(lua_State *L, size_t size);

/* Associates the table on top, which is popped, with the userdata at index i; pushes it again. */
void ks_lua_setuservalue(lua_State *L, int i);
void ks_lua_getuservalue(lua_State *L, int i);

/*
 * Associates the userdata on top with a new table, its state: [0] is the userdata itself, [1] and [2] are the values
 * at the indexes first and second of the stack; 0: none.
 */
void ks_lua_setstate(lua_State *L, int first, int second);

/* As luaL_setmetatable: gives the value on top the registered metatable. */
void ks_lua_setmetatable(lua_State *L, const char *name);

/* Puts a copy that no script reaches in the place of an array at index i of the stack; other values stay. */
void ks_lua_copyarray(lua_State *L, int i);

/* As luaL_setfuncs without upvalues: enters the functions into the table on top. */
void ks_lua_setfuncs(lua_State *L, const luaL_Reg *functions);

/* Enters functions whose upvalues are the n values on top, which stay there, into the table at index t. */
void ks_lua_setclosures(lua_State *L, int t, const luaL_Reg *functions, int n);

/* Sets a field of the table on top to the address of a function, for LuaJIT's FFI. */
void ks_lua_setaddress(lua_State *L, const char *name, void (*function)(void));

/* Enters the functions into the field `name` of the table on top, a table that is made if it is not there. */
void ks_lua_addto(lua_State *L, const char *name, const luaL_Reg *functions);

/*
 * Makes the metatable of a type: registered under name, which is also its __name, and hidden from
 * getmetatable(). `release` frees what an object owns: its __gc; `meta` are further metamethods; `methods` the
 * functions in its __index, of which `close` is its __close, too; NULL for none.
 */
void ks_lua_newtype(lua_State *L, const char *name, lua_CFunction release, const luaL_Reg *meta,
    const luaL_Reg *methods);

/* Whether a field of the table at index i is true. */
bool ks_lua_flag(lua_State *L, int i, const char *field);

/* Sets a field of the table on top. */
#define ks_lua_setstring(L, key, s) (lua_pushstring(L, s), lua_setfield(L, -2, key))
#define ks_lua_setinteger(L, key, n) (lua_pushinteger(L, n), lua_setfield(L, -2, key))
#define ks_lua_setnumber(L, key, n) (lua_pushnumber(L, n), lua_setfield(L, -2, key))
#define ks_lua_setfunction(L, key, f) (lua_pushcfunction(L, f), lua_setfield(L, -2, key))
#define ks_lua_setboolean(L, key, yes) (lua_pushboolean(L, yes), lua_setfield(L, -2, key))

#endif
