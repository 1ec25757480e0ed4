/* error.c - see error.h. SPDX-License-Identifier: MIT */
#include "lua/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kstat.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/value.h"
#include "model/record.h"

/* Their addresses are keys of the registry. */
static const char failure_key, status_key, listener_key;

static void
push_registered(lua_State *L, const char *key)
{
	lua_pushlightuserdata(L, (void *)key);
	lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Registers the value at the top, and pops it. */
static void
set_registered(lua_State *L, const char *key)
{
	lua_pushlightuserdata(L, (void *)key);
	lua_insert(L, -2);
	lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Raises the message at the top as it is; the host ends with that status. */
static int
raise_failure(lua_State *L, int status)
{
	lua_pushinteger(L, status);
	set_registered(L, &status_key);
	lua_pushvalue(L, -1);
	set_registered(L, &failure_key);
	return lua_error(L);
}

int
ks_lua_fail(lua_State *L)
{
	int err = errno;
	const char *name = strerrorname_np(err);

	if (err == ENOMEM) {
		lua_pushstring(L, kstat_errmsg());
		return raise_failure(L, 3);
	}
	lua_pushnil(L);
	lua_pushstring(L, kstat_errmsg());
	if (name != NULL)
		lua_pushstring(L, name);
	else
		lua_pushfstring(L, "E%d", err);
	return 3;
}

int
ks_lua_failwith(lua_State *L, int err, const char *fmt, ...)
{
	char message[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	(void)ks_fail(err, "%s", message);
	return ks_lua_fail(L);
}

int
ks_lua_failerrno(lua_State *L, int err, const char *what)
{
	return ks_lua_failwith(L, err, "%s: %s", what, strerror(err));
}

int
ks_lua_result(lua_State *L, int rc)
{
	if (rc != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

bool
ks_lua_isfailure(lua_State *L, int idx)
{
	bool is;

	lua_pushvalue(L, idx);
	push_registered(L, &failure_key);
	is = lua_isstring(L, -1) && lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is;
}

int
ks_lua_failstatus(lua_State *L)
{
	int status;

	push_registered(L, &status_key);
	status = (int)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return status;
}

void
ks_lua_setlistener(lua_State *L)
{
	set_registered(L, &listener_key);
}

/* Puts a text in the place of that at index 1 that a terminal and a log may be given: see ks_clean_text(). */
static void
clean(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	ks_buf_add(b, text, n);
	if (!b->failed)
		ks_clean_text(b->data, n);
	(void)ks_lua_pushscratch(L, b);
	lua_replace(L, 1);
}

/* printable(text) -> the same */
static int
core_printable(lua_State *L)
{
	clean(L);
	lua_settop(L, 1);
	return 1;
}

/*
 * fail(message[, status]): raises the message. The host shows it without a traceback and ends with the
 * status: 3, the default, the source or the output failed; 2 the command line is wrong; 1 the script has a mistake
 * that the message describes in full; 0 nothing failed, and the message is the answer to --help, for standard output.
 */
static int
core_fail(lua_State *L)
{
	lua_Integer status = luaL_optinteger(L, 2, 3);

	(void)luaL_checkstring(L, 1);
	luaL_argcheck(L, status >= 0 && status <= 3, 2, "0, 1, 2 or 3 expected");
	if (status > 1)
		clean(L);
	lua_settop(L, 1);
	return raise_failure(L, (int)status);
}

/* failed(problem) -> whether fail() raised it, with what status */
static int
core_failed(lua_State *L)
{
	luaL_checkany(L, 1);
	lua_pushboolean(L, ks_lua_isfailure(L, 1));
	lua_pushinteger(L, ks_lua_failstatus(L));
	return 2;
}

/* tell(line, damaged): see ks_lua_setlistener() */
static int
core_tell(lua_State *L)
{
	clean(L);
	lua_settop(L, 2);
	push_registered(L, &listener_key);
	if (lua_isfunction(L, -1)) {
		lua_insert(L, 1);
		lua_call(L, 2, 0);
	}
	return 0;
}

/* usage(message): raises it with the place in the script that called the module */
static int
core_usage(lua_State *L)
{
	return luaL_error(L, "%s", luaL_checkstring(L, 1));
}

/* where() -> the place in the script that called the module, as error() puts it before a message, or "" */
static int
core_where(lua_State *L)
{
	ks_lua_pushplace(L);
	return 1;
}

/* own(prefix): see KS_LUA_OWN */
static int
core_own(lua_State *L)
{
	lua_settop(L, 1);
	lua_setfield(L, LUA_REGISTRYINDEX, KS_LUA_OWN);
	return 0;
}

void
ks_lua_add_error(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "printable", core_printable },
		{ "fail", core_fail },
		{ "failed", core_failed },
		{ "tell", core_tell },
		{ "usage", core_usage },
		{ "where", core_where },
		{ "own", core_own },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
}
