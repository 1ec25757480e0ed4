/* directory.c - see directory.h. SPDX-License-Identifier: MIT */
#include "provider/segment/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "provider/segment/segment_layout.h"

#define SHARED_MEMORY "/dev/shm"

static int
path_of(char to[PATH_MAX], const char *dir, const char *rest)
{
	int n = snprintf(to, PATH_MAX, "%s%s", dir, rest);

	if (n < 0 || n >= PATH_MAX)
		return ks_fail(ENAMETOOLONG, "the path of a directory is too long: %.60s...", dir);
	return 0;
}

int
ks_seg_own_dir(char to[PATH_MAX])
{
	const char *dir = getenv("KSTAT_DIR");
	char user[32];

	if (dir != NULL && *dir != '\0')
		return path_of(to, dir, "");
	if (geteuid() == 0)
		return path_of(to, "/run/kstat", "");
	dir = getenv("XDG_RUNTIME_DIR");
	if (dir != NULL && *dir != '\0')
		return path_of(to, dir, "/kstat");
	(void)snprintf(user, sizeof(user), "/kstat-%lu", (unsigned long)geteuid());
	return path_of(to, SHARED_MEMORY, user);
}

/* --- readers --------------------------------------------------------------------------------- */

/*
 * Calls fn for parent/NAME/rest of each NAME of digits behind `prefix`, if it is a directory of that
 * user; with `any` also if it is not.
 */
static int
each_user(const char *parent, const char *prefix, const char *rest, const char *own, bool any,
    int (*fn)(const char *dir, void *arg), void *arg)
{
	DIR *d = opendir(parent);
	struct dirent *de;
	int rc = 0;

	if (d == NULL)
		return 0;
	while (rc == 0 && (de = readdir(d)) != NULL) {
		char path[PATH_MAX];
		struct stat st;
		const char *digits = de->d_name + strlen(prefix);
		char *end;
		unsigned long uid;

		if (strncmp(de->d_name, prefix, strlen(prefix)) != 0 || !isdigit((unsigned char)*digits))
			continue;
		uid = strtoul(digits, &end, 10);
		if (*end != '\0' || snprintf(path, sizeof(path), "%s/%s%s", parent, de->d_name, rest) >=
		    (int)sizeof(path))
			continue;
		/* Whoever pretends to be another user is not listened to. */
		if (strcmp(path, own) == 0 || (!any && (lstat(path, &st) != 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != uid)))
			continue;
		rc = fn(path, arg);
	}
	(void)closedir(d);
	return rc;
}

static int
each_dir(bool any, int (*fn)(const char *dir, void *arg), void *arg)
{
	const char *only = getenv("KSTAT_DIR");
	char own[PATH_MAX];
	int rc;

	if (ks_seg_own_dir(own) != 0)
		own[0] = '\0';
	rc = own[0] != '\0' ? fn(own, arg) : 0;
	if (rc != 0 || (only != NULL && *only != '\0'))
		return rc;
	if (strcmp(own, "/run/kstat") != 0)
		rc = fn("/run/kstat", arg);
	if (rc == 0)
		rc = each_user("/run/user", "", "/kstat", own, any, fn, arg);
	if (rc == 0)
		rc = each_user(SHARED_MEMORY, "kstat-", "", own, any, fn, arg);
	return rc;
}

int
ks_seg_each_dir(int (*fn)(const char *dir, void *arg), void *arg)
{
	return each_dir(false, fn, arg);
}

int
ks_seg_each_watched(int (*fn)(const char *path, void *arg), void *arg)
{
	const char *only = getenv("KSTAT_DIR");
	int rc = each_dir(true, fn, arg);

	if (rc != 0 || (only != NULL && *only != '\0'))
		return rc;
	rc = fn("/run/user", arg);
	return rc != 0 ? rc : fn(SHARED_MEMORY, arg);
}

size_t
ks_seg_name_length(const char *file)
{
	size_t n = strlen(file), suffix = strlen(KS_SEG_SUFFIX);

	if (n <= suffix || n - suffix >= KS_SEG_NAME || file[0] == '.' ||
	    strcmp(file + n - suffix, KS_SEG_SUFFIX) != 0 || strspn(file, KS_SEG_NAME_CHARACTERS) != n)
		return 0;
	return n - suffix;
}

/* --- liveness -------------------------------------------------------------------------------- */

bool
ks_seg_is_live(int fd)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = KS_SEG_LIVE, .l_len = 1 };

	/* Asks without locking, so that readers never stand in a publisher's way. */
	return fcntl(fd, F_OFD_GETLK, &fl) != 0 || fl.l_type != F_UNLCK;
}

bool
ks_seg_wait_end(int fd)
{
	hrtime_t until = gethrtime() + 1000000000LL;

	while (ks_seg_is_live(fd)) {
		if (gethrtime() > until)
			return false;
		(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return true;
}

int
ks_seg_hold(int fd)
{
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = KS_SEG_LIVE, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &fl);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t boot; /* written once */

static void
read_boot(void)
{
	char text[64];
	ssize_t n;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text));
	(void)close(fd);
	boot = n <= 0 ? 0 : ks_hash_bytes(KS_HASH_INIT, text, (size_t)n);
}

uint64_t
ks_seg_boot(void)
{
	(void)pthread_once(&once, read_boot);
	return boot;
}

uint64_t
ks_seg_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

int
ks_seg_lock_dir(const char *dir)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[PATH_MAX];
	int fd;

	if (path_of(path, dir, "/.lock") != 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	for (int i = 0; fcntl(fd, F_OFD_SETLK, &fl) != 0; i++) {
		if ((errno != EAGAIN && errno != EACCES) || i == 2000) {
			(void)close(fd);
			return ks_fail(EAGAIN, "%s is locked by another process", path);
		}
		(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return fd;
}
