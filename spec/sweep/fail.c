/*
 * fail.c - a library to be preloaded into a program, in which it lets one call fail. It counts the requests for
 * memory and the system calls of the program, from the begin of main() on, and lets the call number $FAIL_AT fail.
 * With $FAIL_ON it lets all requests for memory fail from there on, and nothing else.
 * $FAIL_ERRNO is the error of system calls, in place of one that each of them may have; only these are counted then.
 * With $FAIL_TRACE it prints on standard error who called. $FAIL_FD is the descriptor of a file with room for
 * struct fail_report, in which it reports. sweep.c is the program that tries all numbers.
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fail.h"

#define PUBLIC __attribute__((visibility("default")))

static struct fail_report *report;
static unsigned long fail_at;
static bool traces, goes_on;
static int error_of_all; /* 0: each has its own */
static _Thread_local bool inside; /* a call of our own is under way */

static void
trace(void)
{
	void *frames[40];

	inside = true;
	backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
	inside = false;
}

/* Whether an error is one that a call may have: memory has none of $FAIL_ERRNO, and a disk is full for who writes. */
static bool
may_fail(const char *name)
{
	static const char *const writing[] = { "write", "mkdir", "mkstemp", "rename", "link", "allocate", "truncate" };

	if (error_of_all == 0)
		return true;
	for (size_t i = 0; error_of_all == ENOSPC && i < sizeof(writing) / sizeof(writing[0]); i++) {
		if (strstr(name, writing[i]) != NULL && strncmp(name, "read", 4) != 0)
			return true;
	}
	return error_of_all != ENOSPC && strstr(name, "alloc") == NULL;
}

/* Counts a call; true, with errno, if it is the one that fails. */
static bool
fails(const char *name, int err)
{
	unsigned long call;

	if (report == NULL || inside || !may_fail(name))
		return false;
	call = atomic_fetch_add(&report->calls, 1) + 1;
	if (goes_on ? fail_at == 0 || call < fail_at || strstr(name, "alloc") == NULL : call != fail_at)
		return false;
	for (size_t i = 0; name[i] != '\0' && i < sizeof(report->name) - 1; i++)
		report->name[i] = name[i];
	if (traces)
		trace();
	errno = error_of_all != 0 ? error_of_all : err;
	return true;
}

/* Runs after the loader and libc are ready. What the program starts itself is left alone. */
static void __attribute__((constructor))
begin(void)
{
	const char *fd = getenv("FAIL_FD"), *at = getenv("FAIL_AT");
	void *map = MAP_FAILED;

	fail_at = at != NULL ? strtoul(at, NULL, 10) : 0;
	traces = getenv("FAIL_TRACE") != NULL;
	goes_on = getenv("FAIL_ON") != NULL;
	error_of_all = getenv("FAIL_ERRNO") != NULL ? (int)strtol(getenv("FAIL_ERRNO"), NULL, 10) : 0;
	if (fd != NULL)
		map = (void *)syscall(SYS_mmap, NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED,
		    (int)strtol(fd, NULL, 10), 0);
	(void)unsetenv("LD_PRELOAD");
	if (fd != NULL) {
		(void)syscall(SYS_close, (int)strtol(fd, NULL, 10));
		(void)unsetenv("FAIL_FD");
	}
	if (map != MAP_FAILED)
		report = map;
}

/* --- memory: libc itself requests it through these, too ---------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

PUBLIC void *
malloc(size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size);
}

PUBLIC void *
calloc(size_t n, size_t size)
{
	return fails("calloc", ENOMEM) ? NULL : __libc_calloc(n, size);
}

PUBLIC void *
realloc(void *p, size_t size)
{
	return size != 0 && fails("realloc", ENOMEM) ? NULL : __libc_realloc(p, size);
}

PUBLIC void *
aligned_alloc(size_t alignment, size_t size)
{
	return fails("aligned_alloc", ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

PUBLIC int
posix_memalign(void **p, size_t alignment, size_t size)
{
	void *got = fails("posix_memalign", ENOMEM) ? NULL : __libc_memalign(alignment, size);

	if (got == NULL)
		return ENOMEM;
	*p = got;
	return 0;
}

/* --- system calls ------------------------------------------------------------------------------------------- */

