/*
 * figures.c - some statistics of many kstats at once, as tables: what a script would ask each of a thousand processes
 * for, without an object for each. SPDX-License-Identifier: MIT
 */
#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define MOST 32 /* fields of a table */

/* A statistic that is looked for in one kstat after the other, which have it at the same place mostly. */
struct figure {
	const char *stat; /* lives in the table that was given */
	int key;          /* index on the stack of the field's name */
	uint_t at;        /* the data record in which it was last */
};

struct figures {
	struct figure v[MOST];
	int n;
};

/* Takes the fields of the table at index i, each with the name of a statistic, and pushes their names. */
static void
take_fields(lua_State *L, int i, struct figures *f)
{
	f->n = 0;
	if (lua_isnoneornil(L, i))
		return;
	luaL_checktype(L, i, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, i) != 0;) {
		luaL_argcheck(L, f->n < MOST && lua_type(L, -1) == LUA_TSTRING && lua_type(L, -2) == LUA_TSTRING, i,
		    "at most 32 fields expected, each with the name of a statistic");
		f->v[f->n].stat = lua_tostring(L, -1);
		f->v[f->n].at = 0;
		lua_pop(L, 1);
		luaL_checkstack(L, 8, "too many fields");
		lua_pushvalue(L, -1);
		f->v[f->n++].key = lua_gettop(L) - 1;
	}
}

/* Moves a cursor to a statistic; false if there is none. */
static bool
seek(struct ks_cursor *c, struct figure *f)
{
	const struct ks_cursor first = *c;

	c->record = f->at;
	if (!ks_cursor_seek(c, f->stat)) {
		*c = first;
		if (f->at == 0 || !ks_cursor_seek(c, f->stat))
			return false;
	}
	f->at = c->record;
	return true;
}

static void
set(lua_State *L, int table, const struct figure *f, const struct ks_value *v)
{
	lua_pushvalue(L, f->key);
	ks_lua_pushvalue(L, v);
	lua_rawset(L, table);
}

static void
set_values(lua_State *L, int table, const struct ks_delta *d, struct figures *f)
{
	struct ks_cursor first;

	ks_cursor_open(&first, d->now);
	for (int i = 0; i < f->n; i++) {
		struct ks_cursor c = first;
		struct ks_value v;
		const char *name;

		if (seek(&c, &f->v[i]) && ks_cursor_next(&c, &name, &v))
			set(L, table, &f->v[i], &v);
	}
}

static void
set_changes(lua_State *L, int table, const struct ks_delta *d, struct figures *f, kstat_ctl_t *kc)
{
	struct ks_delta_cursor first;

	ks_delta_cursor_open(&first, d, kc);
	for (int i = 0; i < f->n; i++) {
		struct ks_delta_cursor c = first;
		struct ks_value v;

		if (seek(&c.now, &f->v[i]) && ks_delta_get(&c, f->v[i].stat, &v))
			set(L, table, &f->v[i], &v);
	}
}

/*
 * figures(place, selectors, values[, changes]) -> array of tables, one for each kstat of a sample or a difference that
 * any of the selectors matches and that has data, in the order of kstat(8) | nil, message, errno; false and a message if
 * one was not read during the tick of the sample. `values` maps fields to the statistics whose values now they get; of a
 * difference `changes` maps fields to those of which they get what k:get() gives. The other fields are `name`,
 * `instance`, and of a difference `elapsed` (seconds).
 */
static int
figures(lua_State *L)
{
	const struct ks_selector *const *selectors;
	struct figures values, changes;
	struct ks_selection *sel;
	struct ks_lua_place p;
	size_t n;
	int failed, list, count = 0;

	lua_settop(L, 4);
	ks_lua_checkplace(L, 1, &p);
	luaL_argcheck(L, p.sample != NULL, 1, "a sample or a difference expected");
	luaL_argcheck(L, p.difference != NULL || lua_isnil(L, 4), 4, "only a difference has changes");
	selectors = ks_lua_checkselectors(L, 2, &n);
	sel = ks_lua_newselection(L);
	take_fields(L, 3, &values);
	take_fields(L, 4, &changes);
	failed = ks_lua_selectfrom(L, &p, selectors, n, sel);
	if (failed > 0)
		return failed;
	lua_createtable(L, (int)sel->n, 0);
	list = lua_gettop(L);
	for (size_t i = 0; i < sel->n; i++) {
		struct ks_delta d;
		int found = ks_lua_resolve(&p, sel->ksp[i], &d);

		if (found < 0)
			return ks_lua_fail(L);
		if (found == 0 || d.now->ks_data == NULL)
			continue;
		lua_createtable(L, 0, values.n + changes.n + 8);
		ks_lua_setstring(L, "name", d.now->ks_name);
		ks_lua_setinteger(L, "instance", d.now->ks_instance);
		set_values(L, list + 1, &d, &values);
		if (p.difference != NULL) {
			ks_lua_pushseconds(L, d.elapsed);
			lua_setfield(L, list + 1, "elapsed");
			set_changes(L, list + 1, &d, &changes, p.chain->kc);
		}
		lua_rawseti(L, list, ++count);
	}
	ks_selection_free(sel);
	return 1;
}

void
ks_lua_add_figures(lua_State *L)
{
	ks_lua_setfunction(L, "figures", figures);
}
