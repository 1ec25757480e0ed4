/*
 * error.h - how a failure of the C library reaches Lua. SPDX-License-Identifier: MIT
 */
#ifndef LUA_ERROR_H
#define LUA_ERROR_H

#include <stdbool.h>

#include <lua.h>

/*
 * For what the world causes: pushes nil, the library's message (kstat_errmsg()) and the name of
 * errno ("ENXIO"), and returns 3. Call it before anything else can change errno. A lack of memory is raised, as
 * Lua's own is: a caller that takes nil for "there is none" would lose what is there.
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
 * True if the value at idx is the one that core.fail(message) raised last. Such a failure is no mistake in the
 * script, and the message is all that the person needs.
 */
bool ks_lua_isfailure(lua_State *L, int idx);

/* The exit status for what core.fail() raised last. */
int ks_lua_failstatus(lua_State *L);

/*
 * Pops a function from the top of the stack. core.tell(line, damaged) calls it with a line for the person that
 * nobody else reports, and with whether the line is about a damaged replay. Without it such lines are dropped.
 */
void ks_lua_setlistener(lua_State *L);

#endif
