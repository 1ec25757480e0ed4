/*
 * modules.h - the Lua half of the module and the installed scripts, compiled when the host was built:
 * reading their text would be most of a script's start-up. SPDX-License-Identifier: MIT
 */
#ifndef HOST_MODULES_H
#define HOST_MODULES_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

struct ks_module {
	const char *name; /* as require() takes it; of a script "scripts/NAME" */
	const char *file; /* below a directory of modules; of a script below share/kstat */
	const unsigned char *code;
	size_t size;
};

extern const struct ks_module ks_modules[]; /* a NULL name ends them; made by compile.lua */

/*
 * Makes require() take the modules of ks_modules from there, unless the file below `dir` is newer than
 * the executable: whoever edits an installed file sees what it does.
 */
void ks_modules_install(lua_State *L, const char *dir);

/* Pushes the installed script of that name, under the same condition for its file; false: it cannot. */
bool ks_modules_script(lua_State *L, const char *name, const char *path);

#endif
