/*
 * error.h - how a failure of the C library reaches Lua. SPDX-License-Identifier: MIT
 */
#ifndef LUA_ERROR_H
#define LUA_ERROR_H

#include <lua.h>

/*
 * For what the world causes: pushes nil, the library's message (kstat_errmsg()) and the name of
 * errno ("ENXIO"), and returns 3. Call it before anything else can change errno.
 */
int ks_lua_fail(lua_State *L);

/* The same with an errno and a message of the binding's own. */
int ks_lua_failwith(lua_State *L, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
