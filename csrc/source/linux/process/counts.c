/*
 * counts.c - the statistics of processes in /proc/PID/status, io, smaps_rollup and schedstat. What the kernel keeps for
 * each thread alone is summed over the threads of a process. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/lines.h"
#include "source/linux/listing.h"
#include "source/linux/process/processes.h"

/* A sum over threads that was read, continued so that it does not fall. */
static uint64_t
continue_sum(struct ks_process *p, size_t which, uint64_t now)
{
	if (now < p->sum[which].last)
		p->sum[which].lost += p->sum[which].last - now;
	p->sum[which].last = now;
	return p->sum[which].lost + now;
}

int
ks_process_file(struct ks_linux *lx, pid_t pid, pid_t tid, const char *file)
{
	char path[KS_PROCESS_PATH];
	int err;

	ks_process_path(path, pid, tid, file);
	err = ks_linux_try_made(lx, KS_ROOT_PROC, path, KS_MADE_WHOLE); /* the kernel makes the text for each read */
	lx->im = NULL; /* the file may have lines of any kind: nobody is warned of them */
	return err;
}

typedef bool parse_thread(struct ks_linux *lx, struct ks_text text, uint64_t *sums);

/* A sum over the threads of a process that is under way. */
struct thread_sums {
	struct ks_linux *lx;
	pid_t pid;
	const char *file;
	parse_thread *parse;
	uint64_t *sums;
};

static int
add_thread(void *arg, pid_t tid)
{
	const struct thread_sums *t = arg;

	if (ks_process_file(t->lx, t->pid, tid, t->file) == 0)
		(void)t->parse(t->lx, ks_image_text(&t->lx->scratch), t->sums);
	return 0;
}

/*
 * Adds up numbers of which the file of a process has those of its first thread only. Returns 0 or an errno. A thread
 * that ends meanwhile is left out.
 */
static int
sum_threads(struct ks_linux *lx, const struct ks_process *p, const char *file, parse_thread *parse, uint64_t *sums)
{
	struct thread_sums t = { lx, p->pid, file, parse, sums };

	return ks_process_each_of(lx, p->pid, "task", 1, add_thread, &t);
}

/* True if the numbers of a process have to be summed over its threads. */
static bool
has_threads(const struct ks_process *p)
{
	return p->tid == 0 && (p->have >> P_NLWP & 1) != 0 && p->small[P_NLWP] > 1;
}

/* --- status ------------------------------------------------------------------------------- */

enum { T_UID, T_EUID, T_SUID, T_GID, T_EGID, T_SGID, T_FDSIZE, T_SIZE_MAX, T_RSSIZE_MAX, T_RSS_ANON,
	T_RSS_FILE, T_RSS_SHMEM, T_LOCKED, T_PINNED, T_DATA, T_STKSIZE, T_TEXT, T_LIB, T_PAGE_TABLES, T_SWAP,
	T_HUGETLB, T_VCTX, T_ICTX };

#define ID(stat, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", desc)
#define AMOUNT(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_GAUGE, desc), KSTAT_DATA_UINT64, key }

