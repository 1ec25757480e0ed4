/*
 * memory_files.h - a tree of files in the memory of the fuzzer: what the library asks of the kernel about paths below
 * MEMORY_ROOT, and about descriptors of them, is answered here. The linker wraps these calls (MEMORY_CALLS in the
 * Makefile). Nothing of this counts as covered. SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_MEMORY_FILES_H
#define FUZZ_MEMORY_FILES_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MEMORY_ROOT "/memory/"
#define OPEN_NODES 8192
#define OPEN_LISTS 64
#define FIRST_FD (1 << 20)
#define MOST_LINKS 8
#define UNSEEN __attribute__((no_sanitize("coverage")))

struct node {
	char *name;
	uint32_t hash; /* of the name */
	mode_t mode;
	struct node *parent, *child, *next; /* children in the order in which they were added */
	const char *text;                   /* contents; of a link where it leads */
	size_t len;
	ino_t ino;
	nlink_t nlink;
	off_t entries;
	void *owner; /* what the fuzzer knows of the file */
};

static struct node memory_root = { .mode = S_IFDIR | 0700, .ino = 1, .nlink = 2 };
static struct { struct node *node; size_t at; int next; } open_nodes[OPEN_NODES];
static int first_free = -1, used_nodes;
static void (*is_opened)(const struct node *); /* if it is set: called for each file that is opened */
static struct list { struct node *next; int fd; struct dirent entry; } lists[OPEN_LISTS];

UNSEEN static uint32_t
name_hash(const char *name, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

UNSEEN static struct node *
child_of(const struct node *dir, const char *name, size_t n)
{
	uint32_t hash = name_hash(name, n);
	struct node *c = dir->child;

	while (c != NULL && (c->hash != hash || strncmp(c->name, name, n) != 0 || c->name[n] != '\0'))
		c = c->next;
	return c;
}

/* The node that a path leads to, NULL with errno. follows: links at its end are followed, too. */
UNSEEN static struct node *
find_node(struct node *at, const char *path, bool follows, int links)
{
	while (*path != '\0') {
		size_t n = strcspn(path, "/");
		struct node *up = at;

		if (!S_ISDIR(at->mode))
			return errno = ENOTDIR, NULL;
		if (n == 2 && path[0] == '.' && path[1] == '.')
			at = at->parent != NULL ? at->parent : at;
		else if (n > 0 && (n != 1 || path[0] != '.'))
			at = child_of(at, path, n);
		path += n + strspn(path + n, "/");
		if (at == NULL)
			return errno = ENOENT, NULL;
		if (S_ISLNK(at->mode) && (follows || *path != '\0')) {
			if (links == MOST_LINKS)
				return errno = ELOOP, NULL;
			at = *at->text == '/' ? (errno = ENOENT, NULL) : find_node(up, at->text, true, links + 1);
			if (at == NULL)
				return NULL;
		}
	}
	return at;
}

/* The node of an open descriptor, NULL if it is another one. */
UNSEEN static struct node *
node_of_fd(int fd)
{
	return fd >= FIRST_FD ? open_nodes[fd - FIRST_FD].node : NULL;
}

/* The node that a directory and a path name; NULL with errno 0 if it is none of ours. */
UNSEEN static struct node *
node_at(int dir, const char *path, bool follows)
{
	struct node *from = *path == '/' ? NULL : node_of_fd(dir);

	errno = 0;
	if (strncmp(path, MEMORY_ROOT, strlen(MEMORY_ROOT)) == 0)
		return find_node(&memory_root, path + strlen(MEMORY_ROOT), follows, 0);
	return from != NULL ? find_node(from, path, follows, 0) : NULL;
}

/* Adds a file, a directory or a link; one that is there stays. */
UNSEEN static struct node *
add_node(const char *path, mode_t mode, const char *text, size_t len)
{
	static ino_t last = 1;
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char *above = strndup(path, slash != NULL ? (size_t)(slash - path) : 0);
	struct node *dir = find_node(&memory_root, above, true, 0), *c = NULL, **end;

	free(above);
	if (dir != NULL && (c = child_of(dir, name, strlen(name))) == NULL) {
		c = calloc(1, sizeof(*c));
		*c = (struct node){ .name = strdup(name), .hash = name_hash(name, strlen(name)), .mode = mode,
			.parent = dir, .text = text, .len = len, .ino = ++last, .nlink = S_ISDIR(mode) ? 2 : 1 };
		for (end = &dir->child; *end != NULL; end = &(*end)->next)
			;
		*end = c;
		dir->entries++;
		dir->nlink += S_ISDIR(mode);
	}
	return c;
}

/* --- the calls ------------------------------------------------------------------------------------------ */

#define WRAPPED(type, name, params) \
	type __real_##name params; \
	type __wrap_##name params; \
	UNSEEN type __wrap_##name params

UNSEEN static int
open_node(struct node *node, int flags)
{
	int slot = first_free;

	if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(node->mode))
		return errno = ENOTDIR, -1;
	if (S_ISLNK(node->mode))
		return errno = ELOOP, -1;
	if (slot < 0 && used_nodes == OPEN_NODES)
		return errno = EMFILE, -1;
	if (slot >= 0)
		first_free = open_nodes[slot].next;
	else
		slot = used_nodes++;
	open_nodes[slot].node = node;
	open_nodes[slot].at = 0;
	if (is_opened != NULL)
		is_opened(node);
	return FIRST_FD + slot;
}

WRAPPED(int, openat, (int dir, const char *path, int flags, ...))
{
	struct node *node = node_at(dir, path, (flags & O_NOFOLLOW) == 0);

	if (node != NULL)
		return open_node(node, flags);
	return errno != 0 || dir >= FIRST_FD ? -1 : __real_openat(dir, path, flags, 0600);
}

