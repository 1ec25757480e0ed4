/* check.c - see check.h. SPDX-License-Identifier: MIT */
#include "lua/check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "lua/compat.h"

/* The name under which the running function was registered: ks_lua_setclosures() made it its last upvalue; NULL: none. */
static const char *
registered_name(lua_State *L)
{
	const char *name = NULL;
	lua_Debug ar;

	if (lua_getstack(L, 0, &ar) == 0)
		return NULL;
	lua_getinfo(L, "f", &ar);
	for (int i = 1; lua_getupvalue(L, -1, i) != NULL; lua_pop(L, 1), i++)
		name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
	lua_pop(L, 1);
	return name != NULL && *name != '_' ? name : NULL;
}

/*
 * As ks_lua_pushplace(). *called becomes the function of the module that the script called: how it named that, and at
 * which level of the stack that is, in event.
 */
static void
push_place(lua_State *L, lua_Debug *called)
{
	const char *own;
	lua_Debug ar;

	*called = (lua_Debug){ .namewhat = "" };
	luaL_checkstack(L, 4, NULL);
	lua_getfield(L, LUA_REGISTRYINDEX, KS_LUA_OWN);
	own = lua_tostring(L, -1); /* the registry keeps it */
	lua_pop(L, 1);
	for (int level = 0; lua_getstack(L, level, &ar) != 0; level++) {
		(void)lua_getinfo(L, "Sln", &ar);
		if (ar.currentline > 0 && (own == NULL || strncmp(ar.source, own, strlen(own)) != 0)) {
			lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
			return;
		}
		if (level == 0 || *ar.what != 'C') {
			*called = ar;
			called->event = level;
		}
	}
	lua_pushliteral(L, "");
}

void
ks_lua_pushplace(lua_State *L)
{
	lua_Debug called;

	push_place(L, &called);
}

int
ks_lua_argerror(lua_State *L, int i, const char *why)
{
	const char *name;
	lua_Debug called;

	luaL_checkstack(L, 8, NULL);
	name = registered_name(L);
	push_place(L, &called);
	if (called.name != NULL && *called.name != '?' && (name == NULL || (called.event > 0 && *called.namewhat != 'l' &&
	    *called.namewhat != 'u')))
		name = called.name;
	name = name != NULL ? name : "?";
	if (i > 0 && strcmp(called.namewhat, "method") == 0 && --i == 0)
		lua_pushfstring(L, "calling '%s' on bad self (%s)", name, why);
	else if (i < 0)
		lua_pushfstring(L, "bad field in an argument of '%s' (%s)", name, why);
	else
		lua_pushfstring(L, "bad argument #%d to '%s' (%s)", i, name, why);
	lua_concat(L, 2);
	return lua_error(L);
}

int
ks_lua_error(lua_State *L, const char *fmt, ...)
{
	va_list ap;

	ks_lua_pushplace(L);
	va_start(ap, fmt);
	lua_pushvfstring(L, fmt, ap);
	va_end(ap);
	lua_concat(L, 2);
	return lua_error(L);
}

void
ks_lua_expect(lua_State *L, int i, bool is, const char *expected)
{
	const char *got = is || lua_isnone(L, i) || luaL_getmetafield(L, i, "__name") == 0 ? luaL_typename(L, i) :
	    lua_tostring(L, -1);

	if (is)
		return;
	got = got != NULL && strncmp(got, "kstat.", 6) == 0 ? got + 6 : got;
	(void)ks_lua_argerror(L, i, lua_pushfstring(L, "%s expected, got %s", expected, got != NULL ? got : "a value"));
}

void *
ks_lua_testudata(lua_State *L, int i, const char *name)
{
	void *p = lua_touserdata(L, i);

	if (p == NULL || !lua_getmetatable(L, i))
		return NULL;
	luaL_getmetatable(L, name);
	if (!lua_rawequal(L, -1, -2))
		p = NULL;
	lua_pop(L, 2);
	return p;
}

void *
ks_lua_checkudata(lua_State *L, int i, const char *name)
{
	void *u = ks_lua_testudata(L, i, name);

	ks_lua_expect(L, i, u != NULL, strncmp(name, "kstat.", 6) == 0 ? name + 6 : name);
	return u;
}

void
ks_lua_checkwhole(lua_State *L, lua_Number n, int i)
{
	luaL_argcheck(L, n == floor(n), i, "number has no integer representation");
}

lua_Integer
ks_lua_checkinteger(lua_State *L, int i)
{
	lua_Number n;
#if KS_LUA_INTEGERS
	int whole;
	lua_Integer v = lua_tointegerx(L, i, &whole);

	if (whole)
		return v;
#endif
	n = luaL_checknumber(L, i);
	ks_lua_checkwhole(L, n, i); /* false for NaN, too */
	luaL_argcheck(L, n >= -9007199254740992.0 && n <= 9007199254740992.0, i, "number out of range");
	return (lua_Integer)n;
}

int
ks_lua_checkoption(lua_State *L, int i, const char *otherwise, const char *const list[])
{
	const char *word = otherwise != NULL ? luaL_optstring(L, i, otherwise) : luaL_checkstring(L, i);
	int at = 0;

	while (list[at] != NULL && strcmp(list[at], word) != 0)
		at++;
	if (list[at] == NULL)
		return ks_lua_argerror(L, i, lua_pushfstring(L, "invalid option '%s'", word));
	return at;
}
