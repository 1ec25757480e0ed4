/* signal.c - the handlers that host.h describes. SPDX-License-Identifier: MIT */
#include "host/host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lua/terminal.h"
#include "lua/wait.h"

/* Handlers get no argument that could carry a context, so there is one state per process. */
static lua_State *running;
static volatile sig_atomic_t broken_off;
static volatile sig_atomic_t delivered; /* the error that breaks the script off was raised */
static const char break_value; /* its address is the error value */

static void
break_off(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	delivered = 1;
	lua_sethook(L, NULL, 0, 0);
	lua_pushlightuserdata(L, (void *)&break_value);
	lua_error(L);
}

/* Handlers call this: lua_sethook() may be called from a handler. */
static void
end_script(int sig)
{
	ks_wait_interrupted = 1;
	if (ks_wait_looping)
		return;
	broken_off = sig;
	delivered = 0;
	lua_sethook(running, break_off, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

#define MOST_WRITES 1000 /* writes without a reader before a script that has not noticed is ended */

static void
handle(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

/* Restores the terminal; the process dies of the signal when the handler returns. */
static void
on_end(int sig)
{
	ks_terminal_restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
on_interrupt(int sig)
{
	handle(sig, on_end);
	end_script(sig);
}

bool
ks_signal_output_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

static void
on_pipe(int sig)
{
	int saved = errno;

	if (ks_signal_output_gone()) {
		static volatile sig_atomic_t more;

		/*
		 * The C function that writes may write more before the script notices. A script that
		 * goes on writing ignores the error, or writes in a coroutine, which has a hook of its own.
		 */
		if (!ks_wait_looping && broken_off == sig && (delivered || ++more > MOST_WRITES))
			ks_signal_finish(sig);
		else if (broken_off != sig)
			end_script(sig);
	}
	errno = saved;
}

static void
on_continue(int sig)
{
	(void)sig;
	ks_wait_continued = 1;
}

/* --- while the terminal is a script's ------------------------------------------------- */

static void
on_stop(int sig)
{
	int saved = errno;
	sigset_t set;

	ks_terminal_restore();
	signal(sig, SIG_DFL);
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	/*
	 * Stops here, until SIGCONT; but where no shell could continue it, as in a container or a terminal of its own,
	 * the kernel does not stop it. The terminal is entered again in any case.
	 */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	ks_wait_continued = 1;
	handle(sig, on_stop);
	errno = saved;
}

static void
on_resize(int sig)
{
	(void)sig;
	ks_wait_resized = 1;
}

static void
watch_terminal(bool entered)
{
	static const struct {
		int sig;
		void (*handler)(int);
	} of[] = {
		{ SIGTSTP, on_stop }, { SIGHUP, on_end }, { SIGQUIT, on_end }, { SIGWINCH, on_resize }
	};
	static struct sigaction before[sizeof(of) / sizeof(of[0])];
	static bool watching;

	if (watching == entered)
		return;
	watching = entered;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (!entered) {
			sigaction(of[i].sig, &before[i], NULL);
			continue;
		}
		sigaction(of[i].sig, NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			handle(of[i].sig, of[i].handler);
	}
}

void
ks_signal_start(lua_State *L)
{
	running = L;
	ks_terminal_watch = watch_terminal;
	/*
	 * The handlers are installed even where the parent ignores the signal: shells start background
	 * jobs with SIGINT ignored, and scripts end monitors in the background with kill -INT.
	 */
	handle(SIGINT, on_interrupt);
	handle(SIGTERM, on_interrupt);
	handle(SIGPIPE, on_pipe);
	handle(SIGCONT, on_continue);
	(void)signal(SIGXFSZ, SIG_IGN); /* a write beyond `ulimit -f` then fails with an error message */
}

bool
ks_signal_is_break(lua_State *L, int idx)
{
	return lua_touserdata(L, idx) == (const void *)&break_value;
}

void
ks_signal_again(void)
{
	ks_wait_interrupted = 0;
	ks_wait_looping = 0;
	broken_off = 0;
	lua_sethook(running, NULL, 0, 0); /* a hook that was set too late to break anything off */
	handle(SIGINT, on_interrupt);
}

int
ks_signal_broken_off(void)
{
	return broken_off;
}

void
ks_signal_finish(int sig)
{
	if (sig == SIGPIPE)
		_exit(EXIT_SUCCESS);
	signal(sig, SIG_DFL);
	raise(sig);
}
