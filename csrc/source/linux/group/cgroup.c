/*
 * cgroup.c - control groups: cgroup:ID:NAME, with cgroup_memory:ID:NAME and others beside it. NAME is the
 * last part of the group's path; ID is its number in the kernel, by which groups of the same name differ. Without
 * KSTAT_WITH=cgroup the running machine has those of the first two levels, services and containers.
 *
 * The first scan walks over all groups. A second one shows that more will follow: it watches the directories
 * (cgroup_watch.c), and the later ones apply what has changed. A walk over 100,000 groups takes 0.6 s, and a look that
 * finds no change 0.1 ms (`bench/run cgroup`). SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/group/groups.h"

#define MAX_DEPTH 24  /* levels that are listed; each takes a descriptor while it is listed */
#define LEVELS 2      /* below the root, whose groups are always listed */
#define POD_LEVELS 3  /* below a group kubepods: class of service, pod, container */

enum { PART_GROUP, PART_MEMORY, PART_IO, PART_LIMITS, PART_CPU };

static const struct ks_part parts[] = {
	[PART_GROUP] = KS_NAMED_PART("cgroup", "@", "cgroup", .fields = ks_group_fields, .read = ks_group_read,
	    .from = "the files of a control group: cpu.stat, memory.current and so on",
	    .since = "; *_waiting 4.20; *_stalled 4.20; *_avg10 4.20; memory_peak 5.19"),
	[PART_MEMORY] = KS_NAMED_PART("cgroup_memory", "@", "cgroup_memory", .read = ks_group_memory_read,
	    .meta = ks_group_memory_meta, .known = ks_group_memory_known,
	    KS_NAMES("hugetlb_2MB", "hugetlb_2MB_max", "hugetlb_2MB_peak", "hugetlb_2MB_max_events"),
	    .from = "memory.stat and `hugetlb.*` of a control group"),
	[PART_IO] = KS_NAMED_PART("cgroup_io", "@", "cgroup_io", .read = ks_group_io_read,
	    .meta = ks_group_io_meta, .from = "io.stat and io.max, or `blkio.throttle.*`, of a control group",
	    KS_NAMES("sda_nread", "sda_nwritten", "sda_reads", "sda_writes", "sda_ndiscarded", "sda_discards",
	    "sda_nread_max", "sda_nwritten_max", "sda_reads_max", "sda_writes_max")),
	[PART_LIMITS] = KS_NAMED_PART("cgroup_limits", "@", "cgroup_limits", .fields = ks_group_limit_fields,
	    .read = ks_group_read, .from = "the files of a control group: cpu.weight, memory.min, cgroup.stat and so on",
	    .since = "; swap_peak 6.5; swap_high* 5.8; pids_peak 6.2"),
	[PART_CPU] = KS_NAMED_PART("cgroup_cpu", "@", "cgroup_cpu", .fields = ks_group_cpu_fields,
	    .read = ks_group_read, .named = true, .from = "cpu.stat, or cpuacct.usage, of a control group"),
};

/* --- which groups are listed ---------------------------------------------------------------------------- */

static size_t
slashes(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '/')) != NULL; s++)
		n++;
	return n;
}

static bool
ends_in(struct ks_text t, const char *ending)
{
	size_t n = strlen(ending);

	return ks_text_size(&t) > n && memcmp(t.end - n, ending, n) == 0;
}

/* True if the last part of a path is that of a service or a container. */
static bool
is_named_so(const char *leaf)
{
	const struct ks_text text = ks_text_of(leaf, strlen(leaf)), container = ks_group_container(text);

	return ends_in(text, ".service") || ks_text_size(&container) > 0;
}

static bool
is_listed(const struct ks_linux *lx, const char *path, const char *leaf)
{
	const char *pods;

	if (!lx->sub[KS_SUB_cgroup].optional || slashes(path) < LEVELS || is_named_so(leaf))
		return true;
	pods = strstr(path, "kubepods");
	return pods != NULL && slashes(pods) <= POD_LEVELS;
}

/* --- walking -------------------------------------------------------------------------------------------- */

struct walk {
	struct ks_linux *lx;
	struct ks_groups *gs;
	struct ks_units *units;
	size_t hierarchy;
	char *path; /* KS_GROUP_PATH bytes */
};

