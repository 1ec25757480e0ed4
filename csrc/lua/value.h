/* value.h - statistics as Lua values, and their text. SPDX-License-Identifier: MIT */
#ifndef LUA_VALUE_H
#define LUA_VALUE_H

#include "base/buf.h"
#include "base/clock.h"
#include "lua/compat.h"
#include "model/decode.h"

/* Exact with integers (a uint64 keeps its 64 bits); else the nearest double. */
#if KS_LUA_INTEGERS
#define ks_lua_pushi64(L, v) lua_pushinteger(L, (lua_Integer)(v))
#define ks_lua_pushu64(L, v) lua_pushinteger(L, (lua_Integer)(v))
#else
#define ks_lua_pushi64(L, v) lua_pushnumber(L, (lua_Number)(v))
#define ks_lua_pushu64(L, v) lua_pushnumber(L, (lua_Number)(v))
#endif

/* Nanoseconds as seconds. */
#define ks_lua_pushseconds(L, ns) lua_pushnumber(L, (lua_Number)(ns) / (lua_Number)KS_NANOSEC)

/* Pushes a value as scripts see it: times in seconds, arrays as tables. Returns 1. */
int ks_lua_pushvalue(lua_State *L, const struct ks_value *v);

/* The same exactly: integers (times: nanoseconds) as an integer, or as decimal text where Lua has none. Returns 1. */
int ks_lua_pushexact(lua_State *L, const struct ks_value *v);

/* Pushes the upper and lower 32 bits of an integer and whether it is signed: 3; any other value as it is: 1. */
int ks_lua_pushhalves(lua_State *L, const struct ks_value *v);

/* Pushes a value if it is a number, a uint64 beyond what integers hold as the nearest double. Returns whether it is. */
bool ks_lua_pushnumber(lua_State *L, const struct ks_value *v);

/*
 * The number at index i as 64 bits: those of an integer, else those of a whole number from -2^63 to 2^64. False if
 * it is no number, or another one.
 */
bool ks_lua_tobits(lua_State *L, int i, uint64_t *bits);
uint64_t ks_lua_checkbits(lua_State *L, int i);

/* A count at index i, cut to a whole number: the bits of an integer; 0 for what is below 0 or not below 2^64. */
uint64_t ks_lua_tocount(lua_State *L, int i);

/* The number at index i as an int; raises if it has a fraction or does not fit. */
int ks_lua_checkint(lua_State *L, int i);

/* The Lua number or string at index i as a value; strings stay Lua's. False for other types. */
bool ks_lua_tovalue(lua_State *L, int i, struct ks_value *v);

/* The same, but whole numbers are integers in every Lua. */
bool ks_lua_toexact(lua_State *L, int i, struct ks_value *v);

/*
 * The buffer of the Lua state for making a text, empty. It holds until the next call; ks_lua_pushscratch() pushes
 * its contents and returns 1, or raises if memory was short.
 */
struct ks_buf *ks_lua_scratch(lua_State *L);
int ks_lua_pushscratch(lua_State *L, struct ks_buf *b);

/* Sets a field of the table on top. */
#define ks_lua_setu64(L, key, v) (ks_lua_pushu64(L, v), lua_setfield(L, -2, key))

#endif
