/*
 * interactive.c - kstatlua -i: reads lines, runs them, prints the values of expressions. readline, which does
 * the editing and the history, is loaded only here, so that scripts start without it. Without readline, and when
 * the input is not a terminal, lines are read plainly.
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/buf.h"
#include "host/host.h"
#include "lua/wait.h"

#define HISTORY_LINES 1000
#define STRING(macro) STRING_OF(macro)
#define STRING_OF(text) #text

/* The functions of readline that are used; all are NULL if it is not installed. */
static struct {
	void *library;
	void (*callback_handler_install)(const char *, rl_vcpfunc_t *);
	void (*callback_handler_remove)(void);
	void (*callback_read_char)(void);
	void (*free_line_state)(void);
	void (*cleanup_after_signal)(void);
	void (*reset_after_signal)(void);
	int (*forced_update_display)(void);
	void (*add_history)(const char *);
	int (*read_history)(const char *);
	int (*append_history)(int, const char *);
	int (*history_truncate_file)(const char *, int);
	/* Variables. */
	char **line_buffer, **word_breaks, **basic_quotes;
	int *attempted_over, *append_character, *sort;
	rl_completion_func_t **attempt;
} rl;

static lua_State *completing; /* readline's callback has no argument for a context */

/* The line that readline completed. Its callback has no argument for a context. */
static struct {
	char *text;
	bool done;
} typed;

/* The file of earlier lines, and how many are new. What runs at exit() has no argument for a context. */
static struct {
	char *path;
	int added;
} history;

/* Appends the new lines, so that those of other prompts, which ended meanwhile, stay. */
static void
save_history(void)
{
	int fd = open(history.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0) {
		(void)fchmod(fd, 0600);
		close(fd);
		rl.append_history(history.added, history.path);
		rl.history_truncate_file(history.path, HISTORY_LINES);
	}
	free(history.path);
}

/* Reads the earlier lines, and appends the new ones when the process exits, by os.exit(), too. */
static void
load_history(void)
{
	const char *home = getenv("HOME");

	if (home == NULL || asprintf(&history.path, "%s/.kstatlua_history", home) < 0)
		return;
	rl.read_history(history.path);
	if (atexit(save_history) != 0)
		free(history.path);
}

/* dlsym() returns data pointers. POSIX lets them be functions, but C only when their bytes are copied. */
static bool
find_symbol(const char *name, void *to)
{
	void *p = dlsym(rl.library, name);

	memcpy(to, &p, sizeof(p));
	return p != NULL;
}

static bool
open_readline(void)
{
	const char **program;

	rl.library = dlopen("libreadline.so." STRING(RL_VERSION_MAJOR), RTLD_NOW);
	if (rl.library == NULL)
		return false;
	if (!find_symbol("rl_callback_handler_install", &rl.callback_handler_install) ||
	    !find_symbol("rl_callback_handler_remove", &rl.callback_handler_remove) ||
	    !find_symbol("rl_callback_read_char", &rl.callback_read_char) ||
	    !find_symbol("rl_free_line_state", &rl.free_line_state) ||
	    !find_symbol("rl_cleanup_after_signal", &rl.cleanup_after_signal) ||
	    !find_symbol("rl_reset_after_signal", &rl.reset_after_signal) ||
	    !find_symbol("rl_forced_update_display", &rl.forced_update_display) ||
	    !find_symbol("add_history", &rl.add_history) ||
	    !find_symbol("read_history", &rl.read_history) ||
	    !find_symbol("append_history", &rl.append_history) ||
	    !find_symbol("history_truncate_file", &rl.history_truncate_file) ||
	    !find_symbol("rl_line_buffer", &rl.line_buffer) ||
	    !find_symbol("rl_completer_word_break_characters", &rl.word_breaks) ||
	    !find_symbol("rl_attempted_completion_over", &rl.attempted_over) ||
	    !find_symbol("rl_completion_append_character", &rl.append_character) ||
	    !find_symbol("rl_sort_completion_matches", &rl.sort) ||
	    !find_symbol("rl_basic_quote_characters", &rl.basic_quotes) ||
	    !find_symbol("rl_attempted_completion_function", &rl.attempt) ||
	    !find_symbol("rl_readline_name", &program)) {
		dlclose(rl.library);
		rl.library = NULL;
		return false;
	}
	*program = "kstatlua";
	return true;
}

/* --- completion ------------------------------------------------------------------ */

/*
 * complete(line, from): the array of candidates at the top of the stack as readline wants it, in memory that it frees:
 * what they all begin with, then each, then NULL. NULL if there are none.
 */