/* Warns of a directory that is there and cannot be listed; forgets that if it can be. */
static void
note(const struct walk *w, int err)
{
	const struct ks_hierarchy *h = &w->gs->hierarchy[w->hierarchy];
	char path[KS_GROUP_PATH + 256];

	if (err == 0 && w->lx->troubles == NULL)
		return;
	if (h->dir.name == NULL) {
		ks_note_fault(&h->dir, err);
		return;
	}
	(void)snprintf(path, sizeof(path), "%s%s%s", h->dir.name, w->path[0] != '\0' ? "/" : "", w->path);
	ks_linux_note_path(w->lx, KS_ROOT_SYS, path, err);
}

/* The kinds of kstats of a group whose directory is `name` in the one that is open: *known keeps it for the next. */
static uint16_t
parts_of(const struct walk *w, int at, const char *name, int *known)
{
	const struct ks_hierarchy *h = &w->gs->hierarchy[w->hierarchy];
	const struct { uint8_t has; const char *file; unsigned part; } files[] = {
		{ KS_IN_V2 | KS_IN_MEMORY, "memory.stat", PART_MEMORY }, { KS_IN_V2, "io.stat", PART_IO },
		{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes", PART_IO }, { KS_IN_V2, "cgroup.stat", PART_LIMITS },
		{ KS_IN_CPU, "cpu.shares", PART_LIMITS }, { KS_IN_PIDS, "pids.peak", PART_LIMITS },
	};
	uint16_t found = 1 << PART_GROUP | 1 << PART_CPU;
	char path[320];

	/* The kernel gives the same controllers to all groups of a directory. */
	if (*known >= 0 && h->dir.kernel)
		return (uint16_t)*known;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, files[i].file);
		if ((h->has & files[i].has) == 0)
			continue;
		if (faccessat(at, path, F_OK, 0) == 0)
			found |= (uint16_t)(1u << files[i].part);
		else
			ks_note_look(&h->dir, errno);
	}
	*known = found;
	return found;
}

/* Makes the unit of a group. Returns 0, or -1 with errno ENOMEM. */
static int
add_unit(const struct walk *w, uint64_t ident, uint16_t has)
{
	const char *slash = strrchr(w->path, '/'), *leaf = slash != NULL ? slash + 1 : w->path;
	size_t size = strlen(w->path) + 1;
	char key[KS_UNIT_NAME];
	struct ks_unit *unit;
	struct ks_group *g;
	uint16_t before;
	bool is_new;

	if (!is_listed(w->lx, w->path, leaf))
		return 0;
	unit = ks_units_see(w->units, key, ks_key_of_path(key, w->path[0] != '\0' ? w->path : "/"), ident, &is_new);
	if (unit == NULL)
		return -1;
	if (is_new) {
		unit->extra = g = malloc(sizeof(*g) + size);
		if (g == NULL)
			return -1;
		*g = (struct ks_group){ .ident = ident };
		memcpy(g->path, w->path, size);
		unit->long_texts = (uint32_t)size;
		unit->instance = (int)(ident & INT32_MAX);
		leaf = *leaf != '\0' ? leaf : "/";
		ks_name_set(unit->name, sizeof(unit->name), leaf, strlen(leaf));
	}
	g = unit->extra;
	before = unit->parts;
	if (g->walk != w->gs->walk) { /* the first hierarchy of this walk that has it */
		g->walk = w->gs->walk;
		g->ident = ident;
		g->in = 0;
		unit->parts = 0;
	}
	unit->ident = g->ident;
	unit->parts |= has;
	g->in |= (uint8_t)(1u << w->hierarchy);
	w->units->changed |= (unit->parts & ~before) != 0;
	return 0;
}

static int walk_directory(struct walk *w, size_t len, int at, const char *name, int depth, int *known);

/* Walks over the groups in an open directory, which is closed. `len` is the length of its path. */
static int
walk_entries(struct walk *w, size_t len, int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *e;
	int rc = 0, known = -1;

	note(w, dir == NULL ? errno : 0);
	if (dir == NULL) {
		(void)close(fd);
		return 0;
	}
	while (rc == 0 && (e = ks_linux_next_entry(w->lx, dir)) != NULL) {
		size_t n = strlen(e->d_name);

		if ((e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) || e->d_name[0] == '.' ||
		    len + 1 + n >= KS_GROUP_PATH)
			continue;
		if (len > 0)
			w->path[len] = '/';
		memcpy(w->path + len + (len > 0), e->d_name, n + 1);
		rc = walk_directory(w, len + (len > 0) + n, dirfd(dir), e->d_name, depth, &known);
		w->path[len] = '\0';
	}
	(void)closedir(dir);
	return rc;
}

