/*
 * error.h - how a failure of the C library reaches Lua. SPDX-License-Identifier: MIT
 */
#ifndef LUA_ERROR_H
#define LUA_ERROR_H

#include <stdbool.h>

#include <lua.h>

/*
 * For what the world causes: pushes nil, the library's message (kstat_errmsg()) and the name of
 * errno ("ENXIO"), and returns 3. Call it before anything else can change errno.
 */
int ks_lua_fail(lua_State *L);

/* The same with an errno and a message of the binding's own. */
int ks_lua_failwith(lua_State *L, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with `what` and the text of the errno as the message. */
int ks_lua_failerrno(lua_State *L, int err, const char *what);

/* For what a function of the library returned: true if that is 0, else as ks_lua_fail(). */
int ks_lua_result(lua_State *L, int rc);

/*
 * True if the value at idx is what core.fail(message) raised last: the world made the script fail, and a
 * line says why; it is no mistake in the script.
 */
bool ks_lua_isfailure(lua_State *L, int idx);

/* The exit status that goes with what core.fail() raised last. */
int ks_lua_failstatus(lua_State *L);

/*
 * Names who hears core.tell(line, damaged), a function of these two at the top of the stack, which is
 * popped: a line for the person that nobody else will tell, and whether it is about a damaged replay.
 * Without it such lines are dropped.
 */
void ks_lua_setlistener(lua_State *L);

#endif
