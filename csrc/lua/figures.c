/* figures.c - several sums over a kstat of a difference in one call. SPDX-License-Identifier: MIT */
#include "chain/figures.h"

#include <math.h>
#include <stdlib.h>
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
	struct ks_figure *out; /* owned; room for what is read */
};

/* The k-th string of the array on top, which keeps it; where: of figure `name`. */
static const char *
check_statistic(lua_State *L, size_t k, const char *name, const char *where)
{
	const char *stat;

	lua_rawgeti(L, -1, (int)k);
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "figure '%s': %sthe name of a statistic expected", name, where);
	stat = lua_tostring(L, -1);
	lua_pop(L, 1);
	return stat;
}

/* Adds the fields `scale` and `of` of figure i, on top of the stack. */
static void
add_fields(lua_State *L, struct figures *u, size_t i, enum ks_how how, const char *name)
{
	size_t n;

	lua_getfield(L, -1, "scale");
	if (!lua_isnil(L, -1)) {
		if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1)))
			luaL_error(L, "figure '%s': scale: a number expected", name);
		ks_figures_scale(u->f, i, lua_tonumber(L, -1));
	}
	lua_getfield(L, -2, "of");
	n = lua_istable(L, -1) ? ks_lua_rawlen(L, -1) : 0;
	if ((how == KS_HOW_PERCENT) != (n > 0))
		luaL_error(L, how == KS_HOW_PERCENT ? "figure '%s': of = { statistic, ... } expected" :
		    "figure '%s': only a percentage is one of something", name);
	for (size_t k = 1; k <= n; k++) {
		if (ks_figures_add_whole(u->f, i, check_statistic(L, k, name, "of: ")) != 0)
			luaL_error(L, "figure '%s': %s", name, kstat_errmsg());
	}
	lua_pop(L, 2);
}

/* Raises if the figure on top of the stack has a field of another name than of and scale. */
static void
check_names(lua_State *L, const char *name)
{
	for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
		const char *field = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;

		if (field != NULL && strcmp(field, "of") != 0 && strcmp(field, "scale") != 0)
			luaL_error(L, "figure '%s': unknown field '%s'; expected: 'of', 'scale'", name, field);
	}
}

/* Adds the statistics of figure i, { how, statistic, ..., of = , scale = } on top of the stack. */
static void
add_figure(lua_State *L, struct figures *u, size_t i, const char *name)
{
	static const char *const hows[] = { "rate", "delta", "now", "mean", "percent", "count", NULL };
	size_t n = lua_istable(L, -1) ? ks_lua_rawlen(L, -1) : 0;
	int how;

	if (n < 1)
		luaL_error(L, "figure '%s': { how, statistic, ... } expected", name);
	lua_rawgeti(L, -1, 1);
	for (how = 0; hows[how] != NULL; how++) {
		if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), hows[how]) == 0)
			break;
	}
	if (hows[how] == NULL)
		luaL_error(L, "figure '%s': 'rate', 'delta', 'now', 'mean', 'percent' or 'count' expected",
		    name);
	if ((n < 2) != (how == KS_HOW_COUNT))
		luaL_error(L, how == KS_HOW_COUNT ? "figure '%s': a count has no statistics" :
		    "figure '%s': { how, statistic, ... } expected", name);
	if (how == KS_HOW_COUNT)
		ks_figures_count_kstats(u->f, i);
	lua_pop(L, 1);
	check_names(L, name);
	for (size_t k = 2; k <= n; k++) {
		if (ks_figures_add(u->f, i, (enum ks_how)how, check_statistic(L, k, name, "")) != 0)
			luaL_error(L, "figure '%s': %s", name, kstat_errmsg());
	}
	add_fields(L, u, i, (enum ks_how)how, name);
}

/* figures({ [name] = { how, statistic, ..., of = { statistic, ... }, scale = number }, ... }) -> figures */
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
	u = ks_lua_newuserdata(L, sizeof(*u));
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
	lua_pushvalue(L, 1);
	lua_setfield(L, 3, "given");
	ks_lua_setuservalue(L, 2);
	lua_settop(L, 2);
	u->out = calloc(ks_figures_room(u->f), sizeof(*u->out));
	if (u->out == NULL)
		return luaL_error(L, "out of memory");
	return 1;
}

/* names(figures) -> an array of their names, not to be changed; its field `given` is the table they were made of */
static int
figures_names(lua_State *L)
{
	(void)luaL_checkudata(L, 1, KS_LUA_FIGURES);
	ks_lua_getuservalue(L, 1);
	return 1;
}

static int
figures_gc(lua_State *L)
{
	struct figures *u = luaL_checkudata(L, 1, KS_LUA_FIGURES);

	ks_figures_free(u->f);
	free(u->out);
	u->f = NULL;
	u->out = NULL;
	return 0;
}