/* Adds the group that is the directory `name` in the one that is open, and those below it. */
static int
walk_directory(struct walk *w, size_t len, int at, const char *name, int depth, int *known)
{
	const struct ks_hierarchy *h = &w->gs->hierarchy[w->hierarchy];
	struct stat st;
	int fd;

	/* A group that comes now is either found by this walk, or noticed by the watch. */
	if (w->gs->watch != NULL && !ks_watches_add(w->gs->watch, w->gs, w->hierarchy, w->path)) {
		ks_watches_close(w->gs->watch);
		w->gs->watch = NULL;
		w->gs->unwatchable = true;
	}
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		ks_note_look(&h->dir, errno);
		return 0; /* groups come and go at any time */
	}
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (add_unit(w, st.st_ino, parts_of(w, at, name, known)) != 0)
		return -1;
	if (depth == 0 || (h->exact && st.st_nlink == 2))
		return 0;
	fd = ks_open_at(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		note(w, errno);
	return fd < 0 ? 0 : walk_entries(w, len, fd, depth - 1);
}

static int
add_groups(struct ks_linux *lx, struct ks_units *units, size_t hierarchy, char *path, size_t len)
{
	struct ks_groups *gs = ks_groups_of(lx);
	struct walk w = { lx, gs, units, hierarchy, path };
	size_t depth = len > 0 ? slashes(path) + 1 : 0;
	int known = -1;

	if (depth > MAX_DEPTH)
		return 0;
	return walk_directory(&w, len, gs->hierarchy[hierarchy].dir.fd, len > 0 ? path : ".",
	    (int)(MAX_DEPTH - depth), &known);
}

static void
remove_group(struct ks_units *units, size_t hierarchy, const char *path)
{
	char key[KS_UNIT_NAME];
	struct ks_unit *unit = ks_units_find(units, key, ks_key_of_path(key, path));
	struct ks_group *g = unit != NULL ? unit->extra : NULL;

	if (g == NULL || strcmp(g->path, path) != 0)
		return;
	g->in &= (uint8_t)~(1u << hierarchy);
	if (g->in == 0)
		ks_units_remove(units, unit);
}

/* --- scanning ------------------------------------------------------------------------------------------- */

/* The sizes of huge pages that this machine has, as the files of hugetlb are named. */
static void
find_page_sizes(struct ks_linux *lx, struct ks_groups *gs)
{
	static const char units[] = "KMGT";
	DIR *dir = ks_dir_list(&lx->root[KS_ROOT_SYS], "kernel/mm/hugepages");
	const struct dirent *e;

	while (dir != NULL && gs->npage_sizes < 8 && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		unsigned kib, unit = 0;

		if (sscanf(e->d_name, "hugepages-%9ukB", &kib) != 1 || kib == 0)
			continue;
		for (; kib % 1024 == 0 && unit < 3; unit++)
			kib /= 1024;
		(void)snprintf(gs->page_size[gs->npage_sizes++], sizeof(gs->page_size[0]), "%u%cB", kib, units[unit]);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

/* Walks over all groups. Results as for ks_subsystem.scan. */
static int
walk_all(struct ks_linux *lx, struct ks_groups *gs, struct ks_units *units)
{
	bool watches = units->scanned && !gs->unwatchable;
	char path[KS_GROUP_PATH];

	ks_watches_close(gs->watch);
	gs->watch = NULL;
	ks_groups_find_hierarchies(lx, gs);
	if (gs->walk++ == 0)
		find_page_sizes(lx, gs);
	for (size_t i = 0; i < gs->n; i++)
		watches &= gs->hierarchy[i].exact;
	if (watches && gs->n > 0)
		gs->watch = ks_watches_open();
	ks_units_begin(units);
	for (size_t i = 0; i < gs->n; i++) {
		path[0] = '\0';
		if (add_groups(lx, units, i, path, 0) != 0)
			return -1;
	}
	return ks_units_end(units);
}

static int
scan_groups(struct ks_linux *lx, struct ks_units *units)
{
	static const struct ks_group_changes changes = { add_groups, remove_group };
	struct ks_groups *gs = ks_groups_of(lx);
	int rc = 1;

	gs->devices.known = false;
	if (gs->watch != NULL) {
		ks_units_go_on(units);
		rc = ks_watches_apply(lx, gs, units, &changes);
	}
	return rc > 0 ? walk_all(lx, gs, units) : rc < 0 ? -1 : units->changed;
}

static void
release(void *state)
{
	struct ks_groups *gs = state;

	ks_watches_close(gs->watch);
	ks_groups_close_hierarchies(gs);
	free(gs->devices.v);
}

KS_SUBSYSTEM(cgroup, parts, .scan = scan_groups, .optional = "cgroup", .is_partly = true,
    .state_size = sizeof(struct ks_groups), .release = release);
