/*
 * compat.h - one Lua C API for 5.1 (LuaJIT) to 5.4, and one that reports mistakes in arguments as a script's author sees
 * them. A module built for 5.1 uses nothing that only LuaJIT adds, so that it loads in either.
 *
 * lauxlib's own checks name a function as it was called, "?" for pcall() or a coroutine, and give the line that called
 * it, which may be one of the Lua half. Here it is the name under which the module has it, and the line of the script.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_COMPAT_H
#define LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

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

/* --- the checks of arguments that lauxlib has, whose names stand for these here ------------------------------------- */

/*
 * The field of the registry with what the sources of functions of the Lua half begin with; nil: none has. Functions
 * without lines are never the script's.
 */
#define KS_LUA_OWN "kstat.own"

/* Pushes the place in the script that called the module, as error() puts it before a message; "" if there is none. */
void ks_lua_pushplace(lua_State *L);

int ks_lua_argerror(lua_State *L, int i, const char *why);
int ks_lua_error(lua_State *L, const char *fmt, ...);
void *ks_lua_checkudata(lua_State *L, int i, const char *name);
void ks_lua_expect(lua_State *L, int i, bool is, const char *expected); /* raises unless argument i is what is expected */
lua_Integer ks_lua_checkinteger(lua_State *L, int i); /* refuses fractions, where integers are no type of their own, too */
int ks_lua_checkoption(lua_State *L, int i, const char *otherwise, const char *const list[]);

/* Raises an argument error if n, argument i, is not a whole number. */
void ks_lua_checkwhole(lua_State *L, lua_Number n, int i);

/* As luaL_testudata: the userdata at index i if it has this metatable, else NULL. */
void *ks_lua_testudata(lua_State *L, int i, const char *name);

#undef luaL_optinteger
#undef luaL_optnumber
#define luaL_argerror ks_lua_argerror
#define luaL_error ks_lua_error
#define luaL_checkudata ks_lua_checkudata
#define luaL_checktype(L, i, type) ks_lua_expect(L, i, lua_type(L, i) == (type), lua_typename(L, type))
#define luaL_checknumber(L, i) (ks_lua_expect(L, i, lua_isnumber(L, i), "number"), lua_tonumber(L, i))
#define luaL_checkinteger ks_lua_checkinteger
#define luaL_checklstring(L, i, n) (ks_lua_expect(L, i, lua_isstring(L, i), "string"), lua_tolstring(L, i, n))
#define luaL_optlstring(L, i, otherwise, n) \
	(lua_isnoneornil(L, i) ? (luaL_optlstring)(L, i, otherwise, n) : luaL_checklstring(L, i, n))
#define luaL_checkoption ks_lua_checkoption
#define luaL_optinteger(L, i, otherwise) luaL_opt(L, ks_lua_checkinteger, i, otherwise)
#define luaL_optnumber(L, i, otherwise) luaL_opt(L, luaL_checknumber, i, otherwise)

#endif