/* Adds what is known of u->out to the fields of the row on top; fresh: it has none of them yet. */
static void
add_fields_of(lua_State *L, int i, struct figures *u, bool fresh)
{
	size_t n = ks_figures_count(u->f);
	int row = lua_gettop(L);

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

/* Adds what is known of the figures at index i of a kstat to the row on top. */
static void
add_to_row(lua_State *L, int i, bool fresh, const struct ks_delta *d, kstat_ctl_t *kc)
{
	struct figures *u = lua_touserdata(L, i);

	ks_figures_read(u->f, d, kc, u->out);
	add_fields_of(L, i, u, fresh);
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
	const struct ks_lua_kstat *k = ks_lua_checkdiffering(L, 1);

	push_row(L, 2, &k->delta, k->chain->kc);
	return 1;
}

/* The kstats of the difference at index 1 that the selector at index 2 finds; NULL with errno. */
static struct ks_selection *
check_found(lua_State *L, struct ks_lua_place *p)
{
	const struct ks_lua_selector *u = luaL_checkudata(L, 2, KS_LUA_SELECTOR);
	const struct ks_selector *selector = &u->s;
	struct ks_selection *sel = ks_lua_newselection(L);

	ks_lua_checkplace(L, 1, p);
	luaL_argcheck(L, p->difference != NULL, 1, "a difference expected");
	return ks_lua_select(p, &selector, 1, sel) == 0 ? sel : NULL;
}

/* row(n) -> an empty table with room for n fields */
static int
row_new(lua_State *L)
{
	lua_Integer n = luaL_checkinteger(L, 1);

	luaL_argcheck(L, n >= 0 && n <= MOST * MOST, 1, "out of range");
	lua_createtable(L, 0, (int)n);
	return 1;
}

/*
 * difference_sum(difference, selector, figures, row) -> how many kstats match. Adds their figures, taken
 * together, to the fields of the row | nil, message, errno
 */
static int
difference_sum(lua_State *L)
{
	struct figures *u = luaL_checkudata(L, 3, KS_LUA_FIGURES);
	struct ks_lua_place p;
	struct ks_selection *sel;
	lua_Integer count = 0;

	luaL_checktype(L, 4, LUA_TTABLE);
	lua_settop(L, 4);
	sel = check_found(L, &p);
	if (sel == NULL)
		return ks_lua_fail(L);
	memset(u->out, 0, ks_figures_room(u->f) * sizeof(*u->out));
	for (size_t i = 0; i < sel->n; i++) {
		struct ks_delta delta;
		int found = ks_lua_resolve(&p, sel->ksp[i], &delta);

		if (found < 0)
			return ks_lua_fail(L);
		if (found > 0)
			ks_figures_add_up(u->f, &delta, p.chain->kc, u->out);
		count += found;
	}
	ks_figures_finish(u->f, u->out);
	lua_settop(L, 4);
	add_fields_of(L, 3, u, false);
	lua_pushinteger(L, count);
	return 1;
}

/* difference_figures(difference, module, instance, name, figures[, row]) -> row | nil: no such kstat */
static int
difference_figures(lua_State *L)
{
	struct ks_lua_place p;
	struct ks_delta delta;
	int found;

	(void)ks_lua_checkdifference(L, 1);
	ks_lua_checkplace(L, 1, &p);
	found = ks_lua_lookup(L, &p, 2, &delta);
	if (found < 0)
		return ks_lua_fail(L);
	if (found == 0)
		lua_pushnil(L);
	else
		push_row(L, 5, &delta, p.chain->kc);
	return 1;
}

/*
 * difference_rows(difference, selector, figures) -> an array of rows, one for each kstat that matches: its
 * module, instance and name, and its figures | nil, message, errno
 */
static int
difference_rows(lua_State *L)
{
	struct figures *u = luaL_checkudata(L, 3, KS_LUA_FIGURES);
	struct ks_lua_place p;
	struct ks_selection *sel;
	int count = 0;

	lua_settop(L, 3);
	sel = check_found(L, &p);
	if (sel == NULL)
		return ks_lua_fail(L);
	lua_createtable(L, (int)sel->n, 0);
	for (size_t i = 0; i < sel->n; i++) {
		struct ks_delta delta;
		int found = ks_lua_resolve(&p, sel->ksp[i], &delta);

		if (found < 0)
			return ks_lua_fail(L);
		if (found == 0)
			continue;
		lua_createtable(L, 0, (int)ks_figures_count(u->f) + MORE);
		ks_lua_setstring(L, "module", delta.now->ks_module);
		ks_lua_setinteger(L, "instance", delta.now->ks_instance);
		ks_lua_setstring(L, "name", delta.now->ks_name);
		add_to_row(L, 3, true, &delta, p.chain->kc);
		lua_rawseti(L, -2, ++count);
	}
	return 1;
}

void
ks_lua_add_figures(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "figures", figures_new },
		{ "figures_names", figures_names },
		{ "row", row_new },
		{ "difference_sum", difference_sum },
		{ "difference_figures", difference_figures },
		{ "difference_rows", difference_rows },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_FIGURES, figures_gc, NULL, NULL);
	ks_lua_setfuncs(L, functions);
	lua_getfield(L, -1, "kstat_methods");
	ks_lua_setfunction(L, "figures", kstat_figures);
	lua_pop(L, 1);
}
