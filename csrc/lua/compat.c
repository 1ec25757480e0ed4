/* compat.c - see compat.h. SPDX-License-Identifier: MIT */
#include "lua/compat.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void *
ks_lua_newuserdata(lua_State *L, size_t size)
{
#if LUA_VERSION_NUM >= 504
	void *p = lua_newuserdatauv(L, size, 1);
#else
	void *p = lua_newuserdata(L, size);
#endif

	return memset(p, 0, size);
}

void
ks_lua_setuservalue(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 504
	(void)lua_setiuservalue(L, i, 1);
#elif LUA_VERSION_NUM >= 502
	lua_setuservalue(L, i);
#else
	(void)lua_setfenv(L, i);
#endif
}

void
ks_lua_getuservalue(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 504
	(void)lua_getiuservalue(L, i, 1);
#elif LUA_VERSION_NUM >= 502
	lua_getuservalue(L, i);
#else
	lua_getfenv(L, i);
#endif
}

void
ks_lua_setstate(lua_State *L, int first, int second)
{
	lua_createtable(L, 2, 1);
	lua_pushvalue(L, -2);
	lua_rawseti(L, -2, 0);
	if (first != 0) {
		lua_pushvalue(L, first);
		lua_rawseti(L, -2, 1);
	}
	if (second != 0) {
		lua_pushvalue(L, second);
		lua_rawseti(L, -2, 2);
	}
	ks_lua_setuservalue(L, -2);
}

void
ks_lua_copyarray(lua_State *L, int i)
{
	size_t n = lua_istable(L, i) ? ks_lua_rawlen(L, i) : 0;

	if (!lua_istable(L, i))
		return;
	lua_newtable(L);
	for (size_t at = 1; at <= n; at++) {
		lua_rawgeti(L, i, (int)at);
		lua_rawseti(L, -2, (int)at);
	}
	lua_replace(L, i);
}

void
ks_lua_setmetatable(lua_State *L, const char *name)
{
	luaL_getmetatable(L, name);
	lua_setmetatable(L, -2);
}

void
ks_lua_setfuncs(lua_State *L, const luaL_Reg *functions)
{
	ks_lua_setclosures(L, -1, functions, 0);
}

void
ks_lua_setclosures(lua_State *L, int t, const luaL_Reg *functions, int n)
{
	t = ks_lua_absindex(L, t);
	for (; functions->name != NULL; functions++) {
		for (int i = 0; i < n; i++)
			lua_pushvalue(L, -n);
		lua_pushstring(L, functions->name); /* for errors, see registered_name() */
		lua_pushcclosure(L, functions->func, n + 1);
		lua_setfield(L, t, functions->name);
	}
}

void
ks_lua_setaddress(lua_State *L, const char *name, void (*function)(void))
{
	void *p;

	_Static_assert(sizeof(function) == sizeof(p), "function addresses");
	memcpy(&p, &function, sizeof(p)); /* C has no conversion from one to the other */
	lua_pushlightuserdata(L, p);
	lua_setfield(L, -2, name);
}

void
ks_lua_addto(lua_State *L, const char *name, const luaL_Reg *functions)
{
	lua_getfield(L, -1, name);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setfield(L, -3, name);
	}
	ks_lua_setfuncs(L, functions);
	lua_pop(L, 1);
}

void
ks_lua_newtype(lua_State *L, const char *name, lua_CFunction release, const luaL_Reg *meta,
    const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	ks_lua_setstring(L, "__name", name);
	ks_lua_setstring(L, "__metatable", name);
	if (release != NULL)
		ks_lua_setfunction(L, "__gc", release);
	if (meta != NULL)
		ks_lua_setfuncs(L, meta);
	if (methods != NULL) {
		lua_newtable(L);
		ks_lua_setfuncs(L, methods);
		lua_getfield(L, -1, "close");
		lua_setfield(L, -3, "__close");
		lua_setfield(L, -2, "__index");
	}
	lua_pop(L, 1);
}

bool
ks_lua_flag(lua_State *L, int i, const char *field)
{
	bool flag;

	lua_getfield(L, i, field);
	flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}

/* --- checks of arguments ---------------------------------------------------------------------------------------- */

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
