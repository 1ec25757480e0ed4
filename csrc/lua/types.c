/* types.c - see types.h. SPDX-License-Identifier: MIT */
#include "lua/types.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "chain/chain.h"

struct ks_lua_chain *
ks_lua_checkchain(lua_State *L, int i)
{
	struct ks_lua_chain *c = luaL_checkudata(L, i, KS_LUA_CHAIN);

	if (c->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	return c;
}

/* Raises if one of the two samples was collected; the earlier one may be NULL. */
static void
check_samples(lua_State *L, const struct ks_lua_sample *now, const struct ks_lua_sample *before)
{
	if (now == NULL || now->s == NULL || (before != NULL && before->s == NULL))
		luaL_error(L, "the sample was collected");
}

struct ks_lua_sample *
ks_lua_checksample(lua_State *L, int i)
{
	struct ks_lua_sample *u = luaL_checkudata(L, i, KS_LUA_SAMPLE);

	check_samples(L, u, NULL);
	return u;
}

struct ks_lua_difference *
ks_lua_checkdifference(lua_State *L, int i)
{
	struct ks_lua_difference *d = luaL_checkudata(L, i, KS_LUA_DIFFERENCE);

	check_samples(L, d->now, d->before);
	return d;
}

struct ks_lua_kstat *
ks_lua_checkkstat(lua_State *L, int i)
{
	return luaL_checkudata(L, i, KS_LUA_KSTAT);
}

struct ks_lua_kstat *
ks_lua_checkdiffering(lua_State *L, int i)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, i);

	luaL_argcheck(L, u->origin == KS_LUA_DIFFERING, i, "a kstat of a difference of two samples expected");
	check_samples(L, u->sample, u->before);
	return u;
}

/* Whether a chain, or the chain of a live kstat, is closed. */
static bool
is_closed(const char *type, const void *u)
{
	const struct ks_lua_kstat *k = u;

	if (strcmp(type, KS_LUA_CHAIN) == 0)
		return ((const struct ks_lua_chain *)u)->kc == NULL;
	return strcmp(type, KS_LUA_KSTAT) == 0 && k->origin == KS_LUA_LIVE && k->chain->kc == NULL;
}

const char *
ks_lua_kind(lua_State *L, int i)
{
	static const char *const types[] = { KS_LUA_CHAIN, KS_LUA_SAMPLE, KS_LUA_DIFFERENCE,
		KS_LUA_KSTAT, KS_LUA_SELECTOR, KS_LUA_DISTRIBUTION };

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		const void *u = ks_lua_testudata(L, i, types[t]);

		if (u != NULL)
			return is_closed(types[t], u) ? "closed" : types[t] + strlen("kstat.");
	}
	return NULL;
}

/* --- kstats -------------------------------------------------------------------------------- */

kstat_t *
ks_lua_findlive(lua_State *L, struct ks_lua_kstat *u)
{
	if (u->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	if (u->seen != u->chain->updates) {
		u->ksp = ks_chain_find(u->chain->kc, u->head.ks_kid);
		u->seen = u->chain->updates;
	}
	if (u->ksp == NULL)
		return ks_fail_null(ENXIO, "%s:%d:%s is gone", u->head.ks_module,
		    u->head.ks_instance, u->head.ks_name);
	return u->ksp;
}

const kstat_t *
ks_lua_head(lua_State *L, struct ks_lua_kstat *u)
{
	if (u->origin != KS_LUA_LIVE) {
		check_samples(L, u->sample, u->before);
		return u->delta.now;
	}
	if (u->chain->kc != NULL && ks_lua_findlive(L, u) != NULL) {
		u->head.ks_snaptime = u->ksp->ks_data != NULL ? u->ksp->ks_snaptime : 0;
		u->head.ks_ndata = u->ksp->ks_ndata;
	}
	return &u->head;
}

#define OBJECTS 7 /* in the state of a chain, a sample or a difference: the objects of its kstats that scripts have */

/*
 * The object of a kstat, pushed, which is the same as long as a script has it: it may be the key of a table. id tells the
 * kstats of one state apart.
 */
static struct ks_lua_kstat *
push_kstat(lua_State *L, int state, enum ks_lua_origin origin, struct ks_lua_chain *chain, const void *id)
{
	struct ks_lua_kstat *u;

	state = ks_lua_absindex(L, state);
	luaL_checkstack(L, 6, NULL);
	lua_rawgeti(L, state, OBJECTS);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_newtable(L);
		ks_lua_setstring(L, "__mode", "v");
		lua_setmetatable(L, -2);
		lua_pushvalue(L, -1);
		lua_rawseti(L, state, OBJECTS);
	}
	lua_pushlightuserdata(L, (void *)(uintptr_t)id);
	lua_pushvalue(L, -1);
	lua_rawget(L, -3);
	u = lua_touserdata(L, -1);
	if (u == NULL) {
		lua_pop(L, 1);
		u = ks_lua_newuserdata(L, origin == KS_LUA_LIVE ? sizeof(*u) : offsetof(struct ks_lua_kstat, head));
		u->origin = origin;
		u->chain = chain;
		lua_pushvalue(L, state);
		ks_lua_setuservalue(L, -2);
		ks_lua_setmetatable(L, KS_LUA_KSTAT);
		lua_pushvalue(L, -2);
		lua_pushvalue(L, -2);
		lua_rawset(L, -5);
	}
	lua_replace(L, -3);
	lua_pop(L, 1);
	return u;
}

void
ks_lua_pushlive(lua_State *L, int state, struct ks_lua_chain *chain, kstat_t *ksp)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_LIVE, chain, (const void *)(uintptr_t)ksp->ks_kid);

	u->head = *ksp;
	u->head.ks_next = NULL;
	u->head.ks_data = NULL; /* the chain owns it */
	u->ksp = ksp;
	u->seen = chain->updates;
}

void
ks_lua_pushsampled(lua_State *L, int state, struct ks_lua_sample *sample, const kstat_t *ksp)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_SAMPLED, sample->chain, ksp);

	u->sample = sample;
	u->delta.now = ksp;
}

void
ks_lua_pushdiffering(lua_State *L, int state, const struct ks_lua_difference *d,
    const struct ks_delta *delta)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_DIFFERING, d->now->chain, delta->now);

	u->sample = d->now;
	u->before = d->before;
	u->delta = *delta;
}
