/*
 * cgroup_watch.c - control groups that come and go, from inotify: each directory of a group is watched. See groups.h.
 * Where that is not possible (no inotify, too many groups for fs.inotify.max_user_watches), nothing is lost: each scan
 * walks over the groups instead. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/table.h"
#include "source/linux/group/groups.h"

#define EVENTS 16384 /* bytes of events that are read at a time */
#define WATCHED (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ONLYDIR | IN_DONT_FOLLOW)

struct watched {
	int wd;
	uint8_t hierarchy;
	char *path; /* owned; NULL: the slot is free, and wd is the next free one or -1 */
};

struct ks_watches {
	int fd;
	pid_t owner; /* a child of fork() has the same descriptor, and must not take the events of its parent */
	struct watched *v;
	size_t n, cap;
	int free_slot; /* the first free one; -1: none */
	struct ks_table by_wd;
};

struct ks_watches *
ks_watches_open(void)
{
	struct ks_watches *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->owner = getpid();
	w->free_slot = -1;
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		free(w);
		return NULL;
	}
	return w;
}

void
ks_watches_close(struct ks_watches *w)
{
	if (w == NULL)
		return;
	(void)close(w->fd);
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].path);
	free(w->v);
	ks_table_free(&w->by_wd);
	free(w);
}

static bool
has_wd(const void *all, uint32_t slot, const void *wd)
{
	return ((const struct watched *)all)[slot].wd == *(const int *)wd;
}

static struct watched *
find(const struct ks_watches *w, int wd)
{
	uint32_t slot = ks_table_find(&w->by_wd, (uint64_t)wd, has_wd, w->v, &wd);

	return slot != KS_NO_SLOT ? &w->v[slot] : NULL;
}

static void
forget(struct ks_watches *w, struct watched *d)
{
	int slot = (int)(d - w->v);

	(void)ks_table_remove(&w->by_wd, (uint64_t)d->wd, (uint32_t)slot);
	free(d->path);
	*d = (struct watched){ .wd = w->free_slot };
	w->free_slot = slot;
}

bool
ks_watches_add(struct ks_watches *w, const struct ks_groups *gs, size_t hierarchy, const char *path)
{
	char name[KS_GROUP_PATH + 64];
	size_t slot = w->free_slot >= 0 ? (size_t)w->free_slot : w->n;
	int wd;

	/* There is no inotify_add_watch() relative to a directory. */
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d/%s", gs->hierarchy[hierarchy].dir.fd,
	    path[0] != '\0' ? path : ".");
	wd = inotify_add_watch(w->fd, name, path[0] != '\0' ? WATCHED : WATCHED | IN_MOVE_SELF);
	if (wd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES;
	if (find(w, wd) != NULL)
		return true;
	if (!KS_RESERVE(w->v, w->cap, slot + 1) || (path = strdup(path)) == NULL)
		return false;
	if (!ks_table_add(&w->by_wd, (uint64_t)wd, (uint32_t)slot)) {
		free((char *)path);
		return false;
	}
	if (slot == w->n)
		w->n++;
	else
		w->free_slot = w->v[slot].wd;
	w->v[slot] = (struct watched){ wd, (uint8_t)hierarchy, (char *)path };
	return true;
}

/* Applies one event. Results as for ks_watches_apply(). */
static int
apply(struct ks_linux *lx, struct ks_groups *gs, struct ks_units *units, const struct ks_group_changes *changes,
    const struct inotify_event *e)
{
	struct watched *d = find(gs->watch, e->wd);
	char path[KS_GROUP_PATH];
	size_t hierarchy;
	int n;

	if ((e->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0)
		return 1;
	if (d == NULL)
		return 0;
	if ((e->mask & (IN_IGNORED | IN_MOVE_SELF)) != 0) {
		bool is_root = d->path[0] == '\0';

		forget(gs->watch, d);
		return is_root;
	}
	/* Controllers were given to the groups of a directory, or taken from them. */
	if ((e->mask & IN_MODIFY) != 0)
		return strncmp(e->name, "cgroup.subtree_control", e->len) == 0;
	if ((e->mask & IN_ISDIR) == 0)
		return 0;
	if ((e->mask & (IN_MOVED_FROM | IN_MOVED_TO)) != 0)
		return 1;
	n = snprintf(path, sizeof(path), "%s%s%s", d->path, d->path[0] != '\0' ? "/" : "", e->name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	hierarchy = d->hierarchy;
	if ((e->mask & IN_DELETE) != 0)
		changes->remove(units, hierarchy, path);
	else if (changes->add(lx, units, hierarchy, path, (size_t)n) != 0)
		return -1;
	return gs->watch == NULL; /* there were too many */
}

int
ks_watches_apply(struct ks_linux *lx, struct ks_groups *gs, struct ks_units *units,
    const struct ks_group_changes *changes)
{
	_Alignas(struct inotify_event) char buf[EVENTS];
	ssize_t n;
	int rc = 0;

	if (gs->watch->owner != getpid() || ks_groups_mounts_changed(gs))
		return 1;
	while (rc == 0 && (n = read(gs->watch->fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; rc == 0 && p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;

			rc = apply(lx, gs, units, changes, e);
			p += sizeof(*e) + e->len;
		}
	}
	if (rc == 0 && n < 0 && errno != EAGAIN && errno != EINTR)
		rc = 1;
	return rc;
}
