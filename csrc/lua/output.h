/* output.h - the files that scripts write to. SPDX-License-Identifier: MIT */
#ifndef LUA_OUTPUT_H
#define LUA_OUTPUT_H

#include <stdio.h>

struct lua_State;

/* The open file at index i of the stack; NULL for any other value. */
FILE *ks_lua_file(struct lua_State *L, int i);

#endif
