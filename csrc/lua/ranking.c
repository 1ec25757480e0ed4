/*
 * ranking.c - statistics in the order of a figure, for Lua; see chain/ranking.h. SPDX-License-Identifier: MIT
 */
#include "chain/ranking.h"

#include <math.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "model/key.h"

#define RANKING "kstat.ranking"
#define MOST 0x1p31 /* rows */

static int
ranking_gc(lua_State *L)
{
	ks_ranking_free(luaL_checkudata(L, 1, RANKING));
	return 0;
}

/* A number of rows in a field of the table at index i. */
static size_t
count_of(lua_State *L, int i, const char *field, size_t default_)
{
	lua_Number n;

	lua_getfield(L, i, field);
	n = luaL_optnumber(L, -1, MOST);
	lua_pop(L, 1);
	luaL_argcheck(L, n >= 0, i, "a number of rows is at least 0");
	return n < MOST ? (size_t)n : default_;
}

/* The query in the table at index i, whose texts stay there. */
static void
check_query(lua_State *L, int i, struct ks_ranking_query *q)
{
	static const char *const orders[] = { "rate", "value", "name", NULL };
	static const char *const kinds[] = { "all", "counters", "gauges", NULL };
	size_t n = 0;
	int kind;

	luaL_checktype(L, i, LUA_TTABLE);
	lua_getfield(L, i, "sort");
	q->by = (enum ks_ranking_by)luaL_checkoption(L, -1, orders[0], orders);
	lua_getfield(L, i, "show");
	kind = luaL_checkoption(L, -1, kinds[0], kinds);
	q->no_gauges = kind == 1;
	q->no_counters = kind == 2;
	lua_getfield(L, i, "text");
	q->text = luaL_optlstring(L, -1, NULL, &n);
	luaL_argcheck(L, q->text == NULL || strlen(q->text) == n, i, "a text without NUL expected");
	lua_getfield(L, i, "pattern");
	q->pattern = lua_isnil(L, -1) ? NULL : luaL_checkudata(L, -1, KS_LUA_PATTERN);
	lua_pop(L, 4);
	q->reverse = ks_lua_flag(L, i, "reverse");
	q->no_idle = ks_lua_flag(L, i, "skip_idle");
	q->no_twins = ks_lua_flag(L, i, "skip_twins");
}

/* Sets the publisher of the table on top: who publishes a kstat, if anybody does. */
static void
set_publisher(lua_State *L, const struct ks_lua_place *p, const kstat_t *ksp)
{
	struct ks_origin o;

	if (p->chain->kc == NULL || !ks_chain_publisher(p->chain->kc, ksp, &o))
		return;
	ks_lua_setstring(L, "publisher", o.name);
	ks_lua_setinteger(L, "uid", (lua_Integer)o.uid);
	if (o.pid != 0)
		ks_lua_setinteger(L, "pid", (lua_Integer)o.pid);
}

static void
set_unit(lua_State *L, const struct ks_lua_place *p, const struct ks_ranked *row)
{
	const struct ks_meta *m = ks_chain_meta(p->chain->kc, row->ksp, row->stat);
	const char *unit = m != NULL && m->unit != NULL ? m->unit : "";

	ks_lua_setstring(L, "unit", strcmp(unit, "ns") == 0 ? "s" : unit);
}

static void
push_row(lua_State *L, const struct ks_lua_place *p, const struct ks_ranked *row)
{
	struct ks_buf *name = ks_lua_scratch(L);

	lua_createtable(L, 0, 10);
	ks_ranked_name(row, name);
	(void)ks_lua_pushscratch(L, name);
	lua_setfield(L, -2, "name");
	ks_lua_setstring(L, "module", row->ksp->ks_module);
	ks_lua_setinteger(L, "instance", row->ksp->ks_instance);
	ks_lua_setstring(L, "kstat_name", row->ksp->ks_name);
	ks_lua_setstring(L, "statistic", row->stat);
	ks_lua_setstring(L, "class", row->ksp->ks_class);
	ks_lua_setboolean(L, "counter", row->counter);
	if (!isnan(row->rate))
		ks_lua_setnumber(L, "rate", row->rate);
	if (row->unit != 1 || !ks_lua_pushnumber(L, &row->value))
		lua_pushnumber(L, row->number);
	lua_setfield(L, -2, "value");
	set_unit(L, p, row);
	set_publisher(L, p, row->ksp);
}

/* Whether the kstat before number i of a selection has the same name: a capture may hold several of one. */
static bool
is_namesake(const struct ks_selection *sel, size_t i)
{
	struct ks_key key = ks_key_of(sel->ksp[i], KS_BY_ALL);

	return i > 0 && ks_key_matches(&key, sel->ksp[i - 1]);
}

