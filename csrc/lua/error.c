/* error.c - see error.h. SPDX-License-Identifier: MIT */
#include "lua/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kstat.h"

int
ks_lua_fail(lua_State *L)
{
	int err = errno;
	const char *name = strerrorname_np(err);

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
