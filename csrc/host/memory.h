/*
 * memory.h - the memory of the host's Lua state: most scripts are short, and giving each of thousands of small
 * blocks out through malloc(), and back, was a tenth of what they do. SPDX-License-Identifier: MIT
 */
#ifndef HOST_MEMORY_H
#define HOST_MEMORY_H

#include <lua.h>

/* A state as luaL_newstate() makes it; NULL without memory. For the one state of the main thread. */
lua_State *ks_memory_newstate(void);

/* Closes it; what the process is about to give back as a whole is not given back piece by piece. */
void ks_memory_close(lua_State *L);

#endif
