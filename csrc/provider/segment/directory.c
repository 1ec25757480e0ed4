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

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "provider/segment/segment_layout.h"

#define SHARED_MEMORY "/dev/shm"
#define MOST_USERS 1024  /* whose directories below one parent are visited */
#define MOST_NAMES 16384 /* of which the owner is asked for, below one parent: anybody may make some */
#define MOST_OF_USER 8   /* directories of one user that are visited below one parent */
#define SLOTS 1000       /* kstat-UID, kstat-UID.1, ... */

static int
path_of(char to[PATH_MAX], const char *dir, const char *rest)
{
	int n = snprintf(to, PATH_MAX, "%s%s", dir, rest);

	if (n < 0 || n >= PATH_MAX)
		return ks_fail(ENAMETOOLONG, "the path of a directory is too long: %.60s...", dir);
	return 0;
}

/* The path of a user's directory in shared memory; slot 0: the first. 0, or -1 with errno ENAMETOOLONG. */
static int
shared_dir(char to[PATH_MAX], uid_t uid, unsigned slot)
{
	char name[64];

	if (slot == 0)
		(void)snprintf(name, sizeof(name), "/kstat-%lu", (unsigned long)uid);
	else
		(void)snprintf(name, sizeof(name), "/kstat-%lu.%u", (unsigned long)uid, slot);
	return path_of(to, SHARED_MEMORY, name);
}

/* The first directory in shared memory that is this user's or free: anybody can make one of these names. */
static int
own_shared_dir(char to[PATH_MAX])
{
	struct stat st;

	for (unsigned slot = 0; slot < SLOTS; slot++) {
		if (shared_dir(to, geteuid(), slot) != 0)
			return -1;
		if (lstat(to, &st) != 0 ? errno == ENOENT : S_ISDIR(st.st_mode) && st.st_uid == geteuid())
			return 0;
	}
	return shared_dir(to, geteuid(), 0);
}

int
ks_seg_own_dir(char to[PATH_MAX])
{
	const char *dir = getenv("KSTAT_DIR");

	if (dir != NULL && *dir != '\0')
		return path_of(to, dir, "");
	if (geteuid() == 0)
		return path_of(to, "/run/kstat", "");
	dir = getenv("XDG_RUNTIME_DIR");
	if (dir != NULL && *dir != '\0')
		return path_of(to, dir, "/kstat");
	return own_shared_dir(to);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* True if others can put files there, or replace them. A sticky directory lets them remove their own only. */
static bool
is_open_to_others(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) != 0 && (st->st_mode & S_ISVTX) == 0;
}

int
ks_seg_dir_open(struct ks_seg_dir *d, const char *path, uid_t uid, bool anybody)
{
	struct stat st;
	const char *wrong = NULL;

	d->fd = -1;
	if (path_of(d->path, path, "") != 0)
		return -1;
	d->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0 || fstat(d->fd, &st) != 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	d->uid = st.st_uid;
	if (!anybody && st.st_uid != uid && st.st_uid != 0)
		wrong = "belongs to another user";
	else if (!anybody && is_open_to_others(&st))
		wrong = "can be changed by other users";
	if (wrong == NULL)
		return 0;
	(void)close(d->fd);
	d->fd = -1;
	return ks_fail(EACCES, "%s %s", path, wrong);
}

DIR *
ks_seg_dir_list(const struct ks_seg_dir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (list == NULL && fd >= 0)
		(void)close(fd);
	return list;
}

/* --- readers --------------------------------------------------------------------------------- */

struct visit {
	int (*dir)(const struct ks_seg_dir *d, void *arg);
	int (*path)(const char *path, void *arg); /* in place of dir: nothing is opened */
	void *arg;
};

/* Passes on a directory that could not be listed, with errno; the message is set here. */
static int
refuse(const struct visit *v, const char *path)
{
	struct ks_seg_dir d = { .fd = -1 };

	(void)snprintf(d.path, sizeof(d.path), "%s", path);
	(void)ks_fail(errno, "%s: %s", path, strerror(errno));
	return v->path != NULL ? -1 : v->dir(&d, v->arg);
}

