/* image.c - see image.h. SPDX-License-Identifier: MIT */
#include "source/linux/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"

#define FIRST_CAP 8192
#define MIN_PAGE 4096 /* the least that a page holds */
/*
 * The largest file is /proc/interrupts: with 4096 CPUs and 2000 interrupts it has 90 MB. In a recorded tree a
 * larger file is not a record of one: for instance a link to /dev/zero, which has no end.
 */
#define MAX_SIZE (128u << 20)

/* --- descriptors that stay open ------------------------------------------------------------ */

#define MOST 1024         /* descriptors to be kept */
#define PART 4            /* one of so many that the process may open */
#define FEW 256           /* if it may open fewer, none of the small files is kept */
#define VERY_FEW 128      /* and if fewer than this, no file at all */
#define LONGEST_PATH 1024 /* files with longer ones are not kept */

struct path {
	int dir;
	char text[LONGEST_PATH];
	size_t len;
};

bool
ks_kept_none(void)
{
	struct rlimit rl;

	return getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < VERY_FEW;
}

void
ks_kept_start(struct ks_kept *k)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0 || rl.rlim_cur < FEW)
		return;
	k->most = rl.rlim_cur / PART < MOST ? (size_t)(rl.rlim_cur / PART) : MOST;
}

static void
discard(struct ks_kept_file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	free(f->path);
}

void
ks_kept_free(struct ks_kept *k)
{
	for (size_t i = 0; i < k->n; i++)
		discard(&k->v[i]);
	free(k->v);
	ks_table_free(&k->by_path);
	*k = (struct ks_kept){ .most = k->most, .scan = k->scan };
}

static uint64_t
hash_of(int dir, const char *path, size_t len)
{
	return ks_hash_bytes(KS_HASH_INIT + (uint64_t)dir, path, len);
}

void
ks_kept_scan(struct ks_kept *k, int changed)
{
	size_t n = 0;

	k->scan++;
	k->next = 0;
	if (!changed || k->n == 0)
		return;
	ks_table_clear(&k->by_path);
	for (size_t i = 0; i < k->n; i++) {
		struct ks_kept_file f = k->v[i];

		/* The table has room for as many as it had. */
		if (f.fd < 0 || f.used + 1 < k->scan ||
		    !ks_table_add(&k->by_path, hash_of(f.dir, f.path, strlen(f.path)), (uint32_t)n))
			discard(&f);
		else
			k->v[n++] = f;
	}
	k->n = n;
}

/* Writes the path of a file; false if it is too long. */
static bool
write_path(const struct ks_dir *dir, const char *name, struct path *p)
{
	size_t below = dir->below != NULL ? strlen(dir->below) : 0, n = strlen(name);

	if (below + n + 2 > sizeof(p->text))
		return false;
	p->dir = dir->fd;
	if (below > 0) {
		memcpy(p->text, dir->below, below);
		p->text[below++] = '/';
	}
	memcpy(p->text + below, name, n + 1);
	p->len = below + n;
	return true;
}

static bool
has_path(const void *files, uint32_t slot, const void *path)
{
	const struct ks_kept_file *f = (const struct ks_kept_file *)files + slot;
	const struct path *p = path;

	return f->dir == p->dir && strcmp(f->path, p->text) == 0;
}

/*
 * Takes the descriptor of a file out, so that it can be read with pread(); -1 if there is none. *slot is for
 * keep_descriptor().
 */
static int
take_descriptor(const struct ks_dir *dir, const char *name, uint32_t *slot)
{
	struct ks_kept *k = dir->kept;
	struct path path;
	int fd;

	*slot = KS_NO_SLOT;
	if (k == NULL || k->n == 0 || !write_path(dir, name, &path))
		return -1;
	*slot = k->next;
	if (*slot >= k->n || !has_path(k->v, *slot, &path))
		*slot = ks_table_find(&k->by_path, hash_of(dir->fd, path.text, path.len), has_path, k->v, &path);
	if (*slot == KS_NO_SLOT)
		return -1;
	k->next = *slot + 1;
	fd = k->v[*slot].fd;
	k->v[*slot].fd = -1;
	return fd;
}

