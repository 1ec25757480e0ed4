/* value.h - statistics as Lua values, and their text. SPDX-License-Identifier: MIT */
#ifndef LUA_VALUE_H
#define LUA_VALUE_H

#include "lua/compat.h"
#include "model/decode.h"

/* Exact with integers (a uint64 keeps its 64 bits); else the nearest double. */
void ks_lua_pushi64(lua_State *L, int64_t v);
void ks_lua_pushu64(lua_State *L, uint64_t v);

/* Nanoseconds as seconds. */
void ks_lua_pushseconds(lua_State *L, int64_t ns);

/* As scripts see it: times in seconds, arrays as tables. */
void ks_lua_pushvalue(lua_State *L, const struct ks_value *v);

/* Exact: integers (times: nanoseconds) as an integer, or as decimal text where there are none. */
void ks_lua_pushexact(lua_State *L, const struct ks_value *v);

/* Pushes the upper and lower 32 bits of an integer and whether it is signed: 3; 0 if it is none. */
int ks_lua_pushhalves(lua_State *L, const struct ks_value *v);

/* The Lua number or string at index i as a value; strings stay Lua's. False for other types. */
bool ks_lua_tovalue(lua_State *L, int i, struct ks_value *v);

#endif
