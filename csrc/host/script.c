/*
 * script.c - the Lua side of kstatlua: libraries and paths, `arg`, finding, loading and running
 * scripts. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "host/host.h"
#include "lua/core.h"
#include "lua/error.h"

/* --- calling -------------------------------------------------------------------- */

/* Returns the text that a function of kstat.base.unknown makes of others, on the stack; NULL: none. */
static const char *
ask_unknown(lua_State *L, const char *function, const char *a, const char *b, const char *c)
{
	lua_getglobal(L, "require");
	lua_pushliteral(L, "kstat.base.unknown");
	if (lua_pcall(L, 1, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TTABLE)
		return NULL;
	lua_getfield(L, -1, function);
	lua_pushstring(L, a);
	lua_pushstring(L, b);
	lua_pushstring(L, c);
	return lua_pcall(L, 3, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
}

/* Adds to a message of Lua about the call of a method of kstat's objects that there is not what was probably meant. */
static const char *
explain(lua_State *L, const char *msg)
{
	const char *more = NULL;

	if (strstr(msg, "(method '") != NULL && luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) &&
	    lua_getfield(L, -1, "kstat") == LUA_TTABLE)
		more = ask_unknown(L, "explain", msg, NULL, NULL);
	return more != NULL ? more : msg;
}

/* Makes any error value a string with a traceback, as lua does. */
static int
add_traceback(lua_State *L)
{
	const char *msg = lua_tostring(L, 1);

	if (ks_signal_is_break(L, 1) || ks_lua_isfailure(L, 1))
		return 1;
	if (msg == NULL) {
		if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
			return 1; /* an error object speaks for itself */
		msg = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
	}
	luaL_traceback(L, L, explain(L, msg), 1);
	return 1;
}

int
ks_script_call(lua_State *L, int nargs, int nresults)
{
	int base = lua_gettop(L) - nargs;
	int status;

	lua_pushcfunction(L, add_traceback);
	lua_insert(L, base);
	status = lua_pcall(L, nargs, nresults, base);
	lua_remove(L, base);
	return status;
}

static bool
ends_in_lua(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".lua") == 0;
}

/* Pushes and returns the last part of a path without ".lua". */
static const char *
short_name(lua_State *L, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t len = strlen(name);

	return lua_pushlstring(L, name, ends_in_lua(name) ? len - 4 : len);
}

/* Pushes and returns the name of the script in messages. */
static const char *
push_name(lua_State *L, const struct ks_options *o)
{
	const char *name = o->installed;

	if (name == NULL && !o->chunks && o->operand < o->argc)
		name = o->argv[o->operand];
	return name != NULL && strcmp(name, "-") != 0 ? short_name(L, name) :
	    lua_pushstring(L, o->program);
}

int
ks_script_complain(lua_State *L, const struct ks_options *o)
{
	/* Lua's own words: no script raises this. */
	bool is_lack = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "not enough memory") == 0;
	int status = is_lack ? KS_EXIT_FATAL : ks_lua_isfailure(L, -1) ? ks_lua_failstatus(L) : KS_EXIT_SCRIPT;
	const char *name = status != KS_EXIT_SCRIPT ? push_name(L, o) : lua_pushstring(L, o->program);

	if (!ks_signal_is_break(L, -2)) {
		fflush(stdout);
		if (status == 0)
			puts(lua_tostring(L, -2));
		else
			fprintf(stderr, "%s: %s\n", name, lua_tostring(L, -2));
	}
	lua_pop(L, 2);
	return status;
}

/* print_line(line, damaged), with the options as its upvalue: see ks_lua_setlistener(). */
static int
print_line(lua_State *L)
{
	struct ks_options *o = lua_touserdata(L, lua_upvalueindex(1));

	o->damaged = o->damaged || lua_toboolean(L, 2);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", push_name(L, o), lua_tostring(L, 1));
	return 0;
}

void
ks_script_listen(lua_State *L, struct ks_options *o)
{
	lua_pushlightuserdata(L, o);
	lua_pushcclosure(L, print_line, 1);
	ks_lua_setlistener(L);
}

/* --- finding -------------------------------------------------------------------- */