/* In the order of the file, as far as it has them. */
const struct ks_field ks_process_status_fields[] = {
	[T_UID] = ID("uid", "real user"),
	[T_EUID] = ID("euid", "effective user"),
	[T_SUID] = ID("suid", "saved user"),
	[T_GID] = ID("gid", "real group"),
	[T_EGID] = ID("egid", "effective group"),
	[T_SGID] = ID("sgid", "saved group"),
	[T_FDSIZE] = KS_GAUGE_K("fdsize", KSTAT_DATA_UINT64, "FDSize",
	    "file descriptors for which there is room now"),
	[T_SIZE_MAX] = AMOUNT("size_max", "VmPeak", "largest size of the address space so far"),
	[T_RSSIZE_MAX] = AMOUNT("rssize_max", "VmHWM", "most memory in use so far"),
	[T_RSS_ANON] = AMOUNT("rss_anon", "RssAnon", "memory in use that no file backs"),
	[T_RSS_FILE] = AMOUNT("rss_file", "RssFile", "memory in use that maps files"),
	[T_RSS_SHMEM] = AMOUNT("rss_shmem", "RssShmem", "shared memory in use, tmpfs included"),
	[T_LOCKED] = AMOUNT("locked", "VmLck", "memory locked by the program"),
	[T_PINNED] = AMOUNT("pinned", "VmPin", "memory that drivers hold in place"),
	[T_DATA] = AMOUNT("data", "VmData", "size of private writable memory, the stack left out"),
	[T_STKSIZE] = AMOUNT("stksize", "VmStk", "size of the main thread's stack"),
	[T_TEXT] = AMOUNT("text", "VmExe", "size of the program's code"),
	[T_LIB] = AMOUNT("lib", "VmLib", "size of the libraries' code"),
	[T_PAGE_TABLES] = AMOUNT("page_tables", "VmPTE", "memory of its page tables"),
	[T_SWAP] = AMOUNT("swap", "VmSwap", "anonymous memory swapped out"),
	[T_HUGETLB] = AMOUNT("hugetlb", "HugetlbPages", "huge pages in use"),
	[T_VCTX] = KS_COUNT_K("vctx", KSTAT_DATA_UINT64, "voluntary_ctxt_switches",
	    "context switches because it waited for something, of the threads that it has now"),
	[T_ICTX] = KS_COUNT_K("ictx", KSTAT_DATA_UINT64, "nonvoluntary_ctxt_switches",
	    "context switches because something else got the CPU, of the threads that it has now"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_status_fields);

/* Collects "Uid:	1000	1000	1000	1000": real, effective, saved, and of the file system. */
static void
collect_ids(struct ks_text all, const char *key, struct ks_values *vals, size_t first)
{
	struct ks_text line;
	uint64_t v[3];
	size_t n = ks_columns_line(all, ks_text_of(key, strlen(key)), &line) ? ks_text_numbers(&line, v, 3) : 0;

	for (size_t i = 0; i < n; i++)
		ks_have(vals, first + i, v[i]);
}

static bool
add_switches(struct ks_linux *lx, struct ks_text all, uint64_t *sums)
{
	struct ks_values vals = { .have = 0 };

	ks_lines_collect_into(lx, all, ks_process_status_fields, &vals);
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
	int err = ks_process_file(lx, p->pid, p->tid, "status");

	if (err != 0)
		return ks_process_gone(unit, err);
	collect_ids(ks_image_text(&lx->scratch), "Uid:", &vals, T_UID);
	collect_ids(ks_image_text(&lx->scratch), "Gid:", &vals, T_GID);
	ks_lines_collect(lx, ks_image_text(&lx->scratch), &vals);
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

enum { IO_RCHAR, IO_WCHAR, IO_SYSCR, IO_SYSCW, IO_NREAD, IO_NWRITTEN, IO_NCANCELLED,
	IO_OWN, IO_CNREAD = IO_OWN, IO_CNWRITTEN };

_Static_assert(IO_OWN == P_SUM_IO_LAST - P_SUM_IO + 1, "each has a sum over threads");

#define BYTES(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_COUNTER, desc), KSTAT_DATA_UINT64, key }

const struct ks_field ks_process_io_fields[] = {
	[IO_RCHAR] = BYTES("rchar", "rchar", "bytes that calls such as read returned"),
	[IO_WCHAR] = BYTES("wchar", "wchar", "bytes that calls such as write were given"),
	[IO_SYSCR] = KS_COUNT_K("syscr", KSTAT_DATA_UINT64, "syscr", "calls such as read"),
	[IO_SYSCW] = KS_COUNT_K("syscw", KSTAT_DATA_UINT64, "syscw", "calls such as write"),
	[IO_NREAD] = BYTES("nread", "read_bytes", "bytes read from devices"),
	[IO_NWRITTEN] = BYTES("nwritten", "write_bytes", "bytes to be written to devices"),
	[IO_NCANCELLED] = BYTES("ncancelled", "cancelled_write_bytes",
	    "bytes of nwritten that were never written, because their file was cut or removed"),
	[IO_CNREAD] = { KS_META_BYTES("cnread", KS_KIND_COUNTER,
	    "bytes that children read from devices, which ended and were waited for"), KSTAT_DATA_UINT64, NULL },
	[IO_CNWRITTEN] = { KS_META_BYTES("cnwritten", KS_KIND_COUNTER,
	    "bytes to be written that are of children, which ended and were waited for"), KSTAT_DATA_UINT64, NULL },
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_io_fields);

/* Adds the numbers of a thread, and counts it behind them. */
static bool
add_io(struct ks_linux *lx, struct ks_text all, uint64_t *sums)
{
	struct ks_values vals = { .have = 0 };

	ks_lines_collect_into(lx, all, ks_process_io_fields, &vals);
	for (size_t i = 0; i < IO_OWN; i++)
		sums[i] += vals.v[i].u;
	sums[IO_OWN]++;
	return true;
}

/* Whether no child ended since "io" was read before, which "stat" says after it was read again. */
static bool
no_child_ended(struct ks_linux *lx, const struct ks_process *p)
{
	struct ks_process again = { .pid = p->pid };
	struct ks_process_line line;
	char text[KS_PROCESS_STAT];

	return p->child_faults == p->io_faults && ks_process_load_stat(lx, &again, text, &line) == 0 &&
	    again.child_faults == p->io_faults;
}

/*
 * The kernel adds to the "io" of a process all that a child ever read and wrote when the process waits for it. What its
 * threads did is its own; the rest is the children's, or, where no child ended, of threads that did. The threads are
 * read behind the process, so that what they do meanwhile does not look as if children had done it. Where there are no
 * files of threads nothing changes.
 */
static void
separate_children(struct ks_linux *lx, struct ks_process *p, struct ks_values *vals)
{
	uint64_t own[IO_OWN + 1] = { 0 };
	bool had_children = p->child_faults > 0;

	for (size_t i = 0; i < IO_OWN && !had_children; i++)
		own[i] = vals->v[i].u;
	if (had_children && has_threads(p))
		(void)sum_threads(lx, p, "io", add_io, own);
	else if (had_children && ks_process_file(lx, p->pid, p->pid, "io") == 0)
		(void)add_io(lx, ks_image_text(&lx->scratch), own);
	if (had_children && own[IO_OWN] == 0)
		return;
	for (size_t i = 0; i < IO_OWN; i++)
		own[i] = continue_sum(p, P_SUM_IO + i, own[i]);
	for (size_t i = 0; i < 2; i++) {
		uint64_t all = vals->v[IO_NREAD + i].u;
		uint64_t known = own[IO_NREAD + i] + p->of_threads[i] + p->of_children[i];

		if (all > known)
			*(no_child_ended(lx, p) ? &p->of_threads[i] : &p->of_children[i]) += all - known;
		own[IO_NREAD + i] += p->of_threads[i];
		ks_have(vals, IO_CNREAD + i, p->of_children[i]);
	}
	for (size_t i = 0; i < IO_OWN; i++)
		vals->v[i].u = own[i];
	p->io_faults = p->child_faults;
}

int
ks_process_read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	int err = ks_process_file(lx, p->pid, p->tid, "io");

	if (err != 0)
		return ks_process_gone(unit, err);
	ks_lines_collect_into(lx, ks_image_text(&lx->scratch), ks_process_io_fields, &vals);
	if (p->tid == 0)
		separate_children(lx, p, &vals);
	ks_fields_add(r, ks_process_io_fields, &vals);
	return 0;
}

/* --- smaps_rollup: the kernel goes over all pages for it ----------------------------------- */

const struct ks_field ks_process_memory_fields[] = {
	AMOUNT("pss", "Pss", "memory in use, with its share alone of what other processes use, too"),
	AMOUNT("pss_anon", "Pss_Anon", "part of pss that no file backs"),
	AMOUNT("pss_file", "Pss_File", "part of pss that maps files"),
	AMOUNT("pss_shmem", "Pss_Shmem", "part of pss that is shared memory, tmpfs included"),
	AMOUNT("private_clean", "Private_Clean", "memory that no other process uses, as the file behind it has it"),
	AMOUNT("private_dirty", "Private_Dirty", "memory that no other process uses, and that was written to"),
	AMOUNT("swap_pss", "SwapPss", "memory swapped out, with its share alone of what other processes use, too"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_memory_fields);

int
ks_process_read_memory(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	int err = ks_process_file(lx, p->pid, p->tid, "smaps_rollup"); /* other users may not be able to read it */

	if (err != 0)
		return ks_process_gone(unit, err);
	ks_lines_collect_into(lx, ks_image_text(&lx->scratch), ks_process_memory_fields, &vals);
	ks_fields_add(r, ks_process_memory_fields, &vals);
	return 0;
}

/* --- schedstat ----------------------------------------------------------------------------- */

enum { S_RUN, S_WAIT, S_SLICES, S_COUNT };

const struct ks_field ks_process_sched_fields[] = {
	[S_RUN] = KS_NSEC("cpu_nsec", "CPU time by the scheduler's clock, of the threads that there are now"),
	[S_WAIT] = KS_NSEC("wait_nsec", "time of waiting for a CPU, of the threads that there are now"),
	[S_SLICES] = KS_COUNT("slices", KSTAT_DATA_UINT64, "times that the threads that there are now got a CPU"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_sched_fields);

static bool
add_schedstat(struct ks_linux *lx, struct ks_text text, uint64_t *sums)
{
	uint64_t v[S_COUNT];

	(void)lx;
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
		err = ks_process_file(lx, p->pid, p->tid, "schedstat");
		known = err == 0 && add_schedstat(lx, ks_image_text(&lx->scratch), sums);
	}
	if (err != 0)
		return ks_process_gone(unit, err);
	for (size_t i = 0; known && i < S_COUNT; i++)
		ks_have(&vals, i, continue_sum(p, P_SUM_RUN + i, sums[i]));
	ks_fields_add(r, ks_process_sched_fields, &vals);
	return 0;
}
