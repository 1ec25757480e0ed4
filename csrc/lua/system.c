/*
 * system.c - what Lua cannot ask of the system: signals to the processes that a screen shows, the file where it keeps
 * what its user chose, the names in a directory, flushing and replacing files. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lualib.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/replace.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/value.h"

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

/* --- directories ----------------------------------------------------------------------------------- */

/*
 * Stores what is in a directory, for each entry the time of its last change (NAN: it is no regular file) and its name
 * with the NUL, and returns how many there are; -1 with errno.
 */
static int
read_names(const char *path, struct ks_buf *b)
{
	const struct dirent *e;
	DIR *dir = opendir(path);
	struct stat st;
	double mtime;
	int n = 0;

	if (dir == NULL)
		return -1;
	while ((e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), e->d_name, &st, 0) != 0 &&
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue; /* it is gone */
		mtime = S_ISREG(st.st_mode) ? (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9 : NAN;
		ks_buf_add(b, &mtime, sizeof(mtime));
		ks_buf_add(b, e->d_name, strlen(e->d_name) + 1);
		n++;
	}
	(void)closedir(dir);
	return n;
}

/*
 * directory(path) -> an array of the names in it, in no order, without . and .., and one of the times (s) of their last
 * changes, or false for what is no regular file: to open a FIFO would wait for who writes | nil, message
 */
static int
directory(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *at;
	struct ks_buf *b = ks_lua_scratch(L);
	int n = read_names(path, b);

	if (n < 0 || b->failed) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, strerror(n < 0 ? errno : ENOMEM));
		return 2;
	}
	lua_createtable(L, n, 0);
	lua_createtable(L, n, 0);
	at = b->data;
	for (int i = 1; i <= n; i++, at += strlen(at) + 1) {
		double mtime;

		memcpy(&mtime, at, sizeof(mtime));
		at += sizeof(mtime);
		lua_pushstring(L, at);
		lua_rawseti(L, -3, i);
		if (isnan(mtime))
			lua_pushboolean(L, 0);
		else
			lua_pushnumber(L, mtime);
		lua_rawseti(L, -2, i);
	}
	return 2;
}

/* device_of(path) -> the major and the minor number of its file system | nil, message */
static int
device_of(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct stat st;

	if (stat(path, &st) != 0) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, strerror(errno));
		return 2;
	}
	lua_pushinteger(L, (lua_Integer)major(st.st_dev));
	lua_pushinteger(L, (lua_Integer)minor(st.st_dev));
	return 2;
}

/* --- files that are written ------------------------------------------------------------------------ */

/* The open file at index i of the stack; NULL for any other value. */
static FILE *
file_at(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 502
	const luaL_Stream *stream = ks_lua_testudata(L, i, LUA_FILEHANDLE);

	return stream != NULL && stream->closef != NULL ? stream->f : NULL;
#else
	FILE *const *file = ks_lua_testudata(L, i, LUA_FILEHANDLE);

	return file != NULL ? *file : NULL;
#endif
}

/*
 * flush(file) -> true | nil, message, errno. As the method of files, but it also reports earlier
 * failures to write, which print() ignores; their errno is 0.
 */
static int
flush(lua_State *L)
{
	FILE *file = file_at(L, 1);

	if (file == NULL) {
		lua_settop(L, 1);
		lua_getfield(L, 1, "flush");
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	errno = 0;
	if (fflush(file) == 0 && !ferror(file)) {
		lua_pushboolean(L, 1);
		return 1;
	}
	lua_pushnil(L);
	lua_pushstring(L, errno != 0 ? strerror(errno) : "some of it could not be written");
	lua_pushinteger(L, errno);
	return 3;
}

/* replace_file(path, text) -> true | nil, message, errno; see ks_replace_file() */
static int
replace_file(lua_State *L)
{
	size_t n;
	const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &n);

	return ks_lua_result(L, ks_replace_file(path, text, n));
}

void
ks_lua_add_system(lua_State *L)
{
	ks_lua_setfunction(L, "signal_number", signal_number);
	ks_lua_setfunction(L, "signal", signal_process);
	ks_lua_setfunction(L, "own_file", own_file);
	ks_lua_setfunction(L, "own_replace", own_replace);
	ks_lua_setfunction(L, "directory", directory);
	ks_lua_setfunction(L, "device_of", device_of);
	ks_lua_setfunction(L, "flush", flush);
	ks_lua_setfunction(L, "replace_file", replace_file);
}