/* True if path names something that can be read as a file, which a disk is not; else errno says why not. */
static bool
is_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	errno = S_ISDIR(st.st_mode) ? EISDIR : ENOEXEC;
	return !S_ISDIR(st.st_mode) && !S_ISBLK(st.st_mode);
}

/* True for a name that is always a file: one with a slash, or with .lua at its end. */
static bool
is_path(const char *name)
{
	return strchr(name, '/') != NULL || ends_in_lua(name);
}

/*
 * Pushes the function of a script: of a file, or of an installed script, which comes before a file of that name: a file
 * that happens to lie in the working directory does not replace a tool. installed: files do not count. NULL and "-" are
 * standard input. Returns a Lua status, with the message in place of the function; or -1, with nothing pushed: there is
 * no such script, or with *path not NULL it cannot be opened (errno).
 */
static int
push_script(lua_State *L, const char *name, bool installed, const char **path)
{
	char found[PATH_MAX];

	*path = NULL;
	if (name != NULL && strcmp(name, "-") != 0) {
		*path = name;
		if (!is_path(name)) {
			*path = lua_pushfstring(L, "%s/share/kstat/scripts/%s.lua", ks_installed_prefix(), name);
			if (ks_modules_script(L, name, *path))
				return LUA_OK;
			if (access(*path, R_OK) != 0)
				*path = ks_installed_find(name, found, sizeof(found)) ? lua_pushstring(L, found) :
				    !installed && is_file(name) ? name : NULL;
		}
		if (*path == NULL || !is_file(*path))
			return -1;
	}
	return luaL_loadfile(L, *path);
}

/*
 * script(name): the function of the script of that name or path, as `kstatlua name` runs it; nil: there is none; nil,
 * message: it cannot be loaded. A file whose name has neither a slash nor .lua at its end is no script here: where other
 * words may stand as well, what one means does not depend on the working directory.
 */
static int
find_script(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *path;
	int status = strcmp(name, "-") != 0 ? push_script(L, name, true, &path) : -1;

	if (status == LUA_OK)
		return 1;
	lua_pushnil(L);
	if (status > 0)
		lua_insert(L, -2);
	else if (ends_in_lua(name))
		lua_pushfstring(L, "cannot open script '%s': %s", name, strerror(errno));
	else
		return 1;
	return 2;
}

/* The module kstat.host: what tools ask of the host. */
static int
open_host(lua_State *L)
{
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, find_script);
	lua_setfield(L, -2, "script");
	return 1;
}

/* --- libraries -------------------------------------------------------------------- */

/*
 * Puts paths below the prefix in front of package.path or package.cpath. The format has a %s for each prefix and
 * one for the old value. The table `package` is at the top of the stack.
 */
static void
prepend_path(lua_State *L, const char *field, const char *format, const char *prefix)
{
	lua_getfield(L, -1, field);
	if (lua_type(L, -1) != LUA_TSTRING) {
		lua_pop(L, 1);
		return;
	}
	if (strcmp(field, "path") == 0)
		lua_pushfstring(L, format, prefix, prefix, lua_tostring(L, -1));
	else
		lua_pushfstring(L, format, prefix, lua_tostring(L, -1));
	lua_setfield(L, -3, field);
	lua_pop(L, 1);
}

/*
 * The __index of the table of globals: the first use of `kstat` loads the module, so that a script that
 * does not use it does not wait for it.
 */
static int
load_kstat(lua_State *L)
{
	if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "kstat") != 0)
		return 0;
	lua_getglobal(L, "require");
	lua_pushliteral(L, "kstat");
	lua_call(L, 1, 1);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, -2);
	lua_rawset(L, 1);
	return 1;
}

#define START 40960 /* bytes; the first collection starts at ten times this and what the libraries use */

/* Delays the first garbage collection: a script that starts loads modules, none of which is garbage. */
static void
put_off_collection(lua_State *L)
{
	lua_newuserdatauv(L, START, 0);
	lua_gc(L, LUA_GCINC, 1000, 0, 0);
	lua_gc(L, LUA_GCCOLLECT);
	lua_gc(L, LUA_GCINC, 200, 0, 0);
	lua_pop(L, 1);
}

