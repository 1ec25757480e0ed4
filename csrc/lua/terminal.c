/*
 * terminal.c - what a script needs to know of the terminal, and the mode of full-screen programs.
 * The state is the process's: handlers and atexit() have no other way to reach it. What a handler
 * reads is in place before `entered` is set. SPDX-License-Identifier: MIT
 */
#include "lua/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/wait.h"
#include "source/replay/replay.h"

#define SCREEN "kstat.screen"
#define LEAVE_MAX 64
#define MOST_COLUMNS 2000
#define MOST_ROWS 1000

void (*ks_terminal_watch)(bool entered);

static struct {
	volatile sig_atomic_t entered;
	int fd;               /* the terminal; output is written to standard output */
	struct termios saved; /* its mode before */
	char leave[LEAVE_MAX];
	size_t leave_size;
	bool at_exit;
} state;

struct screen {
	int fd;     /* -1: closed */
	bool owned; /* fd is to be closed */
	char enter[LEAVE_MAX];
	size_t enter_size;
	char leave[LEAVE_MAX];
	size_t leave_size;
};

/*
 * terminal(fd) -> columns, rows | nil: the file descriptor (0 standard input, 1 output, 2 error)
 * is no terminal. A terminal of unknown size counts as 80 by 24, and one of more than 2,000 by 1,000 as
 * that large, because programs fill the whole screen.
 */
static int
terminal(lua_State *L)
{
	int fd = (int)ks_lua_checkinteger(L, 1);
	struct winsize size = { .ws_col = 0 };

	if (!isatty(fd)) {
		lua_pushnil(L);
		return 1;
	}
	(void)ioctl(fd, TIOCGWINSZ, &size);
	lua_pushinteger(L, size.ws_col == 0 ? 80 : size.ws_col < MOST_COLUMNS ? size.ws_col : MOST_COLUMNS);
	lua_pushinteger(L, size.ws_row == 0 ? 24 : size.ws_row < MOST_ROWS ? size.ws_row : MOST_ROWS);
	return 2;
}

/* --- how far a long reading is ------------------------------------------------------------- */

static struct {
	hrtime_t began, told; /* told 0: nothing was written yet */
	unsigned long long samples;
	int readings;         /* that are under way, one within the other */
} progress;

/* Writes how many samples were read, from the first second on and at most ten times a second. */
static void
count_sample(void)
{
	hrtime_t now = gethrtime();

	progress.samples++;
	if (now - progress.began < KS_NANOSEC || now - progress.told < KS_NANOSEC / 10)
		return;
	progress.told = now;
	(void)dprintf(STDERR_FILENO, "\r%llu samples", progress.samples);
}

/*
 * progress(1) and progress(-1): a reading of a replay begins and ends. If it takes more than a second and standard error
 * is a terminal, that shows how far it is. progress(0): what is shown is erased, as at the end.
 */
static int
show_progress(lua_State *L)
{
	int step = (int)ks_lua_checkinteger(L, 1);

	if (progress.readings == 0) {
		progress.began = gethrtime();
		progress.samples = 0;
	}
	progress.readings += step;
	if (progress.told > 0 && (progress.readings == 0 || step == 0)) {
		(void)dprintf(STDERR_FILENO, "\r\033[K");
		progress.told = 0;
	}
	ks_replay_watch = progress.readings > 0 && isatty(STDERR_FILENO) ? count_sample : NULL;
	return 0;
}

/* --- the mode ------------------------------------------------------------------------------- */

