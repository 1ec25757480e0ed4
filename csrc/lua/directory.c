/* directory.c - what Lua cannot ask: the names in a directory, and the file system of a path. SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/value.h"

/*
 * Stores what is in a directory, for each entry the time of its last change (NAN: it is no regular file) and its name
 * with the NUL, and returns how many there are; -1 with errno.
 */
static int
read_names(const char *path, struct ks_buf *b)
{
	const struct dirent *e;
	DIR *dir = opendir(path);
	struct stat st;
	double mtime;
	int n = 0;

	if (dir == NULL)
		return -1;
	while ((e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), e->d_name, &st, 0) != 0 &&
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue; /* it is gone */
		mtime = S_ISREG(st.st_mode) ? (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9 : NAN;
		ks_buf_add(b, &mtime, sizeof(mtime));
		ks_buf_add(b, e->d_name, strlen(e->d_name) + 1);
		n++;
	}
	(void)closedir(dir);
	return n;
}

/*
 * directory(path) -> an array of the names in it, in no order, without . and .., and one of the times (s) of their last
 * changes, or false for what is no regular file: to open a FIFO would wait for who writes | nil, message
 */
static int
directory(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *at;
	struct ks_buf *b = ks_lua_scratch(L);
	int n = read_names(path, b);

	if (n < 0 || b->failed) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, strerror(n < 0 ? errno : ENOMEM));
		return 2;
	}
	lua_createtable(L, n, 0);
	lua_createtable(L, n, 0);
	at = b->data;
	for (int i = 1; i <= n; i++, at += strlen(at) + 1) {
		double mtime;

		memcpy(&mtime, at, sizeof(mtime));
		at += sizeof(mtime);
		lua_pushstring(L, at);
		lua_rawseti(L, -3, i);
		if (isnan(mtime))
			lua_pushboolean(L, 0);
		else
			lua_pushnumber(L, mtime);
		lua_rawseti(L, -2, i);
	}
	return 2;
}

/* device_of(path) -> the major and the minor number of its file system | nil, message */
static int
device_of(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct stat st;

	if (stat(path, &st) != 0) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, strerror(errno));
		return 2;
	}
	lua_pushinteger(L, (lua_Integer)major(st.st_dev));
	lua_pushinteger(L, (lua_Integer)minor(st.st_dev));
	return 2;
}

void
ks_lua_add_directory(lua_State *L)
{
	ks_lua_setfunction(L, "directory", directory);
	ks_lua_setfunction(L, "device_of", device_of);
}
