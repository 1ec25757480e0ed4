/* terminal.c - what a script needs to know of the terminal. SPDX-License-Identifier: MIT */
#include <sys/ioctl.h>
#include <unistd.h>

#include "lua/compat.h"
#include "lua/core.h"

/*
 * terminal(fd) -> columns, rows | nil: the file descriptor (0 standard input, 1 output, 2 error)
 * is no terminal. A terminal that does not tell its size is 80 by 24.
 */
static int
terminal(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1);
	struct winsize size = { .ws_col = 0 };

	if (!isatty(fd)) {
		lua_pushnil(L);
		return 1;
	}
	(void)ioctl(fd, TIOCGWINSZ, &size);
	lua_pushinteger(L, size.ws_col > 0 ? size.ws_col : 80);
	lua_pushinteger(L, size.ws_row > 0 ? size.ws_row : 24);
	return 2;
}

void
ks_lua_add_terminal(lua_State *L)
{
	lua_pushcfunction(L, terminal);
	lua_setfield(L, -2, "terminal");
}