/* Visits a directory that should be this user's. `expected`: it is passed on if it was refused, too. */
static int
visit(const struct visit *v, const char *path, uid_t uid, bool expected, bool anybody)
{
	struct ks_seg_dir d;
	int rc;

	if (v->path != NULL)
		return v->path(path, v->arg);
	if (ks_seg_dir_open(&d, path, uid, anybody) != 0)
		return (expected && errno != ENOENT) || ks_is_lack(errno) ? v->dir(&d, v->arg) : 0;
	/* Root's directories have places of their own: under a user's name it is somebody else's. */
	rc = expected || d.uid == uid ? v->dir(&d, v->arg) : 0;
	(void)close(d.fd);
	return rc;
}

/* What the name of a directory in shared memory says: whose it should be, and its number among the user's. */
struct slot {
	uid_t uid;
	unsigned n;
};

/* Reads a number. False unless it is written as printf() writes it: each spelling would be a directory of its own. */
static bool
read_number(const char **digits, unsigned long most, unsigned long *n)
{
	const char *start = *digits;
	char *end;

	if (!isdigit((unsigned char)*start) || (*start == '0' && isdigit((unsigned char)start[1])))
		return false;
	errno = 0;
	*n = strtoul(start, &end, 10);
	*digits = end;
	return errno == 0 && *n <= most;
}

/* Reads "UID", or where there may be several "UID.N" with N from 1. */
static bool
read_slot(const char *name, bool several, struct slot *slot)
{
	unsigned long uid, n = 0;

	if (!read_number(&name, UINT32_MAX, &uid))
		return false;
	if (several && *name == '.') {
		name++;
		if (!read_number(&name, SLOTS - 1, &n) || n == 0)
			return false;
	}
	*slot = (struct slot){ (uid_t)uid, (unsigned)n };
	return *name == '\0';
}

static int
compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->uid != y->uid ? (x->uid > y->uid) - (x->uid < y->uid) : (x->n > y->n) - (x->n < y->n);
}

/*
 * True if a path below a parent that anybody may write to is worth a visit. What belongs to a third user is not.
 * The path is watched if nothing is there yet, or something of root's, which root may give to the user.
 */
static bool
is_of_user(const struct visit *v, const char *path, uid_t uid)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return v->path != NULL;
	return st.st_uid == uid || (v->path != NULL && st.st_uid == 0);
}

/* Lists the directories below a parent by the users' numbers in their names, in order. False without memory. */
static bool
list_slots(DIR *d, const char *prefix, bool several, struct slot **slots, size_t *n)
{
	struct dirent *de;
	size_t cap = 0;

	*slots = NULL;
	*n = 0;
	while (*n < MOST_NAMES && (de = readdir(d)) != NULL) {
		struct slot slot;

		if (strncmp(de->d_name, prefix, strlen(prefix)) != 0 ||
		    !read_slot(de->d_name + strlen(prefix), several, &slot))
			continue;
		if (!KS_RESERVE(*slots, cap, *n + 1))
			return false;
		(*slots)[(*n)++] = slot;
	}
	if (*n > 0)
		qsort(*slots, *n, sizeof(**slots), compare_slots);
	return true;
}

/* Visits those that belong to their users, a few of each. `rest`: what follows the name in a path. */
static int
visit_slots(const struct visit *v, const struct slot *slots, size_t n, const char *base, const char *rest,
    const char *own)
{
	int rc = 0, users = 0, of_user = 0;

	for (size_t i = 0; rc == 0 && i < n && users < MOST_USERS; i++) {
		char path[PATH_MAX], number[16] = "";

		of_user = i > 0 && slots[i].uid == slots[i - 1].uid ? of_user : 0;
		if (slots[i].n > 0)
			(void)snprintf(number, sizeof(number), ".%u", slots[i].n);
		if (snprintf(path, sizeof(path), "%s%lu%s%s", base, (unsigned long)slots[i].uid, number, rest) >=
		    (int)sizeof(path) || strcmp(path, own) == 0 || of_user == MOST_OF_USER ||
		    !is_of_user(v, path, slots[i].uid))
			continue;
		users += of_user++ == 0;
		rc = visit(v, path, slots[i].uid, false, false);
	}
	return rc;
}

