/* window.c - the values of the last so many seconds, for Lua; see stats/window.h. SPDX-License-Identifier: MIT */
#include "stats/window.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define WINDOW "kstat.window"

static const char *const kinds[] = { "all", "span", "changes", "least", "greatest", "ranked", NULL };
enum question { SUM, MEAN, COUNT, FIRST, LAST, RATE, VALUE, TREND, QUANTILE };
static const char *const questions[] = { "sum", "mean", "count", "first", "last", "rate", "value", "trend", "quantile",
	NULL };

/* window(kind, seconds) -> a window without values */
static int
window_new(lua_State *L)
{
	int kind = luaL_checkoption(L, 1, NULL, kinds);
	lua_Number seconds = luaL_checknumber(L, 2);

	luaL_argcheck(L, seconds > 0 && isfinite(seconds), 2, "a time above 0");
	ks_window_init(ks_lua_newuserdata(L, sizeof(struct ks_window)), (enum ks_window_kind)kind, seconds);
	ks_lua_setmetatable(L, WINDOW);
	return 1;
}

static int
window_gc(lua_State *L)
{
	ks_window_free(luaL_checkudata(L, 1, WINDOW));
	return 0;
}

/*
 * window_add(window, from, time, value) -> how many values it holds | nil, message, errno; those up to `from` leave it.
 * In a window of changes a NaN begins.
 */
static int
window_add(lua_State *L)
{
	struct ks_window *w = luaL_checkudata(L, 1, WINDOW);
	lua_Number from = luaL_checknumber(L, 2), time = luaL_checknumber(L, 3), value = luaL_checknumber(L, 4);

	luaL_argcheck(L, isfinite(time) && (w->n == 0 || time >= w->last), 3, "a time that does not fall");
	luaL_argcheck(L, isfinite(value) || (isnan(value) && w->kind == KS_WINDOW_CHANGES), 4, "a finite number");
	ks_window_expire(w, from);
	if (ks_window_add(w, time, value) != 0)
		return ks_lua_failwith(L, errno, "a window holds too many values");
	lua_pushinteger(L, (lua_Integer)w->n);
	return 1;
}

/*
 * window_get(window, from, what[, x[, now]]) -> a number or nil, of the values behind `from`: "sum", "mean", "count",
 * "first" (of those held; the least or the greatest of such a window), "last", "rate", "value" of the time x,
 * "quantile" x; "trend", where x is the time of the value before, or nil: the slope, and the line's value now
 */
static int
window_get(lua_State *L)
{
	struct ks_window *w = luaL_checkudata(L, 1, WINDOW);
	lua_Number from = luaL_checknumber(L, 2), x = luaL_optnumber(L, 4, NAN);
	enum question what = (enum question)luaL_checkoption(L, 3, NULL, questions);
	double v = 0, at_now = 0;
	bool found;

	luaL_argcheck(L, what != QUANTILE || (w->kind == KS_WINDOW_RANKED && x >= 0 && x <= 1), 4,
	    "a share of ranked values");
	ks_window_expire(w, from);
	found = ks_window_count(w) > 0 || what == COUNT;
	if (what == SUM || what == MEAN)
		found = ks_window_sum(w, &v);
	else if (what == RATE)
		found = ks_window_rate(w, &v);
	else if (what == VALUE)
		found = ks_window_value(w, x, &v);
	else if (what == TREND)
		found = ks_window_trend(w, x, luaL_checknumber(L, 5), &v, &at_now);
	else if (what == QUANTILE)
		found = ks_window_quantile(w, x, &v);
	else if (found)
		v = what == COUNT ? ks_window_count(w) : ks_window_at(w, what == FIRST ? 0 : ks_window_count(w) - 1);
	if (!found)
		return 0;
	lua_pushnumber(L, what == MEAN ? v / ks_window_count(w) : v);
	lua_pushnumber(L, at_now);
	return what == TREND ? 2 : (lua_pop(L, 1), 1);
}

/* window_values(window, from, values) -> how many are behind `from`; they are put into the table, the oldest first */
static int
window_values(lua_State *L)
{
	struct ks_window *w = luaL_checkudata(L, 1, WINDOW);

	luaL_checktype(L, 3, LUA_TTABLE);
	lua_settop(L, 3);
	ks_window_expire(w, luaL_checknumber(L, 2));
	for (uint32_t i = 0; i < ks_window_count(w); i++) {
		lua_pushnumber(L, ks_window_at(w, i));
		lua_rawseti(L, 3, (int)i + 1);
	}
	lua_pushinteger(L, (lua_Integer)ks_window_count(w));
	return 1;
}

/* kid(kstat) -> a number that no other kstat of any chain has */
static int
kstat_kid(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);

	lua_pushnumber(L, u->chain->number * 0x1p32 + (uint32_t)ks_lua_head(L, u)->ks_kid);
	return 1;
}

/* identity(kstat) -> a text that only kstats of its name have, one after the other; when it was created, in ns */
static int
kstat_identity(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	const kstat_t *k = ks_lua_head(L, u);
	const char *host = u->chain->kc != NULL ? ks_chain_host(u->chain->kc, k) : NULL;
	struct ks_origin o = { .name = "" };

	if (u->chain->kc == NULL || !ks_chain_publisher(u->chain->kc, k, &o))
		o.name = "";
	/* The lengths tell where each part ends, whatever is in it. */
	lua_pushfstring(L, "%d:%d:%d:%d:%s%s%s%s", k->ks_instance, (int)strlen(k->ks_module), (int)strlen(k->ks_name),
	    (int)strlen(o.name), k->ks_module, k->ks_name, o.name, host != NULL ? host : "");
	ks_lua_pushi64(L, k->ks_crtime);
	return 2;
}

void
ks_lua_add_window(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "window", window_new },
		{ "window_add", window_add },
		{ "window_get", window_get },
		{ "window_values", window_values },
		{ "kid", kstat_kid },
		{ "identity", kstat_identity },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, WINDOW, window_gc, NULL, NULL);
}
