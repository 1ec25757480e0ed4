/* kept.c - see kept.h. SPDX-License-Identifier: MIT */
#include "source/linux/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"

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

int
ks_kept_take(const struct ks_dir *dir, const char *name, uint32_t *slot)
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

void
ks_kept_put(const struct ks_dir *dir, const char *name, uint32_t slot, int fd)
{
	struct ks_kept *k = dir->kept;

	if (slot != KS_NO_SLOT) {
		k->v[slot].fd = fd;
		k->v[slot].used = k->scan;
	} else if (!add(k, dir, name, fd)) {
		(void)close(fd);
	}
}
