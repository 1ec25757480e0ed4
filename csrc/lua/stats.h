/* stats.h - what the files of the statsblob binding share. SPDX-License-Identifier: MIT */
#ifndef LUA_STATS_H
#define LUA_STATS_H

#include <lua.h>
#include <stdint.h>

#include "statsblob.h"

#define KS_LUA_BLOB "kstat.blob"

/* Pushes an integer as the language has it: exact to 64 bits, or a double. */
void ks_lua_push_u64(lua_State *L, uint64_t v);

/* nil, message, errno name for an errno that a stats_* function returned. */
int ks_lua_stats_fail(lua_State *L, int err, const char *what);

/* stats_template.c: tpl_alloc and so on, entered into the table on top. */
void ks_lua_add_stats_template(lua_State *L);

#endif
