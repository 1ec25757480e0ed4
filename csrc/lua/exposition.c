/*
 * exposition.c - kstats as metrics, step by step, as a Lua object; and what reports as metrics are made of.
 * SPDX-License-Identifier: MIT
 */
#include "chain/exposition.h"

#include "chain/metric_text.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define EXPOSITION "kstat.exposition"

struct exposition {
	struct ks_exposition *x; /* owned; NULL: it ended */
	struct ks_lua_chain *chain;
	bool is_kept, ended;
};

static const char *const formats[] = { "prometheus", "openmetrics", NULL };

/*
 * exposition(chain, selectors, format[, kept]) -> exposition | nil, message, errno. One that is kept may begin again
 * after its end. Its uservalue keeps the chain, the array of selectors and what C has of it.
 */
static int
exposition_open(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	int format = luaL_checkoption(L, 3, NULL, formats);
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	const struct ks_selector *const *selectors;
	struct exposition *e;
	size_t n;

	bool is_kept = lua_toboolean(L, 4);

	lua_settop(L, 3);
	selectors = ks_lua_checkselectors(L, 2, &n);
	e = ks_lua_newuserdata(L, sizeof(*e));
	e->x = NULL;
	e->chain = c;
	e->is_kept = is_kept;
	e->ended = false;
	ks_lua_setmetatable(L, EXPOSITION);
	lua_createtable(L, 3, 0);
	for (int i = 1; i <= 3; i++) {
		lua_pushvalue(L, i == 3 ? 4 : i);
		lua_rawseti(L, -2, i);
	}
	ks_lua_setuservalue(L, -2);
	e->x = ks_exposition_open(c->kc, n > 0 ? selectors : all, n > 0 ? n : 1, (enum ks_exposition_format)format);
	return e->x != NULL ? 1 : ks_lua_fail(L);
}

static int
exposition_gc(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	ks_exposition_free(e->x);
	e->x = NULL;
	return 0;
}

/* step(exposition[, all]) -> text (which may be empty), or all that is left | nothing at the end | nil, message, errno */
static int
exposition_step(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);
	bool all = lua_toboolean(L, 2);
	struct ks_buf *b;
	int rc;

	if (e->ended)
		return 0;
	if (e->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	b = ks_lua_scratch(L);
	do
		rc = ks_exposition_step(e->x, b);
	while (rc > 0 && all);
	if (rc < 0)
		return ks_lua_fail(L);
	e->ended = rc == 0;
	if (e->ended && !e->is_kept) {
		ks_exposition_free(e->x);
		e->x = NULL;
	}
	return ks_lua_pushscratch(L, b);
}

/* again(exposition) -> exposition | nil, message, errno: begins again one that is kept */
static int
exposition_again(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	if (e->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	luaL_argcheck(L, e->x != NULL, 1, "an exposition that is kept expected");
	e->ended = false;
	lua_settop(L, 1);
	return ks_exposition_again(e->x) == 0 ? 1 : ks_lua_fail(L);
}

static int
exposition_samples(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	lua_pushinteger(L, e->x != NULL ? (lua_Integer)ks_exposition_samples(e->x) : 0);
	return 1;
}

/* exposition_format(accept) -> format, media type: what the header Accept of a request wants; nil: there is none */
static int
exposition_format(lua_State *L)
{
	enum ks_exposition_format format = ks_exposition_negotiate(luaL_optstring(L, 1, NULL));

	lua_pushstring(L, formats[format]);
	lua_pushstring(L, ks_exposition_media_type(format));
	return 2;
}

/* --- reports ------------------------------------------------------------------------------------------- */

/* metric_escape(text) -> the text as labels and descriptions have it */
static int
metric_escape(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	ks_metric_escape(b, text, n, true);
	return ks_lua_pushscratch(L, b);
}

/* Appends the value on top and returns true, if a metric may have it. */
static bool
add_number(lua_State *L, struct ks_buf *b, bool is_counter)
{
	lua_Number d = lua_tonumber(L, -1);
	struct ks_metric_value m;
	struct ks_value v;

	if (lua_type(L, -1) != LUA_TNUMBER || d - d != 0 || (is_counter && d < 0) || !ks_lua_tovalue(L, -1, &v))
		return false;
	ks_metric_scale(&v, 1, 1, &m);
	ks_metric_add_number(b, &m);
	return true;
}

/*
 * metric_lines(name, column, is_counter, is_timed, metrics) -> the samples of a family. A metric is an array: its labels,
 * and then pairs of a row, of which a column is the value, and of the text of its time.
 */
static int
metric_lines(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);
	size_t name_len, labels_len, time_len;
	const char *name = luaL_checklstring(L, 1, &name_len);
	int column = ks_lua_checkint(L, 2);
	bool is_counter = lua_toboolean(L, 3), is_timed = lua_toboolean(L, 4);

	luaL_checktype(L, 5, LUA_TTABLE);
	lua_settop(L, 5);
	for (int i = 1; lua_rawgeti(L, 5, i), lua_istable(L, 6); i++) {
		const char *labels = (lua_rawgeti(L, 6, 1), luaL_checklstring(L, 7, &labels_len));

		for (int k = 2; lua_rawgeti(L, 6, k), lua_istable(L, 8); k += 2) {
			size_t start = b->len;

			ks_buf_add(b, name, name_len);
			ks_buf_add(b, labels, labels_len);
			ks_buf_addc(b, ' ');
			lua_rawgeti(L, 8, column);
			if (add_number(L, b, is_counter)) {
				if (is_timed) {
					const char *time = (lua_rawgeti(L, 6, k + 1), luaL_checklstring(L, -1, &time_len));

					ks_buf_addc(b, ' ');
					ks_buf_add(b, time, time_len);
				}
				ks_buf_addc(b, '\n');
			} else {
				b->len = start;
			}
			lua_settop(L, 7);
		}
		lua_settop(L, 5);
	}
	return ks_lua_pushscratch(L, b);
}

static const luaL_Reg methods[] = {
	{ "step", exposition_step },
	{ "again", exposition_again },
	{ "samples", exposition_samples },
	{ NULL, NULL },
};

void
ks_lua_add_exposition(lua_State *L)
{
	ks_lua_newtype(L, EXPOSITION, exposition_gc, NULL, methods);
	ks_lua_setfunction(L, "exposition", exposition_open);
	ks_lua_setfunction(L, "exposition_format", exposition_format);
	ks_lua_setfunction(L, "metric_escape", metric_escape);
	ks_lua_setfunction(L, "metric_lines", metric_lines);
}
