/*
 * figures.c - several figures of a kstat at once: some statistics of many kstats as tables, what a script would ask each
 * of a thousand processes for, without an object for each; and what an I/O kstat counted between two samples.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define MOST 32   /* fields of a table */
#define FURTHER 8 /* for which it has room: its name and such, the few counters that moved, and what the caller adds */

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

/* Whether the named value that comes next was the same in the earlier sample: most counters stand still. */
static bool
stands_still(const struct ks_delta_cursor *c)
{
	size_t at = c->now.record * sizeof(kstat_named_t);

	return c->d->prev != NULL && !c->d->reset && c->d->now->ks_type == KSTAT_TYPE_NAMED &&
	    at + sizeof(kstat_named_t) <= c->prev.size &&
	    memcmp(c->now.data + at, c->prev.data + at, sizeof(kstat_named_t)) == 0;
}

static void
set_changes(lua_State *L, int table, const struct ks_delta *d, struct figures *f, kstat_ctl_t *kc)
{
	struct ks_delta_cursor first;

	ks_delta_cursor_open(&first, d, kc);
	for (int i = 0; i < f->n; i++) {
		struct ks_delta_cursor c = first;
		struct ks_value v;

		if (seek(&c.now, &f->v[i]) && !stands_still(&c) && ks_delta_get(&c, f->v[i].stat, &v))
			set(L, table, &f->v[i], &v);
	}
}

/* Pushes the table of a kstat. */
static void
push_table(lua_State *L, const struct ks_lua_place *p, const struct ks_delta *d, struct figures *values,
    struct figures *changes)
{
	int table;

	lua_createtable(L, 0, values->n + FURTHER);
	table = lua_gettop(L);
	ks_lua_setstring(L, "name", d->now->ks_name);
	ks_lua_setinteger(L, "instance", d->now->ks_instance);
	set_values(L, table, d, values);
	if (p->difference == NULL || d->alone)
		return;
	ks_lua_pushseconds(L, d->elapsed);
	lua_setfield(L, table, "elapsed");
	if (d->reset)
		ks_lua_setboolean(L, "is_new", 1);
	set_changes(L, table, d, changes, p->chain->kc);
}

static bool
matches_any(const struct ks_selector *const *selectors, size_t n, const kstat_t *ksp)
{
	for (size_t i = 0; i < n; i++) {
		if (ks_selector_matches(selectors[i], ksp))
			return true;
	}
	return false;
}

/*
 * figures(place, selectors, values[, changes[, without]]) -> array of tables, one for each kstat of a sample or a
 * difference that any of the selectors matches and that has data, in the order of the chain | nil, message, errno.
 * `values` maps fields to the statistics whose values now they get; of a difference `changes` maps fields to the
 * counters of which they get how far they came; those that stood still are left out. The other fields are `name`,
 * `instance`, and of a difference `elapsed` (seconds) and `is_new`: it came within it. Kstats that the later sample of
 * the difference `without` has, too, are passed over. What a sample of a loop was not asked for during its tick is not
 * there.
 */
static int
figures(lua_State *L)
{
	const struct ks_selector *const *selectors;
	const struct ks_sample *without;
	struct figures values, changes;
	struct ks_lua_place p;
	size_t n, at;
	int list, count = 0;

	lua_settop(L, 5);
	ks_lua_checkplace(L, 1, &p);
	luaL_argcheck(L, p.sample != NULL, 1, "a sample or a difference expected");
	luaL_argcheck(L, p.difference != NULL || lua_isnil(L, 4), 4, "only a difference has changes");
	without = lua_isnil(L, 5) ? NULL : ks_lua_checkdifference(L, 5)->now->s;
	selectors = ks_lua_checkselectors(L, 2, &n);
	take_fields(L, 3, &values);
	take_fields(L, 4, &changes);
	lua_newtable(L);
	list = lua_gettop(L);
	for (kstat_t *ksp = ks_lua_first(&p, &at); ksp != NULL; ksp = ks_lua_next(&p, ksp, &at)) {
		struct ks_delta d;
		int found;

		if (!matches_any(selectors, n, ksp) || (without != NULL && ks_sample_find(without, ksp) != NULL))
			continue;
		found = ks_lua_resolve(&p, ksp, &d);
		if (found < 0)
			return ks_lua_fail(L);
		if (found == 0 || d.now->ks_data == NULL)
			continue;
		push_table(L, &p, &d, &values, &changes);
		lua_rawseti(L, list, ++count);
	}
	return 1;
}

/* --- an I/O kstat: all figures at once -------------------------------------------------------------- */

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
ks_lua_add_figures(lua_State *L)
{
	ks_lua_setfunction(L, "figures", figures);
	ks_lua_setfunction(L, "io_delta", io_delta);
}
