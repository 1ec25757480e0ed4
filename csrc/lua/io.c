/*
 * io.c - what an I/O kstat counted between two samples, all figures at once.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

/* The kstat at index i, which must be of a sample or of a difference. */
static const kstat_t *
check_sampled(lua_State *L, int i)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, i);

	luaL_argcheck(L, u->origin != KS_LUA_LIVE, i,
	    "a kstat of a sample or of a difference expected");
	return ks_lua_head(L, u);
}

/*
 * io_delta(kstat, earlier) -> nread, nwritten, reads, writes, wtime, wlentime, rtime, rlentime,
 * elapsed, has_waitq | nil, message, errno. kstat: of a difference, or of a sample; then `earlier`
 * is that of an earlier sample, or nil for everything since creation. Times are nanoseconds.
 */
static int
io_delta(lua_State *L)
{
	const kstat_t *now = check_sampled(L, 1);
	const struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	const kstat_t *prev = NULL;
	struct ks_delta d;
	struct ks_delta_io io;

	luaL_argcheck(L, now->ks_type == KSTAT_TYPE_IO, 1, "an I/O kstat expected");
	if (u->origin == KS_LUA_DIFFERING)
		d = u->delta;
	else if (!lua_isnoneornil(L, 2))
		prev = check_sampled(L, 2);
	if ((u->origin != KS_LUA_DIFFERING && !ks_delta_between(&d, prev, now)) || !ks_delta_io(&d, &io))
		return ks_lua_failwith(L, ENXIO, "%s:%d:%s %s", now->ks_module, now->ks_instance, now->ks_name,
		    d.alone ? "has no interval" : "was not read");
	lua_pushnumber(L, (lua_Number)io.nread);
	lua_pushnumber(L, (lua_Number)io.nwritten);
	lua_pushnumber(L, (lua_Number)io.reads);
	lua_pushnumber(L, (lua_Number)io.writes);
	lua_pushnumber(L, (lua_Number)io.wtime);
	lua_pushnumber(L, (lua_Number)io.wlentime);
	lua_pushnumber(L, (lua_Number)io.rtime);
	lua_pushnumber(L, (lua_Number)io.rlentime);
	lua_pushnumber(L, (lua_Number)d.elapsed);
	lua_pushboolean(L, io.has_waitq);
	return 10;
}

void
ks_lua_add_io(lua_State *L)
{
	ks_lua_setfunction(L, "io_delta", io_delta);
}
