/* replace.c - see replace.h. SPDX-License-Identifier: MIT */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MOST_LINKS 40 /* followed in one path, as by the kernel */
#define MOST_TRIES 10 /* another process may replace the same file at the same time */

/* --- where the file is ---------------------------------------------------------------------- */

/* A file in an open directory: no link leads anywhere else later. */
struct place {
	int dir;
	char name[NAME_MAX + 1];
};

/* Moves to the directory of that name in the place's; -1 with errno. */
static int
enter(struct place *p, const char *name)
{
	int dir = openat(p->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return -1;
	(void)close(p->dir);
	p->dir = dir;
	return 0;
}

/* True if a link is another user's, who could put it there because everybody may write to the directory. */
static bool
is_planted(const struct place *p, const struct stat *link)
{
	struct stat dir;

	return fstat(p->dir, &dir) != 0 || ((dir.st_mode & S_IWOTH) != 0 && link->st_uid != geteuid() &&
	    link->st_uid != 0);
}

/* Takes the first name off a path, and says whether it is the last one. */
static bool
take_name(char *path, char name[NAME_MAX + 1])
{
	size_t n = strcspn(path, "/"), skip = n + strspn(path + n, "/");

	(void)snprintf(name, NAME_MAX + 1, "%.*s", (int)n, path);
	memmove(path, path + skip, strlen(path + skip) + 1);
	return *path == '\0';
}

/* Puts what a link says before the rest of the path. 0, or -1 with errno. */
static int
follow(struct place *p, char path[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(p->dir, p->name, target, sizeof(target));
	size_t rest = strlen(path);

	if (n < 0 || (size_t)n + 1 + rest >= PATH_MAX) {
		errno = n < 0 ? errno : ENAMETOOLONG;
		return -1;
	}
	memmove(path + n + 1, path, rest + 1);
	memcpy(path, target, (size_t)n);
	path[n] = rest > 0 ? '/' : '\0';
	if (*path != '/')
		return 0;
	memmove(path, path + strspn(path, "/"), strlen(path + strspn(path, "/")) + 1);
	return enter(p, "/");
}

/* Finds the place of a file that may be new. 0, or -1 with errno and a message. The caller closes p->dir. */
static int
find_place(struct place *p, const char *given)
{
	char path[PATH_MAX];
	struct stat st;
	int links = 0;

	p->dir = open(*given == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return ks_fail(errno, "%s: %s", given, strerror(errno));
	if ((size_t)snprintf(path, sizeof(path), "%s", given + strspn(given, "/")) >= sizeof(path))
		return ks_fail(ENAMETOOLONG, "%s: the path is too long", given);
	for (;;) {
		bool fits = strcspn(path, "/") <= NAME_MAX, last = take_name(path, p->name);
		bool exists = fits && fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
		int rc = 0;

		if (!fits) {
			errno = ENAMETOOLONG;
			rc = -1;
		} else if (exists && S_ISLNK(st.st_mode)) {
			if (is_planted(p, &st))
				return ks_fail(EACCES, "%s: a link of user %lu, in a directory to which everybody may "
				    "write; name the file that is meant", given, (unsigned long)st.st_uid);
			errno = ELOOP;
			rc = ++links > MOST_LINKS ? -1 : follow(p, path);
		} else if (!last) {
			rc = enter(p, p->name);
		} else if (exists || errno == ENOENT) {
			return 0;
		} else {
			rc = -1;
		}
		if (rc != 0)
			return ks_fail(errno, "%s: %s", given, strerror(errno));
	}
}

/* --- what it becomes ------------------------------------------------------------------------ */

static bool
write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t written = write(fd, text, n);

		if (written < 0 && errno != EINTR)
			return false;
		if (written > 0) {
			text += written;
			n -= (size_t)written;
		}
	}
	return true;
}

/*
 * Makes a new file without a name, where the file system can do that; else one of the name `aside`, which
 * *named says. -1 with errno.
 */
static int
make_file(const struct place *p, const char *aside, bool *named)
{
	int fd = openat(p->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);

	*named = fd < 0;
	if (fd >= 0)
		return fd;
	(void)unlinkat(p->dir, aside, 0); /* an earlier process was killed */
	return openat(p->dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Puts the whole file in place: under `aside` first, for a link cannot replace. -1 with errno. */
static int
put_in_place(const struct place *p, int fd, const char *aside, bool named)
{
	char self[32];
	int rc = -1;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; rc != 0 && i < MOST_TRIES; i++) {
		if (!named) {
			(void)unlinkat(p->dir, aside, 0);
			rc = linkat(AT_FDCWD, self, p->dir, aside, AT_SYMLINK_FOLLOW);
			if (rc != 0 && errno != EEXIST)
				return -1;
		}
		if (named || rc == 0)
			rc = renameat(p->dir, aside, p->dir, p->name);
		if (rc != 0 && (named || (errno != ENOENT && errno != EEXIST)))
			break;
	}
	return rc;
}

/* Replaces the file by way of another name. 0, or -1 with errno: EEXIST if that name is another's. */
static int
replace_by(const struct place *p, const char *aside, int mode, const void *text, size_t n)
{
	bool named;
	int fd, rc, err;

	fd = make_file(p, aside, &named);
	if (fd < 0)
		return -1;
	rc = (mode < 0 || fchmod(fd, (mode_t)mode) == 0) && write_all(fd, text, n) ? 0 : -1;
	if (rc == 0)
		rc = put_in_place(p, fd, aside, named);
	err = errno;
	if (close(fd) != 0 && rc == 0) {
		err = errno;
		rc = -1;
	}
	if (rc != 0)
		(void)unlinkat(p->dir, aside, 0);
	errno = err;
	return rc;
}

/*
 * Replaces the file in a place that was found. 0, or -1 with errno. mode -1: as the umask has it. The name on the way
 * is always the same one, so that what a killed process left is removed; but where another user has made a directory
 * or a file of that name, it is one that nobody can foresee.
 */
static int
replace(const struct place *p, int mode, const void *text, size_t n)
{
	char aside[NAME_MAX + 1];
	int rc, tries = 0;

	(void)snprintf(aside, sizeof(aside), ".%.*s.kstat", NAME_MAX - 24, p->name);
	while ((rc = replace_by(p, aside, mode, text, n)) != 0 && errno == EEXIST && tries++ < MOST_TRIES) {
		uint64_t number = 0;

		(void)getrandom(&number, sizeof(number), GRND_NONBLOCK);
		(void)snprintf(aside, sizeof(aside), ".%.*s.%" PRIx64, NAME_MAX - 24, p->name, number);
	}
	return rc;
}

int
ks_replace_file(const char *path, const void *text, size_t n)
{
	struct place p = { .dir = -1 };
	struct stat st;
	int mode = -1, rc = find_place(&p, path);

	if (rc == 0 && fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISREG(st.st_mode))
			rc = ks_fail(EINVAL, "%s: not a regular file", path);
		else if (st.st_uid == geteuid())
			mode = (int)(st.st_mode & 07777);
	}
	if (rc == 0 && (rc = replace(&p, mode, text, n)) != 0)
		(void)ks_fail(errno, "%s: %s", path, strerror(errno));
	if (p.dir >= 0) {
		int err = errno;

		(void)close(p.dir);
		errno = err;
	}
	return rc;
}
