/*
 * selector.c - compiled selectors as userdata, the selections they make, and patterns.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "chain/chain.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "select/pattern.h"
#include "select/selector.h"

#define SELECTION "kstat.selection"

static const char *const field_names[KS_OPERAND_FIELDS] = { "module", "instance", "name", "statistic", "class" };

static int
selection_gc(lua_State *L)
{
	ks_selection_free(luaL_checkudata(L, 1, SELECTION));
	return 0;
}

struct ks_selection *
ks_lua_newselection(lua_State *L)
{
	struct ks_selection *sel = ks_lua_newuserdata(L, sizeof(*sel));

	ks_lua_setmetatable(L, SELECTION);
	return sel;
}

const struct ks_selector *const *
ks_lua_checkselectors(lua_State *L, int i, size_t *n)
{
	const struct ks_selector **array;

	*n = 0;
	if (lua_isnoneornil(L, i)) {
		lua_pushnil(L);
		return NULL;
	}
	luaL_checktype(L, i, LUA_TTABLE);
	*n = ks_lua_rawlen(L, i);
	array = ks_lua_newuserdata(L, (*n + 1) * sizeof(*array));
	for (size_t at = 0; at < *n; at++) {
		struct ks_lua_selector *u;

		lua_rawgeti(L, i, (int)at + 1);
		u = ks_lua_testudata(L, -1, KS_LUA_SELECTOR);
		luaL_argcheck(L, u != NULL, i, "not an array of selectors");
		array[at] = &u->s;
		lua_pop(L, 1);
	}
	return array;
}

static int
selector_gc(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);

	ks_selector_free(&u->s);
	return 0;
}

/* The operand "module:instance:name:statistic"; with a class, which operands lack, the table `{class="disk"}`. */
static int
selector_tostring(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);
	bool has_class;

	luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	lua_settop(L, 1);
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, 2, KS_OPERAND_CLASS + 1);
	has_class = *lua_tostring(L, 3) != '\0';
	for (int i = 0; i < KS_OPERAND_FIELDS - (has_class ? 0 : 1); i++) {
		const char *text;

		lua_rawgeti(L, 2, i + 1);
		text = lua_tostring(L, 4);
		if (!has_class)
			ks_buf_addf(b, "%s%s", i > 0 ? ":" : "", text);
		else if (*text != '\0')
			ks_buf_addf(b, "%s%s=\"%s\"", b->len > 0 ? ", " : "{", field_names[i], text);
		lua_pop(L, 1);
	}
	ks_buf_addf(b, "%s", has_class ? "}" : "");
	return ks_lua_pushscratch(L, b);
}

/* fields(selector) -> a table of the specifiers that it was made from; "" is everything */
static int
selector_fields(lua_State *L)
{
	luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	lua_settop(L, 1);
	ks_lua_getuservalue(L, 1);
	lua_createtable(L, 0, KS_OPERAND_FIELDS);
	for (int i = 0; i < KS_OPERAND_FIELDS; i++) {
		lua_rawgeti(L, 2, i + 1);
		lua_setfield(L, 3, field_names[i]);
	}
	return 1;
}

/* Pushes the selector that an operand means; or nil, a message that names the field and points into it, errno. */
static int
push_compiled(lua_State *L, const struct ks_operand *o, bool is_strangers)
{
	struct ks_lua_selector *u = ks_lua_newuserdata(L, sizeof(*u));

	ks_lua_setmetatable(L, KS_LUA_SELECTOR);
	if (ks_selector_compile(&u->s, o) != 0)
		return ks_lua_fail(L);
	u->s.is_strangers = is_strangers;
	lua_createtable(L, KS_OPERAND_FIELDS, 0);
	for (int i = 0; i < KS_OPERAND_FIELDS; i++) {
		lua_pushlstring(L, o->field[i].text != NULL ? o->field[i].text : "", o->field[i].n);
		lua_rawseti(L, -2, i + 1);
	}
	ks_lua_setuservalue(L, -2);
	return 1;
}

/*
 * selector{ module =, instance =, name =, statistic =, class =, reads = }: each is the text of a specifier, or nil
 * for everything; reads: see ks_scan_reads().
 */
static int
selector_new(lua_State *L)
{
	struct ks_operand o = { .field = { { NULL, 0 } } };
	int n;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	for (int i = 0; i < KS_OPERAND_FIELDS; i++) {
		lua_getfield(L, 1, field_names[i]);
		o.field[i].text = luaL_optlstring(L, i + 2, "", &o.field[i].n);
	}
	lua_getfield(L, 1, "reads");
	n = push_compiled(L, &o, false);
	if (n == 1 && !lua_isnil(L, KS_OPERAND_FIELDS + 2)) {
		((struct ks_lua_selector *)lua_touserdata(L, -1))->s.reads = lua_tostring(L, KS_OPERAND_FIELDS + 2);
		ks_lua_getuservalue(L, -1); /* which keeps the text */
		lua_pushvalue(L, KS_OPERAND_FIELDS + 2);
		lua_rawseti(L, -2, KS_OPERAND_FIELDS + 1);
		lua_pop(L, 1);
	}
	return n;
}

/*
 * selector_of(operand[, class[, strangers]]): the class takes the place of that of a URI. Chains do not warn of a
 * stranger's regular expression that takes too many steps: selector_trouble() returns the line.
 */
