/* wait.c - see wait.h. SPDX-License-Identifier: MIT */
#include "lua/wait.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kstat.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"

volatile sig_atomic_t ks_wait_interrupted;
volatile sig_atomic_t ks_wait_continued;
volatile sig_atomic_t ks_wait_resized;
volatile sig_atomic_t ks_wait_looping;

/* Returns what the handlers' flags mean, KS_WAIT_TIME if none is set; clears what was handled. */
static enum ks_wait
read_flags(void)
{
	if (ks_wait_interrupted)
		return KS_WAIT_INTERRUPTED;
	if (ks_wait_continued) {
		ks_wait_continued = 0;
		return KS_WAIT_CONTINUED;
	}
	return KS_WAIT_TIME;
}

/* Blocks the signals whose flags are read: only ppoll() lets them in, so that none is missed between. */
static void
hold_signals(sigset_t *before)
{
	sigset_t hold;

	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigaddset(&hold, SIGCONT);
	sigaddset(&hold, SIGTSTP);
	sigaddset(&hold, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &hold, before);
}

/* Waits for at most so many nanoseconds, with the signals of that mask; the mask NULL: looks without waiting. */
static enum ks_wait
poll_files(struct ks_wait_input *in, int out, hrtime_t left, const sigset_t *mask)
{
	struct pollfd files[] = {
		{ .fd = in != NULL ? in->fd : -1, .events = POLLIN }, { .fd = out, .events = POLLOUT }
	};
	struct timespec ts = { (time_t)(left / KS_NANOSEC), (long)(left % KS_NANOSEC) };

	switch (mask != NULL ? ppoll(files, 2, &ts, mask) : poll(files, 2, 0)) {
	case -1:
		return KS_WAIT_SIGNAL;
	case 0:
		return KS_WAIT_TIME;
	default:
		if (in == NULL || files[0].revents == 0)
			return KS_WAIT_OUTPUT;
		in->n = read(in->fd, in->bytes, sizeof(in->bytes));
		return KS_WAIT_INPUT;
	}
}

enum ks_wait
ks_wait_files(hrtime_t deadline, struct ks_wait_input *in, int out)
{
	enum ks_wait why = KS_WAIT_TIME;
	sigset_t before;

	hold_signals(&before);
	for (;;) {
		hrtime_t left = deadline - gethrtime();
		enum ks_wait flag = read_flags();

		if (flag != KS_WAIT_TIME) {
			why = flag;
			break;
		}
		if (in != NULL && ks_wait_resized) {
			ks_wait_resized = 0;
			why = KS_WAIT_SIGNAL;
		}
		if (why != KS_WAIT_TIME)
			break;
		if (left <= 0) {
			why = poll_files(in, out, 0, NULL);
			break;
		}
		why = poll_files(in, out, left, &before);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return why;
}

hrtime_t
ks_lua_checkdeadline(lua_State *L, int i)
{
	lua_Number deadline = luaL_checknumber(L, i);

	luaL_argcheck(L, deadline > -9e18 && deadline < 9e18, i, "not a time in nanoseconds");
	return (hrtime_t)deadline;
}

const char *
ks_wait_word(enum ks_wait why)
{
	static const char *const words[] = {
		[KS_WAIT_TIME] = "time", [KS_WAIT_INTERRUPTED] = "interrupted",
		[KS_WAIT_CONTINUED] = "continued", [KS_WAIT_SIGNAL] = "signal", [KS_WAIT_INPUT] = "signal",
		[KS_WAIT_OUTPUT] = "signal"
	};

	return words[why];
}

/* wait(deadline) -> ks_wait_word(). deadline: nanoseconds of gethrtime(), any number. */
static int
wait_call(lua_State *L)
{
	lua_pushstring(L, ks_wait_word(ks_wait_files(ks_lua_checkdeadline(L, 1), NULL, -1)));
	return 1;
}

/* interrupted() -> true if the loop should end after this tick. */
static int
is_interrupted(lua_State *L)
{
	lua_pushboolean(L, ks_wait_interrupted);
	return 1;
}

/*
 * looping(flag): an interval loop starts (true) or ended (false). A loop calls it with true
 * before its first tick and with false when it ends by itself or because it was interrupted.
 */
static int
set_looping(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TBOOLEAN);
	ks_wait_looping = lua_toboolean(L, 1);
	return 0;
}

/*
 * realtime() -> true | nil, message, errno. Puts this process into a real-time class, so that it runs before all that
 * are not; needs CAP_SYS_NICE. The function of musl's name always fails.
 */
static int
become_realtime(lua_State *L)
{
	const struct sched_param lowest = { .sched_priority = 1 };

	if (syscall(SYS_sched_setscheduler, 0, SCHED_RR, &lowest) != 0)
		return ks_lua_failerrno(L, errno, "cannot enter the real-time class");
	lua_pushboolean(L, 1);
	return 1;
}

void
ks_lua_add_wait(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "wait", wait_call },
		{ "interrupted", is_interrupted },
		{ "looping", set_looping },
		{ "realtime", become_realtime },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
}
