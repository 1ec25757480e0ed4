/*
 * devstat_select.c - kstat.core.devstat: selections of devices, and patterns. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "devstat/device.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define SELECTION "kstat.devstat.selection"

struct selection {
	struct device_selection *sel; /* owned; n of them */
	int num_selected, n;
	long generation;
};

static int
new_selection(lua_State *L)
{
	(void)ks_lua_newuserdata(L, sizeof(struct selection));
	ks_lua_setmetatable(L, SELECTION);
	return 1;
}

static int
free_selection(lua_State *L)
{
	struct selection *s = luaL_checkudata(L, 1, SELECTION);

	devstat_free(s->sel);
	memset(s, 0, sizeof(*s));
	return 0;
}

/*
 * Scratch memory that Lua frees, whatever happens before the call is over: n objects of size
 * bytes, zeroed.
 */
static void *
scratch(lua_State *L, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n + 1, size, &bytes))
		luaL_error(L, "too many");
	return memset(lua_newuserdata(L, bytes), 0, bytes);
}

/*
 * Patterns at index i (an array of strings) as scratch memory, their number in *n. With NULL the
 * message is in devstat_errbuf.
 */
static struct devstat_match *
check_patterns(lua_State *L, int i, int *n)
{
	size_t len = ks_lua_rawlen(L, i);
	struct devstat_match *all = scratch(L, len, sizeof(*all)), *one;
	int count;

	*n = 0;
	for (size_t k = 0; k < len; k++) {
		char *pattern;
		size_t size;
		const char *s;

		lua_rawgeti(L, i, (int)k + 1);
		luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, i, "not a list of patterns");
		s = lua_tolstring(L, -1, &size);
		/* The parameter is a char *, as the manual page has it. */
		pattern = memcpy(scratch(L, size, 1), s, size);
		one = NULL;
		count = 0;
		if (devstat_buildmatch(pattern, &one, &count) != 0)
			return NULL;
		all[(*n)++] = *one;
		devstat_free(one);
		lua_pop(L, 2);
	}
	return all;
}

/*
 * selection:apply(devices, generation, mode, names, patterns, max, performance) -> whether the
 * selection changed. mode: "add", "only", "remove" or "addonly".
 */
static int
apply(lua_State *L)
{
	static const char *const modes[] = { "add", "only", "remove", "addonly", NULL };
	static const devstat_select_mode mode_of[] = {
		DS_SELECT_ADD, DS_SELECT_ONLY, DS_SELECT_REMOVE, DS_SELECT_ADDONLY
	};
	struct selection *s = luaL_checkudata(L, 1, SELECTION);
	devstat_select_mode mode;
	struct devstat_match *matches;
	struct devstat *devices;
	char **names;
	size_t ndevices, nnames;
	long generation;
	int nmatches, max, perf, changed;

	luaL_checktype(L, 2, LUA_TTABLE);
	generation = (long)luaL_checknumber(L, 3);
	mode = mode_of[luaL_checkoption(L, 4, "add", modes)];
	luaL_checktype(L, 5, LUA_TTABLE);
	luaL_checktype(L, 6, LUA_TTABLE);
	max = ks_lua_checkint(L, 7);
	perf = lua_toboolean(L, 8);
	lua_settop(L, 8);

	ndevices = ks_lua_rawlen(L, 2);
	nnames = ks_lua_rawlen(L, 5);
	luaL_argcheck(L, ndevices < INT32_MAX, 2, "too many devices");
	luaL_argcheck(L, nnames < INT32_MAX, 5, "too many names");
	devices = scratch(L, ndevices, sizeof(*devices));
	for (size_t i = 0; i < ndevices; i++) {
		const struct devstat *ds;

		lua_rawgeti(L, 2, (int)i + 1);
		ds = ks_lua_testudata(L, -1, KS_LUA_DEVICE);
		luaL_argcheck(L, ds != NULL, 2, "not a list of devices");
		devices[i] = *ds;
		lua_pop(L, 1);
	}
	names = scratch(L, nnames, sizeof(*names));
	for (size_t i = 0; i < nnames; i++) {
		lua_rawgeti(L, 5, (int)i + 1);
		luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 5, "not a list of names");
		names[i] = (char *)(uintptr_t)lua_tostring(L, -1); /* kept by the table */
		lua_pop(L, 1);
	}
	matches = check_patterns(L, 6, &nmatches);
	if (matches == NULL)
		return ks_lua_fail(L);
	changed = devstat_selectdevs(&s->sel, &s->num_selected, &s->n, &s->generation, generation,
	    devices, (int)ndevices, matches, nmatches, names, (int)nnames, mode, max, perf);
	if (changed == -1)
		return ks_lua_fail(L);
	lua_pushboolean(L, changed);
	return 1;
}

/* selection:entries() -> array of { index in the device list, selection number or 0, bytes }. */
static int
entries(lua_State *L)
{
	const struct selection *s = luaL_checkudata(L, 1, SELECTION);

	lua_createtable(L, s->n, 0);
	for (int i = 0; i < s->n; i++) {
		lua_createtable(L, 0, 3);
		ks_lua_setinteger(L, "index", s->sel[i].position + 1);
		ks_lua_setinteger(L, "selected", s->sel[i].selected);
		ks_lua_setu64(L, "bytes", s->sel[i].bytes);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* selection:set_bytes(entry, bytes): what performance mode sorts by; entry as in entries(). */
static int
set_bytes(lua_State *L)
{
	struct selection *s = luaL_checkudata(L, 1, SELECTION);
	int i = ks_lua_checkint(L, 2);

	(void)luaL_checknumber(L, 3);
	luaL_argcheck(L, i >= 1 && i <= s->n, 2, "no such entry");
	s->sel[i - 1].bytes = ks_lua_tocount(L, 3);
	return 0;
}

static int
selection_len(lua_State *L)
{
	lua_pushinteger(L, ((struct selection *)luaL_checkudata(L, 1, SELECTION))->num_selected);
	return 1;
}

/* match(string) -> { type, interface, pass, text }; nil, message, "EINVAL". */
static int
match(lua_State *L)
{
	struct devstat_match *m;
	int n;
	const char *s = luaL_checkstring(L, 1);

	lua_createtable(L, 1, 0);
	lua_pushvalue(L, 1);
	lua_rawseti(L, -2, 1);
	m = check_patterns(L, lua_gettop(L), &n);
	if (m == NULL)
		return ks_lua_fail(L);
	lua_createtable(L, 0, 4);
	if (m->match_fields & DEVSTAT_MATCH_TYPE)
		ks_lua_setstring(L, "type", ks_devstat_type_word(m->device_type, DEVSTAT_MATCH_TYPE));
	if (m->match_fields & DEVSTAT_MATCH_IF)
		ks_lua_setstring(L, "interface", ks_devstat_type_word(m->device_type, DEVSTAT_MATCH_IF));
	ks_lua_setboolean(L, "pass", (m->match_fields & DEVSTAT_MATCH_PASS) != 0);
	ks_lua_setstring(L, "text", s);
	return 1;
}

void
ks_lua_add_devstat_select(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "match", match }, { "selection", new_selection }, { NULL, NULL },
	};
	static const luaL_Reg selection_meta[] = {
		{ "__len", selection_len }, { NULL, NULL },
	};
	static const luaL_Reg selection_methods[] = {
		{ "apply", apply }, { "entries", entries }, { "set_bytes", set_bytes },
		{ NULL, NULL },
	};

	ks_lua_newtype(L, SELECTION, free_selection, selection_meta, selection_methods);
	ks_lua_addto(L, "devstat", functions);
}
