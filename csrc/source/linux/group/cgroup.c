/*
 * cgroup.c - control groups (version 2): cgroup:ID:NAME. NAME is the last part of the group's path; ID is
 * its number in the kernel, by which groups of the same name differ. Walking the tree costs time, so on
 * the running machine they are optional. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/linux.h"

#define MAX_DEPTH 24

enum { C_PATH, C_CPU, C_USER, C_SYSTEM, C_PERIODS, C_THROTTLED, C_THROTTLED_TIME, C_CPU_WAIT,
	C_MEMORY, C_MEMORY_PEAK, C_MEMORY_MAX, C_SWAP, C_OOM_KILLS, C_MEMORY_WAIT, C_NREAD,
	C_NWRITTEN, C_READS, C_WRITES, C_IO_WAIT, C_PIDS, C_PIDS_MAX };

static const struct ks_field fields[] = {
	[C_PATH] = KS_TEXT("path", KSTAT_DATA_STRING, "place in the tree of groups"),
	[C_CPU] = KS_NSEC("cpu_nsec", "CPU time used"),
	[C_USER] = KS_NSEC("cpu_nsec_user", "CPU time used in user mode"),
	[C_SYSTEM] = KS_NSEC("cpu_nsec_system", "CPU time used in the kernel"),
	[C_PERIODS] = KS_COUNT("cpu_periods", KSTAT_DATA_UINT64, "periods in which the CPU limit held"),
	[C_THROTTLED] = KS_COUNT("cpu_throttled", KSTAT_DATA_UINT64,
	    "periods that used up the CPU limit"),
	[C_THROTTLED_TIME] = KS_NSEC("cpu_nsec_throttled", "time stopped by the CPU limit"),
	[C_CPU_WAIT] = KS_NSEC("cpu_nsec_waiting", "time in which some process waited for a CPU"),
	[C_MEMORY] = KS_AMOUNT("memory", "memory in use"),
	[C_MEMORY_PEAK] = KS_AMOUNT("memory_peak", "most memory ever in use"),
	[C_MEMORY_MAX] = KS_AMOUNT("memory_max", "limit of memory"),
	[C_SWAP] = KS_AMOUNT("swap", "swap space in use"),
	[C_OOM_KILLS] = KS_COUNT("oom_kills", KSTAT_DATA_UINT64, "processes killed for want of memory"),
	[C_MEMORY_WAIT] = KS_NSEC("memory_nsec_waiting",
	    "time in which some process waited for memory"),
	[C_NREAD] = KS_BYTES("nread", "bytes read from disks"),
	[C_NWRITTEN] = KS_BYTES("nwritten", "bytes written to disks"),
	[C_READS] = KS_COUNT("reads", KSTAT_DATA_UINT64, "reads from disks"),
	[C_WRITES] = KS_COUNT("writes", KSTAT_DATA_UINT64, "writes to disks"),
	[C_IO_WAIT] = KS_NSEC("io_nsec_waiting", "time in which some process waited for I/O"),
	[C_PIDS] = KS_GAUGE("pids", KSTAT_DATA_UINT64, "processes and threads"),
	[C_PIDS_MAX] = KS_GAUGE("pids_max", KSTAT_DATA_UINT64, "limit of processes and threads"),
	KS_FIELD_END
};
KS_FIELDS_FIT(fields);

/* Files of one number; a limit that is not set says "max". */
static const struct single {
	const char *file;
	uint8_t field;
} single[] = {
	{ "memory.current", C_MEMORY }, { "memory.peak", C_MEMORY_PEAK },
	{ "memory.max", C_MEMORY_MAX },
	{ "memory.swap.current", C_SWAP }, { "pids.current", C_PIDS }, { "pids.max", C_PIDS_MAX },
};

/*
 * Other numbers: those that follow a mark, such as "rbytes=1", in lines that begin with some text, summed.
 * Times are in microseconds.
 */
static const struct marked {
	const char *file, *line, *mark;
	uint8_t field;
	uint16_t times;
} marked[] = {
	{ "cpu.stat", "usage_usec ", "", C_CPU, 1000 },
	{ "cpu.stat", "user_usec ", "", C_USER, 1000 },
	{ "cpu.stat", "system_usec ", "", C_SYSTEM, 1000 },
	{ "cpu.stat", "nr_periods ", "", C_PERIODS, 1 },
	{ "cpu.stat", "nr_throttled ", "", C_THROTTLED, 1 },
	{ "cpu.stat", "throttled_usec ", "", C_THROTTLED_TIME, 1000 },
	{ "memory.events", "oom_kill ", "", C_OOM_KILLS, 1 },
	{ "io.stat", "", "rbytes=", C_NREAD, 1 },
	{ "io.stat", "", "wbytes=", C_NWRITTEN, 1 },
	{ "io.stat", "", "rios=", C_READS, 1 },
	{ "io.stat", "", "wios=", C_WRITES, 1 },
	{ "cpu.pressure", "some", "total=", C_CPU_WAIT, 1000 },
	{ "memory.pressure", "some", "total=", C_MEMORY_WAIT, 1000 },
	{ "io.pressure", "some", "total=", C_IO_WAIT, 1000 },
};