/* Takes in the kstats of a selection. 0, or -1 with errno. */
static int
take(struct ks_ranking *r, const struct ks_lua_place *p, const struct ks_selection *sel)
{
	for (size_t i = 0; i < sel->n; i++) {
		struct ks_delta d;
		int found = is_namesake(sel, i) ? 0 : ks_lua_resolve(p, sel->ksp[i], &d);

		if (found < 0 || (found > 0 && ks_ranking_add(r, &d, p->chain->kc) != 0))
			return -1;
	}
	return 0;
}

/* A ranking that the collector frees, pushed. */
static struct ks_ranking *
new_ranking(lua_State *L, const struct ks_ranking_query *query)
{
	struct ks_ranking *r = ks_lua_newuserdata(L, sizeof(*r));

	ks_lua_setmetatable(L, RANKING);
	ks_ranking_start(r, query);
	return r;
}

/*
 * Stores the number of the row with the name query.name in the order, or 0 if there is none that passes: one
 * walk finds it, another one counts what comes before. 0, or -1 with errno.
 */
static int
find_place(lua_State *L, struct ks_ranking_query query, const struct ks_lua_place *p,
    const struct ks_selection *sel, size_t *place)
{
	struct ks_ranking *found, *r;

	query.most = 1;
	found = new_ranking(L, &query);
	if (take(found, p, sel) != 0)
		return -1;
	*place = 0;
	if (found->n == 0)
		return 0;
	query.most = 0;
	query.name = NULL;
	query.behind = &found->row[0];
	r = new_ranking(L, &query);
	if (take(r, p, sel) != 0)
		return -1;
	*place = r->ahead + 1;
	return 0;
}

/* Pushes the rows from number `first` on, counted from 0. */
static void
push_rows(lua_State *L, const struct ks_lua_place *p, const struct ks_ranking *r, size_t first)
{
	lua_createtable(L, r->n > first ? (int)(r->n - first) : 0, 0);
	for (size_t i = first; i < r->n; i++) {
		push_row(L, p, &r->row[i]);
		lua_rawseti(L, -2, (int)(i - first) + 1);
	}
}

/*
 * rank(difference, selectors, how) -> array of rows, how many there are, how many pass, the number of the row
 * `place` or nil | nil, message, errno; false and a message if a kstat was not read during the tick of the
 * sample. The fields of `how`, each may be nil: `sort` ("rate", "value" or "name"), `reverse`, `show` ("all",
 * "counters" or "gauges"), `skip_idle`, `skip_twins`, `text` and `pattern`, see struct ks_ranking_query; of
 * the rows that pass `first` (the number of the first one that is returned, from 1) and `most` (how many are
 * at most); `place`: the name of a row whose number is asked for. A row has `name`, its parts `module`,
 * `instance`, `kstat_name` and `statistic`, the kstat's `class`, `counter` (boolean), `rate`, `value`,
 * `unit`, and of what is published `publisher`, `uid` and `pid`.
 */
static int
rank(lua_State *L)
{
	struct ks_ranking_query q = { .nselectors = 0 };
	struct ks_selection *sel;
	struct ks_ranking *r;
	struct ks_lua_place p;
	size_t first, place = 0;
	const char *name;
	int failed;

	lua_settop(L, 3);
	(void)ks_lua_checkdifference(L, 1);
	ks_lua_checkplace(L, 1, &p);
	check_query(L, 3, &q);
	first = count_of(L, 3, "first", 1);
	first = first > 0 ? first - 1 : 0;
	q.most = count_of(L, 3, "most", SIZE_MAX - first) + first;
	lua_getfield(L, 3, "place");
	name = luaL_optstring(L, -1, NULL);
	q.selectors = ks_lua_checkselectors(L, 2, &q.nselectors);
	sel = ks_lua_newselection(L);
	failed = ks_lua_selectfrom(L, &p, q.selectors, q.nselectors, sel);
	if (failed > 0)
		return failed;
	r = new_ranking(L, &q);
	if (take(r, &p, sel) != 0)
		return ks_lua_fail(L);
	q.name = name;
	if (name != NULL && find_place(L, q, &p, sel, &place) != 0)
		return ks_lua_fail(L);
	ks_chain_warn_of_selectors(p.chain->kc, q.selectors, q.nselectors);
	ks_ranking_finish(r);
	push_rows(L, &p, r, first);
	lua_pushinteger(L, (lua_Integer)r->total);
	lua_pushinteger(L, (lua_Integer)r->passed);
	if (place > 0)
		lua_pushinteger(L, (lua_Integer)place);
	else
		lua_pushnil(L);
	ks_ranking_free(r);
	ks_selection_free(sel);
	return 4;
}

void
ks_lua_add_ranking(lua_State *L)
{
	ks_lua_newtype(L, RANKING, ranking_gc, NULL, NULL);
	ks_lua_setfunction(L, "rank", rank);
}
