/*
 * pattern.c - patterns as userdata, for text that is no kstat's header. SPDX-License-Identifier: MIT
 */
#include "select/pattern.h"

#include <string.h>

#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

static int
pattern_gc(lua_State *L)
{
	ks_pattern_free(luaL_checkudata(L, 1, KS_LUA_PATTERN));
	return 0;
}

/* pattern(specifier) -> pattern | nil, message, errno: a glob or a /regular expression/. */
static int
pattern_new(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	struct ks_pattern *u = ks_lua_newuserdata(L, sizeof(*u));
	struct ks_pattern p;

	ks_lua_setmetatable(L, KS_LUA_PATTERN);
	if (ks_pattern_compile(&p, text, n) != 0)
		return ks_lua_fail(L);
	*u = p;
	return 1;
}

/* pattern:matches(text) -> whether it does */
static int
pattern_matches(lua_State *L)
{
	const struct ks_pattern *p = luaL_checkudata(L, 1, KS_LUA_PATTERN);
	size_t n;
	const char *text = luaL_checklstring(L, 2, &n);

	lua_pushboolean(L, ks_pattern_match(p, text, n));
	return 1;
}

void
ks_lua_add_pattern(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "matches", pattern_matches },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_PATTERN, pattern_gc, NULL, methods);
	ks_lua_setfunction(L, "pattern", pattern_new);
}
