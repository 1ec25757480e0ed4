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
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"

/* The formats by name, in the order of enum ks_format. */
static const char *const formats[] = { "human", "parseable", "colons", "list", "json",
	"json_class", "quiet", NULL };

static int
write_file(void *arg, const char *p, size_t n)
{
	if (fwrite(p, 1, n, arg) != n)
		return ks_fail(errno, "cannot write: %s", strerror(errno));
	return 0;
}

static int
write_text(void *arg, const char *p, size_t n)
{
	struct ks_buf *b = arg;

	ks_buf_add(b, p, n);
	return b->failed ? ks_fail(ENOMEM, "out of memory for the output") : 0;
}

/*
 * render(chain, selectors, format[, file]) -> text, count | nil, message, errno.
 * Reads and shows what the selectors match, one after the other (none given: everything). With a
 * file of the io library the text goes there piece by piece, and the result is the count alone.
 * count: statistics shown.
 */
static int
render(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	int format = luaL_checkoption(L, 3, NULL, formats);
	FILE **file = NULL;
	const struct ks_selector *const *selectors;
	size_t n;
	long count;

	lua_settop(L, 4);
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
	ks_buf_reset(&c->text);
	if (file != NULL)
		count = ks_render_write(c->kc, selectors, n, (enum ks_format)format, write_file, *file);
	else
		count = ks_render_write(c->kc, selectors, n, (enum ks_format)format, write_text,
		    &c->text);
	if (count < 0)
		return ks_lua_fail(L);
	if (file == NULL)
		lua_pushlstring(L, c->text.len > 0 ? c->text.data : "", c->text.len);
	lua_pushinteger(L, (lua_Integer)count);
	return file == NULL ? 2 : 1;
}

/* json_string(text) -> text as a JSON string, quotes included; see ks_json_string(). */
static int
json_string(lua_State *L)
{
	struct ks_buf b = KS_BUF_INIT;
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);

	ks_json_string(&b, s, n);
	if (b.failed) {
		ks_buf_free(&b);
		return luaL_error(L, "out of memory for a string");
	}
	lua_pushlstring(L, b.data, b.len);
	ks_buf_free(&b);
	return 1;
}

void
ks_lua_add_render(lua_State *L)
{
	lua_pushcfunction(L, json_string);
	lua_setfield(L, -2, "json_string");
	lua_pushcfunction(L, render);
	lua_setfield(L, -2, "render");
}
