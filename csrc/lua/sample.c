/*
 * sample.c - samples and their differences as Lua objects. SPDX-License-Identifier: MIT
 */
#include "chain/sample.h"

#include <errno.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

static struct ks_lua_sample *
check_sample(lua_State *L, int i)
{
	struct ks_lua_sample *u = luaL_checkudata(L, i, KS_LUA_SAMPLE);

	if (u->s == NULL)
		luaL_error(L, "the sample was collected");
	return u;
}

struct ks_lua_difference *
ks_lua_checkdifference(lua_State *L, int i)
{
	struct ks_lua_difference *d = luaL_checkudata(L, i, KS_LUA_DIFFERENCE);

	if (d->now == NULL || d->now->s == NULL || (d->before != NULL && d->before->s == NULL))
		luaL_error(L, "the sample was collected");
	return d;
}

/* True while kstats can be added: the chain is open and was not updated since. */
static bool
can_grow(const struct ks_lua_sample *u)
{
	return !u->frozen && u->chain->kc != NULL && u->chain->updates == u->updates;
}

/* --- making them ------------------------------------------------------------------------ */

/* Reads what the earlier sample holds, as far as it is still there. 0, or -1 with errno. */
static int
follow(struct ks_lua_sample *u, const struct ks_sample *earlier)
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

/* Reads what any of the selectors at index i matches (none: everything). 0, or -1 with errno. */
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

/* An empty sample of the chain at index i, pushed; NULL with errno ENOMEM, nothing pushed. */
static struct ks_lua_sample *
new_sample(lua_State *L, int i)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, i);
	struct ks_lua_sample *u = ks_lua_newuserdata(L, sizeof(*u));
	int at = lua_gettop(L);

	ks_lua_setmetatable(L, KS_LUA_SAMPLE);
	lua_createtable(L, 1, 1);
	lua_pushvalue(L, at);
	lua_rawseti(L, -2, 0);
	lua_pushvalue(L, i);
	lua_rawseti(L, -2, 1);
	ks_lua_setuservalue(L, at);
	lua_settop(L, at);
	u->chain = c;
	u->updates = c->updates;
	u->s = ks_sample_new(c->kc);
	if (u->s != NULL)
		return u;
	lua_settop(L, at - 1);
	return NULL;
}

/*
 * sample(chain[, earlier[, selectors]]) -> a sample of this moment, which reads what it is asked for
 * until it is frozen or the chain is updated; at once what an earlier sample holds, as far as it is
 * still there, and what any of the selectors matches | nil, message, errno.
 */
static int
sample_new(lua_State *L)
{
	struct ks_lua_sample *earlier = lua_isnoneornil(L, 2) ? NULL : check_sample(L, 2);
	struct ks_lua_sample *u;

	lua_settop(L, 3);
	u = new_sample(L, 1);
	if (u == NULL || (earlier != NULL && follow(u, earlier->s) != 0) ||
	    (!lua_isnil(L, 3) && add_selected(L, u, 3) != 0))
		return ks_lua_fail(L);
	return 1;
}

/* add(sample, selectors): reads what any of the selectors matches (none: everything). */
static int
sample_add(lua_State *L)
{
	struct ks_lua_sample *u = check_sample(L, 1);

	lua_settop(L, 2);
	luaL_argcheck(L, can_grow(u), 1, "the sample is frozen");
	if (add_selected(L, u, 2) != 0)
		return ks_lua_fail(L);
	lua_settop(L, 1);
	return 1;
}

/* freeze(sample): it takes in nothing any more. */
static int
sample_freeze(lua_State *L)
{
	check_sample(L, 1)->frozen = true;
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
	lua_pushfstring(L, "kstat sample (%d kstats)", (int)check_sample(L, 1)->s->n);
	return 1;
}

/* --- finding in a sample ------------------------------------------------------------------ */

/* The copy of a kstat of the chain; NULL with errno ENOMEM. */
static const kstat_t *
take(struct ks_lua_sample *u, kstat_t *ksp)
{
	return ks_sample_add(u->s, u->chain->kc, ksp);
}

/* NULL if there is none, or with *failed set if it could not be added. */
static const kstat_t *
find(struct ks_lua_sample *u, const struct ks_lua_name *name, bool *failed)
{
	const kstat_t *found;

	*failed = false;
	if (can_grow(u)) {
		kstat_t *ksp = u->chain->kc->kc_chain;

		if (name->any_instance || name->instance != -1)
			ksp = kstat_lookup(u->chain->kc, name->module,
			    name->any_instance ? -1 : name->instance, name->name);
		else
			while (ksp != NULL && !ks_lua_hasname(name, ksp))
				ksp = ksp->ks_next;
		if (ksp == NULL)
			return NULL;
		found = take(u, ksp);
		*failed = found == NULL;
		return found;
	}
	if (name->module != NULL && name->name != NULL && !name->any_instance)
		return ks_sample_lookup(u->s, name->module, name->instance, name->name);
	for (size_t i = 0; i < u->s->n; i++) {
		if (ks_lua_hasname(name, u->s->ksp[i]))
			return u->s->ksp[i];
	}
	return NULL;
}

