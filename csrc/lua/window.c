/* window.c - the values of the last so many seconds, for Lua; see stats/window.h. SPDX-License-Identifier: MIT */
#include "stats/window.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

#define WINDOW "kstat.window"

static const char *const kinds[] = { "all", "span", "least", "greatest", "ranked", NULL };
enum question { SUM, MEAN, COUNT, FIRST, LAST, RATE, AGO, TREND, QUANTILE };
static const char *const questions[] = { "sum", "mean", "count", "first", "last", "rate", "ago", "trend", "quantile",
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

/* window_add(window, time, value) -> how many values it holds | nil, message, errno */
static int
window_add(lua_State *L)
{
	struct ks_window *w = luaL_checkudata(L, 1, WINDOW);
	lua_Number time = luaL_checknumber(L, 2), value = luaL_checknumber(L, 3);

	luaL_argcheck(L, isfinite(time) && (w->n == 0 || time >= w->last), 2, "a time that does not fall");
	luaL_argcheck(L, isfinite(value), 3, "a finite number");
	if (ks_window_add(w, time, value) != 0)
		return ks_lua_failwith(L, errno, "a window holds too many values");
	lua_pushinteger(L, (lua_Integer)w->n);
	return 1;
}

/*
 * window_get(window, what[, q]) -> a number or nil: "sum", "mean", "count", "first" (of those held; the least or the
 * greatest of such a window), "last", "rate", "ago", "quantile" of q; "trend": the slope, and the line's value now
 */
static int
window_get(lua_State *L)
{
	struct ks_window *w = luaL_checkudata(L, 1, WINDOW);
	enum question what = (enum question)luaL_checkoption(L, 2, NULL, questions);
	double q = luaL_optnumber(L, 3, 0), v = 0, now = 0;
	bool found = w->n > 0 || what == COUNT;

	luaL_argcheck(L, what != QUANTILE || (w->kind == KS_WINDOW_RANKED && q >= 0 && q <= 1), 3,
	    "a share of ranked values");
	if (what == SUM || what == MEAN)
		found = ks_window_sum(w, &v);
	else if (what == RATE)
		found = ks_window_rate(w, &v);
	else if (what == AGO)
		found = ks_window_ago(w, &v);
	else if (what == TREND)
		found = ks_window_trend(w, &v, &now);
	else if (what == QUANTILE)
		found = ks_window_quantile(w, q, &v);
	else if (found)
		v = what == COUNT ? w->n : ks_window_at(w, what == FIRST ? 0 : w->n - 1);
	if (!found)
		return 0;
	lua_pushnumber(L, what == MEAN ? v / w->n : v);
	lua_pushnumber(L, now);
	return what == TREND ? 2 : (lua_pop(L, 1), 1);
}

/* window_values(window, values) -> how many there are; they are put into the table, the oldest first */
static int
window_values(lua_State *L)
{
	const struct ks_window *w = luaL_checkudata(L, 1, WINDOW);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	for (uint32_t i = 0; i < w->n; i++) {
		lua_pushnumber(L, ks_window_at(w, i));
		lua_rawseti(L, 2, (int)i + 1);
	}
	lua_pushinteger(L, (lua_Integer)w->n);
	return 1;
}

/* kid(kstat) -> a number that no other kstat of its chain has */
static int
kstat_kid(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_lua_head(L, ks_lua_checkkstat(L, 1))->ks_kid);
	return 1;
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
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, WINDOW, window_gc, NULL, NULL);
}