static int
selector_of(lua_State *L)
{
	struct ks_specifier class_ = { NULL, 0 };
	struct ks_operand o;
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	bool is_strangers = lua_toboolean(L, 3);

	lua_settop(L, 2);
	ks_operand_parse(&o, text, n);
	class_.text = luaL_optlstring(L, 2, NULL, &class_.n);
	if (class_.text != NULL)
		o.field[KS_OPERAND_CLASS] = class_;
	return push_compiled(L, &o, is_strangers);
}

/* selector_limit(selector, seconds): how long the matches of each of its regular expressions may take from now on */
static int
selector_limit(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	lua_Number seconds = luaL_checknumber(L, 2);

	luaL_argcheck(L, seconds >= 0 && seconds <= 3600, 2, "seconds from 0 to 3600 expected");
	ks_selector_limit(&u->s, (hrtime_t)(seconds * 1e9));
	return 0;
}

/* selector_trouble(selector) -> a line about a regular expression that took too many steps, once; nil: none did */
static int
selector_trouble(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);

	lua_pushstring(L, ks_selector_trouble(&u->s));
	return 1;
}

/* operand(text) -> its specifiers, not compiled: an array of those up to the last one given, with a field `class` */
static int
split_operand(lua_State *L)
{
	struct ks_operand o;
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	ks_operand_parse(&o, text, n);
	lua_createtable(L, KS_OPERAND_STAT + 1, 0);
	for (int i = 0; i < KS_OPERAND_FIELDS; i++) {
		if (o.field[i].text == NULL)
			continue;
		lua_pushlstring(L, o.field[i].text, o.field[i].n);
		if (i == KS_OPERAND_CLASS)
			lua_setfield(L, -2, "class");
		else
			lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/*
 * selector_matches(selector, kstat[, statistic]): whether the kstat's header, and the statistic's
 * name if one is given, match.
 */
static int
selector_matches(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	struct ks_lua_kstat *k = ks_lua_checkkstat(L, 2);
	const char *stat = luaL_optstring(L, 3, NULL);
	const kstat_t *head = ks_lua_head(L, k);
	const struct ks_selector *s = &u->s;

	lua_pushboolean(L, ks_selector_matches(s, head) &&
	    (stat == NULL || ks_selector_matches_stat(s, stat)));
	ks_chain_warn_of_selectors(k->chain->kc, &s, 1);
	return 1;
}

/* group(selector, name) -> the number of a named capture group, or nil; group(selector) -> how many */
static int
selector_group(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	size_t group;

	if (lua_isnoneornil(L, 2)) {
		lua_pushinteger(L, (lua_Integer)ks_selector_groups(&u->s));
		return 1;
	}
	group = ks_selector_group(&u->s, luaL_checkstring(L, 2));
	if (group > 0)
		lua_pushinteger(L, (lua_Integer)group);
	else
		lua_pushnil(L);
	return 1;
}

/*
 * capture(selector, kstat, statistic, group) -> what the group of this number captures, or nil:
 * no match, or the group took no part in it.
 */
static int
selector_capture(lua_State *L)
{
	struct ks_lua_selector *u = luaL_checkudata(L, 1, KS_LUA_SELECTOR);
	struct ks_lua_kstat *k = ks_lua_checkkstat(L, 2);
	const char *stat = luaL_optstring(L, 3, NULL);
	lua_Integer group = ks_lua_checkinteger(L, 4);
	const kstat_t *head = ks_lua_head(L, k);
	struct ks_buf *b = ks_lua_scratch(L);

	if (group < 1 || !ks_selector_capture(&u->s, (size_t)group, head, stat, b))
		lua_pushnil(L);
	else
		(void)ks_lua_pushscratch(L, b);
	return 1;
}

/* --- patterns, for text that is no kstat's header ------------------------------------------------------ */

static int
pattern_gc(lua_State *L)
{
	ks_pattern_free(luaL_checkudata(L, 1, KS_LUA_PATTERN));
	return 0;
}

/* pattern(specifier) -> pattern | nil, message, errno: a glob or a /regular expression/. */
static int
pattern_new(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	struct ks_pattern *u = ks_lua_newuserdata(L, sizeof(*u));
	struct ks_pattern p;

	ks_lua_setmetatable(L, KS_LUA_PATTERN);
	if (ks_pattern_compile(&p, text, n) != 0)
		return ks_lua_fail(L);
	*u = p;
	return 1;
}

/* pattern:matches(text) -> whether it does */
static int
pattern_matches(lua_State *L)
{
	const struct ks_pattern *p = luaL_checkudata(L, 1, KS_LUA_PATTERN);
	size_t n;
	const char *text = luaL_checklstring(L, 2, &n);

	lua_pushboolean(L, ks_pattern_match(p, text, n));
	return 1;
}

void
ks_lua_add_selector(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "selector", selector_new },
		{ "selector_of", selector_of },
		{ "selector_limit", selector_limit },
		{ "selector_trouble", selector_trouble },
		{ "operand", split_operand },
		{ "pattern", pattern_new },
		{ NULL, NULL }
	};
	static const luaL_Reg meta[] = {
		{ "__tostring", selector_tostring },
		{ NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "fields", selector_fields },
		{ "matches", selector_matches },
		{ "group", selector_group },
		{ "capture", selector_capture },
		{ NULL, NULL }
	};
	static const luaL_Reg pattern_methods[] = {
		{ "matches", pattern_matches },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, SELECTION, selection_gc, NULL, NULL);
	ks_lua_newtype(L, KS_LUA_SELECTOR, selector_gc, meta, methods);
	ks_lua_newtype(L, KS_LUA_PATTERN, pattern_gc, NULL, pattern_methods);
	ks_lua_setfuncs(L, functions);
}