static int
sample_lookup(lua_State *L)
{
	struct ks_lua_sample *u = check_sample(L, 1);
	struct ks_lua_name name;
	const kstat_t *ksp = NULL;
	bool failed = false;

	lua_settop(L, 4);
	if (ks_lua_checkname(L, 2, &name))
		ksp = find(u, &name, &failed);
	if (failed)
		return ks_lua_fail(L);
	if (ksp == NULL) {
		lua_pushnil(L);
		return 1;
	}
	ks_lua_getuservalue(L, 1);
	ks_lua_pushsampled(L, -1, u, ksp);
	return 1;
}

int
ks_lua_select_in(struct ks_lua_sample *u, const struct ks_selector *const *selectors, size_t n,
    struct ks_selection *sel)
{
	if (!can_grow(u)) {
		if (ks_selector_pick(selectors, n, u->s->ksp, u->s->n, sel) != 0)
			return -1;
		ks_chain_warn_of_selectors(u->chain->kc, selectors, n);
		return 0;
	}
	if (ks_selector_select_any(selectors, n, u->chain->kc, sel) != 0)
		return -1;
	for (size_t i = 0; i < sel->n; i++) {
		/* What the sample hands out is its own memory: dropping const is harmless. */
		const kstat_t *copy = take(u, sel->ksp[i]);

		if (copy == NULL)
			return -1;
		sel->ksp[i] = (kstat_t *)(uintptr_t)copy;
	}
	return 0;
}

