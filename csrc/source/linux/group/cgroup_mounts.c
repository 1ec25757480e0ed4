/*
 * cgroup_mounts.c - where the hierarchies of control groups are mounted: from self/mountinfo, and in a recorded tree
 * or a container that does not show it, from the directories in fs/cgroup. See groups.h.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/fs/mount.h"
#include "source/linux/group/groups.h"

static const struct ks_file mountinfo = { KS_ROOT_PROC, "self/mountinfo", KS_MADE_POLLED, false };

static const struct controller {
	const char *name;
	uint8_t bit;
} controllers[] = {
	{ "cpu", KS_IN_CPU }, { "cpuacct", KS_IN_CPUACCT }, { "memory", KS_IN_MEMORY }, { "blkio", KS_IN_BLKIO },
	{ "pids", KS_IN_PIDS }, { "hugetlb", KS_IN_HUGETLB },
};

/* The controllers of a list such as "rw,cpu,cpuacct". */
static uint8_t
controllers_of(const char *list, size_t len)
{
	uint8_t has = 0;

	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *comma = memchr(list + at, ',', len - at);

		n = comma != NULL ? (size_t)(comma - list) - at : len - at;
		for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
			if (strlen(controllers[i].name) == n && memcmp(controllers[i].name, list + at, n) == 0)
				has |= controllers[i].bit;
		}
	}
	return has;
}

static void
close_hierarchy(struct ks_hierarchy *h)
{
	(void)close(h->dir.fd);
	free(h->dir.name);
}

void
ks_groups_close_hierarchies(struct ks_groups *gs)
{
	while (gs->n > 0)
		close_hierarchy(&gs->hierarchy[--gs->n]);
}

/* Opens a mount point, relative to /sys if it is below it; -1 with errno, of which the user is warned. */
static int
open_point(struct ks_linux *lx, const char *point, const char *below_sys)
{
	int fd = below_sys != NULL ?
	    ks_open_at(lx->root[KS_ROOT_SYS].fd, below_sys, O_RDONLY | O_DIRECTORY) :
	    ks_open_at(AT_FDCWD, point, O_RDONLY | O_DIRECTORY);

	if (lx->root[KS_ROOT_SYS].fd < 0)
		return fd; /* without /sys there is nothing to warn of */
	/* The lack is noted apart: what is noted for a path is forgotten when the directory is opened to list it. */
	if (fd < 0)
		ks_note_fault(&lx->root[KS_ROOT_SYS], errno);
	if (below_sys != NULL)
		ks_linux_note_path(lx, KS_ROOT_SYS, below_sys, fd < 0 ? errno : 0);
	return fd;
}

/*
 * Adds the hierarchy that is mounted at a point. If there is one of the same file system already, the one that shows
 * more of it stays. `is_sure` is false if the kernel did not say that this is a hierarchy.
 */
static void
add(struct ks_linux *lx, struct ks_groups *gs, const char *point, struct ks_hierarchy h, bool is_sure)
{
	const char *below_sys = strncmp(point, "/sys/", 5) == 0 ? point + 5 : NULL;
	struct ks_hierarchy *same = gs->hierarchy;
	struct statfs fs;
	bool is_cgroup, is_fuse;

	while (same < gs->hierarchy + gs->n && (h.device == 0 || same->device != h.device))
		same++;
	if (same == gs->hierarchy + KS_HIERARCHIES || (same < gs->hierarchy + gs->n && (same->is_top || !h.is_top)))
		return;
	h.dir = (struct ks_dir){ .fd = open_point(lx, point, below_sys), .name = NULL,
		.kernel = lx->root[KS_ROOT_SYS].kernel, .lack = &lx->lack };
	if (h.dir.fd < 0)
		return;
	if (fstatfs(h.dir.fd, &fs) != 0) {
		ks_note_fault(&h.dir, errno);
		fs.f_type = 0;
	}
	is_cgroup = fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC;
	is_fuse = fs.f_type == 0x65735546; /* lxcfs */
	h.exact = is_cgroup || fs.f_type == TMPFS_MAGIC;
	/* Another file system may be mounted over it. */
	if (is_sure && h.dir.kernel && !is_cgroup && !is_fuse) {
		(void)close(h.dir.fd);
		return;
	}
	if (below_sys != NULL && (h.dir.name = strdup(below_sys)) == NULL)
		lx->lack = ENOMEM;
	if (same < gs->hierarchy + gs->n)
		close_hierarchy(same);
	else
		gs->n++;
	*same = h;
}

