/*
 * find.c - how kstats are found in a chain, in a sample, or in the difference of two samples. A sample
 * that can still grow looks in its chain, and copies what it finds there. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

bool
ks_lua_can_grow(const struct ks_lua_sample *u)
{
	return !u->frozen && u->chain->kc != NULL && u->chain->updates == u->updates;
}

void
ks_lua_checkplace(lua_State *L, int i, struct ks_lua_place *p)
{
	*p = (struct ks_lua_place){ .whole = false };
	if (ks_lua_testudata(L, i, KS_LUA_DIFFERENCE) != NULL) {
		p->difference = ks_lua_checkdifference(L, i);
		p->whole = p->difference->alone;
		p->sample = p->difference->now;
	} else if (ks_lua_testudata(L, i, KS_LUA_SAMPLE) != NULL) {
		p->sample = ks_lua_checksample(L, i);
	}
	luaL_argcheck(L, p->sample != NULL || ks_lua_testudata(L, i, KS_LUA_CHAIN) != NULL, i,
	    "a chain, a sample or a difference expected");
	p->chain = p->sample != NULL ? p->sample->chain : ks_lua_checkchain(L, i);
}

/* Whether the kstats of the chain are looked at, and not the copies of the sample. */
static bool
is_live(const struct ks_lua_place *p)
{
	return p->sample == NULL || ks_lua_can_grow(p->sample);
}

/* Whether the sample may lack kstats that its chain had: the tick of a loop is over, and nothing asked for them. */
static bool
may_lack(const struct ks_lua_place *p)
{
	return !is_live(p) && !p->sample->complete && p->chain->kc != NULL;
}

/*
 * Pushes why a kstat of the chain cannot be had from a sample that may lack it: to say that there was none would be
 * wrong. Returns false if the sample has it, or was made before the kstat came.
 */
