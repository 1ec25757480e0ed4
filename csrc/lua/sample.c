/*
 * sample.c - samples and their differences as Lua objects. SPDX-License-Identifier: MIT
 */
#include "chain/sample.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define COUNTED 8 /* one of so many bytes of a sample is counted */

/* --- making them ------------------------------------------------------------------------ */

/* Adds the kstats that the earlier sample holds and that still exist. 0, or -1 with errno. */
static int
add_earlier(struct ks_lua_sample *u, const struct ks_sample *earlier)
{
	for (size_t i = 0; i < earlier->n; i++) {
		const kstat_t *k = earlier->ksp[i];
		kstat_t *ksp = ks_chain_find(u->chain->kc, k->ks_kid);

		if (ksp == NULL)
			ksp = kstat_lookup(u->chain->kc, k->ks_module, k->ks_instance, k->ks_name);
		if (ksp != NULL && ks_sample_add(u->s, u->chain->kc, ksp) == NULL)
			return -1;
	}
	return 0;
}

/* Adds the kstats that any of the selectors at index i matches (no selectors: all). 0, or -1 with errno. */
static int
add_selected(lua_State *L, struct ks_lua_sample *u, int i)
{
	const struct ks_selector *const *selectors;
	struct ks_selection *sel;
	size_t n;

	selectors = ks_lua_checkselectors(L, i, &n);
	sel = ks_lua_newselection(L);
	if (ks_selector_select_any(selectors, n, u->chain->kc, sel) != 0)
		return -1;
	for (size_t k = 0; k < sel->n; k++) {
		if (ks_sample_add(u->s, u->chain->kc, sel->ksp[k]) == NULL)
			return -1;
	}
	lua_pop(L, 2);
	return 0;
}

/*
 * Lets the collector of garbage know of the memory of a sample that grew, which it does not count: without this a
 * loop that takes samples holds hundreds of old ones. Only a part is counted, because a collection may take as long
 * as a sample.
 */
static void
count_memory(lua_State *L, struct ks_lua_sample *u)
{
	size_t kib = (u->s->size - u->counted) / COUNTED / 1024;

	u->counted = u->s->size;
	if (kib > 0 && kib < INT_MAX)
		(void)lua_gc(L, LUA_GCSTEP, (int)kib);
}

/* An empty sample of the chain at index i, pushed; NULL with errno ENOMEM, nothing pushed. */
static struct ks_lua_sample *
new_sample(lua_State *L, int i)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, i);
	struct ks_lua_sample *u = ks_lua_newuserdata(L, sizeof(*u));

	ks_lua_setmetatable(L, KS_LUA_SAMPLE);
	ks_lua_setstate(L, i, 0);
	u->chain = c;
	u->updates = c->updates;
	u->s = ks_sample_new(c->kc);
	if (u->s != NULL)
		return u;
	lua_pop(L, 1);
	return NULL;
}

/*
 * sample(chain[, earlier[, selectors]]) -> a sample of this moment | nil, message, errno. It holds the
 * kstats of the earlier sample that still exist and those that any of the selectors matches. Until it is frozen or
 * the chain is updated, it adds further kstats when a script first asks for them.
 */
static int
sample_new(lua_State *L)
{
	struct ks_lua_sample *earlier = lua_isnoneornil(L, 2) ? NULL : ks_lua_checksample(L, 2);
	struct ks_lua_sample *u;

	lua_settop(L, 3);
	u = new_sample(L, 1);
	if (u == NULL || (earlier != NULL && add_earlier(u, earlier->s) != 0) ||
	    (!lua_isnil(L, 3) && add_selected(L, u, 3) != 0))
		return ks_lua_fail(L);
	count_memory(L, u);
	return 1;
}

/*
 * add(sample, selectors[, earlier[, same]]): reads what any of the selectors matches (none: everything). earlier: a sample
 * of the same chain that has what they match; same: it was taken when the chain was at the same sample of a replay.
 */
