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
#include "host/signal.h"

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

	if (o->capture != NULL && setenv("KSTAT_SOURCE", o->capture, 1) != 0) {
		fprintf(stderr, "%s: -r: %s\n", o->program, strerror(errno));
		return KS_EXIT_SCRIPT;
	}
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

int
main(int argc, char **argv)
{
	struct ks_options o;
	lua_State *L;
	int status = KS_EXIT_SCRIPT;

	if (ks_options_read(&o, argc, argv) != 0) {
		free(o.preload);
		return KS_EXIT_USAGE;
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
		fprintf(stderr, "%s: out of memory\n", o.program);
		free(o.preload);
		return KS_EXIT_SCRIPT;
	}
	lua_pushcfunction(L, protected_main);
	lua_pushlightuserdata(L, &o);
	if (lua_pcall(L, 1, 1, 0) == LUA_OK)
		status = (int)lua_tointeger(L, -1);
	else
		(void)ks_script_complain(L, &o);
	lua_close(L);
	status = close_output(o.program, status);
	free(o.preload);
	if (ks_signal_broken_off() != 0)
		ks_signal_finish(ks_signal_broken_off());
	return status;
}
