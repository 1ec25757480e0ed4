/* replace.c - see replace.h. SPDX-License-Identifier: MIT */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

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

/* Writes a new file; removes it again if that fails. mode -1: as the umask has it. */
static bool
write_aside(const char *aside, int mode, const void *text, size_t n)
{
	int fd, err;
	bool ok;

	(void)unlink(aside); /* an earlier process of this number was killed */
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	ok = (mode < 0 || fchmod(fd, (mode_t)mode) == 0) && write_all(fd, text, n);
	err = errno;
	if (close(fd) != 0 && ok) {
		ok = false;
		err = errno;
	}
	if (!ok)
		(void)unlink(aside);
	errno = err;
	return ok;
}

int
ks_replace_file(const char *path, const void *text, size_t n)
{
	char real[PATH_MAX], aside[PATH_MAX + 32];
	struct stat st;
	int mode = -1;

	if (realpath(path, real) == NULL) {
		if (errno != ENOENT || (size_t)snprintf(real, sizeof(real), "%s", path) >= sizeof(real))
			return ks_fail(errno == ENOENT ? ENAMETOOLONG : errno, "%s: %s", path, strerror(errno));
	} else if (stat(real, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return ks_fail(EINVAL, "%s: not a regular file", path);
		mode = (int)(st.st_mode & 07777);
	}
	(void)snprintf(aside, sizeof(aside), "%s.%ld.new", real, (long)getpid());
	if (!write_aside(aside, mode, text, n))
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	if (rename(aside, real) != 0) {
		int err = errno;

		(void)unlink(aside);
		return ks_fail(err, "%s: %s", path, strerror(err));
	}
	return 0;
}