static int
sample_add(lua_State *L)
{
	struct ks_lua_sample *u = ks_lua_checksample(L, 1);
	struct ks_lua_sample *earlier = lua_isnoneornil(L, 3) ? NULL : ks_lua_checksample(L, 3);
	const struct ks_selector *const *selectors;
	bool is_same = lua_toboolean(L, 4);
	size_t n;
	int rc;

	lua_settop(L, 2);
	luaL_argcheck(L, ks_lua_can_grow(u), 1, "the sample is frozen");
	if (earlier != NULL) {
		selectors = ks_lua_checkselectors(L, 2, &n);
		rc = ks_sample_add_as(u->s, u->chain->kc, earlier->s, is_same, selectors, n);
	} else {
		rc = add_selected(L, u, 2);
	}
	if (rc != 0)
		return ks_lua_fail(L);
	count_memory(L, u);
	lua_settop(L, 1);
	return 1;
}

/*
 * carry(begin, before, now, is_cut) -> what a step begins with that has reached `now` | nil, message, errno. See
 * chain/sample.h.
 */
static int
sample_carry(lua_State *L)
{
	struct ks_lua_sample *begin = ks_lua_checksample(L, 1), *before = ks_lua_checksample(L, 2);
	struct ks_lua_sample *now = ks_lua_checksample(L, 3), *u;
	bool is_cut = lua_toboolean(L, 4);
	struct ks_sample *s;

	lua_settop(L, 3);
	s = ks_sample_carry(now->chain->kc, begin->s, before->s, now->s, is_cut);
	if (s == NULL)
		return ks_lua_fail(L);
	if (s == begin->s) {
		lua_settop(L, 1);
		return 1;
	}
	ks_lua_getuservalue(L, 3);
	lua_rawgeti(L, -1, 1);
	u = new_sample(L, 5);
	if (u == NULL) {
		ks_sample_free(s);
		return ks_lua_fail(L);
	}
	ks_sample_free(u->s);
	u->s = s;
	u->frozen = u->complete = true;
	return 1;
}

/* freeze(sample[, complete]): no further kstats are added; complete: it is no error to ask for one that is not there */
static int
sample_freeze(lua_State *L)
{
	struct ks_lua_sample *u = ks_lua_checksample(L, 1);

	count_memory(L, u); /* what a script asked for */
	u->frozen = true;
	u->complete = lua_toboolean(L, 2);
	lua_settop(L, 1);
	return 1;
}

static int
sample_gc(lua_State *L)
{
	struct ks_lua_sample *u = luaL_checkudata(L, 1, KS_LUA_SAMPLE);

	ks_sample_free(u->s);
	u->s = NULL;
	return 0;
}

static int
sample_tostring(lua_State *L)
{
	lua_pushfstring(L, "kstat sample (%d kstats)", (int)ks_lua_checksample(L, 1)->s->n);
	return 1;
}

/* The sample, or the later one of the difference, at index 1. */
static const struct ks_sample *
check_moment(lua_State *L)
{
	if (ks_lua_testudata(L, 1, KS_LUA_DIFFERENCE) != NULL)
		return ks_lua_checkdifference(L, 1)->now->s;
	return ks_lua_checksample(L, 1)->s;
}

/*
 * taken(sample or difference) -> seconds, nanoseconds of gethrtime();
 * time_of_day(sample or difference) -> seconds, nanoseconds since 1970, and whole seconds as clocks show them
 */
static int
sample_taken(lua_State *L)
{
	const struct ks_sample *s = check_moment(L);

	ks_lua_pushseconds(L, s->taken);
	ks_lua_pushi64(L, s->taken);
	return 2;
}

static int
sample_time_of_day(lua_State *L)
{
	const struct ks_sample *s = check_moment(L);

	ks_lua_pushseconds(L, s->time_of_day);
	ks_lua_pushi64(L, s->time_of_day);
	ks_lua_pushi64(L, s->seconds);
	return 3;
}