/* select(sample, selectors) -> array of kstats, in the order of kstat(8) */
static int
sample_select(lua_State *L)
{
	struct ks_lua_sample *u = check_sample(L, 1);
	const struct ks_selector *const *selectors;
	struct ks_selection *sel;
	size_t n;

	lua_settop(L, 2);
	ks_lua_getuservalue(L, 1);
	selectors = ks_lua_checkselectors(L, 2, &n);
	sel = ks_lua_newselection(L);
	if (ks_lua_select_in(u, selectors, n, sel) != 0)
		return ks_lua_fail(L);
	lua_createtable(L, (int)sel->n, 0);
	for (size_t i = 0; i < sel->n; i++) {
		ks_lua_pushsampled(L, 3, u, sel->ksp[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 1;
}

static const kstat_t *
first_of(struct ks_lua_sample *u)
{
	return can_grow(u) ? u->chain->kc->kc_chain : u->s->n > 0 ? u->s->ksp[0] : NULL;
}

/* Walks the chain or the sample's own list; *i counts. */
static const kstat_t *
next_of(struct ks_lua_sample *u, const kstat_t *ksp, size_t *i)
{
	++*i;
	if (can_grow(u))
		return ksp->ks_next;
	return *i < u->s->n ? u->s->ksp[*i] : NULL;
}

/* members(sample, module) -> array of the module's kstats; a growing sample reads them */
static int
sample_members(lua_State *L)
{
	struct ks_lua_sample *u = check_sample(L, 1);
	const char *module = luaL_checkstring(L, 2);
	size_t i = 0;
	int n = 0;

	ks_lua_getuservalue(L, 1);
	lua_newtable(L);
	for (const kstat_t *ksp = first_of(u); ksp != NULL; ksp = next_of(u, ksp, &i)) {
		const kstat_t *copy = ksp;

		if (strcmp(ksp->ks_module, module) != 0)
			continue;
		if (can_grow(u)) {
			copy = take(u, (kstat_t *)(uintptr_t)ksp);
			if (copy == NULL)
				return ks_lua_fail(L);
		}
		ks_lua_pushsampled(L, -2, u, copy);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

static int
sample_names(lua_State *L)
{
	struct ks_lua_sample *u = check_sample(L, 1);
	size_t i = 0;

	lua_newtable(L);
	for (const kstat_t *ksp = first_of(u); ksp != NULL; ksp = next_of(u, ksp, &i)) {
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, ksp->ks_module);
	}
	return 1;
}

/*
 * taken(sample) -> seconds, nanoseconds of gethrtime();
 * time_of_day(sample) -> seconds, nanoseconds since 1970, and whole seconds as clocks show them
 */
static int
sample_taken(lua_State *L)
{
	const struct ks_sample *s = check_sample(L, 1)->s;

	ks_lua_pushseconds(L, s->taken);
	ks_lua_pushi64(L, s->taken);
	return 2;
}

static int
sample_time_of_day(lua_State *L)
{
	const struct ks_sample *s = check_sample(L, 1)->s;

	ks_lua_pushseconds(L, s->time_of_day);
	ks_lua_pushi64(L, s->time_of_day);
	ks_lua_pushi64(L, s->seconds);
	return 3;
}

/* length(sample) -> how many kstats it holds by now */
static int
sample_length(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)check_sample(L, 1)->s->n);
	return 1;
}

/* --- differences ------------------------------------------------------------------------------ */

/* difference(now, before) -> what happened in between; before nil: since creation */
static int
difference_new(lua_State *L)
{
	struct ks_lua_sample *now = check_sample(L, 1);
	struct ks_lua_sample *before = lua_isnoneornil(L, 2) ? NULL : check_sample(L, 2);
	struct ks_lua_difference *d;

	lua_settop(L, 2);
	d = ks_lua_newuserdata(L, sizeof(*d));
	d->now = now;
	d->before = before;
	lua_createtable(L, 2, 2);
	lua_pushvalue(L, 3);
	lua_rawseti(L, 4, 0);
	lua_pushvalue(L, 1);
	lua_rawseti(L, 4, 1);
	lua_pushvalue(L, 2);
	lua_rawseti(L, 4, 2);
	ks_lua_setuservalue(L, 3);
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

bool
ks_lua_open_delta(const struct ks_lua_difference *d, const kstat_t *now, struct ks_delta *delta)
{
	return ks_delta_open(delta, d->before != NULL ? d->before->s : NULL, now);
}

int
ks_lua_find_delta(lua_State *L, const struct ks_lua_difference *d, int i, struct ks_delta *delta)
{
	struct ks_lua_name name;
	const kstat_t *ksp = NULL;
	bool failed = false;

	if (ks_lua_checkname(L, i, &name))
		ksp = find(d->now, &name, &failed);
	if (failed)
		return -1;
	return ksp != NULL && ks_lua_open_delta(d, ksp, delta);
}

static int
difference_lookup(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	struct ks_delta delta;
	int found;

	lua_settop(L, 4);
	found = ks_lua_find_delta(L, d, 2, &delta);
	if (found < 0)
		return ks_lua_fail(L);
	if (found == 0) {
		lua_pushnil(L);
		return 1;
	}
	ks_lua_getuservalue(L, 1);
	ks_lua_pushdiffering(L, -1, d, &delta);
	return 1;
}

static int
difference_select(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	const struct ks_selector *const *selectors;
	struct ks_selection *sel;
	size_t n;
	int found = 0;

	lua_settop(L, 2);
	ks_lua_getuservalue(L, 1);
	selectors = ks_lua_checkselectors(L, 2, &n);
	sel = ks_lua_newselection(L);
	if (ks_lua_select_in(d->now, selectors, n, sel) != 0)
		return ks_lua_fail(L);
	lua_createtable(L, (int)sel->n, 0);
	for (size_t i = 0; i < sel->n; i++) {
		struct ks_delta delta;

		if (!ks_lua_open_delta(d, sel->ksp[i], &delta))
			continue;
		ks_lua_pushdiffering(L, 3, d, &delta);
		lua_rawseti(L, -2, ++found);
	}
	return 1;
}

static int
difference_members(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	const char *module = luaL_checkstring(L, 2);
	struct ks_lua_sample *u = d->now;
	size_t i = 0;
	int n = 0;

	ks_lua_getuservalue(L, 1);
	lua_newtable(L);
	for (const kstat_t *ksp = first_of(u); ksp != NULL; ksp = next_of(u, ksp, &i)) {
		const kstat_t *copy = ksp;
		struct ks_delta delta;

		if (strcmp(ksp->ks_module, module) != 0)
			continue;
		if (can_grow(u)) {
			copy = take(u, (kstat_t *)(uintptr_t)ksp);
			if (copy == NULL)
				return ks_lua_fail(L);
		}
		if (!ks_lua_open_delta(d, copy, &delta))
			continue;
		ks_lua_pushdiffering(L, -2, d, &delta);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

static int
difference_names(lua_State *L)
{
	struct ks_lua_sample *u = ks_lua_checkdifference(L, 1)->now;
	size_t i = 0;

	lua_newtable(L);
	for (const kstat_t *ksp = first_of(u); ksp != NULL; ksp = next_of(u, ksp, &i)) {
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, ksp->ks_module);
	}
	return 1;
}

/* elapsed(difference) -> seconds, nanoseconds between the samples; since creation: of gethrtime() */
static int
difference_elapsed(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	hrtime_t elapsed = d->now->s->taken - (d->before != NULL ? d->before->s->taken : 0);

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
		{ "__gc", sample_gc },
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
		{ "sample_freeze", sample_freeze },
		{ "sample_lookup", sample_lookup },
		{ "sample_select", sample_select },
		{ "sample_members", sample_members },
		{ "sample_names", sample_names },
		{ "sample_taken", sample_taken },
		{ "sample_time_of_day", sample_time_of_day },
		{ "difference", difference_new },
		{ "difference_lookup", difference_lookup },
		{ "difference_select", difference_select },
		{ "difference_members", difference_members },
		{ "difference_names", difference_names },
		{ "difference_elapsed", difference_elapsed },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, KS_LUA_SAMPLE, meta);
	lua_setfield(L, -2, "sample_meta");
	ks_lua_newtype(L, KS_LUA_DIFFERENCE, difference_meta);
	lua_setfield(L, -2, "difference_meta");
}