void
ks_script_libraries(lua_State *L)
{
	const char *prefix = ks_installed_prefix();

	luaL_openlibs(L);
	put_off_collection(L);
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	lua_pushcfunction(L, luaopen_kstat_core);
	lua_setfield(L, -2, "kstat.core");
	lua_pushcfunction(L, open_host);
	lua_setfield(L, -2, "kstat.host");
	lua_pop(L, 1);

	lua_getglobal(L, LUA_LOADLIBNAME);
	prepend_path(L, "path", "%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua;%s", prefix);
	prepend_path(L, "cpath", "%s/lib/lua/5.4/?.so;%s", prefix);
	lua_pop(L, 1);

	lua_pushfstring(L, "%s/share/lua/5.4", prefix);
	ks_modules_install(L, lua_tostring(L, -1));
	lua_pop(L, 1);

	lua_pushglobaltable(L);
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, load_kstat);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
}

/* --- arguments -------------------------------------------------------------------- */

void
ks_script_arguments(lua_State *L, const struct ks_options *o)
{
	bool script = o->installed == NULL && !o->chunks && o->operand < o->argc;
	int zero = script ? o->operand : 0; /* index in argv of what becomes arg[0] */
	int first = script || o->installed != NULL ? zero + 1 : o->operand;

	lua_createtable(L, o->argc - first > 0 ? o->argc - first : 0, zero + 1);
	for (int i = 0; i < zero; i++) {
		lua_pushstring(L, o->argv[i]);
		lua_rawseti(L, -2, i - zero);
	}
	for (int i = first; i < o->argc; i++) {
		lua_pushstring(L, o->argv[i]);
		lua_rawseti(L, -2, i - first + 1);
	}
	lua_pushstring(L, o->installed != NULL ? o->installed : o->argc > 0 ? o->argv[zero] : o->program);
	lua_rawseti(L, -2, 0);
	lua_setglobal(L, "arg");
}

/* Pushes arg[1], arg[2], ... and returns how many. */
static int
push_arguments(lua_State *L)
{
	int n;

	if (lua_getglobal(L, "arg") != LUA_TTABLE)
		luaL_error(L, "'arg' is not a table");
	n = (int)luaL_len(L, -1);
	luaL_checkstack(L, n + 3, "too many arguments");
	for (int i = 1; i <= n; i++)
		lua_rawgeti(L, -i, i);
	lua_remove(L, -n - 1);
	return n;
}

/* --- running ------------------------------------------------------------------------ */

/* Returns the exit status that the value at the top stands for; -1 if it is no status. */
static int
status_of(lua_State *L)
{
	if (lua_isinteger(L, -1))
		return (int)(lua_tointeger(L, -1) & 0xff);
	if (lua_isboolean(L, -1))
		return lua_toboolean(L, -1) ? 0 : KS_EXIT_SCRIPT;
	return -1;
}

/* If the value at the top has a method `run`, puts the method below the value and returns true. */
static bool
push_run(lua_State *L)
{
	if (!lua_istable(L, -1))
		return false;
	if (lua_getfield(L, -1, "run") != LUA_TFUNCTION) {
		lua_pop(L, 1);
		return false;
	}
	lua_insert(L, -2);
	return true;
}

/* finish_script(value) -> exit status: runs what a script returned, if it can be run. Called protected. */
static int
finish_script(lua_State *L)
{
	int status;

	lua_settop(L, 1);
	if (push_run(L)) {
		lua_getglobal(L, "arg");
		lua_call(L, 2, 1);
	}
	status = status_of(L);
	lua_pushinteger(L, status < 0 ? 0 : status);
	return 1;
}

/* Runs the function at the top, and then its result if that can be run. Returns the exit status. */
static int
run_loaded(lua_State *L, const struct ks_options *o)
{
	int status;

	if (ks_script_call(L, push_arguments(L), 1) != LUA_OK)
		return ks_script_complain(L, o);
	lua_pushcfunction(L, finish_script);
	lua_insert(L, -2);
	if (ks_script_call(L, 1, 1) != LUA_OK)
		return ks_script_complain(L, o);
	status = (int)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return status;
}

