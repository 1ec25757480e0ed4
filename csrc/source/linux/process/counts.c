/*
 * counts.c - the statistics of processes in /proc/PID/status, io and schedstat. What the kernel keeps for each thread
 * alone is summed over the threads of a process. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/process/process.h"

/* A sum over threads that was read, continued so that it does not fall. */
static uint64_t
continue_sum(struct ks_process *p, size_t which, uint64_t now)
{
	if (now < p->sum[which].last)
		p->sum[which].lost += p->sum[which].last - now;
	p->sum[which].last = now;
	return p->sum[which].lost + now;
}

/* Reads a file of a process or a thread into the scratch image. Returns 0 or an errno. */
static int
read_file(struct ks_linux *lx, pid_t pid, pid_t tid, const char *file)
{
	char path[KS_PROCESS_PATH];
	int err;

	ks_process_path(path, pid, tid, file);
	err = ks_image_once(&lx->scratch, &lx->root[KS_ROOT_PROC], path);
	if (err == 0 && (lx->taken == 0 || lx->scratch.taken < lx->taken))
		lx->taken = lx->scratch.taken;
	return err;
}

typedef bool parse_thread(struct ks_text text, uint64_t *sums);

/*
 * Adds up numbers of which the file of a process has those of its first thread only. Returns 0 or an errno. A thread
 * that ends meanwhile is left out.
 */
static int
sum_threads(struct ks_linux *lx, const struct ks_process *p, const char *file, parse_thread *parse, uint64_t *sums)
{
	char path[KS_PROCESS_PATH];
	const struct dirent *e;
	DIR *dir;
	int fd, err = 0;

	ks_process_path(path, p->pid, 0, "task");
	fd = openat(lx->root[KS_ROOT_PROC].fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		err = errno;
		if (fd >= 0)
			(void)close(fd);
		ks_note_lack(&lx->root[KS_ROOT_PROC], err);
		return err;
	}
	while ((e = ks_linux_next_entry(lx, dir)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && read_file(lx, p->pid, tid, file) == 0)
			(void)parse(ks_text_of(lx->scratch.data, lx->scratch.len), sums);
	}
	(void)closedir(dir);
	return 0;
}

/* True if the numbers of a process have to be summed over its threads. */
static bool
has_threads(const struct ks_process *p)
{
	return p->tid == 0 && (p->have >> P_NLWP & 1) != 0 && p->small[P_NLWP] > 1;
}

/* --- status ------------------------------------------------------------------------------- */

enum { T_UID, T_EUID, T_SUID, T_GID, T_EGID, T_SGID, T_FDSIZE, T_SIZE_MAX, T_RSS_MAX, T_ANON, T_FILE, T_SHMEM, T_LOCKED,
	T_PINNED, T_DATA, T_STACK, T_TEXT, T_LIB, T_TABLES, T_SWAP, T_HUGE, T_VCTX, T_ICTX };

#define ID(stat, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", desc)

