/*
 * check.h - the checks of arguments that lauxlib has, for compat.h, which lets lauxlib's names stand for them. lauxlib's
 * own name a function as it was called, "?" for pcall() or a coroutine, and give the line that called it, which may be
 * one of the Lua half. Here it is the name under which the module has it, and the line of the script.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_CHECK_H
#define LUA_CHECK_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

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
