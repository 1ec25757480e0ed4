/*
 * own.c - what a screen may do to the processes that it shows, and where it keeps what its user chose.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/replace.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"

#define MOST_STATE 65536 /* bytes of a file of state */

/* --- signals ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "ABRT", SIGABRT }, { "KILL", SIGKILL },
	{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "CONT", SIGCONT },
	{ "STOP", SIGSTOP }, { "TSTP", SIGTSTP }, { "WINCH", SIGWINCH },
};

/* signal_number(text) -> the number of a signal by its name in capitals, or by its number; nil: there is none */
static int
signal_number(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(text, signals[i].name) == 0)
			n = signals[i].number;
	}
	if (n < 1 || n >= NSIG || (*end != '\0' && end != text))
		return 0;
	lua_pushinteger(L, n);
	return 1;
}

/* Whether /proc shows the processes that this one can see, and not those of another namespace. */
static bool
is_own_proc(void)
{
	char self[32] = "";

	return readlink("/proc/self", self, sizeof(self) - 1) > 0 && atol(self) == (long)getpid();
}

/*
 * signal(pid, number, still) -> true | nil, message, errno. still(): whether the process is the one that is meant; it is
 * asked while the number cannot become that of another process, where the kernel can promise that (Linux 5.3).
 */
static int
signal_process(lua_State *L)
{
	int pid = (int)ks_lua_checkinteger(L, 1), number = (int)ks_lua_checkinteger(L, 2), fd, rc, error;

	luaL_checktype(L, 3, LUA_TFUNCTION);
	luaL_argcheck(L, pid > 0, 1, "the number of a process expected");
	if (!is_own_proc())
		return ks_lua_failwith(L, ENOTSUP, "/proc is not that of this process");
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno != ENOSYS && errno != EPERM)
		return ks_lua_failerrno(L, errno, "it has ended");
	lua_settop(L, 3);
	rc = lua_pcall(L, 0, 1, 0);
	if (rc == 0 && lua_toboolean(L, -1)) {
		rc = fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) : kill(pid, number);
		error = rc != 0 ? errno : 0;
	} else {
		error = ESRCH;
	}
	if (fd >= 0)
		(void)close(fd);
	if (error != 0)
		return ks_lua_failerrno(L, error, error == ESRCH ? "it has ended" : "the signal was not sent");
	lua_pushboolean(L, 1);
	return 1;
}

/* --- what a user chose ---------------------------------------------------------------------------- */

/* own_file(path) -> its text, "" if there is none | nil, message: it is damaged, or another user's */
static int
own_file(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char *text;
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT) {
		lua_pushliteral(L, "");
		return 1;
	} else if (fd < 0) {
		return ks_lua_failerrno(L, errno, path);
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size > MOST_STATE) {
		(void)close(fd);
		return ks_lua_failwith(L, EPERM, "%s is not a small file of this user", path);
	}
	text = lua_newuserdata(L, MOST_STATE);
	n = read(fd, text, MOST_STATE);
	(void)close(fd);
	if (n < 0)
		return ks_lua_failerrno(L, errno, path);
	lua_pushlstring(L, text, (size_t)n);
	return 1;
}

/* Makes the directories above a file. 0, or -1 with errno; EPERM: the last one is another user's. */
static int
make_above(const char *path)
{
	char above[PATH_MAX];
	struct stat st;

	if (snprintf(above, sizeof(above), "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *slash = above; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		if ((stat(above, &st) != 0 && mkdir(above, 0700) != 0) || stat(above, &st) != 0)
			return -1;
	}
	if (st.st_uid != geteuid()) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

/* own_replace(path, text) -> true | nil, message, errno. Makes the directories above; an empty text removes the file. */
static int
own_replace(lua_State *L)
{
	size_t n;
	const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &n);

	luaL_argcheck(L, path[0] == '/', 1, "an absolute path expected");
	if (n > 0)
		return make_above(path) != 0 ? ks_lua_failerrno(L, errno, path) : ks_lua_result(L, ks_replace_file(path, text, n));
	if (unlink(path) != 0 && errno != ENOENT)
		return ks_lua_failerrno(L, errno, path);
	lua_pushboolean(L, 1);
	return 1;
}

void
ks_lua_add_own(lua_State *L)
{
	ks_lua_setfunction(L, "signal_number", signal_number);
	ks_lua_setfunction(L, "signal", signal_process);
	ks_lua_setfunction(L, "own_file", own_file);
	ks_lua_setfunction(L, "own_replace", own_replace);
}
