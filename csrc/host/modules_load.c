/* modules_load.c - see modules.h. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "host/modules.h"

static bool
is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* When the executable was made; before all times if that cannot be told. */
static const struct timespec *
made(void)
{
	static struct timespec when;
	static bool known;
	struct stat self;

	if (!known) {
		known = true;
		when = stat("/proc/self/exe", &self) == 0 ? self.st_mtim :
		    (struct timespec){ .tv_sec = INT64_MIN };
	}
	return &when;
}

/* Pushes the function of a name, if there is one and the file is not newer than the executable. */
static bool
push(lua_State *L, const char *name, const char *path)
{
	const struct ks_module *m = ks_modules;
	struct stat file;

	while (m->name != NULL && strcmp(m->name, name) != 0)
		m++;
	if (m->name == NULL || stat(path, &file) != 0 || is_newer(&file.st_mtim, made()))
		return false;
	if (luaL_loadbufferx(L, (const char *)m->code, m->size, m->file, "b") == LUA_OK)
		return true;
	lua_pop(L, 1);
	return false;
}

/* The searcher: a loader and the file that it stands for, or nothing and the next searcher is asked. */
static int
search(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const struct ks_module *m = ks_modules;
	const char *path;

	while (m->name != NULL && strcmp(m->name, name) != 0)
		m++;
	if (m->name == NULL)
		return 0;
	path = lua_pushfstring(L, "%s/%s", lua_tostring(L, lua_upvalueindex(1)), m->file);
	if (!push(L, name, path))
		return 0;
	lua_insert(L, -2);
	return 2;
}

void
ks_modules_install(lua_State *L, const char *dir)
{
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "searchers");
	/* Behind package.preload, before the files. */
	for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
		lua_rawgeti(L, -1, i);
		lua_rawseti(L, -2, i + 1);
	}
	lua_pushstring(L, dir);
	lua_pushcclosure(L, search, 1);
	lua_rawseti(L, -2, 2);
	lua_pop(L, 2);
}

bool
ks_modules_script(lua_State *L, const char *name, const char *path)
{
	bool found;

	lua_pushfstring(L, "scripts/%s", name);
	found = push(L, lua_tostring(L, -1), path);
	lua_remove(L, found ? -2 : -1);
	return found;
}