/* Adds a file; false if it cannot be kept. */
static bool
add(struct ks_kept *k, const struct ks_dir *dir, const char *name, int fd)
{
	struct path path;
	char *copy;

	if (k == NULL || k->n >= k->most || !write_path(dir, name, &path) || !KS_RESERVE(k->v, k->cap, k->n + 1))
		return false;
	copy = strdup(path.text);
	if (copy == NULL || !ks_table_add(&k->by_path, hash_of(dir->fd, path.text, path.len), (uint32_t)k->n)) {
		free(copy);
		return false;
	}
	k->v[k->n++] = (struct ks_kept_file){ copy, dir->fd, fd, k->scan };
	k->next = (uint32_t)k->n;
	return true;
}

/* Keeps a descriptor that was taken or opened, or closes it. */
static void
keep_descriptor(const struct ks_dir *dir, const char *name, uint32_t slot, int fd)
{
	struct ks_kept *k = dir->kept;

	if (slot != KS_NO_SLOT) {
		k->v[slot].fd = fd;
		k->v[slot].used = k->scan;
	} else if (!add(k, dir, name, fd)) {
		(void)close(fd);
	}
}

/* --- directories and images ---------------------------------------------------------------- */

void
ks_note_lack(const struct ks_dir *dir, int err)
{
	if (dir->lack != NULL && ks_is_lack(err))
		*dir->lack = err;
}

void
ks_note_fault(const struct ks_dir *dir, int err)
{
	if (dir->lack != NULL && (ks_is_lack(err) || err == EIO || err == EINTR))
		*dir->lack = err;
}

void
ks_note_look(const struct ks_dir *dir, int err)
{
	if (dir->lack != NULL && *dir->lack == 0 && err == EACCES)
		*dir->lack = err;
	ks_note_fault(dir, err);
}