/*
 * Visits the users' directories below a parent: base and a number, and what follows. If descriptors or memory are
 * short, the parent is passed on as a directory that was refused, or -1 is returned if paths are visited.
 */
static int
each_user(const struct visit *v, const char *parent, const char *prefix, const char *rest, const char *own)
{
	char base[PATH_MAX];
	DIR *d = opendir(parent);
	struct slot *slots;
	size_t n;
	int rc;

	if (d == NULL)
		return ks_is_lack(errno) ? refuse(v, parent) : 0;
	(void)snprintf(base, sizeof(base), "%s/%s", parent, prefix);
	if (list_slots(d, prefix, *rest == '\0', &slots, &n)) {
		rc = visit_slots(v, slots, n, base, rest, own);
	} else {
		errno = ENOMEM;
		rc = refuse(v, parent);
	}
	free(slots);
	(void)closedir(d);
	return rc;
}

static int
each(const struct visit *v)
{
	const char *only = getenv("KSTAT_DIR");
	bool alone = only != NULL && *only != '\0';
	char own[PATH_MAX];
	int rc;

	if (ks_seg_own_dir(own) != 0)
		own[0] = '\0';
	/* Whoever names a directory wants what is in it, whoever owns it. */
	rc = own[0] != '\0' ? visit(v, own, geteuid(), true, alone) : 0;
	if (rc != 0 || alone)
		return rc;
	if (strcmp(own, "/run/kstat") != 0)
		rc = visit(v, "/run/kstat", 0, true, false);
	if (rc == 0)
		rc = each_user(v, "/run/user", "", "/kstat", own);
	if (rc == 0)
		rc = each_user(v, SHARED_MEMORY, "kstat-", "", own);
	return rc;
}

int
ks_seg_each_dir(int (*fn)(const struct ks_seg_dir *d, void *arg), void *arg)
{
	return each(&(struct visit){ .dir = fn, .arg = arg });
}

int
ks_seg_each_watched(int (*fn)(const char *path, void *arg), void *arg)
{
	const char *only = getenv("KSTAT_DIR");
	int rc = each(&(struct visit){ .path = fn, .arg = arg });

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
	/* F_OFD_GETLK tells what stands in the way of a lock for reading: locks for writing alone. */
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = KS_SEG_MOST_PUBLISHERS };

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
	int rc = -1;

	for (off_t i = 0; rc != 0 && i < KS_SEG_MOST_PUBLISHERS; i++) {
		struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

		rc = fcntl(fd, F_OFD_SETLK, &fl);
		if (rc != 0 && errno != EAGAIN && errno != EACCES)
			break;
	}
	return rc;
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

int
ks_seg_lock_dir(const struct ks_seg_dir *d, bool wait)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	/* Root makes no file in a user's directory: it would be root's, and the user could not lock it. */
	bool own = d->uid == geteuid() || geteuid() != 0;
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (own ? O_CREAT : 0);
	int tries = !wait ? 0 : own ? 2000 : 100;
	int fd = openat(d->fd, ".lock", flags, 0600);
	struct stat st;

	if (fd < 0)
		return ks_fail(errno, "%s/.lock: %s", d->path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return ks_fail(EACCES, "%s/.lock is not a regular file", d->path);
	}
	for (int i = 0; fcntl(fd, F_OFD_SETLK, &fl) != 0; i++) {
		if ((errno != EAGAIN && errno != EACCES) || i == tries) {
			(void)close(fd);
			return ks_fail(EAGAIN, "%s/.lock is locked by another process", d->path);
		}
		(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return fd;
}
