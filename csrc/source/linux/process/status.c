/*
 * status.c - the statistics of processes in /proc/PID/status, smaps_rollup and schedstat, and sums of what the kernel
 * keeps for each thread alone. SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"
#include "source/linux/process/processes.h"

uint64_t
ks_process_continue_sum(struct ks_process *p, size_t which, uint64_t now)
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

/* A sum over the threads of a process that is under way. */
struct thread_sums {
	struct ks_linux *lx;
	pid_t pid;
	const char *file;
	ks_process_parse_thread *parse;
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

int
ks_process_sum_threads(struct ks_linux *lx, const struct ks_process *p, const char *file, ks_process_parse_thread *parse,
    uint64_t *sums)
{
	struct thread_sums t = { lx, p->pid, file, parse, sums };

	return ks_process_each_of(lx, p->pid, "task", 1, add_thread, &t);
}

bool
ks_process_has_threads(const struct ks_process *p)
{
	return p->tid == 0 && (p->have >> P_NLWP & 1) != 0 && p->small[P_NLWP] > 1;
}

/* --- status ------------------------------------------------------------------------------- */

enum { T_UID, T_EUID, T_SUID, T_GID, T_EGID, T_SGID, T_FDSIZE, T_SIZE_MAX, T_RSSIZE_MAX, T_RSS_ANON,
	T_RSS_FILE, T_RSS_SHMEM, T_LOCKED, T_PINNED, T_DATA, T_STKSIZE, T_TEXT, T_LIB, T_PAGE_TABLES, T_SWAP,
	T_HUGETLB, T_VCTX, T_ICTX };

#define ID(stat, desc) KS_ID(stat, KSTAT_DATA_UINT32, desc)

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
	[T_SIZE_MAX] = KS_AMOUNT_K("size_max", "VmPeak", "largest size of the address space so far"),
	[T_RSSIZE_MAX] = KS_AMOUNT_K("rssize_max", "VmHWM", "most memory in use so far"),
	[T_RSS_ANON] = KS_AMOUNT_K("rss_anon", "RssAnon", "memory in use that no file backs"),
	[T_RSS_FILE] = KS_AMOUNT_K("rss_file", "RssFile", "memory in use that maps files"),
	[T_RSS_SHMEM] = KS_AMOUNT_K("rss_shmem", "RssShmem", "shared memory in use, tmpfs included"),
	[T_LOCKED] = KS_AMOUNT_K("locked", "VmLck", "memory locked by the program"),
	[T_PINNED] = KS_AMOUNT_K("pinned", "VmPin", "memory that drivers hold in place"),
	[T_DATA] = KS_AMOUNT_K("data", "VmData", "size of private writable memory, the stack left out"),
	[T_STKSIZE] = KS_AMOUNT_K("stksize", "VmStk", "size of the main thread's stack"),
	[T_TEXT] = KS_AMOUNT_K("text", "VmExe", "size of the program's code"),
	[T_LIB] = KS_AMOUNT_K("lib", "VmLib", "size of the libraries' code"),
	[T_PAGE_TABLES] = KS_AMOUNT_K("page_tables", "VmPTE", "memory of its page tables"),
	[T_SWAP] = KS_AMOUNT_K("swap", "VmSwap", "anonymous memory swapped out"),
	[T_HUGETLB] = KS_AMOUNT_K("hugetlb", "HugetlbPages", "huge pages in use"),
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
		if (ks_process_has_threads(p)) {
			sums[0] = sums[1] = 0;
			err = ks_process_sum_threads(lx, p, "status", add_switches, sums);
		}
		if (err != 0)
			return ks_process_gone(unit, err);
		ks_have(&vals, T_VCTX, ks_process_continue_sum(p, P_SUM_VCTX, sums[0]));
		ks_have(&vals, T_ICTX, ks_process_continue_sum(p, P_SUM_ICTX, sums[1]));
	}
	ks_fields_add(r, ks_process_status_fields, &vals);
	return 0;
}

/* --- smaps_rollup: the kernel goes over all pages for it ----------------------------------- */

const struct ks_field ks_process_memory_fields[] = {
	KS_AMOUNT_K("pss", "Pss", "memory in use, with its share alone of what other processes use, too"),
	KS_AMOUNT_K("pss_anon", "Pss_Anon", "part of pss that no file backs"),
	KS_AMOUNT_K("pss_file", "Pss_File", "part of pss that maps files"),
	KS_AMOUNT_K("pss_shmem", "Pss_Shmem", "part of pss that is shared memory, tmpfs included"),
	KS_AMOUNT_K("private_clean", "Private_Clean", "memory that no other process uses, as the file behind it has it"),
	KS_AMOUNT_K("private_dirty", "Private_Dirty", "memory that no other process uses, and that was written to"),
	KS_AMOUNT_K("swap_pss", "SwapPss", "memory swapped out, with its share alone of what other processes use, too"),
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

	if (ks_process_has_threads(p)) {
		err = ks_process_sum_threads(lx, p, "schedstat", add_schedstat, sums);
	} else {
		err = ks_process_file(lx, p->pid, p->tid, "schedstat");
		known = err == 0 && add_schedstat(lx, ks_image_text(&lx->scratch), sums);
	}
	if (err != 0)
		return ks_process_gone(unit, err);
	for (size_t i = 0; known && i < S_COUNT; i++)
		ks_have(&vals, i, ks_process_continue_sum(p, P_SUM_RUN + i, sums[i]));
	ks_fields_add(r, ks_process_sched_fields, &vals);
	return 0;
}