static bool
push_lack(lua_State *L, const struct ks_lua_place *p, const kstat_t *ksp)
{
	if (!ks_sample_lacks(p->sample->s, ksp))
		return false;
	lua_pushfstring(L, "%s:%d:%s was not read during the tick of this sample: name it in the option 'select' of "
	    "kstat.every()", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	return true;
}

kstat_t *
ks_lua_first(const struct ks_lua_place *p, size_t *i)
{
	*i = 0;
	return is_live(p) ? p->chain->kc->kc_chain : p->sample->s->n > 0 ? p->sample->s->ksp[0] : NULL;
}

kstat_t *
ks_lua_next(const struct ks_lua_place *p, const kstat_t *ksp, size_t *i)
{
	++*i;
	if (is_live(p))
		return ksp->ks_next;
	return *i < p->sample->s->n ? p->sample->s->ksp[*i] : NULL;
}

int
ks_lua_resolve(const struct ks_lua_place *p, kstat_t *ksp, struct ks_delta *delta)
{
	const struct ks_lua_sample *before;

	delta->now = ksp;
	if (p->sample != NULL && ks_lua_can_grow(p->sample))
		delta->now = ks_sample_add(p->sample->s, p->chain->kc, ksp);
	if (delta->now == NULL)
		return -1;
	if (p->difference == NULL)
		return 1;
	before = p->difference->before;
	return (!p->difference->alone && ks_delta_open(delta, before != NULL ? before->s : NULL, delta->now)) ||
	    (p->whole && ks_delta_alone(delta, delta->now));
}

/* Pushes the object of a kstat that was found; state: the index of the place's state. As ks_lua_resolve(). */
static int
push_found(lua_State *L, int state, const struct ks_lua_place *p, kstat_t *ksp)
{
	struct ks_delta delta;
	int found = ks_lua_resolve(p, ksp, &delta);

	if (found <= 0)
		return found;
	if (p->difference != NULL)
		ks_lua_pushdiffering(L, state, p->difference, &delta);
	else if (p->sample != NULL)
		ks_lua_pushsampled(L, state, p->sample, delta.now);
	else
		ks_lua_pushlive(L, state, p->chain, ksp);
	return 1;
}

/* --- by name --------------------------------------------------------------------------------- */

struct name {
	const char *module; /* NULL: any */
	const char *name;   /* NULL: any */
	bool any_instance;
	int instance;
};

/* The name at index i to i + 2; false if no kstat can have it. */
static bool
check_name(lua_State *L, int i, struct name *name)
{
	size_t nm = 0, nn = 0;
	lua_Number instance = -1;

	name->module = luaL_optlstring(L, i, NULL, &nm);
	name->any_instance = lua_isnoneornil(L, i + 1);
	if (!name->any_instance)
		instance = luaL_checknumber(L, i + 1);
	name->name = luaL_optlstring(L, i + 2, NULL, &nn);
	if (!(instance >= -2147483648.0 && instance <= 2147483647.0) ||
	    instance != (lua_Number)(int)instance)
		return false;
	name->instance = (int)instance;
	return (name->module == NULL || strlen(name->module) == nm) &&
	    (name->name == NULL || strlen(name->name) == nn);
}

static bool
has_name(const kstat_t *ksp, const struct name *name)
{
	return (name->module == NULL || strcmp(name->module, ksp->ks_module) == 0) &&
	    (name->any_instance || name->instance == ksp->ks_instance) &&
	    (name->name == NULL || strcmp(name->name, ksp->ks_name) == 0);
}

/* The kstat at index i to i + 2, or NULL. The instance -1 is any, as in C, where there is none of that number. */
static kstat_t *
find_named(lua_State *L, const struct ks_lua_place *p, int i)
{
	struct name name;
	kstat_t *ksp;
	size_t at;

	if (!check_name(L, i, &name))
		return NULL;
	if (is_live(p) && (name.any_instance || name.instance != -1))
		return kstat_lookup(p->chain->kc, name.module, name.instance, name.name);
	if (!is_live(p) && name.module != NULL && name.name != NULL && !name.any_instance) {
		ksp = (kstat_t *)(uintptr_t)ks_sample_lookup(p->sample->s, name.module, name.instance, name.name);
	} else {
		ksp = ks_lua_first(p, &at);
		while (ksp != NULL && !has_name(ksp, &name))
			ksp = ks_lua_next(p, ksp, &at);
	}
	if (ksp == NULL && !name.any_instance && name.instance == -1) {
		name.any_instance = true;
		for (ksp = ks_lua_first(p, &at); ksp != NULL && !has_name(ksp, &name);)
			ksp = ks_lua_next(p, ksp, &at);
	}
	if (ksp == NULL && may_lack(p)) {
		kstat_t *live = p->chain->kc->kc_chain;

		while (live != NULL && !has_name(live, &name))
			live = live->ks_next;
		if (live != NULL && push_lack(L, p, live))
			(void)luaL_error(L, "%s", lua_tostring(L, -1));
	}
	return ksp;
}

/* lookup(place, module, instance, name) -> kstat | nil, message, errno */
static int
lookup(lua_State *L)
{
	struct ks_lua_place p;
	kstat_t *ksp;
	int found = 0;

	lua_settop(L, 4);
	ks_lua_checkplace(L, 1, &p);
	ks_lua_getuservalue(L, 1);
	ksp = find_named(L, &p, 2);
	if (ksp != NULL)
		found = push_found(L, 5, &p, ksp);
	if (found < 0)
		return ks_lua_fail(L);
	if (found == 0) {
		char instance[24] = "*";

		if (!lua_isnil(L, 3))
			(void)snprintf(instance, sizeof(instance), "%.14g", lua_tonumber(L, 3));
		return ks_lua_failwith(L, ENOENT, "no kstat %.60s:%s:%.60s", luaL_optstring(L, 2, "*"),
		    instance, luaL_optstring(L, 4, "*"));
	}
	return 1;
}

/* --- several ----------------------------------------------------------------------------------- */

/* Finds the kstats that any of the selectors matches, in the order of kstat(8). 0, or -1 with errno. */
static int
select_any(const struct ks_lua_place *p, const struct ks_selector *const *selectors, size_t n,
    struct ks_selection *sel)
{
	if (is_live(p))
		return ks_selector_select_any(selectors, n, p->chain->kc, sel);
	if (ks_selector_pick(selectors, n, p->sample->s->ksp, p->sample->s->n, sel) != 0)
		return -1;
	ks_chain_warn_of_selectors(p->chain->kc, selectors, n);
	return 0;
}

int
ks_lua_selectfrom(lua_State *L, const struct ks_lua_place *p, const struct ks_selector *const *selectors, size_t n,
    struct ks_selection *sel)
{
	if (may_lack(p)) {
		if (ks_selector_select_any(selectors, n, p->chain->kc, sel) != 0)
			return ks_lua_fail(L);
		for (size_t i = 0; i < sel->n; i++) {
			lua_pushboolean(L, 0);
			if (push_lack(L, p, sel->ksp[i]))
				return 2;
			lua_pop(L, 1);
		}
		ks_selection_free(sel);
	}
	return select_any(p, selectors, n, sel) == 0 ? 0 : ks_lua_fail(L);
}

/*
 * select(place, selectors[, whole[, most]]) -> array of kstats, in the order of kstat(8) | nil, message, errno; false and
 * a message if one was not read during the tick of the sample. whole: of a difference also those that its earlier
 * sample lacks, although they were there, as kstats without an interval. most: the first ones, so many at most.
 */
static int
place_select(lua_State *L)
{
	const struct ks_selector *const *selectors;
	struct ks_selection *sel;
	struct ks_lua_place p;
	size_t n;
	int count = 0, most = (int)luaL_optinteger(L, 4, INT_MAX), failed;

	lua_settop(L, 3);
	ks_lua_checkplace(L, 1, &p);
	p.whole = p.whole || lua_toboolean(L, 3);
	ks_lua_getuservalue(L, 1);
	selectors = ks_lua_checkselectors(L, 2, &n);
	sel = ks_lua_newselection(L);
	failed = ks_lua_selectfrom(L, &p, selectors, n, sel);
	if (failed > 0)
		return failed;
	lua_createtable(L, sel->n < (size_t)most ? (int)sel->n : most, 0);
	for (size_t i = 0; i < sel->n && count < most; i++) {
		int found = push_found(L, 4, &p, sel->ksp[i]);

		if (found < 0)
			return ks_lua_fail(L);
		if (found > 0)
			lua_rawseti(L, -2, ++count);
	}
	return 1;
}

/*
 * members(place, module) -> array of the module's kstats, in chain order | nil, message, errno; false and a message
 * if none was read during the tick of the sample
 */
static int
members(lua_State *L)
{
	const char *module = luaL_checkstring(L, 2);
	struct ks_lua_place p;
	size_t i;
	int n = 0;

	ks_lua_checkplace(L, 1, &p);
	lua_settop(L, 2);
	ks_lua_getuservalue(L, 1);
	lua_newtable(L);
	for (kstat_t *ksp = ks_lua_first(&p, &i); ksp != NULL; ksp = ks_lua_next(&p, ksp, &i)) {
		int found = strcmp(ksp->ks_module, module) == 0 ? push_found(L, 3, &p, ksp) : 0;

		if (found < 0)
			return ks_lua_fail(L);
		if (found > 0)
			lua_rawseti(L, 4, ++n);
	}
	if (n > 0 || !may_lack(&p))
		return 1;
	for (kstat_t *ksp = p.chain->kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		lua_pushboolean(L, 0);
		if (strcmp(ksp->ks_module, module) == 0 && push_lack(L, &p, ksp))
			return 2;
		lua_pop(L, 1);
	}
	return 1;
}

/* names(place) -> set of the modules' names */
static int
names(lua_State *L)
{
	struct ks_lua_place p;
	size_t i;

	ks_lua_checkplace(L, 1, &p);
	lua_newtable(L);
	for (const kstat_t *ksp = ks_lua_first(&p, &i); ksp != NULL; ksp = ks_lua_next(&p, ksp, &i))
		ks_lua_setboolean(L, ksp->ks_module, 1);
	return 1;
}

void
ks_lua_add_find(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "lookup", lookup },
		{ "select", place_select },
		{ "members", members },
		{ "names", names },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
}
