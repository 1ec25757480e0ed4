/* recorder.c - a recording being written, as a Lua object. SPDX-License-Identifier: MIT */
#include "chain/recorder.h"

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

#define RECORDER "kstat.recorder"

/* The recorder at index 1, which must be open. */
static struct ks_recorder *
check_recorder(lua_State *L)
{
	struct ks_recorder **rec = luaL_checkudata(L, 1, RECORDER);

	if (*rec == NULL)
		luaL_error(L, "the recording is closed");
	return *rec;
}

/* recorder([path]) -> recorder | nil, message, errno; without a path: in memory */
static int
recorder_open(lua_State *L)
{
	const char *path = luaL_optstring(L, 1, NULL);
	struct ks_recorder **rec = ks_lua_newuserdata(L, sizeof(*rec));

	ks_lua_setmetatable(L, RECORDER);
	*rec = ks_recorder_open(path);
	return *rec != NULL ? 1 : ks_lua_fail(L);
}

/* add(recorder, chain, selectors) -> true | nil, message, errno */
static int
recorder_add(lua_State *L)
{
	struct ks_recorder *rec = check_recorder(L);
	struct ks_lua_chain *c = ks_lua_checkchain(L, 2);
	const struct ks_selector *const *selectors;
	size_t n;

	lua_settop(L, 3);
	selectors = ks_lua_checkselectors(L, 3, &n);
	return ks_lua_result(L, ks_recorder_add(rec, c->kc, selectors, n));
}

static int
recorder_path(lua_State *L)
{
	lua_pushstring(L, ks_recorder_path(check_recorder(L)));
	return 1;
}

static int
recorder_samples(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_recorder_samples(check_recorder(L)));
	return 1;
}

static int
recorder_size(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_recorder_size(check_recorder(L)));
	return 1;
}

static int
recorder_close(lua_State *L)
{
	struct ks_recorder **rec = luaL_checkudata(L, 1, RECORDER);

	ks_recorder_close(*rec);
	*rec = NULL;
	return 0;
}


static const luaL_Reg methods[] = {
	{ "add", recorder_add },
	{ "path", recorder_path },
	{ "samples", recorder_samples },
	{ "size", recorder_size },
	{ "close", recorder_close },
	{ NULL, NULL },
};

void
ks_lua_add_recorder(lua_State *L)
{
	ks_lua_newtype(L, RECORDER, recorder_close, NULL, methods);
	ks_lua_setfunction(L, "recorder", recorder_open);
}