static char **
copy_candidates(lua_State *L)
{
	size_t n = luaL_len(L, -1) > 0 ? (size_t)luaL_len(L, -1) : 0, common = 0;
	char **list = n > 0 ? calloc(n + 2, sizeof(*list)) : NULL;

	for (size_t i = 0; list != NULL && i < n; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		list[i + 1] = strdup(lua_tostring(L, -1) != NULL ? lua_tostring(L, -1) : "");
		lua_pop(L, 1);
		if (list[i + 1] == NULL) {
			for (size_t j = 1; j <= i; j++)
				free(list[j]);
			free(list);
			return NULL;
		}
		if (i == 0)
			common = strlen(list[1]);
		while (strncmp(list[1], list[i + 1], common) != 0)
			common--;
	}
	if (list == NULL)
		return NULL;
	if (n == 1) {
		list[0] = list[1];
		list[1] = NULL;
	} else {
		list[0] = strndup(list[1], common);
	}
	if (list[0] == NULL) {
		for (size_t i = 1; i <= n; i++)
			free(list[i]);
		free(list);
		return NULL;
	}
	return list;
}

static int
protected_complete(lua_State *L)
{
	char ***list = lua_touserdata(L, 3);

	lua_getglobal(L, "require");
	lua_pushliteral(L, "kstat.prompt.complete");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "words");
	lua_pushvalue(L, 1);
	lua_pushvalue(L, 2);
	lua_call(L, 2, 1);
	luaL_checktype(L, -1, LUA_TTABLE);
	*list = copy_candidates(L);
	return 0;
}

/* What readline calls for Tab; start and end are the word's places in its line. */
static char **
complete_word(const char *text, int start, int end)
{
	lua_State *L = completing;
	char **list = NULL;

	(void)text;
	*rl.attempted_over = 1; /* never names of files */
	*rl.append_character = '\0';
	*rl.sort = 0; /* statistics come before methods */
	lua_pushcfunction(L, protected_complete);
	lua_pushlstring(L, *rl.line_buffer, (size_t)end);
	lua_pushinteger(L, start + 1);
	lua_pushlightuserdata(L, &list);
	if (lua_pcall(L, 3, 0, 0) != LUA_OK)
		lua_pop(L, 1);
	/* The only candidate ends a text in quotes, unless it is a selector that goes on. */
	if (list != NULL && list[1] == NULL && list[0][0] != '\0' && list[0][strlen(list[0]) - 1] != ':' &&
	    start > 0 && strchr("\"'", (*rl.line_buffer)[start - 1]) != NULL)
		*rl.append_character = (*rl.line_buffer)[start - 1];
	return list;
}

static void
start_completion(lua_State *L)
{
	static char breaks[] = " \t\n\"'=<>;,(){}+-*/%#~^|&", none[] = "";

	completing = L;
	*rl.basic_quotes = none; /* readline would close quotes behind whatever it inserts */
	*rl.word_breaks = breaks;
	*rl.attempt = complete_word;
}

/* --- lines ------------------------------------------------------------------------ */

static void
keep_line(char *line)
{
	typed.text = line;
	typed.done = true;
	rl.callback_handler_remove(); /* restores the terminal */
}

/*
 * Waits for a key; returns false if Ctrl-C came instead. Signals are unblocked only while this waits, so that
 * one between two keys is not missed.
 */
static bool
wait_for_key(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t hold, before;
	int n = -1;

	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGCONT);
	pthread_sigmask(SIG_BLOCK, &hold, &before);
	while (n < 0 && !ks_wait_interrupted) {
		n = ppoll(&in, 1, NULL, &before);
		if (n < 0 && errno != EINTR)
			break;
		if (ks_wait_continued) { /* the shell has set the terminal to its own mode */
			ks_wait_continued = 0;
			rl.reset_after_signal();
			rl.forced_update_display();
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !ks_wait_interrupted;
}

/* Reads a line with editing; NULL at the end of the input and after Ctrl-C. */
static char *
edit_line(const char *prompt)
{
	typed.text = NULL;
	typed.done = false;
	rl.callback_handler_install(prompt, keep_line);
	while (!typed.done) {
		if (wait_for_key()) {
			rl.callback_read_char();
			continue;
		}
		rl.free_line_state();
		rl.cleanup_after_signal();
		rl.callback_handler_remove();
		fputc('\n', stdout);
		break;
	}
	return typed.text;
}

/*
 * Reads the next line without its newline, and its length; the caller frees it. NULL at the end of the input and after
 * Ctrl-C. A line that is not edited may have bytes of value 0.
 */
static char *
read_line(const char *prompt, bool terminal, size_t *length)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (terminal && rl.library != NULL) {
		line = edit_line(prompt);
		*length = line != NULL ? strlen(line) : 0;
		return line;
	}
	if (terminal) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	n = getline(&line, &room, stdin);
	if (n <= 0) {
		free(line);
		return NULL;
	}
	*length = (size_t)n - (line[n - 1] == '\n');
	return line;
}

static void
remember(const char *line, bool terminal)
{
	if (terminal && rl.library != NULL && line[0] != '\0') {
		rl.add_history(line);
		history.added++;
	}
}

