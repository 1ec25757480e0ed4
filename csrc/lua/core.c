/*
 * core.c - the C module kstat.core: one table of what the files beside this one add. The Lua half,
 * lua/kstat/, is the interface for scripts; this one may change without notice.
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "lua/core.h"

#include "kstat.h"
#include "lua/compat.h"

/* The only symbol that the interpreter looks for. */
__attribute__((visibility("default"))) int
luaopen_kstat_core(lua_State *L)
{
#define ADD(part) ks_lua_add_##part(L);
	lua_newtable(L);
	lua_pushliteral(L, KSTAT_VERSION);
	lua_setfield(L, -2, "version");
	ks_lua_setinteger(L, "pagesize", (lua_Integer)sysconf(_SC_PAGESIZE));
	KS_LUA_PARTS(ADD)
	return 1;
}