const struct ks_field ks_process_status_fields[] = {
	[T_UID] = ID("uid", "real user"),
	[T_EUID] = ID("euid", "effective user"),
	[T_SUID] = ID("suid", "saved user"),
	[T_GID] = ID("gid", "real group"),
	[T_EGID] = ID("egid", "effective group"),
	[T_SGID] = ID("sgid", "saved group"),
	[T_FDSIZE] = KS_GAUGE("fdsize", KSTAT_DATA_UINT64, "file descriptors for which there is room now"),
	[T_SIZE_MAX] = KS_AMOUNT("size_max", "largest size of the address space so far"),
	[T_RSS_MAX] = KS_AMOUNT("rssize_max", "most memory in use so far"),
	[T_ANON] = KS_AMOUNT("rss_anon", "memory in use that no file backs"),
	[T_FILE] = KS_AMOUNT("rss_file", "memory in use that maps files"),
	[T_SHMEM] = KS_AMOUNT("rss_shmem", "shared memory in use, tmpfs included"),
	[T_LOCKED] = KS_AMOUNT("locked", "memory locked by the program"),
	[T_PINNED] = KS_AMOUNT("pinned", "memory that drivers hold in place"),
	[T_DATA] = KS_AMOUNT("data", "size of private writable memory, the stack left out"),
	[T_STACK] = KS_AMOUNT("stksize", "size of the main thread's stack"),
	[T_TEXT] = KS_AMOUNT("text", "size of the program's code"),
	[T_LIB] = KS_AMOUNT("lib", "size of the libraries' code"),
	[T_TABLES] = KS_AMOUNT("page_tables", "memory of its page tables"),
	[T_SWAP] = KS_AMOUNT("swap", "anonymous memory swapped out"),
	[T_HUGE] = KS_AMOUNT("hugetlb", "huge pages in use"),
	[T_VCTX] = KS_COUNT("vctx", KSTAT_DATA_UINT64, "context switches because it waited for something"),
	[T_ICTX] = KS_COUNT("ictx", KSTAT_DATA_UINT64, "context switches because something else got the CPU"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_status_fields);

/* Lines of the file with one number; sizes are in KiB. */
static const struct {
	const char *key;
	uint8_t field;
	uint16_t times;
} lines[] = {
	{ "FDSize:", T_FDSIZE, 1 }, { "VmPeak:", T_SIZE_MAX, 1024 }, { "VmLck:", T_LOCKED, 1024 },
	{ "VmPin:", T_PINNED, 1024 }, { "VmHWM:", T_RSS_MAX, 1024 }, { "RssAnon:", T_ANON, 1024 },
	{ "RssFile:", T_FILE, 1024 }, { "RssShmem:", T_SHMEM, 1024 }, { "VmData:", T_DATA, 1024 },
	{ "VmStk:", T_STACK, 1024 }, { "VmExe:", T_TEXT, 1024 }, { "VmLib:", T_LIB, 1024 },
	{ "VmPTE:", T_TABLES, 1024 }, { "VmSwap:", T_SWAP, 1024 }, { "HugetlbPages:", T_HUGE, 1024 },
	{ "voluntary_ctxt_switches:", T_VCTX, 1 }, { "nonvoluntary_ctxt_switches:", T_ICTX, 1 },
};

#define NLINES (sizeof(lines) / sizeof(lines[0]))

static void
parse_ids(struct ks_text line, struct ks_values *vals, size_t first)
{
	uint64_t v[3];
	size_t n = ks_text_numbers(&line, v, 3);

	for (size_t i = 0; i < n; i++)
		ks_have(vals, first + i, v[i]);
}

/* Lines are in the order of the table on all kernels; `at` is the next one to expect. */
static void
parse_status_line(struct ks_text line, struct ks_values *vals, size_t *at)
{
	if (ks_text_starts(&line, "Uid:") || ks_text_starts(&line, "Gid:")) {
		bool is_user = *line.p == 'U';

		line.p += 4;
		parse_ids(line, vals, is_user ? T_UID : T_GID);
		return;
	}
	for (size_t i = *at; i < NLINES; i++) {
		uint64_t v;

		if (!ks_text_starts(&line, lines[i].key))
			continue;
		line.p += strlen(lines[i].key);
		if (ks_text_u64(&line, &v) && v <= UINT64_MAX / lines[i].times)
			ks_have(vals, lines[i].field, v * lines[i].times);
		*at = i + 1;
		return;
	}
}

static void
parse_status(struct ks_text all, struct ks_values *vals)
{
	struct ks_text line;
	size_t at = 0;

	while (ks_text_line(&all, &line))
		parse_status_line(line, vals, &at);
}

static bool
add_switches(struct ks_text all, uint64_t *sums)
{
	struct ks_values vals = { .have = 0 };

	parse_status(all, &vals);
	if ((vals.have >> T_VCTX & vals.have >> T_ICTX & 1) == 0)
		return false;
	sums[0] += vals.v[T_VCTX].u;
	sums[1] += vals.v[T_ICTX].u;
	return true;
}

int
ks_process_read_status(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	uint64_t sums[2] = { 0, 0 };
	int err = read_file(lx, p->pid, p->tid, "status");

	if (err != 0)
		return ks_process_gone(unit, err);
	parse_status(ks_text_of(lx->scratch.data, lx->scratch.len), &vals);
	if ((vals.have >> T_VCTX & vals.have >> T_ICTX & 1) != 0) {
		sums[0] = vals.v[T_VCTX].u;
		sums[1] = vals.v[T_ICTX].u;
		if (has_threads(p)) {
			sums[0] = sums[1] = 0;
			err = sum_threads(lx, p, "status", add_switches, sums);
		}
		if (err != 0)
			return ks_process_gone(unit, err);
		ks_have(&vals, T_VCTX, continue_sum(p, P_SUM_VCTX, sums[0]));
		ks_have(&vals, T_ICTX, continue_sum(p, P_SUM_ICTX, sums[1]));
	}
	ks_fields_add(r, ks_process_status_fields, &vals);
	return 0;
}

/* --- io ------------------------------------------------------------------------------------ */

enum { I_RCHAR, I_WCHAR, I_READS, I_WRITES, I_NREAD, I_NWRITTEN, I_CANCELLED, I_COUNT };

const struct ks_field ks_process_io_fields[] = {
	[I_RCHAR] = { KS_META_BYTES("rchar", KS_KIND_COUNTER, "bytes that calls such as read returned"),
	    KSTAT_DATA_UINT64, "rchar:" },
	[I_WCHAR] = { KS_META_BYTES("wchar", KS_KIND_COUNTER, "bytes that calls such as write were given"),
	    KSTAT_DATA_UINT64, "wchar:" },
	[I_READS] = KS_COUNT_K("syscr", KSTAT_DATA_UINT64, "syscr:", "calls such as read"),
	[I_WRITES] = KS_COUNT_K("syscw", KSTAT_DATA_UINT64, "syscw:", "calls such as write"),
	[I_NREAD] = { KS_META_BYTES("nread", KS_KIND_COUNTER, "bytes read from devices"), KSTAT_DATA_UINT64,
	    "read_bytes:" },
	[I_NWRITTEN] = { KS_META_BYTES("nwritten", KS_KIND_COUNTER, "bytes to be written to devices"),
	    KSTAT_DATA_UINT64, "write_bytes:" },
	[I_CANCELLED] = { KS_META_BYTES("ncancelled", KS_KIND_COUNTER,
	    "bytes of nwritten that were never written, because their file was cut or removed"), KSTAT_DATA_UINT64,
	    "cancelled_write_bytes:" },
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_io_fields);

int
ks_process_read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	int err = read_file(lx, p->pid, p->tid, "io");
	struct ks_text all, line;

	if (err != 0)
		return ks_process_gone(unit, err); /* also where it belongs to another user */
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	while (ks_text_line(&all, &line)) {
		uint64_t v;

		for (size_t i = 0; i < I_COUNT; i++) {
			struct ks_text number = line;

			if (!ks_text_starts(&line, ks_process_io_fields[i].key))
				continue;
			number.p += strlen(ks_process_io_fields[i].key);
			if (ks_text_u64(&number, &v))
				ks_have(&vals, i, v);
		}
	}
	ks_fields_add(r, ks_process_io_fields, &vals);
	return 0;
}

