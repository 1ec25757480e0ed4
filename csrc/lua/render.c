/*
 * render.c - kstats as the text of kstat(8), for the command and for scripts.
 * SPDX-License-Identifier: MIT
 */
#include "output/render.h"

#include <errno.h>
#include <limits.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "output/distribution.h"

/* The formats by name, in the order of enum ks_format. */
static const char *const formats[] = { "human", "parseable", "colons", "list", "json",
	"json_class", "quiet", NULL };

static int
write_file(void *arg, const char *p, size_t n)
{
	if (fwrite(p, 1, n, arg) != n)
		return ks_fail(errno, "standard output: %s", strerror(errno));
	return 0;
}

static int
write_text(void *arg, const char *p, size_t n)
{
	struct ks_buf *b = arg;

	ks_buf_add(b, p, n);
	return b->failed ? ks_fail(ENOMEM, "out of memory for the output") : 0;
}

static long
write_all(const struct ks_lua_place *p, const struct ks_selector *const *selectors, size_t n,
    enum ks_format format, ks_write_fn *write, void *arg)
{
	const struct ks_lua_difference *d = p->difference;

	if (d == NULL)
		return ks_render_write(p->chain->kc, selectors, n, format, write, arg);
	return ks_render_rates(p->chain->kc, d->now->s, d->before != NULL ? d->before->s : NULL, selectors,
	    n, format, write, arg);
}

/*
 * render(chain, selectors, format[, file]) -> text, count | nil, message, errno.
 * Reads and shows what the selectors match, one after the other (none given: everything). In place
 * of the chain, a difference shows what its later sample holds, counters as changes per second. With
 * a file of the io library the text goes there piece by piece, and the result is the count alone.
 * count: statistics shown.
 */
static int
render(lua_State *L)
{
	struct ks_lua_place p;
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	int format = luaL_checkoption(L, 3, NULL, formats);
	FILE **file = NULL;
	struct ks_buf *b;
	const struct ks_selector *const *selectors;
	size_t n;
	long count;

	lua_settop(L, 4);
	ks_lua_checkplace(L, 1, &p);
	luaL_argcheck(L, p.difference != NULL || p.sample == NULL, 1, "a chain or a difference expected");
	if (!lua_isnil(L, 4)) {
		/* In every Lua the userdata of an open file starts with its FILE *. */
		file = luaL_checkudata(L, 4, LUA_FILEHANDLE);
		luaL_argcheck(L, *file != NULL, 4, "the file is closed");
	}
	selectors = ks_lua_checkselectors(L, 2, &n);
	if (n == 0) {
		selectors = all;
		n = 1;
	}
	b = ks_lua_scratch(L);
	if (file != NULL)
		count = write_all(&p, selectors, n, (enum ks_format)format, write_file, *file);
	else
		count = write_all(&p, selectors, n, (enum ks_format)format, write_text, b);
	if (count < 0)
		return ks_lua_fail(L);
	if (file == NULL)
		(void)ks_lua_pushscratch(L, b);
	lua_pushinteger(L, (lua_Integer)count);
	return file == NULL ? 2 : 1;
}

#define MOST_DEPTH 100 /* tables within tables */

static void add_json(lua_State *L, struct ks_json *j);

/* Adds the table at index t of the stack as a number, and returns true, if it has `digits`. */
static bool
add_digits(lua_State *L, struct ks_json *j, int t)
{
	const char *digits = (lua_getfield(L, t, "digits"), lua_tostring(L, -1));
	bool is_number = digits != NULL && digits[0] != '\0' && digits[strspn(digits, "-0123456789")] == '\0';

	if (is_number)
		ks_json_word(j, digits);
	lua_settop(L, t);
	return is_number;
}

