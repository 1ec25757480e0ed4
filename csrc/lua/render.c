/*
 * render.c - kstats as the text of kstat(8), for the command and for scripts.
 * SPDX-License-Identifier: MIT
 */
#include "chain/render.h"

#include <errno.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "chain/distribution.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

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

/* json_string(text) -> text as a JSON string, quotes included; see ks_json_string(). */
static int
json_string(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);
	struct ks_buf *b = ks_lua_scratch(L);

	ks_json_string(b, s, n);
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
		{ "json_string", json_string },
		{ "render", render },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
}
