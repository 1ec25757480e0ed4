/*
 * unix.c - the kstats of module unix: system_misc, sysinfo, var, kstat_types, sys; those about
 * memory are in memory.c. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "kstat_raw.h"
#include "model/raw_layout.h"
#include "source/linux/cpu/cpus.h"
#include "source/linux/described.h"
#include "source/linux/listing.h"
#include "source/linux/memory/memory.h"
#include "source/linux/system/uptime.h"

static const struct ks_file threads_max_file = { KS_ROOT_PROC, "sys/kernel/threads-max", KS_MADE_ANYHOW,
	false };

struct queue_sums {
	uint64_t up, runocc;      /* ticks */
	uint64_t runque, waiting; /* processes times ticks */
};

struct state {
	struct ks_memory_state memory;
	struct queue_sums sysinfo;
};

#define TICKS_PER_SECOND 100
#define INIT_PID_NS 0xeffffffcu /* inode of the first PID namespace, fixed in the kernel */
#define FSCALE 256 /* load averages are stored times this */

/* --- kstat_types ---------------------------------------------------------------- */

static const struct ks_field types_fields[] = {
	KS_GAUGE("raw", KSTAT_DATA_UINT32, "number of the type of raw data"),
	KS_GAUGE("name=value", KSTAT_DATA_UINT32, "number of the type of named values"),
	KS_GAUGE("interrupt", KSTAT_DATA_UINT32, "number of the type of interrupt counters"),
	KS_GAUGE("i/o", KSTAT_DATA_UINT32, "number of the type of I/O statistics"),
	KS_GAUGE("event_timer", KSTAT_DATA_UINT32, "number of the type of event timers"),
	KS_FIELD_END
};

static int
read_types(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 };

	(void)lx;
	(void)unit;
	for (size_t i = 0; i < KSTAT_NUM_TYPES; i++)
		ks_have(&vals, i, i);
	ks_fields_add(r, types_fields, &vals);
	return 0;
}

/* --- system_misc ------------------------------------------------------------------ */

enum { MISC_NCPUS, MISC_LBOLT, MISC_DEFICIT, MISC_CLK_INTR, MISC_NPROC, MISC_LOAD1, MISC_LOAD5, MISC_LOAD15, MISC_BOOT,
	MISC_NSEC_PER_TICK };

static const struct ks_field misc_fields[] = {
	[MISC_NCPUS] = KS_GAUGE("ncpus", KSTAT_DATA_UINT32, "CPUs online"),
	[MISC_LBOLT] = KS_FRACT("lbolt", KS_KIND_COUNTER, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT32,
	    TICKS_PER_SECOND, "ticks", "time since boot"),
	[MISC_DEFICIT] = KS_UNITS("deficit", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32, "pages",
	    "free memory that reclaim still has to find, 0 unless it is below desfree"),
	[MISC_CLK_INTR] = KS_FRACT("clk_intr", KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32,
	    TICKS_PER_SECOND, "ticks", "ticks of the clock since boot, the same as lbolt"),
	[MISC_NPROC] = KS_GAUGE("nproc", KSTAT_DATA_UINT32, "processes that exist"),
	[MISC_LOAD1] = KS_FRACT("avenrun_1min", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32,
	    FSCALE, "1/256", "load average of the last minute"),
	[MISC_LOAD5] = KS_FRACT("avenrun_5min", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32,
	    FSCALE, "1/256", "load average of the last 5 minutes"),
	[MISC_LOAD15] = KS_FRACT("avenrun_15min", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32,
	    FSCALE, "1/256", "load average of the last 15 minutes"),
	[MISC_BOOT] = KS_UNITS("boot_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_EPOCH, KSTAT_DATA_UINT32, "s",
	    "time of boot, seconds since 1970"),
	[MISC_NSEC_PER_TICK] = KS_FRACT("nsec_per_tick", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL,
	    KSTAT_DATA_UINT32, 1000000000, "ns", "length of a tick of lbolt and of CPU times"),
	KS_FIELD_END
};

