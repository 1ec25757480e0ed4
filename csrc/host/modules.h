/*
 * modules.h - the Lua half of the module and the installed scripts, compiled when the host was built. They make
 * a copied executable work alone, and spare a start the reading of their text, which takes longer than everything
 * else that a single report does (`bench/run startup`). SPDX-License-Identifier: MIT
 */
#ifndef HOST_MODULES_H
#define HOST_MODULES_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

struct ks_module {
	const char *name;  /* as require() takes it; a script is "scripts/NAME" */
	const char *file;  /* its path below the directory of modules; a script's below share/kstat */
	const char *about; /* what a script says of itself, without its name; "" for modules */
	const unsigned char *code;
	size_t size;
};

extern const struct ks_module ks_modules[]; /* a NULL name ends them; written by compile.lua */

/*
 * Makes require() take the modules from ks_modules, unless the file below `dir` is newer than the
 * executable: whoever edits an installed file sees the effect at once. LPeg is there, too, if it is linked in.
 */
void ks_modules_install(lua_State *L, const char *dir);

/* Pushes the installed script of that name under the same condition; returns false, and pushes nothing, otherwise. */
bool ks_modules_script(lua_State *L, const char *name, const char *path);

/* The name of a compiled script without its directory, or NULL if the module is not a script. */
const char *ks_modules_script_name(const struct ks_module *m);

#endif