/* Adds the hierarchy of a line "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory". */
static void
add_line(struct ks_linux *lx, struct ks_groups *gs, struct ks_text line)
{
	struct ks_hierarchy h = { .has = 0 };
	uint64_t major = 0, minor = 0;
	char point[KS_GROUP_PATH];
	struct ks_mount m;

	if (!ks_linux_parse_mount(line, &m) || ks_linux_unescape(&m.point, point, sizeof(point)) + 1 >= sizeof(point))
		return;
	if (ks_text_is(&m.type, "cgroup2"))
		h.has = KS_IN_V2;
	else if (ks_text_is(&m.type, "cgroup"))
		h.has = controllers_of(m.super.p, ks_text_size(&m.super));
	/* In a recorded tree only what is below its /sys is there. */
	if (h.has == 0 || (!lx->root[KS_ROOT_PROC].kernel && strncmp(point, "/sys/", 5) != 0))
		return;
	if (ks_text_u64(&m.number, &major) && m.number.p < m.number.end && *m.number.p++ == ':')
		(void)ks_text_u64(&m.number, &minor);
	h.device = major << 32 | minor;
	h.is_top = ks_text_is(&m.root, "/");
	add(lx, gs, point, h, true);
}

/* Adds what the directories in fs/cgroup are, by their names. */
static void
add_assumed(struct ks_linux *lx, struct ks_groups *gs)
{
	static const char *const v2[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	const struct dirent *e;
	char name[320];
	DIR *dir;

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof(name), "%s/cgroup.controllers", v2[i] + strlen("/sys/"));
		if (ks_linux_exists(lx, KS_ROOT_SYS, name))
			add(lx, gs, v2[i], (struct ks_hierarchy){ .has = KS_IN_V2, .is_top = true }, false);
	}
	if (gs->n > 0 && strcmp(gs->hierarchy[0].dir.name != NULL ? gs->hierarchy[0].dir.name : "", "fs/cgroup") == 0)
		return;
	dir = ks_linux_open_directory(lx, KS_ROOT_SYS, "fs/cgroup");
	while (dir != NULL && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		uint8_t has = controllers_of(e->d_name, strlen(e->d_name));

		(void)snprintf(name, sizeof(name), "/sys/fs/cgroup/%s", e->d_name);
		if (has != 0 && e->d_type != DT_LNK)
			add(lx, gs, name, (struct ks_hierarchy){ .has = has, .is_top = true }, false);
	}
	if (dir != NULL) {
		(void)closedir(dir);
		ks_linux_check_directory(lx, KS_ROOT_SYS, "fs/cgroup");
	}
}

/* Orders hierarchies: version 2 first, then memory. The first that has a group gives it its number. */
static int
by_rank(const void *a, const void *b)
{
	static const uint8_t order[] = { KS_IN_V2, KS_IN_MEMORY, KS_IN_CPU, KS_IN_CPUACCT, KS_IN_PIDS, KS_IN_BLKIO };
	const struct ks_hierarchy *x = a, *y = b;

	for (size_t i = 0; i < sizeof(order); i++) {
		if ((x->has & order[i]) != (y->has & order[i]))
			return (x->has & order[i]) != 0 ? -1 : 1;
	}
	return 0;
}

void
ks_groups_find_hierarchies(struct ks_linux *lx, struct ks_groups *gs)
{
	const struct ks_image *im = ks_linux_try(lx, &mountinfo);
	struct ks_text all = im != NULL ? ks_text_of(im->data, im->len) : ks_text_of("", 0), line;

	gs->mounts = im != NULL ? im->fd : -1;
	ks_kept_free(&lx->kept); /* the descriptors of the directories will mean others */
	ks_groups_close_hierarchies(gs);
	while (ks_text_line(&all, &line))
		add_line(lx, gs, line);
	if (gs->n == 0)
		add_assumed(lx, gs);
	if (gs->n > 1)
		qsort(gs->hierarchy, gs->n, sizeof(gs->hierarchy[0]), by_rank);
}

bool
ks_groups_mounts_changed(const struct ks_groups *gs)
{
	struct pollfd p = { .fd = gs->mounts, .events = POLLPRI };

	return gs->mounts >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLPRI | POLLERR)) != 0;
}