struct entry { /* as getdents64 gives it */
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/*
 * Counts directories below /proc: numeric names (processes), or the others. The kernel lists the
 * others first, and stop_early makes use of that. -1 if /proc cannot be read.
 */
static int
count_proc(const struct ks_linux *lx, bool processes, bool stop_early)
{
	_Alignas(8) char buf[8192];
	int fd = ks_open_at(lx->root[KS_ROOT_PROC].fd, ".", O_RDONLY | O_DIRECTORY);
	int count = 0;
	bool stop = false;
	long n = 0;

	if (fd < 0) {
		ks_note_fault(&lx->root[KS_ROOT_PROC], errno);
		return -1;
	}
	while (!stop && (n = syscall(SYS_getdents64, fd, buf, stop_early ? 2048 : sizeof(buf))) > 0) {
		const struct entry *e;

		for (long at = 0; at < n && !stop; at += e->reclen) {
			e = (const struct entry *)(buf + at);
			if (isdigit((unsigned char)e->name[0])) {
				count += processes;
				stop = stop_early;
			} else if (!processes && e->type == DT_DIR && e->name[0] != '.') {
				count++;
			}
		}
	}
	if (n < 0)
		ks_note_fault(&lx->root[KS_ROOT_PROC], errno);
	(void)close(fd);
	return n < 0 ? -1 : count;
}

/* The link count of /proc is 2, plus its fixed directories, plus these: one call in place of a walk over all. */
int64_t
ks_linux_all_processes(const struct ks_linux *lx)
{
	int fixed = lx->root[KS_ROOT_PROC].kernel ? count_proc(lx, false, true) : -1;
	struct stat st;

	if (fixed < 0)
		return -1;
	if (fstat(lx->root[KS_ROOT_PROC].fd, &st) != 0) {
		ks_note_fault(&lx->root[KS_ROOT_PROC], errno);
		return -1;
	}
	return (int64_t)st.st_nlink <= fixed + 2 ? -1 : (int64_t)st.st_nlink - fixed - 2;
}

size_t
ks_linux_own_pids(const struct ks_linux *lx, uint64_t v[2])
{
	char text[4096];
	struct ks_text pids;
	ssize_t n = ks_file_read(&lx->root[KS_ROOT_PROC], "self/status", text, sizeof(text));

	return n > 0 && ks_columns_line(ks_text_of(text, (size_t)n), ks_text_of("NSpid:", 6), &pids) ?
	    (size_t)ks_text_numbers(&pids, v, 2) : 0;
}

int
ks_linux_has_own_pids(const struct ks_linux *lx)
{
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	uint64_t v[2];
	struct stat st;

	if (!proc->kernel || fstatat(proc->fd, "self/ns/pid", &st, 0) != 0)
		return -1;
	/* The host's /proc, mounted in a container, has the PIDs of both. */
	return st.st_ino != INIT_PID_NS && ks_linux_own_pids(lx, v) < 2;
}

static int
read_misc(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = ks_linux_try(lx, &ks_loadavg_file);
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;
	struct ks_values vals = { .have = 0 };
	uint64_t v;
	uint32_t online = 0;
	/* In a container we show its own. */
	int64_t nproc = ks_linux_has_own_pids(lx) == 0 ? ks_linux_all_processes(lx) : count_proc(lx, true, false);

	(void)unit;
	for (uint32_t i = 0; i < cpus->n; i++)
		online += cpus->v[i].alive && (cpus->v[i].parts & (cpus->v[i].parts - 1)) != 0;
	if (online > 0)
		ks_have(&vals, MISC_NCPUS, online);
	if (ks_linux_uptime(lx, &v)) {
		ks_have(&vals, MISC_LBOLT, v);
		ks_have(&vals, MISC_CLK_INTR, v);
	}
	if (ks_memory_deficit(lx, &v))
		ks_have(&vals, MISC_DEFICIT, v);
	if (nproc > 0) /* a recorded tree may have none */
		ks_have(&vals, MISC_NPROC, (uint64_t)nproc);
	if (im != NULL) {
		struct ks_text t = ks_text_of(im->data, im->len);

		for (size_t i = MISC_LOAD1; i <= MISC_LOAD15 && ks_text_fixed(&t, 2, &v); i++)
			ks_have(&vals, i, (v * FSCALE + 50) / 100);
		if ((vals.have >> MISC_LOAD15 & 1) == 0)
			ks_linux_odd_line(lx, im, &t);
	}
	if (ks_linux_boot_time(lx, &v))
		ks_have(&vals, MISC_BOOT, v);
	ks_have(&vals, MISC_NSEC_PER_TICK, 1000000000 / TICKS_PER_SECOND);
	ks_fields_add(r, misc_fields, &vals);
	return 0;
}

/* --- sysinfo ------------------------------------------------------------------------ */

/* How long all processes together waited for a CPU, in ns; false if this kernel has no such sum. */
static bool
waited_ns(struct ks_linux *lx, uint64_t *ns)
{
	const struct ks_image *im = ks_linux_try(lx, &ks_schedstat_file);
	struct ks_text all, line, word;
	uint64_t v[9];
	bool any = false;

	if (im == NULL)
		return false;
	all = ks_text_of(im->data, im->len);
	*ns = 0;
	while (ks_text_line(&all, &line)) {
		if (ks_text_starts(&line, "cpu") && ks_text_word(&line, &word) &&
		    ks_text_numbers(&line, v, 9) == 9) {
			*ns += v[7];
			any = true;
		}
	}
	return any;
}

/*
 * Solaris adds the lengths of its queues up once a second. Where Linux does not, a program in C gets what its own
 * readings saw: the queues at a reading count for the time since the reading before, those of the first one for all
 * time before. Two programs differ by that first reading, so nobody else gets these sums.
 */
static void
put_sampled(struct ks_linux *lx, struct ks_record *r, const struct ks_raw_layout *l, uint64_t up)
{
	struct queue_sums *q = &((struct state *)lx->sub[KS_SUB_unix].state)->sysinfo;
	const struct ks_stat *st = ks_linux_stat(lx);
	uint32_t cpus = ks_cpu_state_of(lx)->online;
	uint64_t passed = up > q->up ? up - q->up : 0, queued = 0;

	if (st != NULL && (st->have & 1u << KS_STAT_RUNNING) != 0 && st->v[KS_STAT_RUNNING] > cpus)
		queued = st->v[KS_STAT_RUNNING] - cpus;
	q->up += passed;
	q->runque += queued * passed;
	q->runocc += queued > 0 ? passed : 0;
	if (st != NULL && (st->have & 1u << KS_STAT_BLOCKED) != 0)
		q->waiting += st->v[KS_STAT_BLOCKED] * passed;
	ks_raw_put_u64(r, l, "runque", q->runque / 100);
	ks_raw_put_u64(r, l, "runocc", q->runocc / 100);
	ks_raw_put_u64(r, l, "waiting", q->waiting / 100);
}

/* What the kernel adds up itself is the same for all readers, and never falls. */
static int
read_sysinfo(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_raw_layout *l = ks_raw_layout_find("unix", "sysinfo");
	uint64_t up = 0, v;

	(void)unit;
	if (!ks_raw_start(r, l, !lx->for_program))
		return 0;
	if (ks_linux_uptime(lx, &up))
		ks_raw_put_u64(r, l, "updates", up / 100);
	if (lx->for_program)
		put_sampled(lx, r, l, up);
	if (waited_ns(lx, &v))
		ks_raw_put_u64(r, l, "runque", v / KS_NANOSEC);
	if (ks_pressure_cpu_us(lx, &v))
		ks_raw_put_u64(r, l, "runocc", v / 1000000);
	return 0;
}

/* --- var ---------------------------------------------------------------------------- */

static void
put_limit(struct ks_record *r, const struct ks_raw_layout *l, const char *name, uint64_t v)
{
	ks_raw_put_u64(r, l, name, v > INT32_MAX ? INT32_MAX : v);
}

static int
read_var(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_raw_layout *l = ks_raw_layout_find("unix", "var");
	uint64_t v;

	(void)unit;
	if (!ks_raw_start(r, l, !lx->for_program))
		return 0;
	if (ks_linux_number(lx, KS_ROOT_PROC, threads_max_file.path, &v)) {
		put_limit(r, l, "v_proc", v);
		/* The kernel gives a user half of what there is, unless setrlimit says otherwise. */
		put_limit(r, l, "v_maxup", v / 2);
		put_limit(r, l, "v_maxupttl", v / 2);
	}
	if (ks_linux_number(lx, KS_ROOT_PROC, "sys/vm/dirty_expire_centisecs", &v))
		put_limit(r, l, "v_autoup", v / 100);
	ks_raw_put_u64(r, l, "v_nglobpris", 140);
	ks_raw_put_u64(r, l, "v_maxsyspri", 99);
	return 0;
}

/* --- sys: the machine as a whole, with the names of cpu:N:sys ------------------------- */

/* The times come first, in the order of KS_TIME_*. */
enum { ALL_PSWITCH = KS_TIME_COUNT, ALL_INTR, ALL_SYSFORK, ALL_RUNNING, ALL_BLOCKED, ALL_COUNT };

static const struct ks_field all_fields[] = {
	[KS_TIME_IDLE] = KS_NSEC("cpu_nsec_idle", "time of all CPUs idle, nothing waiting for I/O"),
	[KS_TIME_USER] = KS_NSEC("cpu_nsec_user", "time of all CPUs in user mode, niced and guests included"),
	[KS_TIME_KERNEL] = KS_NSEC("cpu_nsec_kernel", "time of all CPUs in the kernel, interrupts included"),
	[KS_TIME_WAIT] = KS_NSEC("cpu_nsec_wait", "time of all CPUs idle with I/O outstanding"),
	[KS_TIME_INTR] = KS_NSEC("cpu_nsec_intr", "time of all CPUs in interrupts, part of cpu_nsec_kernel"),
	[KS_TIME_STOLEN] = KS_NSEC("cpu_nsec_stolen", "time of all CPUs the hypervisor gave to others"),
	[ALL_PSWITCH] = KS_COUNT("pswitch", KSTAT_DATA_UINT64, "context switches on all CPUs"),
	[ALL_INTR] = KS_COUNT("intr", KSTAT_DATA_UINT64, "interrupts on all CPUs"),
	[ALL_SYSFORK] = KS_COUNT("sysfork", KSTAT_DATA_UINT64, "processes and threads created"),
	[ALL_RUNNING] = KS_GAUGE("procs_running", KSTAT_DATA_UINT64, "threads running or ready to run"),
	[ALL_BLOCKED] = KS_GAUGE("procs_blocked", KSTAT_DATA_UINT64, "threads waiting for disk I/O"),
	KS_FIELD_END
};

static int
read_all(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const uint8_t from[ALL_COUNT] = { [ALL_PSWITCH] = KS_STAT_CTXT, [ALL_INTR] = KS_STAT_INTR,
		[ALL_SYSFORK] = KS_STAT_PROCESSES, [ALL_RUNNING] = KS_STAT_RUNNING,
		[ALL_BLOCKED] = KS_STAT_BLOCKED };
	const struct ks_stat *st = ks_linux_stat_with_times(lx);
	struct ks_values vals;

	(void)unit;
	if (st == NULL)
		return -1;
	vals.have = 0;
	for (size_t i = 0; i < KS_TIME_COUNT; i++) {
		if ((st->have_time >> i & 1) != 0)
			ks_have(&vals, i, st->time[i]);
	}
	for (size_t i = ALL_PSWITCH; i < ALL_COUNT; i++) {
		if ((st->have >> from[i] & 1) != 0)
			ks_have(&vals, i, st->v[from[i]]);
	}
	ks_fields_add(r, all_fields, &vals);
	return 0;
}

/* --- the subsystem -------------------------------------------------------------------- */

#define NAMED(name, class, ...) KS_NAMED_PART("unix", name, class, __VA_ARGS__)
#define RAW(name, class, size, ...) KS_RAW_PART("unix", name, class, size, __VA_ARGS__)

static const struct ks_part parts[] = {
	NAMED("kstat_types", "kstat", .fields = KS_TABLE(types_fields), .read = read_types,
	    .from = "the types of kstats"),
	RAW("sysinfo", "misc", 24, .read = read_sysinfo, KS_NAMES("updates", "runque", "runocc"),
	    .needs = &ks_linux_cpu, .file = &ks_stat_file,
	    .from = "/proc/uptime, /proc/schedstat, /proc/pressure/cpu"),
	RAW("var", "misc", 60, .read = read_var,
	    KS_NAMES("v_proc", "v_maxupttl", "v_nglobpris", "v_maxsyspri", "v_maxup", "v_autoup"),
	    .file = &threads_max_file,
	    .from = "/proc/sys/kernel/threads-max, /proc/sys/vm"),
	NAMED("system_misc", "misc", .fields = KS_TABLE(misc_fields), .read = read_misc, .needs = &ks_linux_cpu,
	    .from = "/proc/loadavg, /proc/uptime, the link count of /proc"),
	NAMED("system_pages", "pages", .fields = ks_system_pages_fields, .read = ks_system_pages_read,
	    .file = &ks_meminfo_file, .from = "/proc/meminfo, /proc/zoneinfo"),
	NAMED("vm_events", "vm", .add = ks_lines_add, .meta = ks_vm_events_meta, .file = &ks_vmstat_file,
	    .known = ks_vm_events_known, .since = "; allocstall_* 4.8; balloon_* 3.18; drop_* 3.15; numa_hint_faults* 3.8; "
	    "nr_sec_page_table_pages 6.1; nr_unaccepted 6.5; oom_kill 4.13; pgdemote_direct 5.15; "
	    "pgdemote_kswapd 5.15; thp_swpout* 4.14; pgscan_direct_throttle 3.6; thp_split_page 4.5; workingset_*_anon 5.9; "
	    "workingset_*_file 5.9; workingset_* 3.15"),
	NAMED("meminfo", "vm", .fields = ks_meminfo_fields, .add = ks_lines_add, .meta = ks_meminfo_meta,
	    .file = &ks_meminfo_file, .since = "; MemAvailable 3.14; ShmemHugePages 4.8; ShmemPmdMapped 4.8; "
	    "KReclaimable 4.20; Zswap* 5.19; SecPageTables 6.1"),
};

KS_SUBSYSTEM(unix, parts, .state_size = sizeof(struct state));

/* These follow the CPUs: programs that look for any "sys" or "vm" must find a CPU's. */
static const struct ks_part total_parts[] = {
	NAMED("sys", "misc", .fields = KS_TABLE(all_fields), .read = read_all, .file = &ks_stat_file,
	    .from = "/proc/stat"),
	NAMED("vm", "misc", .fields = ks_unix_vm_fields, .read = ks_unix_vm_read, .file = &ks_vmstat_file),
};

KS_SUBSYSTEM(total, total_parts);

/* --- what Linux does not count ------------------------------------------------------------------ */

/*
 * Kstats of Solaris about other things. Programs in C end without them, so they find them with the value 0, and vminfo
 * with sums of their own readings; nobody else sees them.
 */

/* All statistics are hidden ones of the kstat's shape. */
static int
read_nothing(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)lx;
	(void)unit;
	(void)r;
	return 0;
}

static int
read_zeros(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)unit;
	(void)ks_record_add(r, lx->part->size);
	return 0;
}

static const struct ks_field no_fields[] = { KS_FIELD_END };

static const struct ks_part solaris_parts[] = {
	KS_NAMED_PART("unix", "dnlcstats", "misc", .fields = no_fields, .read = read_nothing),
	KS_NAMED_PART("unix", "biostats", "misc", .fields = no_fields, .read = read_nothing),
	KS_RAW_PART("unix", "vminfo", "vm", sizeof(vminfo_t), .read = ks_vminfo_read, .file = &ks_meminfo_file,
	    .needs = &ks_linux_unix),
	KS_RAW_PART("unix", "ncstats", "misc", sizeof(struct ncstats), .read = read_zeros),
};

KS_SUBSYSTEM(solaris, solaris_parts, .for_program = true);