struct state {
	size_t root_length; /* of the path of the root group below /sys */
};

static struct state *
state_of(const struct ks_linux *lx)
{
	return lx->sub[KS_SUB_cgroup].state;
}

/* --- reading ------------------------------------------------------------------------------ */

static void
read_marked(struct ks_linux *lx, const struct ks_dir *dir, struct ks_values *vals)
{
	const char *file = "";
	bool there = false;

	for (size_t i = 0; i < sizeof(marked) / sizeof(marked[0]); i++) {
		const struct marked *m = &marked[i];
		struct ks_text all, line, word;
		uint64_t v;

		if (strcmp(file, m->file) != 0) {
			file = m->file;
			there = ks_image_once(&lx->scratch, dir, file) == 0;
		}
		all = ks_text_of(lx->scratch.data, there ? lx->scratch.len : 0);
		while (ks_text_line(&all, &line)) {
			if (!ks_text_starts(&line, m->line))
				continue;
			while (ks_text_word(&line, &word)) {
				if (!ks_text_starts(&word, m->mark))
					continue;
				word.p += strlen(m->mark);
				if (ks_text_u64(&word, &v))
					ks_have_more(vals, m->field, v * m->times);
			}
		}
	}
}

static int
read_group(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_dir *sys = &lx->root[KS_ROOT_SYS];
	const char *path = unit->extra;
	size_t root = state_of(lx)->root_length;
	struct ks_values vals = { .have = 0 };
	struct ks_dir dir = { -1, NULL, sys->kernel, sys->lack };
	uint64_t v;

	dir.fd = openat(sys->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir.fd < 0) {
		ks_note_lack(sys, errno);
		return ks_linux_gone(unit);
	}
	ks_have_text(&vals, C_PATH, path[root] != '\0' ? path + root : "/");
	read_marked(lx, &dir, &vals);
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		if (ks_file_u64(&dir, single[i].file, &v) == 0)
			ks_have(&vals, single[i].field, v);
	}
	(void)close(dir.fd);
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("cgroup", "@", "cgroup", .fields = fields, .read = read_group),
};

/* --- scanning ------------------------------------------------------------------------------ */

static int
scan_group(struct ks_linux *lx, struct ks_units *units, const char *path, int depth)
{
	DIR *dir = ks_linux_open_directory(lx, KS_ROOT_SYS, path);
	size_t root = state_of(lx)->root_length;
	char key[KS_UNIT_NAME];
	const struct dirent *e;
	struct ks_unit *unit;
	struct stat st;
	bool is_new;
	int rc = 0;

	if (dir == NULL)
		return 0; /* groups come and go at any time */
	if (fstat(dirfd(dir), &st) != 0) {
		lx->lack = errno;
		(void)closedir(dir);
		return 0;
	}
	unit = ks_units_see(units, key, ks_key_of_path(key, path), st.st_ino, &is_new);
	if (unit != NULL && is_new) {
		const char *leaf = path[root] != '\0' ? strrchr(path, '/') + 1 : "/";

		unit->extra = strdup(path);
		unit->instance = (int)(st.st_ino & INT32_MAX);
		ks_name_set(unit->name, sizeof(unit->name), leaf, strlen(leaf));
		unit->parts = 1;
	}
	if (unit == NULL || unit->extra == NULL)
		rc = -1;
	while (rc == 0 && depth > 0 && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		char below[2048];
		int n;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		n = snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (n > 0 && (size_t)n < sizeof(below))
			rc = scan_group(lx, units, below, depth - 1);
	}
	(void)closedir(dir);
	return rc;
}

static int
scan_groups(struct ks_linux *lx, struct ks_units *units)
{
	static const char *const roots[] = { "fs/cgroup", "fs/cgroup/unified" };
	char path[64];

	ks_linux_check_directory(lx, KS_ROOT_SYS, roots[0]);
	ks_units_begin(units);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", roots[i]);
		if (!ks_linux_exists(lx, KS_ROOT_SYS, path))
			continue;
		state_of(lx)->root_length = strlen(roots[i]);
		if (scan_group(lx, units, roots[i], MAX_DEPTH) != 0) {
			errno = ENOMEM;
			return -1;
		}
		break;
	}
	return ks_units_end(units);
}

KS_SUBSYSTEM(cgroup, parts, .scan = scan_groups, .optional = "cgroup", .state_size = sizeof(struct state));
