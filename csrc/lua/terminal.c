/*
 * terminal.c - what a script needs to know of the terminal, and the mode of full-screen programs.
 * The state is the process's: handlers and atexit() have no other way to reach it. What a handler
 * reads is in place before `entered` is set.
 *
 * The settings are saved before a script changes them, and restored at exit and when the Lua state closes. The handlers
 * are the host's, so that SIGTSTP, SIGHUP, SIGQUIT and a second SIGINT restore them, too. Where no shell could continue
 * the process, as in a container, the kernel does not stop it: the screen then goes on as after a stop.
 * SPDX-License-Identifier: MIT
 */
#include "lua/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "source/replay/replay.h"

#define PATIENCE_NS (KS_NANOSEC / 5) /* for a terminal that is left */
#define ANSWER_NS KS_NANOSEC         /* for one that will answer */

void (*ks_terminal_watch)(bool entered);
volatile sig_atomic_t ks_terminal_asked;

static struct {
	volatile sig_atomic_t entered;
	int in, out;
	struct termios saved; /* its mode before */
	char leave[KS_TERMINAL_LEAVE_MAX];
	size_t leave_size;
	bool at_exit;
} state;

void
ks_terminal_size(int fd, int *columns, int *rows)
{
	struct winsize size = { .ws_col = 0 };

	(void)ioctl(fd, TIOCGWINSZ, &size);
	*columns = size.ws_col == 0 ? 80 : size.ws_col < KS_TERMINAL_COLUMNS ? size.ws_col : KS_TERMINAL_COLUMNS;
	*rows = size.ws_row == 0 ? 24 : size.ws_row < KS_TERMINAL_ROWS ? size.ws_row : KS_TERMINAL_ROWS;
}

/* terminal(fd) -> columns, rows | nil: the file descriptor (0 standard input, 1 output, 2 error) is no terminal. */
static int
terminal(lua_State *L)
{
	int fd = (int)ks_lua_checkinteger(L, 1);
	int columns, rows;

	if (!isatty(fd)) {
		lua_pushnil(L);
		return 1;
	}
	ks_terminal_size(fd, &columns, &rows);
	lua_pushinteger(L, columns);
	lua_pushinteger(L, rows);
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

/* Whether the terminal is ready for these events before a time; handlers call it. */
static bool
wait_until(int fd, short events, hrtime_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	hrtime_t left = deadline - gethrtime();

	return left > 0 && poll(&p, 1, (int)(left / (KS_NANOSEC / 1000)) + 1) > 0 && (p.revents & events) != 0;
}

/* Writes the whole text, also if a signal interrupts. False: the terminal is gone or does not take it in time. */
static bool
write_all(const char *text, size_t n, hrtime_t deadline)
{
	while (n > 0) {
		ssize_t done = wait_until(state.out, POLLOUT, deadline) ? write(state.out, text, n) : 0;

		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done <= 0)
			return false;
		text += done;
		n -= (size_t)done;
	}
	return true;
}

/* Takes what is typed up to the end of the answer, that is its `n`. */
static void
take_answer(hrtime_t deadline)
{
	char c = '\0';

	while (c != 'n' && wait_until(state.in, POLLIN, deadline) && read(state.in, &c, 1) == 1)
		;
}

void
ks_terminal_restore(void)
{
	/* A frame may have been cut off anywhere: this ends its style and its synchronized update. */
	static const char end[] = "\033[m\033[?2026l";
	hrtime_t now = gethrtime(), deadline = now + PATIENCE_NS;
	int saved = errno;

	if (state.entered) {
		state.entered = 0;
		if (write_all(end, sizeof(end) - 1, deadline) && write_all(state.leave, state.leave_size, deadline) &&
		    ks_terminal_asked != 0)
			take_answer(ks_terminal_asked == KS_TERMINAL_ANSWERS ? now + ANSWER_NS : deadline);
		ks_terminal_asked = 0;
		(void)tcsetattr(state.in, TCSANOW, &state.saved);
	}
	errno = saved;
}

void
ks_terminal_leave(void)
{
	bool entered = state.entered != 0;

	ks_terminal_restore();
	if (entered && ks_terminal_watch != NULL)
		ks_terminal_watch(false);
}

bool
ks_terminal_entered(void)
{
	return state.entered != 0;
}

int
ks_terminal_enter(int in, int out, const char *leave, size_t n)
{
	struct termios raw;

	if (!state.entered) {
		if (tcgetattr(in, &state.saved) != 0)
			return -1;
		state.in = in;
		state.out = out;
		memcpy(state.leave, leave, n);
		state.leave_size = n;
		ks_terminal_asked = 0;
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
	/* Nothing of it is about output, which a terminal may hold for ever (Ctrl-S): no need to wait for that. */
	while (tcsetattr(in, TCSANOW, &raw) != 0) {
		int err = errno;

		if (err == EINTR)
			continue;
		ks_terminal_leave();
		errno = err;
		return -1;
	}
	return 0;
}

void
ks_lua_add_terminal(lua_State *L)
{
	ks_lua_setfunction(L, "terminal", terminal);
	ks_lua_setfunction(L, "progress", show_progress);
}
