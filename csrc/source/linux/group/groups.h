/*
 * groups.h - what the files about control groups share. A machine has one hierarchy of groups (version 2), one
 * for each set of controllers (version 1), or both (hybrid). A group that several hierarchies have at the same
 * place is one unit, and its statistics have the same names in each case.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_GROUPS_H
#define SOURCE_LINUX_GROUPS_H

#include "source/linux/linux.h"

#define KS_HIERARCHIES 8
#define KS_GROUP_PATH 4096 /* size of the path of a group with its NUL */

/* Where no limit is set, version 1 shows the largest number of 63 bits, rounded down to a multiple of a page. */
#define KS_NO_LIMIT 0x7ffffff000000000

/* What a hierarchy has files of. Those but KS_IN_V2 are controllers of version 1. */
enum { KS_IN_V2 = 1, KS_IN_CPU = 2, KS_IN_CPUACCT = 4, KS_IN_MEMORY = 8, KS_IN_BLKIO = 16, KS_IN_PIDS = 32,
	KS_IN_HUGETLB = 64 };

struct ks_hierarchy {
	struct ks_dir dir;  /* where it is mounted; dir.name is for messages: a path below /sys, or NULL */
	uint8_t has;        /* KS_IN_* */
	bool exact;         /* its file system counts links and reports changes, as cgroupfs does */
	bool is_top;        /* the root of the hierarchy, and not of a part of it, is mounted here */
	uint64_t device;    /* number of its file system; 0: not known */
};

/* ks_unit.extra of a group. */
struct ks_group {
	uint64_t ident; /* its inode in the first hierarchy that has it */
	uint64_t walk;  /* ks_groups.walk when it was found last */
	uint8_t in;     /* the hierarchies that have it, one bit each */
	bool is_unlimited, is_io_unlimited; /* memory and I/O had no limit when they were read last */
	char path[];    /* below the root, without a slash at its beginning; empty: the root */
};

/* The state of the subsystem. */
struct ks_groups {
	struct ks_hierarchy hierarchy[KS_HIERARCHIES];
	size_t n;
	int mounts;               /* descriptor of self/mountinfo, which the image of this file owns; -1: none */
	uint64_t walk;            /* counts the walks over all groups */
	struct ks_watches *watch; /* NULL: groups are looked for with a walk each time; owned */
	bool unwatchable;         /* there are more groups than may be watched */
	struct ks_devices {       /* names of block devices, for io.stat; forgotten in each scan */
		struct ks_device_name {
			char number[24], name[KSTAT_STRLEN];
		} *v;
		size_t n, cap;
		bool known;
	} devices;
	char page_size[8][16];    /* sizes of huge pages as the files of hugetlb are named: "2MB" */
	size_t npage_sizes;
};

/* --- cgroup_mounts.c ------------------------------------------------------------------------------------ */

/* Finds the hierarchies anew. */
void ks_groups_find_hierarchies(struct ks_linux *lx, struct ks_groups *gs);
void ks_groups_close_hierarchies(struct ks_groups *gs);

/* True if something was mounted or unmounted since the hierarchies were found, or since the last call. */
bool ks_groups_mounts_changed(const struct ks_groups *gs);

/* --- cgroup_watch.c: groups that come and go, from inotify ------------------------------------------------ */

/* Starts to watch; NULL if that is not possible. The walk that follows adds the directories. */
struct ks_watches *ks_watches_open(void);
void ks_watches_close(struct ks_watches *w);

/* Adds a directory; false if that is not possible, because there are too many. A missing one counts as added. */
bool ks_watches_add(struct ks_watches *w, const struct ks_groups *gs, size_t hierarchy, const char *path);

struct ks_group_changes {
	/*
	 * Adds a group that has come and those below it. `path` is KS_GROUP_PATH bytes that hold its path of `len` bytes;
	 * they are changed meanwhile. Returns 0, or -1 with errno ENOMEM.
	 */
	int (*add)(struct ks_linux *lx, struct ks_units *units, size_t hierarchy, char *path, size_t len);

	/* Notes that a hierarchy has a group no longer. */
	void (*remove)(struct ks_units *units, size_t hierarchy, const char *path);
};

/*
 * Adds and removes the groups that came and went. Returns 0, -1 with errno ENOMEM, or 1 if the changes are not known
 * in full, so that a walk is needed.
 */
int ks_watches_apply(struct ks_linux *lx, struct ks_groups *gs, struct ks_units *units,
    const struct ks_group_changes *changes);

/* --- cgroup_read.c, cgroup_detail.c ------------------------------------------------------------------------ */

extern const struct ks_field ks_group_fields[], ks_group_limit_fields[], ks_group_cpu_fields[];
ks_part_read ks_group_read; /* of parts with one of these */
ks_part_read ks_group_memory_read, ks_group_io_read;
extern const struct ks_meta ks_group_memory_known[]; /* the names of memory.stat; a NULL stat ends them */
const struct ks_meta *ks_group_memory_meta(const char *stat);
const struct ks_meta *ks_group_io_meta(const char *stat);

/* Reads a small file of a group: up to size - 1 bytes, and a NUL. False if that fails or the file is larger. */
bool ks_group_file(const struct ks_dir *dir, const char *name, char *to, size_t size, struct ks_text *text);

/* The directory of a group in one hierarchy, whose path must stay. It is not opened. */
struct ks_dir ks_group_dir(const struct ks_linux *lx, const struct ks_hierarchy *h, const char *path);

/* What names the container whose group has this last part of a path; empty: it is not that of a container. */
struct ks_text ks_group_container(struct ks_text leaf);

/* The same of a whole path: what names the container of that group, or of one above it. */
struct ks_text ks_group_container_of(struct ks_text path);

static inline struct ks_groups *
ks_groups_of(const struct ks_linux *lx)
{
	return lx->sub[KS_SUB_cgroup].state;
}

#endif