/* length(sample) -> how many kstats it holds by now */
static int
sample_length(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_lua_checksample(L, 1)->s->n);
	return 1;
}

/* sample_size(sample) -> bytes that its copies take by now */
static int
sample_size(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)ks_lua_checksample(L, 1)->s->size);
	return 1;
}

/* --- differences ------------------------------------------------------------------------------ */

/*
 * difference(now, before) -> the difference of two samples; before nil: since creation; false: without an interval. now
 * may be a difference: its later sample
 */
static int
difference_new(lua_State *L)
{
	struct ks_lua_sample *now;
	bool alone = lua_isboolean(L, 2) && !lua_toboolean(L, 2);
	struct ks_lua_sample *before = alone || lua_isnoneornil(L, 2) ? NULL : ks_lua_checksample(L, 2);
	struct ks_lua_difference *d;

	lua_settop(L, 2);
	if (ks_lua_testudata(L, 1, KS_LUA_DIFFERENCE) != NULL) {
		ks_lua_getuservalue(L, 1);
		lua_rawgeti(L, -1, 1);
		lua_replace(L, 1);
		lua_settop(L, 2);
	}
	now = ks_lua_checksample(L, 1);
	d = ks_lua_newuserdata(L, sizeof(*d));
	d->now = now;
	d->before = before;
	d->alone = alone;
	ks_lua_setstate(L, 1, 2);
	ks_lua_setmetatable(L, KS_LUA_DIFFERENCE);
	return 1;
}

/* subtract(now, before) -> their difference */
static int
sample_subtract(lua_State *L)
{
	int other = ks_lua_testudata(L, 1, KS_LUA_SAMPLE) != NULL ? 2 : 1;
	const char *kind;

	if (other == 2 && ks_lua_testudata(L, 2, KS_LUA_SAMPLE) != NULL)
		return difference_new(L);
	if (lua_isnil(L, other))
		return luaL_error(L, "there is no earlier sample at the first tick: "
		    "see now:since_creation()");
	kind = ks_lua_kind(L, other);
	return luaL_error(L, "a sample can only be subtracted from a sample, got %s",
	    kind != NULL ? kind : luaL_typename(L, other));
}

/* elapsed(difference) -> seconds, nanoseconds between the samples; since creation: of gethrtime(); else nothing */
static int
difference_elapsed(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	hrtime_t elapsed;

	if (d->alone)
		return 0;
	if (__builtin_sub_overflow(d->now->s->taken, d->before != NULL ? d->before->s->taken : 0, &elapsed))
		elapsed = 0; /* moments of a capture may be from anywhere */
	ks_lua_pushseconds(L, elapsed);
	ks_lua_pushi64(L, elapsed);
	return 2;
}

static int
difference_tostring(lua_State *L)
{
	(void)luaL_checkudata(L, 1, KS_LUA_DIFFERENCE);
	lua_pushliteral(L, "kstat difference");
	return 1;
}

void
ks_lua_add_sample(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__tostring", sample_tostring },
		{ "__len", sample_length },
		{ "__sub", sample_subtract },
		{ NULL, NULL }
	};
	static const luaL_Reg difference_meta[] = {
		{ "__tostring", difference_tostring },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "sample", sample_new },
		{ "sample_add", sample_add },
		{ "sample_carry", sample_carry },
		{ "sample_freeze", sample_freeze },
		{ "sample_size", sample_size },
		{ "sample_taken", sample_taken },
		{ "sample_time_of_day", sample_time_of_day },
		{ "difference", difference_new },
		{ "difference_elapsed", difference_elapsed },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, KS_LUA_SAMPLE, sample_gc, meta, NULL);
	luaL_getmetatable(L, KS_LUA_SAMPLE);
	lua_setfield(L, -2, "sample_meta");
	ks_lua_newtype(L, KS_LUA_DIFFERENCE, NULL, difference_meta, NULL);
	luaL_getmetatable(L, KS_LUA_DIFFERENCE);
	lua_setfield(L, -2, "difference_meta");
}
