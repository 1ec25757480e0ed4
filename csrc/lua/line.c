/* line.c - lines of a table, which every report is made of. SPDX-License-Identifier: MIT */
#include "base/line.h"

#include <string.h>

#include "base/printable.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/value.h"

#define LAYOUT "kstat.layout"
#define MAX_WIDTH 1000000 /* of a column */
#define MAX_GAP 1000      /* bytes between two */

struct layout {
	struct ks_layout l; /* first */
	char gap[MAX_GAP + 1];
	struct ks_column column[];
};

/* Takes the column on top of the stack. */
static void
take_column(lua_State *L, struct ks_column *c)
{
	lua_Number width;

	luaL_checktype(L, -1, LUA_TTABLE);
	lua_getfield(L, -1, "room");
	width = lua_tonumber(L, -1);
	luaL_argcheck(L, width >= 0, 1, "room: below 0");
	c->width = width < MAX_WIDTH ? (int)width : MAX_WIDTH;
	lua_getfield(L, -2, "align");
	c->left = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "left") == 0;
	lua_getfield(L, -3, "format");
	if (lua_type(L, -1) == LUA_TFUNCTION ||
	    !ks_column_take_format(c, lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "%.1f"))
		c->conversion = '\0';
	lua_pop(L, 3);
}

/*
 * layout(columns, gap, squeeze, keep) -> layout. columns: an array of { room =, align =, format = }; gap: the text
 * between two; squeeze, keep: see base/line.h
 */
static int
layout_new(lua_State *L)
{
	size_t n, len;
	const char *gap = luaL_checklstring(L, 2, &len);
	struct layout *u;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argcheck(L, len <= MAX_GAP && strlen(gap) == len, 2, "no text, or too long");
	lua_settop(L, 4);
	n = ks_lua_rawlen(L, 1);
	u = ks_lua_newuserdata(L, sizeof(*u) + n * sizeof(u->column[0]));
	ks_lua_setmetatable(L, LAYOUT);
	memcpy(u->gap, gap, len);
	u->l = (struct ks_layout){ lua_toboolean(L, 3), lua_toboolean(L, 4), u->gap, len, n, u->column };
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 1, (int)i + 1);
		take_column(L, &u->column[i]);
		lua_pop(L, 1);
	}
	return 1;
}

/*
 * line(layout, values, missing) -> the line with a newline. A value is a string, a number, or nil, for which `missing`
 * stands; nil if there is another one, or a number whose format is not a plain %f or %d.
 */
static int
layout_line(lua_State *L)
{
	struct layout *u = luaL_checkudata(L, 1, LAYOUT);
	struct ks_buf *b = ks_lua_scratch(L);
	struct ks_line line = ks_line_begin(&u->l, b);

	luaL_checktype(L, 2, LUA_TTABLE);
	(void)luaL_checkstring(L, 3);
	lua_settop(L, 3);
	for (size_t i = 0; i < u->l.n; i++) {
		size_t len;
		const char *text;

		lua_rawgeti(L, 2, (int)i + 1);
		if (lua_type(L, -1) == LUA_TNUMBER && u->column[i].conversion != '\0') {
			ks_line_number(&line, lua_tonumber(L, -1));
		} else if (lua_type(L, -1) == LUA_TSTRING || lua_isnil(L, -1)) {
			text = lua_tolstring(L, lua_isnil(L, -1) ? 3 : -1, &len);
			ks_line_text(&line, text, len);
		} else {
			return 0;
		}
		lua_pop(L, 1);
	}
	ks_line_end(&line);
	return ks_lua_pushscratch(L, b);
}

/* columns_of(text) -> the columns that it takes on a terminal */
static int
columns_of(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	lua_pushinteger(L, (lua_Integer)ks_text_columns(text, len));
	return 1;
}

void
ks_lua_add_line(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "layout", layout_new },
		{ "line", layout_line },
		{ "columns_of", columns_of },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, LAYOUT, NULL, NULL, NULL);
	ks_lua_setfuncs(L, functions);
}