/* If the message at the top says that the text only ends too early, pops it and returns true. */
static bool
is_incomplete(lua_State *L, int status)
{
	static const char mark[] = "<eof>";
	size_t n;
	const char *msg;

	if (status != LUA_ERRSYNTAX)
		return false;
	msg = lua_tolstring(L, -1, &n);
	if (n < sizeof(mark) - 1 || strcmp(msg + n - (sizeof(mark) - 1), mark) != 0)
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
 * Reads lines until they make a chunk, as an expression if they can be one. Pushes the function, or a
 * message, and returns a Lua status; returns -1 and pushes nothing after Ctrl-C, or if the input ends before a chunk.
 */
static int
read_chunk(lua_State *L, bool terminal)
{
	struct ks_buf text = KS_BUF_INIT;
	size_t n, skip;
	char *line;
	int status = -1;

	while ((line = read_line(text.len == 0 ? "> " : ">> ", terminal, &n)) != NULL) {
		if (text.len > 0)
			ks_buf_addc(&text, '\n');
		skip = text.len == 0 && n > 0 && line[0] == '=';
		ks_buf_add(&text, line + skip, n - skip);
		free(line);
		status = load_text(L, "return ", text.data, text.len);
		if (status != LUA_OK) {
			lua_pop(L, 1);
			status = load_text(L, "", text.data, text.len);
		}
		if (!is_incomplete(L, status))
			break;
		status = -1;
	}
	/* At the end of the input, a chunk that goes on is a mistake; Ctrl-C only drops it. */
	if (status == -1 && text.len > 0 && !ks_wait_interrupted)
		status = load_text(L, "", text.data, text.len);
	if (status != -1) {
		ks_buf_addc(&text, '\0');
		if (!text.failed)
			remember(text.data, terminal);
	}
	ks_buf_free(&text);
	return status;
}

/* Pushes a module. Returns false after a line on standard error. */
static bool
load_module(lua_State *L, const struct ks_options *o, const char *name)
{
	lua_getglobal(L, "require");
	lua_pushstring(L, name);
	if (ks_script_call(L, 1, 1) == LUA_OK)
		return true;
	(void)ks_script_complain(L, o);
	return false;
}

/* Loads the module of the prompt and begins with it. Leaves it in the registry; says why if that fails. */
static void
start_prompt(lua_State *L, const struct ks_options *o)
{
	if (!load_module(L, o, "kstat.prompt") || !load_module(L, o, "kstat"))
		return;
	lua_getfield(L, -2, "start");
	lua_insert(L, -2);
	if (ks_script_call(L, 1, 0) != LUA_OK)
		(void)ks_script_complain(L, o);
	lua_setfield(L, LUA_REGISTRYINDEX, "kstat.prompt");
}

/* Prints what the chunk returned. Returns true if that was the wish to end. */
static bool
print_results(lua_State *L, const struct ks_options *o)
{
	int n = lua_gettop(L);
	bool ends;

	luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
	if (lua_getfield(L, LUA_REGISTRYINDEX, "kstat.prompt") != LUA_TTABLE)
		return false;
	lua_getfield(L, -1, "show");
	lua_insert(L, 1);
	lua_pop(L, 1);
	if (ks_script_call(L, n, 1) != LUA_OK) {
		(void)ks_script_complain(L, o);
		return false;
	}
	ends = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return ends;
}

void
ks_interactive(lua_State *L, const struct ks_options *o)
{
	bool terminal = isatty(STDIN_FILENO);
	int status;

	if (terminal) {
		if (open_readline())
			load_history();
		if (!o->version) {
			ks_options_version();
			puts("help explains, Tab completes, exit ends");
		}
		signal(SIGTERM, SIG_DFL); /* the prompt has nothing to finish first */
	}
	start_prompt(L, o);
	if (rl.library != NULL)
		start_completion(L);
	for (;;) {
		lua_settop(L, 0);
		fflush(stdout);
		ks_signal_again();
		ks_wait_looping = terminal; /* no script runs that Ctrl-C could break off */
		status = read_chunk(L, terminal);
		if (status == -1) {
			if (!ks_wait_interrupted)
				break;
			continue;
		}
		ks_signal_again();
		if (status == LUA_OK)
			status = ks_script_call(L, 0, LUA_MULTRET);
		if (status == LUA_OK && terminal && ks_wait_interrupted)
			putchar('\n'); /* behind the ^C of the terminal: a loop ended, and the chunk with it */
		if (status == LUA_OK && print_results(L, o))
			break;
		if (status == LUA_OK)
			continue;
		if (ks_signal_is_break(L, -1))
			fputs("interrupted\n", stderr);
		else
			(void)ks_script_complain(L, o);
	}
	ks_signal_again();
	if (terminal && rl.library == NULL)
		fputc('\n', stdout);
}
