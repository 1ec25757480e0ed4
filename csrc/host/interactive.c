/*
 * interactive.c - kstatlua -i: reads lines, runs them, prints the values of expressions. Line
 * editing and history are readline's, loaded only here, so that scripts do not pay for it; without
 * it, and when input is not a terminal, lines are read plainly.
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/buf.h"
#include "host/host.h"
#include "host/signal.h"
#include "lua/wait.h"

#define HISTORY_LINES 1000

/* What is used of readline; all NULL if it is not there. */
static struct {
	void *library;
	char *(*readline)(const char *);
	void (*add_history)(const char *);
	int (*read_history)(const char *);
	int (*write_history)(const char *);
	void (*stifle_history)(int);
	void (*replace_line)(const char *, int);
	int *done;
} rl;

static char *
find_history(void)
{
	const char *home = getenv("HOME");
	char *path = NULL;

	if (home != NULL && asprintf(&path, "%s/.kstatlua_history", home) < 0)
		path = NULL;
	return path;
}

/* Ctrl-C at the prompt: gives up the line that is being typed. */
static int
on_typed_interrupt(void)
{
	if (!ks_wait_interrupted)
		return 0;
	fputc('\n', stdout);
	rl.replace_line("", 0);
	*rl.done = 1;
	return 0;
}

/* dlsym() gives data pointers; POSIX lets them be functions, C only by way of their bytes. */
static int
symbol(const char *name, void *to)
{
	void *p = dlsym(rl.library, name);

	memcpy(to, &p, sizeof p);
	return p != NULL ? 0 : -1;
}

static void
open_readline(void)
{
	static const char *const names[] = { "libreadline.so.8", "libreadline.so.7", "libedit.so.2" };
	rl_hook_func_t **event;
	const char **program;

	for (size_t i = 0; i < sizeof names / sizeof names[0] && rl.library == NULL; i++)
		rl.library = dlopen(names[i], RTLD_NOW);
	if (rl.library == NULL)
		return;
	if (symbol("readline", &rl.readline) != 0 || symbol("add_history", &rl.add_history) != 0 ||
	    symbol("read_history", &rl.read_history) != 0 ||
	    symbol("write_history", &rl.write_history) != 0 ||
	    symbol("stifle_history", &rl.stifle_history) != 0) {
		rl.readline = NULL;
		return;
	}
	if (symbol("rl_readline_name", &program) == 0)
		*program = "kstatlua";
	if (symbol("rl_done", &rl.done) == 0 && symbol("rl_replace_line", &rl.replace_line) == 0 &&
	    symbol("rl_signal_event_hook", &event) == 0)
		*event = on_typed_interrupt;
}

/* The next line without its newline, to be freed; NULL at the end of input. */
static char *
read_line(const char *prompt, bool terminal)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (terminal && rl.readline != NULL)
		return rl.readline(prompt);
	if (terminal) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	n = getline(&line, &room, stdin);
	if (n <= 0) {
		free(line);
		return NULL;
	}
	if (line[n - 1] == '\n')
		line[n - 1] = '\0';
	return line;
}

static void
remember(const char *line, bool terminal)
{
	if (terminal && rl.readline != NULL && line[0] != '\0')
		rl.add_history(line);
}

/* True if the message at the top says that the text just ends too early; pops it then. */
static bool
is_incomplete(lua_State *L, int status)
{
	static const char mark[] = "<eof>";
	size_t n;
	const char *msg;

	if (status != LUA_ERRSYNTAX)
		return false;
	msg = lua_tolstring(L, -1, &n);
	if (n < sizeof mark - 1 || strcmp(msg + n - (sizeof mark - 1), mark) != 0)
		return false;
	lua_pop(L, 1);
	return true;
}

static int
load_text(lua_State *L, const char *before, const char *text, size_t n)
{
	struct ks_buf b = KS_BUF_INIT;
	int status;

	ks_buf_adds(&b, before);
	ks_buf_add(&b, text, n);
	if (b.failed) {
		ks_buf_free(&b);
		lua_pushliteral(L, "out of memory");
		return LUA_ERRMEM;
	}
	status = luaL_loadbuffer(L, b.data, b.len, "=stdin");
	ks_buf_free(&b);
	return status;
}

/*
 * Reads lines until they make a chunk, as an expression if they can be one. Leaves the function, or
 * a message; -1 at the end of input.
 */
static int
read_chunk(lua_State *L, bool terminal)
{
	struct ks_buf text = KS_BUF_INIT;
	char *line = read_line("> ", terminal);
	int status = -1;

	while (line != NULL) {
		const char *expression = text.len == 0 && line[0] == '=' ? line + 1 : line;

		ks_buf_adds(&text, expression);
		free(line);
		line = NULL;
		status = load_text(L, "return ", text.data, text.len);
		if (status != LUA_OK) {
			lua_pop(L, 1);
			status = load_text(L, "", text.data, text.len);
		}
		if (!is_incomplete(L, status) || ks_wait_interrupted)
			break;
		ks_buf_addc(&text, '\n');
		status = -1;
		line = read_line(">> ", terminal);
		if (line != NULL && ks_wait_interrupted) { /* Ctrl-C gives up all of it */
			free(line);
			ks_buf_reset(&text);
			ks_signal_again();
			line = read_line("> ", terminal);
		}
	}
	if (text.len > 0) {
		ks_buf_addc(&text, '\0');
		if (!text.failed)
			remember(text.data, terminal);
	}
	ks_buf_free(&text);
	return status;
}

/* Prints what the chunk returned, with the script's own print. */
static void
print_results(lua_State *L, const char *program)
{
	int n = lua_gettop(L);

	if (n == 0)
		return;
	luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
	lua_getglobal(L, "print");
	lua_insert(L, 1);
	if (lua_pcall(L, n, 0, 0) != LUA_OK)
		fprintf(stderr, "%s: print: %s\n", program, luaL_tolstring(L, -1, NULL));
}

void
ks_interactive(lua_State *L, const struct ks_options *o)
{
	bool terminal = isatty(STDIN_FILENO);
	char *history = NULL;
	int status;

	if (terminal) {
		open_readline();
		if (rl.readline != NULL)
			history = find_history();
		if (history != NULL)
			rl.read_history(history);
		if (!o->version)
			ks_options_version();
	}
	for (;;) {
		lua_settop(L, 0);
		ks_signal_again();
		status = read_chunk(L, terminal);
		if (status == -1)
			break;
		if (status == LUA_OK) {
			ks_signal_again();
			status = ks_script_call(L, 0, LUA_MULTRET);
		}
		if (status == LUA_OK) {
			print_results(L, o->program);
		} else if (ks_signal_is_break(L, -1)) {
			fputs("interrupted\n", stderr);
		} else {
			ks_script_complain(L, o->program);
		}
		fflush(stdout);
	}
	ks_signal_again();
	if (terminal)
		fputc('\n', stdout);
	if (history != NULL) {
		rl.stifle_history(HISTORY_LINES);
		rl.write_history(history);
	}
	free(history);
}
