/* figures.c - several sums over a kstat of a difference in one call. SPDX-License-Identifier: MIT */
#include "chain/figures.h"

#include <string.h>

#include "kstat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

#define MOST 1000 /* figures */
#define MORE 8 /* fields that a script is likely to add */

/* Its associated table holds the names of the figures, in their order. */
struct figures {
	struct ks_figures *f; /* owned; NULL: collected */
	struct ks_figure out[]; /* room for what is read */
};

/* Adds the statistics of figure i, { how, statistic, ... } on top of the stack. */
static void
add_figure(lua_State *L, struct figures *u, size_t i, const char *name)
{
	static const char *const hows[] = { "rate", "delta", "now", "mean", NULL };
	size_t n = lua_istable(L, -1) ? ks_lua_rawlen(L, -1) : 0;
	int how;

	if (n < 2)
		luaL_error(L, "figure '%s': { how, statistic, ... } expected", name);
	lua_rawgeti(L, -1, 1);
	for (how = 0; hows[how] != NULL; how++) {
		if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), hows[how]) == 0)
			break;
	}
	if (hows[how] == NULL)
		luaL_error(L, "figure '%s': 'rate', 'delta', 'now' or 'mean' expected", name);
	lua_pop(L, 1);
	for (size_t k = 2; k <= n; k++) {
		lua_rawgeti(L, -1, (int)k);
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "figure '%s': the name of a statistic expected", name);
		if (ks_figures_add(u->f, i, (enum ks_how)how, lua_tostring(L, -1)) != 0)
			luaL_error(L, "figure '%s': %s", name, kstat_errmsg());
		lua_pop(L, 1);
	}
}

/* figures({ [name] = { how, statistic, ... }, ... }) -> figures */
static int
figures_new(lua_State *L)
{
	struct figures *u;
	size_t n = 0, i = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
		luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, 1, "figures have names");
		n++;
	}
	luaL_argcheck(L, n <= MOST, 1, "too many figures");
	u = ks_lua_newuserdata(L, sizeof(*u) + n * sizeof(u->out[0]));
	ks_lua_setmetatable(L, KS_LUA_FIGURES);
	u->f = ks_figures_new(n);
	if (u->f == NULL)
		return ks_lua_fail(L);
	lua_createtable(L, (int)n, 0);
	for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
		add_figure(L, u, i, lua_tostring(L, -2));
		lua_pushvalue(L, -2);
		lua_rawseti(L, 3, (int)++i);
	}
	ks_lua_setuservalue(L, 2);
	lua_settop(L, 2);
	return 1;
}

static int
figures_gc(lua_State *L)
{
	struct figures *u = luaL_checkudata(L, 1, KS_LUA_FIGURES);

	ks_figures_free(u->f);
	u->f = NULL;
	return 0;
}

/*
 * Adds what is known of the figures at index i to the fields of the row on top that have their names.
 * fresh: the row has none of them yet.
 */
static void
add_to_row(lua_State *L, int i, bool fresh, const struct ks_delta *d, kstat_ctl_t *kc)
{
	struct figures *u = lua_touserdata(L, i);
	size_t n = ks_figures_count(u->f);
	int row = lua_gettop(L);

	ks_figures_read(u->f, d, kc, u->out);
	ks_lua_getuservalue(L, i);
	for (size_t k = 0; k < n; k++) {
		if (!u->out[k].known)
			continue;
		lua_rawgeti(L, row + 1, (int)k + 1);
		if (!fresh) {
			lua_pushvalue(L, -1);
			lua_rawget(L, row);
			u->out[k].sum += lua_tonumber(L, -1);
			lua_pop(L, 1);
		}
		lua_pushnumber(L, u->out[k].sum);
		lua_rawset(L, row);
	}
	lua_settop(L, row);
}

/* The same for the row at index i + 1, or a new one if there is none; leaves it on top. */
static void
push_row(lua_State *L, int i, const struct ks_delta *d, kstat_ctl_t *kc)
{
	struct figures *u = luaL_checkudata(L, i, KS_LUA_FIGURES);
	bool fresh = lua_isnoneornil(L, i + 1);

	if (fresh) {
		lua_settop(L, i);
		lua_createtable(L, 0, (int)ks_figures_count(u->f) + MORE);
	}
	luaL_checktype(L, i + 1, LUA_TTABLE);
	lua_settop(L, i + 1);
	add_to_row(L, i, fresh, d, kc);
}

/* kstat:figures(figures[, row]) -> row */
static int
kstat_figures(lua_State *L)
{
	struct ks_lua_kstat *k = ks_lua_checkkstat(L, 1);

	luaL_argcheck(L, k->origin == KS_LUA_DIFFERING, 1,
	    "a kstat of a difference of two samples expected");
	if (k->sample->s == NULL || (k->before != NULL && k->before->s == NULL))
		return luaL_error(L, "the sample was collected");
	push_row(L, 2, &k->delta, k->chain->kc);
	return 1;
}

/* difference_figures(difference, module, instance, name, figures[, row]) -> row | nil: no such kstat */
static int
difference_figures(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	struct ks_delta delta;
	int found = ks_lua_find_delta(L, d, 2, &delta);

	if (found < 0)
		return ks_lua_fail(L);
	if (found == 0)
		lua_pushnil(L);
	else
		push_row(L, 5, &delta, d->now->chain->kc);
	return 1;
}

/*
 * difference_rows(difference, selector, figures) -> an array of rows, one for each kstat that matches: its
 * module, instance and name, and its figures | nil, message, errno
 */
static int
difference_rows(lua_State *L)
{
	struct ks_lua_difference *d = ks_lua_checkdifference(L, 1);
	const struct ks_selector *selector;
	struct figures *u = luaL_checkudata(L, 3, KS_LUA_FIGURES);
	struct ks_selection *sel;
	int found = 0;

	lua_settop(L, 3);
	selector = &((struct ks_lua_selector *)luaL_checkudata(L, 2, KS_LUA_SELECTOR))->s;
	sel = ks_lua_newselection(L);
	if (ks_lua_select_in(d->now, &selector, 1, sel) != 0)
		return ks_lua_fail(L);
	lua_createtable(L, (int)sel->n, 0);
	for (size_t i = 0; i < sel->n; i++) {
		const kstat_t *k = sel->ksp[i];
		struct ks_delta delta;

		if (!ks_lua_open_delta(d, k, &delta))
			continue;
		lua_createtable(L, 0, (int)ks_figures_count(u->f) + MORE);
		lua_pushstring(L, k->ks_module);
		lua_setfield(L, -2, "module");
		lua_pushinteger(L, k->ks_instance);
		lua_setfield(L, -2, "instance");
		lua_pushstring(L, k->ks_name);
		lua_setfield(L, -2, "name");
		add_to_row(L, 3, true, &delta, d->now->chain->kc);
		lua_rawseti(L, -2, ++found);
	}
	return 1;
}

void
ks_lua_add_figures(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__gc", figures_gc },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_FIGURES, meta);
	lua_pop(L, 1);
	lua_pushcfunction(L, figures_new);
	lua_setfield(L, -2, "figures");
	lua_pushcfunction(L, difference_figures);
	lua_setfield(L, -2, "difference_figures");
	lua_pushcfunction(L, difference_rows);
	lua_setfield(L, -2, "difference_rows");
	lua_getfield(L, -1, "kstat_methods");
	lua_pushcfunction(L, kstat_figures);
	lua_setfield(L, -2, "figures");
	lua_pop(L, 1);
}