/* Loads a module into a global variable. Returns 0, or the exit status. */
static int
preload_module(lua_State *L, const struct ks_options *o, const char *text)
{
	const char *equals = strchr(text, '=');

	lua_getglobal(L, "require");
	lua_pushstring(L, equals != NULL ? equals + 1 : text);
	if (ks_script_call(L, 1, 1) != LUA_OK)
		return ks_script_complain(L, o);
	lua_pushglobaltable(L);
	if (equals != NULL)
		lua_pushlstring(L, text, (size_t)(equals - text));
	else
		lua_pushstring(L, text);
	lua_pushvalue(L, -3);
	lua_rawset(L, -3);
	lua_pop(L, 2);
	return 0;
}

int
ks_script_preload(lua_State *L, const struct ks_options *o)
{
	for (int i = 0; i < o->n; i++) {
		const char *text = o->preload[i].text;
		int status;

		if (o->preload[i].letter != 'e')
			status = preload_module(L, o, text);
		else if (luaL_loadbuffer(L, text, strlen(text), "=(command line)") != LUA_OK)
			status = ks_script_complain(L, o);
		else
			status = run_loaded(L, o);
		if (status != 0)
			return status;
	}
	return 0;
}

/*
 * Prints what a word is that names no script, or that it cannot be opened (error, an errno; 0: there is none). Returns
 * the exit status.
 */
static int
no_such_script(lua_State *L, const struct ks_options *o, const char *name, int error)
{
	struct ks_buf list = KS_BUF_INIT;
	const char *line;

	ks_installed_names(&list);
	lua_pushlstring(L, list.data != NULL ? list.data : "", list.len);
	ks_buf_free(&list);
	line = ask_unknown(L, "script", name, error != 0 ? strerror(error) : NULL, lua_tostring(L, -1));
	fprintf(stderr, "%s: %s\n", o->program, line != NULL ? line : "no such script");
	return KS_EXIT_USAGE;
}

/* Loads the script that the command line names. Returns 0, or the exit status. */
static int
load_script(lua_State *L, const struct ks_options *o)
{
	const char *name = o->installed, *path;
	int status;

	if (name == NULL && o->operand < o->argc)
		name = o->argv[o->operand];
	status = push_script(L, name, o->installed != NULL, &path);
	if (status == LUA_OK)
		return 0;
	else if (status > 0)
		return ks_script_complain(L, o);
	return no_such_script(L, o, name, path != NULL ? errno : 0);
}

int
ks_script_run(lua_State *L, const struct ks_options *o)
{
	int status = load_script(L, o);

	return status != 0 ? status : run_loaded(L, o);
}

/*
 * load(name): the function of a script that came with the host, or nil. Others are not asked for their options: they
 * might do anything, and who types a command line has not started it yet.
 */
static int
load_installed(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *path;

	if (is_path(name))
		return 0;
	path = lua_pushfstring(L, "%s/share/kstat/scripts/%s.lua", ks_installed_prefix(), name);
	return ks_modules_script(L, name, path) || luaL_loadfile(L, path) == LUA_OK;
}

int
ks_script_complete(lua_State *L, const struct ks_options *o)
{
	struct ks_buf abouts = KS_BUF_INIT;

	lua_getglobal(L, "require");
	lua_pushliteral(L, "kstat.complete");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "lines");
	lua_newtable(L);
	for (int i = o->operand; i < o->argc; i++) {
		lua_pushstring(L, o->argv[i]);
		lua_rawseti(L, -2, i - o->operand + 1);
	}
	lua_createtable(L, 0, 3);
	lua_pushstring(L, ks_options_text());
	lua_setfield(L, -2, "usage");
	ks_installed_abouts(&abouts);
	lua_pushlstring(L, abouts.data != NULL ? abouts.data : "", abouts.len);
	ks_buf_free(&abouts);
	lua_setfield(L, -2, "abouts");
	lua_pushcfunction(L, load_installed);
	lua_setfield(L, -2, "load");
	if (ks_script_call(L, 2, 1) != LUA_OK)
		return ks_script_complain(L, o);
	fputs(lua_tostring(L, -1), stdout);
	return 0;
}
