/*
 * devstat.h - what the files of kstat.core.devstat share. SPDX-License-Identifier: MIT
 */
#ifndef LUA_DEVSTAT_H
#define LUA_DEVSTAT_H

#include <stdint.h>

#include "lua/compat.h"

#define KS_LUA_DEVICE "kstat.devstat.device" /* a struct devstat */

/* Sets a field of the table on top. */
void ks_lua_setu64(lua_State *L, const char *field, uint64_t v);

/* A count at index i: not negative, cut to 64 bits. */
uint64_t ks_lua_tocount(lua_State *L, int i);

/* An int argument or field; out of range, or with a fraction, it is the caller's mistake. */
int ks_lua_checkint(lua_State *L, int i);

/* Enters selection() and match() into the table on top. */
void ks_lua_add_devstat_select(lua_State *L);

#endif
