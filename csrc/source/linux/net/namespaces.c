/*
 * namespaces.c - connections that were dropped in network name spaces that are not the reader's, as those of containers:
 * netns:0:INODE. They are found by the links ns/net of all processes, which root may read, every few seconds; of each
 * the process with the least number shows its counters. These kstats are optional. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/net/described_net.h"
#include "source/linux/process/processes.h"

#define SCAN_EVERY (10 * KS_NANOSEC)

enum { N_PID, N_FNAME, N_OVERFLOWS, N_DROPS };

static const struct ks_field fields[] = {
	[N_PID] = KS_ID("pid", KSTAT_DATA_INT32, "the first process in it"),
	[N_FNAME] = KS_TEXT("fname", KSTAT_DATA_STRING, "name of that process's command"),
	[N_OVERFLOWS] = KS_COUNT_K("ListenOverflows", KSTAT_DATA_UINT64, "TcpExt:ListenOverflows",
	    "connections that nobody accepted in time"),
	[N_DROPS] = KS_COUNT_K("ListenDrops", KSTAT_DATA_UINT64, "TcpExt:ListenDrops",
	    "connections dropped by listeners for any reason"),
	KS_FIELD_END
};

struct walk {
	struct ks_linux *lx;
	struct ks_units *units;
	ino_t own;
};

/* Returns the inode of the name space to which a link below /proc leads, or 0. */
static ino_t
space_of(const struct ks_linux *lx, const char *path)
{
	struct stat st;

	return fstatat(lx->root[KS_ROOT_PROC].fd, path, &st, 0) == 0 ? st.st_ino : 0;
}

static int
take_process(void *arg, pid_t pid)
{
	const struct walk *w = arg;
	char text[KS_PROCESS_PATH];
	struct ks_unit *unit;
	bool is_new = false;
	ino_t inode;

	ks_process_path(text, pid, 0, "ns/net");
	inode = space_of(w->lx, text);
	if (inode == 0 || inode == w->own)
		return 0;
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)inode);
	unit = ks_units_see(w->units, text, strlen(text), 0, &is_new);
	if (unit == NULL || (is_new && (unit->extra = malloc(sizeof(pid))) == NULL))
		return -1;
	if (is_new || pid < *(pid_t *)unit->extra)
		*(pid_t *)unit->extra = pid;
	unit->parts = 1;
	return 0;
}

static int
scan_spaces(struct ks_linux *lx, struct ks_units *units)
{
	hrtime_t *last = lx->sub[KS_SUB_namespaces].state, now = gethrtime();
	struct walk w = { lx, units, lx->root[KS_ROOT_PROC].kernel ? space_of(lx, "self/ns/net") : 0 };

	if (units->scanned && now - *last < SCAN_EVERY)
		return 0;
	*last = now;
	ks_units_begin(units);
	/* A recorded tree has no name spaces. */
	if (w.own != 0 && ks_process_each(lx, ks_linux_open_directory(lx, KS_ROOT_PROC, "."), 1, take_process, &w) != 0)
		return -1;
	return ks_units_end(units);
}

static int
read_space(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process p = { .pid = *(pid_t *)unit->extra };
	struct ks_values vals = { .have = 0 };
	struct ks_process_line line;
	char text[KS_PROCESS_STAT];

	if (ks_process_load_stat(lx, &p, text, &line) != 0 || ks_process_file(lx, p.pid, 0, "net/netstat") != 0)
		return ks_linux_gone(unit);
	ks_have(&vals, N_PID, (uint64_t)p.pid);
	ks_have_text(&vals, N_FNAME, p.fname);
	ks_mib_collect(lx, &lx->scratch, "TcpExt:", &vals);
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("netns", "@", "namespace", .fields = KS_TABLE(fields), .read = read_space,
	    .from = "/proc/PID/ns/net, /proc/PID/net/netstat", .title = "netns:0:INODE"),
};

KS_SUBSYSTEM(namespaces, parts, .scan = scan_spaces, .optional = "netns", .state_size = sizeof(hrtime_t));