/* --- schedstat ----------------------------------------------------------------------------- */

enum { S_RUN, S_WAIT, S_SLICES, S_COUNT };

const struct ks_field ks_process_sched_fields[] = {
	[S_RUN] = KS_NSEC("cpu_nsec", "CPU time, by the scheduler's clock"),
	[S_WAIT] = KS_NSEC("wait_nsec", "time in which it could run and waited for a CPU"),
	[S_SLICES] = KS_COUNT("slices", KSTAT_DATA_UINT64, "times that it got a CPU"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_sched_fields);

static bool
add_schedstat(struct ks_text text, uint64_t *sums)
{
	uint64_t v[S_COUNT];

	if (ks_text_numbers(&text, v, S_COUNT) != S_COUNT)
		return false;
	for (size_t i = 0; i < S_COUNT; i++)
		sums[i] += v[i];
	return true;
}

int
ks_process_read_sched(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	uint64_t sums[S_COUNT] = { 0, 0, 0 };
	bool known = true;
	int err;

	if (has_threads(p)) {
		err = sum_threads(lx, p, "schedstat", add_schedstat, sums);
	} else {
		err = read_file(lx, p->pid, p->tid, "schedstat");
		known = err == 0 && add_schedstat(ks_text_of(lx->scratch.data, lx->scratch.len), sums);
	}
	if (err != 0)
		return ks_process_gone(unit, err);
	for (size_t i = 0; known && i < S_COUNT; i++)
		ks_have(&vals, i, continue_sum(p, P_SUM_RUN + i, sums[i]));
	ks_fields_add(r, ks_process_sched_fields, &vals);
	return 0;
}
