/*
 * columns.c - lines of a table with columns of fixed widths, made at every tick of a report.
 * SPDX-License-Identifier: MIT
 */
#include "chain/columns.h"

#include <stdint.h>
#include <string.h>

#include "lua/compat.h"
#include "lua/core.h"
#include "lua/value.h"

#define LAYOUT "kstat.layout"
#define MAX_WIDTH 1000 /* of a column */

struct layout {
	struct ks_layout l; /* first */
	struct ks_column column[];
};

/*
 * layout(columns, gap, squeeze) -> layout, or nil if it cannot make these lines. columns: an array of
 * { width =, align =, format = }. gap: spaces.
 */
static int
layout_new(lua_State *L)
{
	size_t n, gap;
	const char *spaces = luaL_checklstring(L, 2, &gap);
	struct layout *u;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = ks_lua_rawlen(L, 1);
	if (gap > MAX_WIDTH || strspn(spaces, " ") != gap)
		return 0;
	u = ks_lua_newuserdata(L, sizeof(*u) + n * sizeof(u->column[0]));
	ks_lua_setmetatable(L, LAYOUT);
	u->l = (struct ks_layout){ lua_toboolean(L, 3), (int)gap, n, u->column };
	for (size_t i = 0; i < n; i++) {
		struct ks_column *c = &u->column[i];
		lua_Number width;

		lua_rawgeti(L, 1, (int)i + 1);
		luaL_checktype(L, -1, LUA_TTABLE);
		lua_getfield(L, -1, "width");
		width = lua_tonumber(L, -1);
		lua_getfield(L, -2, "align");
		c->left = lua_isstring(L, -1) && strcmp(lua_tostring(L, -1), "left") == 0;
		lua_getfield(L, -3, "format");
		if (!(width >= 0 && width <= MAX_WIDTH) || (lua_type(L, -1) == LUA_TSTRING ?
		    !ks_column_take_format(c, lua_tostring(L, -1)) : !ks_column_take_format(c, "%.1f")))
			return 0;
		if (lua_isfunction(L, -1))
			c->conversion = '\0';
		c->width = (int)width;
		lua_pop(L, 4);
	}
	return 1;
}

/*
 * values(fields, row) -> the row's values of these fields (false: a column that has none), in this
 * order; and whether any of them is missing. The row's own field `text` comes along.
 */
static int
layout_values(lua_State *L)
{
	int n, missing = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	n = (int)ks_lua_rawlen(L, 1);
	lua_createtable(L, n, 1);
	lua_pushliteral(L, "text");
	lua_rawget(L, 2);
	if (!lua_isnil(L, -1)) {
		lua_setfield(L, 3, "text");
		return 1;
	}
	lua_pop(L, 1);
	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, 1, i);
		if (lua_toboolean(L, -1))
			lua_gettable(L, 2);
		else
			lua_pushnil(L); /* the column is no field */
		missing |= lua_isnil(L, -1);
		lua_rawseti(L, 3, i);
		lua_settop(L, 3);
	}
	lua_pushboolean(L, missing);
	return 2;
}

/* columns_of(text) -> columns */
static int
layout_columns_of(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	lua_pushinteger(L, ks_text_columns(text, len));
	return 1;
}

/*
 * line(layout, values) -> the line with a newline, spaces at its end dropped. A value is a number, a
 * string, or nil for "-"; nil if there is another, or one whose format is a function.
 */
static int
layout_line(lua_State *L)
{
	struct layout *u = luaL_checkudata(L, 1, LAYOUT);
	struct ks_buf *b = ks_lua_scratch(L);
	struct ks_line line = ks_line_begin(&u->l, b);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	for (size_t i = 0; i < u->l.n; i++) {
		bool plain = u->column[i].conversion != '\0';
		const char *text;
		size_t len;

		lua_rawgeti(L, 2, (int)i + 1);
		if (lua_isnil(L, -1)) {
			ks_line_text(&line, "-", 1);
		} else if (plain && lua_type(L, -1) == LUA_TNUMBER) {
			ks_line_number(&line, lua_tonumber(L, -1));
		} else if (plain && lua_type(L, -1) == LUA_TSTRING) {
			text = lua_tolstring(L, -1, &len);
			ks_line_text(&line, text, len);
		} else {
			lua_pushnil(L);
			return 1;
		}
		lua_pop(L, 1);
	}
	ks_line_end(&line);
	return ks_lua_pushscratch(L, b);
}

void
ks_lua_add_layout(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "layout", layout_new },
		{ "layout_line", layout_line },
		{ "layout_values", layout_values },
		{ "columns_of", layout_columns_of },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, LAYOUT, NULL, NULL, NULL);
	ks_lua_setfuncs(L, functions);
}
