/* modules_load.c - see modules.h. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/modules.h"

static bool
is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* True if the file is there and as old as the executable or older. */
static bool
is_current(const char *path)
{
	struct stat file, self;

	return stat(path, &file) == 0 && stat("/proc/self/exe", &self) == 0 &&
	    !is_newer(&file.st_mtim, &self.st_mtim);
}

/* The searcher: a loader and the file that it stands for, or nil and the next searcher is asked. */
static int
search(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *dir = lua_tostring(L, lua_upvalueindex(1));
	const struct ks_module *m = ks_modules;
	char path[PATH_MAX];

	while (m->name != NULL && strcmp(m->name, name) != 0)
		m++;
	if (m->name == NULL ||
	    snprintf(path, sizeof(path), "%s/%s", dir, m->file) >= (int)sizeof(path) ||
	    !is_current(path) ||
	    luaL_loadbufferx(L, (const char *)m->code, m->size, m->file, "b") != LUA_OK)
		return 0;
	lua_pushstring(L, path);
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