/* Adds the table on top; see json(). */
static void
add_table(lua_State *L, struct ks_json *j)
{
	int t = lua_gettop(L), n;
	bool is_object;

	luaL_checkstack(L, 6, NULL);
	if (t > MOST_DEPTH)
		luaL_error(L, "tables are nested too deeply for JSON");
	if (add_digits(L, j, t))
		return;
	lua_getfield(L, t, "keys");
	lua_getfield(L, t, "n");
	is_object = lua_istable(L, t + 1);
	n = is_object ? (int)ks_lua_rawlen(L, t + 1) : lua_isnumber(L, -1) ? (int)lua_tointeger(L, -1) : INT_MAX;
	ks_json_open(j, is_object ? '{' : '[');
	for (int i = 1; i <= n; i++) {
		if (is_object) {
			lua_rawgeti(L, t + 1, i);
			ks_json_name(j, luaL_checkstring(L, -1));
			lua_pop(L, 1);
		}
		lua_rawgeti(L, t, i);
		if (n == INT_MAX && lua_isnil(L, -1))
			break;
		add_json(L, j);
		lua_pop(L, 1);
	}
	lua_settop(L, t);
	ks_json_close(j, is_object ? '}' : ']');
}

/* Adds the value on top. What JSON does not have is null. */
static void
add_json(lua_State *L, struct ks_json *j)
{
	struct ks_value v;

	if (lua_istable(L, -1))
		add_table(L, j);
	else if (lua_isboolean(L, -1))
		ks_json_word(j, lua_toboolean(L, -1) ? "true" : "false");
	else if (!ks_lua_toexact(L, -1, &v))
		ks_json_word(j, "null");
	else
		ks_render_json(j, &v);
}

/*
 * json(value[, is_list]) -> its text. A table is an array of the values up to the first nil, or of `n` of them. One with
 * the field `keys`, an array of names, is an object: its elements are the members of these names. One with `digits`, a
 * text, is the number of these digits. is_list: the value is an array, of which each object has a line.
 */
static int
json(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);
	bool is_list = lua_toboolean(L, 2);
	struct ks_json j = { .out = b, .next = is_list ? ",\n" : NULL };

	luaL_checkany(L, 1);
	lua_settop(L, 1);
	add_json(L, &j);
	if (is_list)
		ks_buf_addc(b, '\n');
	return ks_lua_pushscratch(L, b);
}

struct bucket {
	const char *label;
	uint64_t count;
};

static uint64_t
bucket_at(void *arg, size_t i, const char **label)
{
	const struct bucket *bucket = arg;

	if (label != NULL)
		*label = bucket[i].label;
	return bucket[i].count;
}

/*
 * distribution(labels, counts[, title[, width]]) -> the picture of a histogram, see ks_distribution(); two
 * arrays of the same length, the counts from 0 on. title: what the labels are; default: "value". width: columns.
 */
static int
distribution(lua_State *L)
{
	struct ks_distribution d = { .title = luaL_optstring(L, 3, "value"), .margin = "", .bucket = bucket_at };
	lua_Integer width = luaL_optinteger(L, 4, 0);
	struct bucket *bucket;
	struct ks_buf *b;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_argcheck(L, width >= 0, 4, "a number of columns expected");
	lua_settop(L, 4);
	d.n = ks_lua_rawlen(L, 1);
	d.width = (size_t)width;
	luaL_argcheck(L, ks_lua_rawlen(L, 2) == d.n, 2, "as many counts as labels expected");
	d.arg = bucket = lua_newuserdata(L, (d.n + 1) * sizeof(*bucket));
	for (size_t i = 0; i < d.n; i++) {
		lua_Number count;

		lua_rawgeti(L, 1, (int)i + 1);
		luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 1, "labels are strings");
		bucket[i].label = lua_tostring(L, -1); /* the table keeps it */
		lua_rawgeti(L, 2, (int)i + 1);
		count = lua_tonumber(L, -1);
		luaL_argcheck(L, count >= 0 && count < 18446744073709551616.0, 2,
		    "counts are numbers from 0 to 2^64");
		bucket[i].count = (uint64_t)count;
		lua_pop(L, 2);
	}
	b = ks_lua_scratch(L);
	(void)ks_distribution(b, &d);
	return ks_lua_pushscratch(L, b);
}

void
ks_lua_add_render(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "distribution", distribution },
		{ "json", json },
		{ "render", render },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
}
