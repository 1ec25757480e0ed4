/*
 * layout.c - lines of a table with columns of fixed widths, made at every tick of a report.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lua/compat.h"
#include "lua/core.h"

#define LAYOUT "kstat.layout"
#define MAX_WIDTH 1000 /* of a column */

struct column {
	char conversion; /* 'f' or 'd'; '\0': the format is a function */
	int least, precision; /* of the conversion; precision -1: its own */
	bool left;
	int width;
};

struct layout {
	bool squeeze; /* a cell that is too wide takes its room from those that follow */
	size_t n;
	int gap; /* spaces between columns */
	struct column column[];
};

/* A number of at most two digits at *p, or `none` if there is none. */
static int
take_digits(const char **p, int none)
{
	int n = none;

	for (int i = 0; i < 2 && **p >= '0' && **p <= '9'; i++)
		n = (n == none ? 0 : n * 10) + *(*p)++ - '0';
	return n;
}

/* Takes a format that is one conversion, with a width and a precision at most; false for others. */
static bool
take_format(struct column *c, const char *p)
{
	if (*p++ != '%' || *p == '0')
		return false;
	c->least = take_digits(&p, 0);
	c->precision = -1;
	if (*p == '.') {
		p++;
		c->precision = take_digits(&p, 0);
	}
	c->conversion = *p;
	return *p != '\0' && strchr("fd", *p) != NULL && p[1] == '\0';
}

/*
 * layout(columns, gap, squeeze) -> layout, or nil if it cannot make these lines. columns: an array of
 * { width =, align =, format = }. gap: spaces.
 */
static int
layout_new(lua_State *L)
{
	size_t n, gap;
	const char *spaces = luaL_checklstring(L, 2, &gap);
	struct layout *l;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = ks_lua_rawlen(L, 1);
	if (gap > MAX_WIDTH || strspn(spaces, " ") != gap)
		return 0;
	l = ks_lua_newuserdata(L, sizeof(*l) + n * sizeof(l->column[0]));
	ks_lua_setmetatable(L, LAYOUT);
	l->n = n;
	l->squeeze = lua_toboolean(L, 3);
	l->gap = (int)gap;
	for (size_t i = 0; i < n; i++) {
		struct column *c = &l->column[i];
		lua_Number width;

		lua_rawgeti(L, 1, (int)i + 1);
		luaL_checktype(L, -1, LUA_TTABLE);
		lua_getfield(L, -1, "width");
		width = lua_tonumber(L, -1);
		lua_getfield(L, -2, "align");
		c->left = lua_isstring(L, -1) && strcmp(lua_tostring(L, -1), "left") == 0;
		lua_getfield(L, -3, "format");
		if (!(width >= 0 && width <= MAX_WIDTH) || (lua_type(L, -1) == LUA_TSTRING ?
		    !take_format(c, lua_tostring(L, -1)) : !take_format(c, "%.1f")))
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

/* Columns that a text takes on a terminal: the bytes of UTF-8 that continue a character take none. */
static int
columns_of(const char *text, size_t len)
{
	int columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/* columns_of(text) -> columns */
static int
layout_columns_of(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	lua_pushinteger(L, columns_of(text, len));
	return 1;
}

static void
add_spaces(luaL_Buffer *b, int n)
{
	for (; n > 0; n--)
		luaL_addchar(b, ' ');
}

/* The text of a whole number, as %.0f prints it. */
static const char *
whole_text(double v, bool negative, char *to, size_t size, size_t *len)
{
	uint64_t n = (uint64_t)fabs(v);
	char *p = to + size;

	*--p = '\0';
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n != 0);
	if (negative)
		*--p = '-';
	*len = (size_t)(to + size - 1 - p);
	return p;
}

/* The text of a number; "-" for one that is not finite. Good until the next call. */
static const char *
number_text(const struct column *c, lua_Number v, char *to, size_t size, size_t *len)
{
	int n, precision = c->precision;

	if (c->conversion == 'd') {
		v = floor(v + 0.5);
		precision = 0;
	}
	if (c->least == 0 && precision == 0 && fabs(v) < 1e15)
		return whole_text(rint(v), signbit(v), to, size, len);
	if (isfinite(v))
		n = snprintf(to, size, "%*.*f", c->least, precision, v);
	else
		n = snprintf(to, size, "-");
	*len = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
	return to;
}

/*
 * line(layout, values) -> the line with a newline, spaces at its end dropped. A value is a number, a
 * string, or nil for "-"; nil if there is another, or one whose format is a function.
 */
static int
layout_line(lua_State *L)
{
	const struct layout *l = luaL_checkudata(L, 1, LAYOUT);
	int over = 0, pending = 0;
	luaL_Buffer b;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	luaL_buffinit(L, &b);
	for (size_t i = 0; i < l->n; i++) {
		const struct column *c = &l->column[i];
		char room[400];
		const char *text = "-";
		size_t len = 1;
		int width, space, columns = 0;

		lua_rawgeti(L, 2, (int)i + 1);
		/* The value stays in its table, and so does its text. */
		switch (lua_type(L, -1)) {
		case LUA_TNIL:
			break;
		case LUA_TSTRING:
			text = c->conversion != '\0' ? lua_tolstring(L, -1, &len) : NULL;
			columns = text != NULL ? columns_of(text, len) : 0;
			break;
		case LUA_TNUMBER:
			text = c->conversion != '\0' ?
			    number_text(c, lua_tonumber(L, -1), room, sizeof(room), &len) : NULL;
			break;
		default:
			text = NULL;
		}
		if (text == NULL) {
			lua_pushnil(L);
			return 1;
		}
		lua_pop(L, 1);
		if (columns == 0)
			columns = (int)len; /* a number, or none */
		width = l->squeeze ? c->width - over : c->width;
		space = width > columns ? width - columns : 0;
		if (l->squeeze)
			over += columns + space - c->width;
		if (!c->left)
			pending += space;
		if (len > 0) {
			add_spaces(&b, pending);
			pending = 0;
			luaL_addlstring(&b, text, len);
		}
		if (c->left)
			pending += space;
		if (i + 1 < l->n)
			pending += l->gap;
	}
	luaL_addchar(&b, '\n');
	luaL_pushresult(&b);
	return 1;
}

void
ks_lua_add_layout(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "layout", layout_new },
		{ "layout_line", layout_line },
		{ "layout_values", layout_values },
		{ "columns_of", layout_columns_of },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, LAYOUT, meta);
	lua_pop(L, 1);
	ks_lua_setfuncs(L, functions);
}