int
ks_open_at(int dir, const char *path, int flags)
{
	int fd;

	do
		fd = openat(dir, path, flags | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

void
ks_image_free(struct ks_image *im)
{
	if (im->fd >= 0)
		(void)close(im->fd);
	free(im->data);
	im->fd = -1;
	im->data = NULL;
	im->len = im->cap = 0;
}

/* Makes room for one more byte and the NUL. Returns 0 or an errno. */
static int
grow(struct ks_image *im)
{
	size_t cap = im->cap == 0 ? FIRST_CAP : im->cap * 2;

	if (im->cap - im->len > 1)
		return 0;
	if (cap > MAX_SIZE)
		return EFBIG;
	return KS_RESERVE(im->data, im->cap, cap) ? 0 : ENOMEM;
}

/* True if a read of n bytes into a buffer of `room` bytes certainly reached the end of the file. */
static bool
is_last(const struct ks_image *im, size_t n, size_t room)
{
	size_t next = n + KS_BRIEF;

	if (im->file->made == KS_MADE_WHOLE)
		return n < room;
	if (im->file->made == KS_MADE_ANYHOW || im->file->made == KS_MADE_POLLED)
		return false;
	if (im->file->made == KS_MADE_BY_CPU) {
		const char *nl = memchr(im->data, '\n', im->len);

		if (nl == NULL)
			return false;
		next += (size_t)(nl - im->data);
	}
	return next <= MIN_PAGE && next <= room;
}

/* Reads the whole file. Returns 0 or an errno. */
static int
read_anew(struct ks_image *im, bool kernel)
{
	bool whole = false;
	int err = 0;

	im->len = 0;
	while (!whole && (err = grow(im)) == 0) {
		size_t room = im->cap - im->len - 1;
		ssize_t n = pread(im->fd, im->data + im->len, room, (off_t)im->len);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0)
			im->len += (size_t)n;
		whole = n == 0 || (n > 0 && kernel && is_last(im, (size_t)n, room));
	}
	return err;
}

/* Keeps the result of a reading, and returns it. */
static int
finish(struct ks_image *im, const struct ks_dir *root, int err)
{
	ks_note_fault(root, err);
	if (err != 0)
		im->len = 0;
	if (im->data != NULL)
		im->data[im->len] = '\0';
	im->err = err;
	ks_reading_end(&im->reading, 0); /* a failure is one for the whole round */
	return err;
}

int
ks_image_read(struct ks_image *im, const struct ks_dir *root, uint64_t round)
{
	int err = 0;

	/* A file of a recorded tree may have been replaced by another of that name. */
	if (im->fd >= 0 && !root->kernel) {
		(void)close(im->fd);
		im->fd = -1;
	}
	im->seq++;
	ks_reading_begin(&im->reading, round);
	if (im->fd >= 0 && (err = read_anew(im, root->kernel)) != 0) {
		/* The file may have been removed and created again. */
		(void)close(im->fd);
		im->fd = -1;
	}
	if (im->fd < 0 && (root->fd < 0 || im->absent)) {
		err = ENOENT;
	} else if (im->fd < 0) {
		im->fd = ks_open_at(root->fd, im->file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		err = im->fd < 0 ? errno : read_anew(im, root->kernel);
		/* Which files /proc has does not change while the kernel runs. */
		im->absent = err == ENOENT && root->kernel && im->file->root == KS_ROOT_PROC;
	}
	if (im->fd >= 0 && (root->few_files || root->kept == NULL) && im->file->made != KS_MADE_POLLED) {
		(void)close(im->fd);
		im->fd = -1;
	}
	return finish(im, root, err);
}

int
ks_image_once(struct ks_image *im, const struct ks_dir *root)
{
	const char *path = im->file->path;
	uint32_t slot;
	int err;

	im->absent = false;
	im->fd = take_descriptor(root, path, &slot);
	err = ks_image_read(im, root, 0);
	if (im->fd >= 0 && err == 0)
		keep_descriptor(root, path, slot, im->fd);
	else if (im->fd >= 0)
		(void)close(im->fd);
	im->fd = -1;
	return err;
}

/* --- small files ----------------------------------------------------------------------------------------- */

struct ks_dir
ks_dir_below(const struct ks_dir *dir, const char *path)
{
	struct ks_dir d = *dir;

	d.below = path[0] != '\0' ? path : NULL;
	return d;
}

bool
ks_dir_exists(const struct ks_dir *dir)
{
	if (dir->fd >= 0 && faccessat(dir->fd, dir->below != NULL ? dir->below : ".", F_OK, 0) == 0)
		return true;
	ks_note_look(dir, errno);
	return false;
}

/* Opens a file or directory in a directory; returns a descriptor, or -1 with errno. */
static int
open_in(const struct ks_dir *dir, const char *name, int flags)
{
	char path[PATH_MAX];

	if (dir->below != NULL) {
		if (snprintf(path, sizeof(path), "%s/%s", dir->below, name) >= (int)sizeof(path)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		name = path;
	}
	return ks_open_at(dir->fd, name, flags);
}

DIR *
ks_dir_list(const struct ks_dir *dir, const char *path)
{
	int fd = open_in(dir, path, O_RDONLY | O_DIRECTORY);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	int err = errno;

	if (list != NULL)
		return list;
	if (fd >= 0)
		(void)close(fd);
	ks_note_fault(dir, err);
	errno = err;
	return NULL;
}

/* Reads a file to its end, or until the room is full. is_new: it was opened just now. */
static ssize_t
read_whole(int fd, bool is_new, char *to, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = is_new ? read(fd, to + len, size - len) : pread(fd, to + len, size - len, (off_t)len);
		len += n > 0 ? (size_t)n : 0;
	} while (len < size && ((n < 0 && errno == EINTR) || n >= KS_SHORT));
	return n < 0 ? -1 : (ssize_t)len;
}

ssize_t
ks_file_read(const struct ks_dir *dir, const char *path, char *to, size_t size)
{
	uint32_t slot;
	ssize_t n = -1;
	int fd;

	if (dir->fd < 0) {
		errno = ENOENT;
		return -1;
	}
	fd = take_descriptor(dir, path, &slot);
	if (fd >= 0 && (n = read_whole(fd, false, to, size)) < 0)
		(void)close(fd); /* what it belongs to is gone, and may be there anew */
	if (n < 0) {
		fd = open_in(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		n = fd >= 0 ? read_whole(fd, true, to, size) : -1;
	}
	if (n >= 0) {
		keep_descriptor(dir, path, slot, fd);
	} else {
		int err = errno;

		/* What is read may have such an error of its own, as a sensor. */
		(fd < 0 ? ks_note_fault : ks_note_lack)(dir, err);
		if (fd >= 0)
			(void)close(fd);
		errno = err;
	}
	return n;
}

int
ks_file_small(const struct ks_dir *dir, const char *path, char *to, size_t size)
{
	ssize_t n = ks_file_read(dir, path, to, size - 1);

	while (n > 0 && (to[n - 1] == '\n' || to[n - 1] == ' ' || to[n - 1] == '\t'))
		n--;
	if (n >= 0)
		to[n] = '\0';
	return (int)n;
}

int
ks_file_u64(const struct ks_dir *root, const char *path, uint64_t *v)
{
	char text[64];
	const char *p = text;
	int n = ks_file_small(root, path, text, sizeof(text));

	if (n < 0)
		return -1;
	if (ks_scan_u64(&p, text + n, v) != 0) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}
