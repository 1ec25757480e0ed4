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
	static void (*const parts[])(lua_State *) = {
		ks_lua_add_error,
		ks_lua_add_value,
		ks_lua_add_selector,
		ks_lua_add_pattern,
		ks_lua_add_kstat,
		ks_lua_add_kstat_values,
		ks_lua_add_figures,
		ks_lua_add_io,
		ks_lua_add_find,
		ks_lua_add_chain,
		ks_lua_add_sample,
		ks_lua_add_render,
		ks_lua_add_output,
		ks_lua_add_stats,
		ks_lua_add_stats_template,
		ks_lua_add_recorder,
		ks_lua_add_histogram,
		ks_lua_add_terminal,
		ks_lua_add_layout,
		ks_lua_add_wait,
		ks_lua_add_devstat,
		ks_lua_add_devstat_select,
		ks_lua_add_publish,
		ks_lua_add_publish_record,
		ks_lua_add_publish_counter,
		ks_lua_add_publish_blob,
		ks_lua_add_publish_codes,
	};

	lua_newtable(L);
	lua_pushliteral(L, KSTAT_VERSION);
	lua_setfield(L, -2, "version");
	ks_lua_setinteger(L, "pagesize", (lua_Integer)sysconf(_SC_PAGESIZE));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		parts[i](L);
	return 1;
}