WRAPPED(int, open, (const char *path, int flags, ...))
{
	return __wrap_openat(AT_FDCWD, path, flags);
}

WRAPPED(int, close, (int fd))
{
	if (node_of_fd(fd) == NULL)
		return __real_close(fd);
	open_nodes[fd - FIRST_FD].node = NULL;
	open_nodes[fd - FIRST_FD].next = first_free;
	first_free = fd - FIRST_FD;
	return 0;
}

WRAPPED(ssize_t, pread, (int fd, void *to, size_t n, off_t at))
{
	const struct node *node = node_of_fd(fd);

	if (node == NULL)
		return __real_pread(fd, to, n, at);
	if (S_ISDIR(node->mode))
		return errno = EISDIR, -1;
	if ((size_t)at >= node->len)
		return 0;
	n = n < node->len - (size_t)at ? n : node->len - (size_t)at;
	memcpy(to, node->text + at, n);
	return (ssize_t)n;
}

WRAPPED(ssize_t, read, (int fd, void *to, size_t n))
{
	ssize_t got;

	if (node_of_fd(fd) == NULL)
		return __real_read(fd, to, n);
	got = __wrap_pread(fd, to, n, (off_t)open_nodes[fd - FIRST_FD].at);
	open_nodes[fd - FIRST_FD].at += got > 0 ? (size_t)got : 0;
	return got;
}

WRAPPED(int, faccessat, (int dir, const char *path, int mode, int flags))
{
	if (node_at(dir, path, true) != NULL)
		return 0;
	return errno != 0 ? -1 : __real_faccessat(dir, path, mode, flags);
}

UNSEEN static int
describe(const struct node *node, struct stat *st)
{
	*st = (struct stat){ .st_mode = node->mode, .st_ino = node->ino, .st_nlink = node->nlink,
		.st_size = S_ISDIR(node->mode) ? 20 * node->entries : (off_t)node->len };
	return 0;
}

WRAPPED(int, fstatat, (int dir, const char *path, struct stat *st, int flags))
{
	const struct node *node = node_at(dir, path, (flags & AT_SYMLINK_NOFOLLOW) == 0);

	if (node != NULL)
		return describe(node, st);
	return errno != 0 ? -1 : __real_fstatat(dir, path, st, flags);
}

WRAPPED(int, fstat, (int fd, struct stat *st))
{
	return node_of_fd(fd) != NULL ? describe(node_of_fd(fd), st) : __real_fstat(fd, st);
}

WRAPPED(int, fstatfs, (int fd, struct statfs *st))
{
	if (node_of_fd(fd) == NULL)
		return __real_fstatfs(fd, st);
	*st = (struct statfs){ .f_type = 0x01021994 /* TMPFS_MAGIC */ };
	return 0;
}

WRAPPED(ssize_t, readlinkat, (int dir, const char *path, char *to, size_t n))
{
	const struct node *node = node_at(dir, path, false);

	if (node == NULL)
		return errno != 0 ? -1 : __real_readlinkat(dir, path, to, n);
	if (!S_ISLNK(node->mode))
		return errno = EINVAL, -1;
	n = n < node->len ? n : node->len;
	memcpy(to, node->text, n);
	return (ssize_t)n;
}

UNSEEN static struct list *
our_list(DIR *dir)
{
	return (void *)dir >= (void *)lists && (void *)dir < (void *)(lists + OPEN_LISTS) ? (void *)dir : NULL;
}

WRAPPED(DIR *, fdopendir, (int fd))
{
	struct node *node = node_of_fd(fd);

	if (node == NULL)
		return __real_fdopendir(fd);
	for (struct list *l = lists; l < lists + OPEN_LISTS; l++) {
		if (l->fd == 0) {
			l->fd = fd;
			l->next = node->child;
			return (DIR *)l;
		}
	}
	return errno = EMFILE, NULL;
}

WRAPPED(struct dirent *, readdir, (DIR *dir))
{
	struct list *l = our_list(dir);
	const struct node *node = l != NULL ? l->next : NULL;

	if (l == NULL)
		return __real_readdir(dir);
	if (node == NULL)
		return NULL;
	l->entry.d_ino = node->ino;
	l->entry.d_type = (unsigned char)IFTODT(node->mode);
	memcpy(l->entry.d_name, node->name, strlen(node->name) + 1);
	l->next = node->next;
	return &l->entry;
}

WRAPPED(int, closedir, (DIR *dir))
{
	struct list *l = our_list(dir);

	if (l == NULL)
		return __real_closedir(dir);
	(void)__wrap_close(l->fd);
	l->fd = 0;
	return 0;
}

WRAPPED(int, dirfd, (DIR *dir))
{
	return our_list(dir) != NULL ? our_list(dir)->fd : __real_dirfd(dir);
}

/* The path is /proc/self/fd/N/NAME. Nothing ever happens there. */
WRAPPED(int, inotify_add_watch, (int fd, const char *path, uint32_t mask))
{
	static const char before[] = "/proc/self/fd/";
	char *name = NULL;
	int dir = strncmp(path, before, sizeof(before) - 1) == 0 ? (int)strtol(path + sizeof(before) - 1, &name, 10) : 0;
	struct node *node = dir >= FIRST_FD ? node_at(dir, name + 1, true) : NULL;

	if (node == NULL)
		return dir >= FIRST_FD ? -1 : __real_inotify_add_watch(fd, path, mask);
	return (int)node->ino;
}

#endif
