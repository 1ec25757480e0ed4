/* modules_load.c - loads compiled modules and scripts, see modules.h. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "host/modules.h"

#define SCRIPTS "scripts/"

static bool
is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* When the executable was written; a time before all others if that is not known. */
static const struct timespec *
built(void)
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

static const struct ks_module *
find(const char *name)
{
	const struct ks_module *m = ks_modules;

	while (m->name != NULL && strcmp(m->name, name) != 0)
		m++;
	return m->name != NULL ? m : NULL;
}

/* Pushes the compiled function, unless the file at `path` is newer. A file that is missing is not newer. */
static bool
push(lua_State *L, const struct ks_module *m, const char *path)
{
	struct stat file;

	if (m == NULL || (stat(path, &file) == 0 && is_newer(&file.st_mtim, built())))
		return false;
	if (luaL_loadbufferx(L, (const char *)m->code, m->size, m->file, "b") == LUA_OK)
		return true;
	lua_pop(L, 1);
	return false;
}

/* A searcher of require(): returns a loader and the file that it stands for, or nothing. */
static int
search(lua_State *L)
{
	const struct ks_module *m = find(luaL_checkstring(L, 1));

	if (m == NULL)
		return 0;
	lua_pushfstring(L, "%s/%s", lua_tostring(L, lua_upvalueindex(1)), m->file);
	if (!push(L, m, lua_tostring(L, -1)))
		return 0;
	lua_insert(L, -2);
	return 2;
}

/* LPeg, where its archive is linked in. */
int luaopen_lpeg(lua_State *L) __attribute__((weak));

void
ks_modules_install(lua_State *L, const char *dir)
{
	if (luaopen_lpeg != NULL) {
		luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
		lua_pushcfunction(L, luaopen_lpeg);
		lua_setfield(L, -2, "lpeg");
		lua_pop(L, 1);
	}
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "searchers");
	/* The new searcher stands behind that of package.preload and before those of files. */
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

	lua_pushfstring(L, SCRIPTS "%s", name);
	found = push(L, find(lua_tostring(L, -1)), path);
	lua_remove(L, found ? -2 : -1);
	return found;
}

const char *
ks_modules_script_name(const struct ks_module *m)
{
	size_t n = strlen(SCRIPTS);

	return strncmp(m->name, SCRIPTS, n) == 0 ? m->name + n : NULL;
}