/* Writes the whole text, also if a signal interrupts; gives up if the terminal is gone. */
static void
write_all(const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

void
ks_terminal_restore(void)
{
	int saved = errno;

	if (state.entered) {
		state.entered = 0;
		write_all(state.leave, state.leave_size);
		(void)tcsetattr(state.fd, TCSANOW, &state.saved);
	}
	errno = saved;
}

static void
leave(void)
{
	bool entered = state.entered != 0;

	ks_terminal_restore();
	if (entered && ks_terminal_watch != NULL)
		ks_terminal_watch(false);
}

static struct screen *
check_screen(lua_State *L)
{
	struct screen *s = luaL_checkudata(L, 1, SCREEN);

	luaL_argcheck(L, s->fd >= 0, 1, "the screen is closed");
	return s;
}

/*
 * screen:enter() -> true | nil, message, errno. The terminal gives every key at once and shows
 * none; the text for entering is written. Also where the terminal is entered already: after the process
 * was stopped, somebody else may have changed it.
 */
static int
screen_enter(lua_State *L)
{
	struct screen *s = check_screen(L);
	struct termios raw;

	if (!state.entered) {
		if (tcgetattr(s->fd, &state.saved) != 0)
			return ks_lua_failerrno(L, errno, "the terminal");
		state.fd = s->fd;
		memcpy(state.leave, s->leave, s->leave_size);
		state.leave_size = s->leave_size;
		if (!state.at_exit)
			state.at_exit = atexit(ks_terminal_restore) == 0;
		if (ks_terminal_watch != NULL)
			ks_terminal_watch(true);
		state.entered = 1;
	}
	raw = state.saved;
	raw.c_iflag &= ~(tcflag_t)(IXON | ISTRIP | INLCR | IGNCR);
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | IEXTEN);
	if (ks_terminal_watch == NULL)
		raw.c_lflag &= ~(tcflag_t)ISIG;
	/* A read never waits: ppoll() does, and lets signals in. */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	while (tcsetattr(s->fd, TCSADRAIN, &raw) != 0) {
		int err = errno;

		if (err == EINTR)
			continue;
		leave();
		return ks_lua_failerrno(L, err, "the terminal");
	}
	write_all(s->enter, s->enter_size);
	lua_pushboolean(L, 1);
	return 1;
}

/* screen:leave(): the terminal is as it was before. May be called twice. */
static int
screen_leave(lua_State *L)
{
	(void)luaL_checkudata(L, 1, SCREEN);
	leave();
	return 0;
}

/* screen:close(), also its __gc and __close. */
static int
screen_close(lua_State *L)
{
	struct screen *s = luaL_checkudata(L, 1, SCREEN);

	if (s->fd >= 0) {
		leave();
		if (s->owned)
			(void)close(s->fd);
		s->fd = -1;
	}
	return 0;
}

/*
 * screen:read(deadline) -> bytes | nil, why. deadline: nanoseconds of gethrtime(). why: "time",
 * "interrupted", "continued" (enter again), "signal" (the window may have another size) or
 * "closed": the terminal is gone.
 */
static int
screen_read(lua_State *L)
{
	struct screen *s = check_screen(L);
	enum ks_wait why = ks_lua_wait_input(L, 2, s->fd);
	char bytes[256];

	if (why == KS_WAIT_INPUT) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		ssize_t n = read(s->fd, bytes, sizeof(bytes));

		if (n > 0) {
			lua_pushlstring(L, bytes, (size_t)n);
			return 1;
		}
		if ((n < 0 && errno != EINTR && errno != EAGAIN) ||
		    (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)) {
			lua_pushnil(L);
			lua_pushliteral(L, "closed");
			return 2;
		}
	}
	lua_pushnil(L);
	lua_pushstring(L, ks_wait_word(why));
	return 2;
}

/*
 * screen(enter, leave) -> screen | nil, message, errno. The terminal of standard input, or, if that
 * is none, of the process. enter and leave: what is written to standard output then, at most 64
 * bytes.
 */
static int
screen_open(lua_State *L)
{
	size_t enter_size, leave_size;
	const char *enter = luaL_checklstring(L, 1, &enter_size);
	const char *leave_text = luaL_checklstring(L, 2, &leave_size);
	struct screen *s;

	luaL_argcheck(L, enter_size <= LEAVE_MAX, 1, "too long");
	luaL_argcheck(L, leave_size <= LEAVE_MAX, 2, "too long");
	s = ks_lua_newuserdata(L, sizeof(*s));
	s->fd = -1;
	ks_lua_setmetatable(L, SCREEN);
	memcpy(s->enter, enter, enter_size);
	s->enter_size = enter_size;
	memcpy(s->leave, leave_text, leave_size);
	s->leave_size = leave_size;
	if (isatty(STDIN_FILENO)) {
		s->fd = STDIN_FILENO;
		return 1;
	}
	s->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (s->fd < 0)
		return ks_lua_failerrno(L, errno, "no terminal to read keys from");
	s->owned = true;
	return 1;
}

void
ks_lua_add_terminal(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "enter", screen_enter },
		{ "leave", screen_leave },
		{ "close", screen_close },
		{ "read", screen_read },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, SCREEN, screen_close, NULL, methods);
	ks_lua_setfunction(L, "terminal", terminal);
	ks_lua_setfunction(L, "progress", show_progress);
	ks_lua_setfunction(L, "screen", screen_open);
}
