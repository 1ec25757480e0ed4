/*
 * main.c - kstatlua: a Lua with kstats inside, for report scripts with an interval and a count.
 * As lua.c does, main() only makes the state, runs the rest in protected mode and closes it.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"

/*
 * Writing to standard output may fail as late as at the end. A reader that went away is no failure, and a
 * script that failed has already printed why.
 */
static int
close_output(const char *program, int status)
{
	int failed = ferror(stdout);

	errno = 0;
	if ((fflush(stdout) == 0 && !failed) || errno == EPIPE || ks_signal_output_gone() || status != 0)
		return status;
	fprintf(stderr, "%s: standard output: %s\n", program,
	    errno != 0 ? strerror(errno) : "write error");
	return KS_EXIT_FATAL;
}

static int
run(lua_State *L, struct ks_options *o)
{
	bool script = o->installed != NULL || (!o->chunks && o->operand < o->argc);
	int status;

	ks_script_libraries(L);
	ks_script_listen(L, o);
	ks_script_arguments(L, o);
	if (o->warnings)
		lua_warning(L, "@on", 0);
	ks_signal_start(L);
	if (o->complete)
		return ks_script_complete(L, o);
	status = ks_script_preload(L, o);
	if (status == 0 && script)
		status = ks_script_run(L, o);
	else if (status == 0 && !o->chunks && !o->interactive && !o->version && o->n == 0) {
		if (isatty(STDIN_FILENO))
			o->interactive = true;
		else
			status = ks_script_run(L, o); /* the script comes through a pipe */
	}
	if (o->interactive && ks_signal_broken_off() == 0) {
		ks_interactive(L, o);
		status = 0;
	}
	return status == 0 && o->damaged ? KS_EXIT_FATAL : status;
}

static int
protected_main(lua_State *L)
{
	struct ks_options *o = lua_touserdata(L, 1);

	luaL_checkversion(L);
	lua_pushinteger(L, run(L, o));
	return 1;
}

/* complain(error, options): as ks_script_complain(), which needs memory itself. */
static int
protected_complaint(lua_State *L)
{
	const struct ks_options *o = lua_touserdata(L, 2);

	lua_settop(L, 1);
	lua_pushinteger(L, ks_script_complain(L, o));
	return 1;
}

/* Without memory for anything else, also for what a message would be made of. */
static int
out_of_memory(const struct ks_options *o)
{
	fprintf(stderr, "%s: out of memory\n", o->program);
	return KS_EXIT_FATAL;
}

/*
 * Calls a function with the options as its last argument; n others are on the stack. Returns the exit status.
 */
static int
call_protected(lua_State *L, lua_CFunction function, struct ks_options *o, int n)
{
	int status;

	lua_pushcfunction(L, function);
	lua_insert(L, -n - 1);
	lua_pushlightuserdata(L, o);
	switch (lua_pcall(L, n + 1, 1, 0)) {
	case LUA_OK:
		status = (int)lua_tointeger(L, -1);
		lua_pop(L, 1);
		return status;
	case LUA_ERRMEM:
		return out_of_memory(o);
	default:
		return n == 0 ? call_protected(L, protected_complaint, o, 1) : KS_EXIT_SCRIPT;
	}
}

int
main(int argc, char **argv)
{
	struct ks_options o;
	lua_State *L;
	int status;

	status = ks_options_read(&o, argc, argv);
	if (status != 0) {
		free(o.preload);
		return status;
	}
	if (o.help || o.version) {
		if (o.help)
			ks_options_usage();
		else
			ks_options_version();
		if (o.help || (!o.chunks && !o.interactive && o.operand == argc)) {
			free(o.preload);
			return close_output(o.program, 0);
		}
	}
	L = luaL_newstate();
	if (L == NULL) {
		free(o.preload);
		return out_of_memory(&o);
	}
	status = call_protected(L, protected_main, &o, 0);
	lua_close(L);
	status = close_output(o.program, status);
	free(o.preload);
	if (ks_signal_broken_off() != 0)
		ks_signal_finish(ks_signal_broken_off());
	return status;
}
