/*
 * output.c - flushing files, and whether all that was written reached them; replacing files.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <lualib.h>
#include <string.h>

#include "base/replace.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"

/* The open file at index i of the stack; NULL for any other value. */
static FILE *
file_at(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 502
	const luaL_Stream *stream = ks_lua_testudata(L, i, LUA_FILEHANDLE);

	return stream != NULL && stream->closef != NULL ? stream->f : NULL;
#else
	FILE *const *file = ks_lua_testudata(L, i, LUA_FILEHANDLE);

	return file != NULL ? *file : NULL;
#endif
}

/*
 * flush(file) -> true | nil, message, errno. As the method of files, but it also reports earlier
 * failures to write, which print() ignores; their errno is 0.
 */
static int
flush(lua_State *L)
{
	FILE *file = file_at(L, 1);

	if (file == NULL) {
		lua_settop(L, 1);
		lua_getfield(L, 1, "flush");
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	errno = 0;
	if (fflush(file) == 0 && !ferror(file)) {
		lua_pushboolean(L, 1);
		return 1;
	}
	lua_pushnil(L);
	lua_pushstring(L, errno != 0 ? strerror(errno) : "some of it could not be written");
	lua_pushinteger(L, errno);
	return 3;
}

/* replace_file(path, text) -> true | nil, message, errno; see ks_replace_file() */
static int
replace_file(lua_State *L)
{
	size_t n;
	const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &n);

	return ks_lua_result(L, ks_replace_file(path, text, n));
}

void
ks_lua_add_output(lua_State *L)
{
	ks_lua_setfunction(L, "flush", flush);
	ks_lua_setfunction(L, "replace_file", replace_file);
}