/* A function with fixed parameters, its error, and what it returns then. */
#define CALL(type, name, err, failed, params, args) \
	PUBLIC type name params \
	{ \
		static type (*next) params; \
		if (fails(#name, err)) \
			return failed; \
		if (next == NULL) { \
			inside = true; \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
			inside = false; \
		} \
		return next args; \
	}

#define MAKES(flags) (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE)

/* open() and openat(), whose mode is there only sometimes. */
#define OPEN_CALL(name, params, args) \
	PUBLIC int name params \
	{ \
		static int (*next) params; \
		mode_t mode = 0; \
		va_list ap; \
		if (MAKES(flags)) { \
			va_start(ap, flags); \
			mode = va_arg(ap, mode_t); \
			va_end(ap); \
		} \
		if (fails(MAKES(flags) ? #name " to write" : #name, EMFILE)) \
			return -1; \
		if (next == NULL) { \
			inside = true; \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
			inside = false; \
		} \
		return next args; \
	}

OPEN_CALL(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
OPEN_CALL(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

CALL(ssize_t, read, ENOMEM, -1, (int fd, void *to, size_t n), (fd, to, n))
CALL(ssize_t, pread, EIO, -1, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
CALL(ssize_t, pread64, EIO, -1, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
CALL(ssize_t, write, ENOSPC, -1, (int fd, const void *from, size_t n), (fd, from, n))
CALL(ssize_t, pwrite, ENOSPC, -1, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
CALL(ssize_t, readlink, EIO, -1, (const char *path, char *to, size_t n), (path, to, n))
CALL(ssize_t, readlinkat, EIO, -1, (int dir, const char *path, char *to, size_t n), (dir, path, to, n))
CALL(ssize_t, getrandom, ENOSYS, -1, (void *to, size_t n, unsigned flags), (to, n, flags))
CALL(off_t, lseek, EIO, -1, (int fd, off_t at, int whence), (fd, at, whence))
CALL(void *, mmap, ENOMEM, MAP_FAILED, (void *p, size_t n, int prot, int flags, int fd, off_t at),
    (p, n, prot, flags, fd, at))
CALL(int, fstat, ENOMEM, -1, (int fd, struct stat *st), (fd, st))
CALL(int, stat, ENOMEM, -1, (const char *path, struct stat *st), (path, st))
CALL(int, lstat, ENOMEM, -1, (const char *path, struct stat *st), (path, st))
CALL(int, fstatat, ENOMEM, -1, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags))
CALL(int, fstatfs, ENOMEM, -1, (int fd, struct statfs *st), (fd, st))
CALL(int, faccessat, ENOMEM, -1, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags))
CALL(int, access, ENOMEM, -1, (const char *path, int mode), (path, mode))
CALL(int, ftruncate, EIO, -1, (int fd, off_t size), (fd, size))
CALL(int, posix_fallocate, ENOSPC, ENOSPC, (int fd, off_t at, off_t size), (fd, at, size))
CALL(int, fchmod, EPERM, -1, (int fd, mode_t mode), (fd, mode))
CALL(int, mkdir, ENOSPC, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, mkdirat, ENOSPC, -1, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALL(int, rename, EIO, -1, (const char *from, const char *to), (from, to))
CALL(int, renameat, EIO, -1, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(int, unlink, EIO, -1, (const char *path), (path))
CALL(int, unlinkat, EIO, -1, (int dir, const char *path, int flags), (dir, path, flags))
CALL(int, flock, ENOLCK, -1, (int fd, int how), (fd, how))
CALL(int, socket, EMFILE, -1, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, bind, EADDRINUSE, -1, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
CALL(int, listen, EADDRINUSE, -1, (int fd, int n), (fd, n))
CALL(int, accept4, EMFILE, -1, (int fd, struct sockaddr *from, socklen_t *n, int flags), (fd, from, n, flags))
CALL(int, epoll_create1, EMFILE, -1, (int flags), (flags))
CALL(int, epoll_ctl, ENOSPC, -1, (int fd, int op, int of, struct epoll_event *e), (fd, op, of, e))
CALL(int, epoll_wait, EINTR, -1, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))
CALL(int, linkat, EIO, -1, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(int, fsync, EIO, -1, (int fd), (fd))
CALL(int, fdatasync, EIO, -1, (int fd), (fd))
CALL(int, mkstemp, EMFILE, -1, (char *path), (path))
CALL(int, mkstemp64, EMFILE, -1, (char *path), (path))
CALL(FILE *, fopen, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
CALL(FILE *, fopen64, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
CALL(FILE *, fdopen, ENOMEM, NULL, (int fd, const char *mode), (fd, mode))
CALL(DIR *, opendir, EMFILE, NULL, (const char *path), (path))
CALL(DIR *, fdopendir, ENOMEM, NULL, (int fd), (fd))
CALL(struct dirent *, readdir, ENOMEM, NULL, (DIR *dir), (dir))
CALL(int, scandir, EIO, -1, (const char *path, struct dirent ***list, int (*chosen)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **)), (path, list, chosen, order))

PUBLIC int
fcntl(int fd, int command, ...)
{
	static int (*next)(int, int, void *);
	va_list ap;
	void *arg;

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fails("fcntl", ENOLCK))
		return -1;
	if (next == NULL) {
		inside = true;
		*(void **)&next = dlsym(RTLD_NEXT, "fcntl");
		inside = false;
	}
	return next(fd, command, arg);
}
