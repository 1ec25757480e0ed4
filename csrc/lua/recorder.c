/* recorder.c - a recording being written, as a Lua object. SPDX-License-Identifier: MIT */
#include "output/recorder.h"

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

/* Pushes a recorder that has nothing to write to yet. */
static struct ks_recorder **
push_recorder(lua_State *L)
{
	struct ks_recorder **rec = ks_lua_newuserdata(L, sizeof(*rec));

	*rec = NULL;
	ks_lua_setmetatable(L, RECORDER);
	return rec;
}

/* recorder([path]) -> recorder | nil, message, errno; without a path: in memory */
static int
recorder_open(lua_State *L)
{
	const char *path = luaL_optstring(L, 1, NULL);
	struct ks_recorder **rec = push_recorder(L);

	*rec = ks_recorder_open(path);
	return *rec != NULL ? 1 : ks_lua_fail(L);
}

/* recorder_directory(path, seconds, bytes) -> recorder | nil, message, errno; how much is kept: above 0 */
static int
recorder_open_directory(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	lua_Number seconds = luaL_checknumber(L, 2), bytes = luaL_checknumber(L, 3);
	struct ks_rec_limits limits;
	struct ks_recorder **rec;

	luaL_argcheck(L, seconds > 0 && seconds < 9e9, 2, "seconds above 0 expected");
	luaL_argcheck(L, bytes > 0 && bytes < 9e18, 3, "bytes above 0 expected");
	limits = (struct ks_rec_limits){ (int64_t)(seconds * 1e9), (uint64_t)bytes };
	rec = push_recorder(L);
	*rec = ks_recorder_open_directory(path, &limits);
	return *rec != NULL ? 1 : ks_lua_fail(L);
}

/*
 * Appends what the sample in p has, or, with selectors, what any of the n matches; one that can grow reads that first.
 */
static int
add_sample(lua_State *L, struct ks_recorder *rec, const struct ks_lua_place *p, const struct ks_selector *const *selectors,
    size_t n)
{
	struct ks_sample *s = p->sample->s;
	struct ks_selection *sel = ks_lua_newselection(L);
	size_t count = s->n;
	const kstat_t **copy;

	if (p->chain->kc == NULL)
		return luaL_error(L, "the kstat chain is closed");
	if (n > 0) {
		if (ks_lua_selectfrom(L, p, selectors, n, sel) > 0)
			return luaL_error(L, "%s", lua_tostring(L, -1));
		count = sel->n;
	}
	copy = ks_lua_newuserdata(L, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		struct ks_delta delta = { .now = n > 0 ? NULL : s->ksp[i] };

		if (n > 0 && ks_lua_resolve(p, sel->ksp[i], &delta) < 0)
			return ks_lua_fail(L);
		copy[i] = delta.now;
	}
	return ks_lua_result(L, ks_recorder_add_copies(rec, p->chain->kc, s, copy, count));
}

/* add(recorder, chain or sample, selectors) -> true | nil, message, errno */
static int
recorder_add(lua_State *L)
{
	struct ks_recorder *rec = check_recorder(L);
	const struct ks_selector *const *selectors;
	struct ks_lua_place p;
	size_t n;

	lua_settop(L, 3);
	ks_lua_checkplace(L, 2, &p);
	luaL_argcheck(L, p.difference == NULL, 2, "a chain or a sample expected, got a difference");
	selectors = ks_lua_checkselectors(L, 3, &n);
	if (p.sample != NULL)
		return add_sample(L, rec, &p, selectors, n);
	return ks_lua_result(L, ks_recorder_add(rec, p.chain->kc, selectors, n));
}

/* Fills in a machine from the table { chain | false, name, shift } on top. */
static void
to_host(lua_State *L, struct ks_rec_host *host)
{
	luaL_checktype(L, -1, LUA_TTABLE);
	lua_rawgeti(L, -1, 1);
	host->kc = lua_toboolean(L, -1) ? ks_lua_checkchain(L, lua_gettop(L))->kc : NULL;
	lua_rawgeti(L, -2, 2);
	host->name = luaL_checkstring(L, -1); /* the table keeps it */
	lua_rawgeti(L, -3, 3);
	host->shift = (int64_t)luaL_checknumber(L, -1);
	lua_pop(L, 3);
}

/*
 * add_hosts(recorder, hosts, selectors) -> true | nil, message, errno. hosts: of each machine { chain, name, ns by
 * which its times become later }; false in place of the chain: its recording ended
 */
static int
recorder_add_hosts(lua_State *L)
{
	struct ks_recorder *rec = check_recorder(L);
	struct ks_rec_host hosts[KS_REC_MOST_HOSTS];
	const struct ks_selector *const *selectors;
	size_t n, nhosts;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 3);
	nhosts = ks_lua_rawlen(L, 2);
	luaL_argcheck(L, nhosts <= KS_REC_MOST_HOSTS, 2, "too many machines");
	for (size_t i = 0; i < nhosts; i++) {
		lua_rawgeti(L, 2, (int)i + 1);
		to_host(L, &hosts[i]);
		lua_pop(L, 1);
	}
	selectors = ks_lua_checkselectors(L, 3, &n);
	return ks_lua_result(L, ks_recorder_add_hosts(rec, hosts, nhosts, selectors, n));
}

static int
recorder_path(lua_State *L)
{
	lua_pushstring(L, ks_recorder_path(check_recorder(L)));
	return 1;
}

static void
set_number(lua_State *L, const char *name, uint64_t n)
{
	lua_pushinteger(L, (lua_Integer)n);
	lua_setfield(L, -2, name);
}

/* status(recorder) -> the fields of struct ks_rec_status, times in ns; problem is nil if there is none */
static int
recorder_status(lua_State *L)
{
	struct ks_rec_status s;

	ks_recorder_status(check_recorder(L), &s);
	lua_newtable(L);
	set_number(L, "samples", s.samples);
	set_number(L, "bytes", s.bytes);
	set_number(L, "dropped", s.dropped);
	set_number(L, "write_ns", s.write_ns);
	set_number(L, "size", s.size);
	set_number(L, "waiting", s.waiting);
	if (s.problem[0] != '\0') {
		lua_pushstring(L, s.problem);
		lua_setfield(L, -2, "problem");
	}
	return 1;
}

/* finish(recorder): writes what waits; the status is the last one then */
static int
recorder_end(lua_State *L)
{
	ks_recorder_end(check_recorder(L));
	return 0;
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
	{ "add_hosts", recorder_add_hosts },
	{ "path", recorder_path },
	{ "status", recorder_status },
	{ "finish", recorder_end },
	{ "close", recorder_close },
	{ NULL, NULL },
};

void
ks_lua_add_recorder(lua_State *L)
{
	ks_lua_newtype(L, RECORDER, recorder_close, NULL, methods);
	ks_lua_setfunction(L, "recorder", recorder_open);
	ks_lua_setfunction(L, "recorder_directory", recorder_open_directory);
}
