/*
 * clean.c - removing the files of publishers that died. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/file.h"

/*
 * True if there is a kstat that outlives its process; *damaged if the entries cannot be walked. Reads the file:
 * --gc looks into those of other users, and a mapped one could shrink.
 */
static bool
has_persistent(int fd, const struct ks_seg_header *h, bool *damaged)
{
	uint64_t used = atomic_load(&h->used), at = KS_SEG_HEADER;
	bool found = false;

	*damaged = false;
	while (at < used && !*damaged) {
		struct ks_seg_entry e;
		uint32_t state;

		*damaged = pread(fd, &e, sizeof(e), (off_t)at) != (ssize_t)sizeof(e) ||
		    !ks_seg_is_entry(&e, used - at);
		if (*damaged)
			return false;
		state = atomic_load(&e.state);
		found |= (e.flags & KSTAT_FLAG_PERSISTENT) && state != KS_SEG_FREE &&
		    state != KS_SEG_REPLACED;
		at += e.size;
	}
	return found;
}

/* Opens a regular file, and nothing else: looking at a device may do something. -1 with errno. */
static int
open_regular(const struct ks_seg_dir *d, const char *file, int flags, struct stat *st)
{
	int fd;

	if (fstatat(d->fd, file, st, AT_SYMLINK_NOFOLLOW) != 0)
		return ks_seg_fail_at(d, file, errno);
	fd = S_ISREG(st->st_mode) ? openat(d->fd, file, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return ks_fail(S_ISREG(st->st_mode) ? errno : EINVAL, "%s/%s cannot be looked into", d->path, file);
}

static int
remove_file(const struct ks_seg_dir *d, const char *file)
{
	return unlinkat(d->fd, file, 0) == 0 ? 1 : ks_seg_fail_at(d, file, errno);
}

int
ks_seg_remove_if_dead(const struct ks_seg_dir *d, const char *file, int flags, bool own)
{
	struct ks_seg_header h;
	struct stat st;
	bool keep, damaged;
	ssize_t n;
	int fd = open_regular(d, file, O_RDWR, &st);

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	keep = (h.magic != KS_SEG_MAGIC && !own) || ks_seg_is_live(fd);
	if (!keep && !(flags & KSTAT_GC_PERSISTENT) && n == (ssize_t)sizeof(h) &&
	    ks_seg_header_is_good(&h, st.st_size))
		keep = has_persistent(fd, &h, &damaged);
	(void)close(fd);
	return keep ? 0 : remove_file(d, file);
}

/* --- cleaning --------------------------------------------------------------------------------------------- */

/* True if it is called as the file is that a publisher makes first: ".NAME.tmp". */
static bool
is_temporary(const char *file)
{
	size_t n = strlen(file), suffix = strlen(KS_SEG_TEMPORARY);

	return n > suffix + 1 && n - suffix - 1 < KS_SEG_NAME && file[0] == '.' && file[1] != '.' &&
	    strspn(file, KS_SEG_NAME_CHARACTERS) == n && strcmp(file + n - suffix, KS_SEG_TEMPORARY) == 0;
}

/*
 * Removes one of a publisher that died: it is empty, or its header zeros, or begun with the magic. Files are
 * made under the directory's lock, so it is nobody's now. 1 removed, 0 none of ours, -1 with errno.
 */
static int
remove_temporary(const struct ks_seg_dir *d, const char *file)
{
	static const struct ks_seg_header nothing;
	struct ks_seg_header h;
	struct stat st;
	int fd = open_regular(d, file, O_RDONLY, &st);
	ssize_t n;

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	(void)close(fd);
	if (n < 0 || st.st_size > (off_t)KS_SEG_MOST_BYTES ||
	    (h.magic != KS_SEG_MAGIC && memcmp(&h, &nothing, sizeof(h)) != 0))
		return 0;
	return remove_file(d, file);
}

struct cleaning {
	int flags;
	int count;
	void (*removed)(const char *path, void *arg);
	void *arg;
};

static void
clean_file(const struct ks_seg_dir *d, const char *file, struct cleaning *c)
{
	bool temporary = is_temporary(file);
	char path[PATH_MAX + NAME_MAX + 2];

	if (!temporary && ks_seg_name_length(file) == 0)
		return;
	if ((temporary ? remove_temporary(d, file) : ks_seg_remove_if_dead(d, file, c->flags, false)) != 1)
		return;
	c->count++;
	(void)snprintf(path, sizeof(path), "%s/%s", d->path, file);
	if (c->removed != NULL)
		c->removed(path, c->arg);
}

static int
clean_dir(const struct ks_seg_dir *dir, void *arg)
{
	struct cleaning *c = arg;
	struct dirent *de;
	DIR *d;
	int lock;

	if (dir->fd < 0 || faccessat(dir->fd, ".", W_OK, AT_EACCESS) != 0)
		return 0;
	/* Anybody may hold the lock of a directory of their own for ever. */
	lock = ks_seg_lock_dir(dir, dir->uid == geteuid() || dir->uid == 0);
	d = lock >= 0 ? ks_seg_dir_list(dir) : NULL;
	while (d != NULL && (de = readdir(d)) != NULL)
		clean_file(dir, de->d_name, c);
	if (d != NULL)
		(void)closedir(d);
	if (lock >= 0)
		(void)close(lock);
	return 0;
}

int
kstat_publish_gc(int flags, void (*removed)(const char *path, void *arg), void *arg)
{
	struct cleaning c = { .flags = flags, .removed = removed, .arg = arg };

	if ((flags & ~KSTAT_GC_PERSISTENT) != 0)
		return ks_fail(EINVAL, "there are no cleaning flags 0x%x", (unsigned)flags);
	(void)ks_seg_each_dir(clean_dir, &c);
	return c.count;
}
