/*
 * cgroup_read.c - the statistics of cgroup:ID:NAME: CPU time, memory, I/O, processes and pressure of one group. The
 * table of sources gives the files of both versions; a statistic comes from the first file that has it.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/group/groups.h"

#define FILE_SIZE 16384 /* io.stat has about 100 bytes for a disk */
#define TICK 10000000   /* ns; the unit of times that version 1 shows, on each machine */

enum { C_PATH, C_CPU, C_USER, C_SYSTEM, C_NICE, C_PERIODS, C_THROTTLED, C_THROTTLED_TIME, C_BURSTS, C_BURST_TIME,
	C_QUOTA, C_PERIOD, C_CPU_WAIT, C_CPU_STALL, C_CPU_WAIT10,
	C_MEMORY, C_MEMORY_PEAK, C_MEMORY_MAX, C_MEMORY_HIGH, C_SWAP, C_SWAP_MAX, C_LOW_EVENTS, C_HIGH_EVENTS,
	C_MAX_EVENTS, C_OOMS, C_OOM_KILLS, C_OOM_GROUP_KILLS, C_MEMORY_WAIT, C_MEMORY_STALL, C_MEMORY_WAIT10,
	C_MEMORY_STALL10, C_NREAD, C_NWRITTEN, C_READS, C_WRITES, C_IO_WAIT, C_IO_STALL, C_IO_WAIT10, C_IO_STALL10,
	C_IRQ_STALL, C_PIDS, C_PIDS_MAX, C_PIDS_EVENTS, C_CONTAINER };

#define AVERAGE(stat, desc) \
	KS_FRACT(stat, KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, 100, "1/100 %", desc)
#define EVENTS(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)

const struct ks_field ks_group_fields[] = {
	[C_PATH] = KS_TEXT("path", KSTAT_DATA_STRING, "place in the tree of groups"),
	[C_CPU] = KS_NSEC("cpu_nsec", "CPU time used"),
	[C_USER] = KS_NSEC("cpu_nsec_user", "CPU time used in user mode"),
	[C_SYSTEM] = KS_NSEC("cpu_nsec_system", "CPU time used in the kernel"),
	[C_NICE] = KS_NSEC("cpu_nsec_nice", "CPU time used by niced processes in user mode"),
	[C_PERIODS] = EVENTS("cpu_periods", "periods in which the CPU limit held"),
	[C_THROTTLED] = EVENTS("cpu_throttled", "periods that used up the CPU limit"),
	[C_THROTTLED_TIME] = KS_NSEC("cpu_nsec_throttled", "time stopped by the CPU limit"),
	[C_BURSTS] = EVENTS("cpu_bursts", "periods that used CPU time saved in earlier periods"),
	[C_BURST_TIME] = KS_NSEC("cpu_nsec_burst", "CPU time used beyond the limit of a period, from earlier ones"),
	[C_QUOTA] = KS_FRACT("cpu_nsec_max", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT64, 1000000000, "ns",
	    "limit of CPU time in each period"),
	[C_PERIOD] = KS_FRACT("cpu_nsec_period", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT64, 1000000000, "ns",
	    "length of a period of the CPU limit"),
	[C_CPU_WAIT] = KS_NSEC("cpu_nsec_waiting", "time in which some process waited for a CPU"),
	[C_CPU_STALL] = KS_NSEC("cpu_nsec_stalled", "time in which all processes waited for a CPU"),
	[C_CPU_WAIT10] = AVERAGE("cpu_waiting_avg10", "share of the last 10 s in which some process waited for a CPU"),
	[C_MEMORY] = KS_AMOUNT("memory", "memory in use"),
	[C_MEMORY_PEAK] = KS_AMOUNT("memory_peak", "most memory ever in use"),
	[C_MEMORY_MAX] = KS_AMOUNT("memory_max", "limit of memory"),
	[C_MEMORY_HIGH] = KS_AMOUNT("memory_high", "memory in use above which the group is slowed down"),
	[C_SWAP] = KS_AMOUNT("swap", "swap space in use"),
	[C_SWAP_MAX] = KS_AMOUNT("swap_max", "limit of swap space"),
	[C_LOW_EVENTS] = EVENTS("memory_low_events", "times that memory was reclaimed below the protected amount"),
	[C_HIGH_EVENTS] = EVENTS("memory_high_events", "times that processes were slowed down above memory_high"),
	[C_MAX_EVENTS] = EVENTS("memory_max_events", "times that memory was about to exceed its limit"),
	[C_OOMS] = EVENTS("ooms", "times that an allocation was about to fail at the limit of memory"),
	[C_OOM_KILLS] = EVENTS("oom_kills", "processes killed for want of memory"),
	[C_OOM_GROUP_KILLS] = EVENTS("oom_group_kills", "times that the whole group was killed for want of memory"),
	[C_MEMORY_WAIT] = KS_NSEC("memory_nsec_waiting", "time in which some process waited for memory"),
	[C_MEMORY_STALL] = KS_NSEC("memory_nsec_stalled", "time in which all processes waited for memory"),
	[C_MEMORY_WAIT10] = AVERAGE("memory_waiting_avg10",
	    "share of the last 10 s in which some process waited for memory"),
	[C_MEMORY_STALL10] = AVERAGE("memory_stalled_avg10",
	    "share of the last 10 s in which all processes waited for memory"),
	[C_NREAD] = KS_BYTES("nread", "bytes read from disks"),
	[C_NWRITTEN] = KS_BYTES("nwritten", "bytes written to disks"),
	[C_READS] = EVENTS("reads", "reads from disks"),
	[C_WRITES] = EVENTS("writes", "writes to disks"),
	[C_IO_WAIT] = KS_NSEC("io_nsec_waiting", "time in which some process waited for I/O"),
	[C_IO_STALL] = KS_NSEC("io_nsec_stalled", "time in which all processes waited for I/O"),
	[C_IO_WAIT10] = AVERAGE("io_waiting_avg10", "share of the last 10 s in which some process waited for I/O"),
	[C_IO_STALL10] = AVERAGE("io_stalled_avg10", "share of the last 10 s in which all processes waited for I/O"),
	[C_IRQ_STALL] = KS_NSEC("irq_nsec_stalled", "time in which interrupts took the CPU of all processes"),
	[C_PIDS] = KS_GAUGE("pids", KSTAT_DATA_UINT64, "processes and threads"),
	[C_PIDS_MAX] = KS_GAUGE("pids_max", KSTAT_DATA_UINT64, "limit of processes and threads"),
	[C_PIDS_EVENTS] = EVENTS("pids_max_events", "times that a process was not created because of the limit"),
	[C_CONTAINER] = KS_TEXT("container", KSTAT_DATA_STRING,
	    "identifier of the container that this group, or one above it, belongs to"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_group_fields);

/*
 * A number is the one behind `mark` in a line that begins with `line`; those of several lines are added. A limit that
 * is not set is a word in place of a number. Rows of one file are next to each other. A file is not opened if the
 * statistic `if_has` has no value, because the group is without that controller then. For who needs only some of
 * the statistics, and where version 2 is alone, that is limit_of[field]: what a limit does is of no use without one.
 */
struct source {
	uint8_t in;
	const char *file, *line, *mark;
	uint8_t field, if_has;
	uint32_t times; /* 0: a percentage with two decimals */
};

static const uint8_t limit_of[KS_VALUES_MAX] = { [C_CPU] = C_QUOTA, [C_PERIODS] = C_QUOTA, [C_THROTTLED] = C_QUOTA,
	[C_MEMORY] = C_MEMORY_MAX, [C_MEMORY_WAIT] = C_MEMORY_MAX, [C_MEMORY_STALL] = C_MEMORY_MAX, [C_PIDS] = C_PIDS_MAX,
	[C_PIDS_EVENTS] = C_PIDS_MAX };

static const struct source sources[] = {
	{ KS_IN_V2, "cpu.max", "", "", C_QUOTA, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.max", "", " ", C_PERIOD, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "usage_usec ", "", C_CPU, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "user_usec ", "", C_USER, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "system_usec ", "", C_SYSTEM, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "nice_usec ", "", C_NICE, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "nr_periods ", "", C_PERIODS, C_PATH, 1 },
	{ KS_IN_V2, "cpu.stat", "nr_throttled ", "", C_THROTTLED, C_PATH, 1 },
	{ KS_IN_V2, "cpu.stat", "throttled_usec ", "", C_THROTTLED_TIME, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.stat", "nr_bursts ", "", C_BURSTS, C_PATH, 1 },
	{ KS_IN_V2, "cpu.stat", "burst_usec ", "", C_BURST_TIME, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.pressure", "some ", "total=", C_CPU_WAIT, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.pressure", "full ", "total=", C_CPU_STALL, C_PATH, 1000 },
	{ KS_IN_V2, "cpu.pressure", "some ", "avg10=", C_CPU_WAIT10, C_PATH, 0 },
	{ KS_IN_V2, "memory.max", "", "", C_MEMORY_MAX, C_PATH, 1 },
	{ KS_IN_V2, "memory.current", "", "", C_MEMORY, C_PATH, 1 },
	{ KS_IN_V2, "memory.peak", "", "", C_MEMORY_PEAK, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.high", "", "", C_MEMORY_HIGH, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.swap.current", "", "", C_SWAP, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.swap.max", "", "", C_SWAP_MAX, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "low ", "", C_LOW_EVENTS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "high ", "", C_HIGH_EVENTS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "max ", "", C_MAX_EVENTS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "oom ", "", C_OOMS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "oom_kill ", "", C_OOM_KILLS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.events", "oom_group_kill ", "", C_OOM_GROUP_KILLS, C_MEMORY, 1 },
	{ KS_IN_V2, "memory.pressure", "some ", "total=", C_MEMORY_WAIT, C_PATH, 1000 },
	{ KS_IN_V2, "memory.pressure", "full ", "total=", C_MEMORY_STALL, C_PATH, 1000 },
	{ KS_IN_V2, "memory.pressure", "some ", "avg10=", C_MEMORY_WAIT10, C_PATH, 0 },
	{ KS_IN_V2, "memory.pressure", "full ", "avg10=", C_MEMORY_STALL10, C_PATH, 0 },
	{ KS_IN_V2, "io.stat", "", "rbytes=", C_NREAD, C_PATH, 1 },
	{ KS_IN_V2, "io.stat", "", "wbytes=", C_NWRITTEN, C_PATH, 1 },
	{ KS_IN_V2, "io.stat", "", "rios=", C_READS, C_PATH, 1 },
	{ KS_IN_V2, "io.stat", "", "wios=", C_WRITES, C_PATH, 1 },
	{ KS_IN_V2, "io.pressure", "some ", "total=", C_IO_WAIT, C_PATH, 1000 },
	{ KS_IN_V2, "io.pressure", "full ", "total=", C_IO_STALL, C_PATH, 1000 },
	{ KS_IN_V2, "io.pressure", "some ", "avg10=", C_IO_WAIT10, C_PATH, 0 },
	{ KS_IN_V2, "io.pressure", "full ", "avg10=", C_IO_STALL10, C_PATH, 0 },
	{ KS_IN_V2, "irq.pressure", "full ", "total=", C_IRQ_STALL, C_PATH, 1000 },
	{ KS_IN_V2, "pids.max", "", "", C_PIDS_MAX, C_PATH, 1 },
	{ KS_IN_V2, "pids.current", "", "", C_PIDS, C_PATH, 1 },
	{ KS_IN_V2, "pids.events", "max ", "", C_PIDS_EVENTS, C_PIDS, 1 },
	{ KS_IN_MEMORY, "memory.usage_in_bytes", "", "", C_MEMORY, C_PATH, 1 },
	{ KS_IN_MEMORY, "memory.max_usage_in_bytes", "", "", C_MEMORY_PEAK, C_MEMORY, 1 },
	{ KS_IN_MEMORY, "memory.limit_in_bytes", "", "", C_MEMORY_MAX, C_MEMORY, 1 },
	{ KS_IN_MEMORY, "memory.stat", "total_swap ", "", C_SWAP, C_MEMORY, 1 },
	{ KS_IN_MEMORY, "memory.failcnt", "", "", C_MAX_EVENTS, C_MEMORY, 1 },
	{ KS_IN_MEMORY, "memory.oom_control", "oom_kill ", "", C_OOM_KILLS, C_MEMORY, 1 },
	{ KS_IN_CPU, "cpu.stat", "nr_periods ", "", C_PERIODS, C_PATH, 1 },
	{ KS_IN_CPU, "cpu.stat", "nr_throttled ", "", C_THROTTLED, C_PATH, 1 },
	{ KS_IN_CPU, "cpu.stat", "throttled_time ", "", C_THROTTLED_TIME, C_PATH, 1 },
	{ KS_IN_CPU, "cpu.stat", "nr_bursts ", "", C_BURSTS, C_PATH, 1 },
	{ KS_IN_CPU, "cpu.stat", "burst_time ", "", C_BURST_TIME, C_PATH, 1 },
	{ KS_IN_CPU, "cpu.cfs_quota_us", "", "", C_QUOTA, C_PERIODS, 1000 },
	{ KS_IN_CPU, "cpu.cfs_period_us", "", "", C_PERIOD, C_PERIODS, 1000 },
	{ KS_IN_CPUACCT, "cpuacct.usage", "", "", C_CPU, C_PATH, 1 },
	{ KS_IN_CPUACCT, "cpuacct.stat", "user ", "", C_USER, C_PATH, TICK },
	{ KS_IN_CPUACCT, "cpuacct.stat", "system ", "", C_SYSTEM, C_PATH, TICK },
	{ KS_IN_PIDS, "pids.current", "", "", C_PIDS, C_PATH, 1 },
	{ KS_IN_PIDS, "pids.max", "", "", C_PIDS_MAX, C_PIDS, 1 },
	{ KS_IN_PIDS, "pids.events", "max ", "", C_PIDS_EVENTS, C_PIDS, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes_recursive", "", " Read ", C_NREAD, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes_recursive", "", " Write ", C_NWRITTEN, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes", "", " Read ", C_NREAD, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes", "", " Write ", C_NWRITTEN, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_serviced_recursive", "", " Read ", C_READS, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_serviced_recursive", "", " Write ", C_WRITES, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_serviced", "", " Read ", C_READS, C_PATH, 1 },
	{ KS_IN_BLKIO, "blkio.throttle.io_serviced", "", " Write ", C_WRITES, C_PATH, 1 },
};
/* What is asked for less often has a kstat of its own: each file costs a system call. */
enum { L_PATH, L_WEIGHT, L_MIN, L_LOW, L_SWAP_HIGH, L_SWAP_PEAK, L_SWAP_HIGH_EVENTS, L_SWAP_MAX_EVENTS,
	L_SWAP_FAIL_EVENTS, L_PIDS_PEAK, L_DESCENDANTS, L_DYING };

const struct ks_field ks_group_limit_fields[] = {
	[L_PATH] = KS_TEXT("path", KSTAT_DATA_STRING, "place in the tree of control groups"),
	[L_WEIGHT] = KS_GAUGE("cpu_weight", KSTAT_DATA_UINT64,
	    "share of the CPUs beside other groups that want them, 100 for most (in version 1 shares, 1024)"),
	[L_MIN] = KS_AMOUNT("memory_min", "memory that is never reclaimed"),
	[L_LOW] = KS_AMOUNT("memory_low", "memory that is reclaimed only if other groups have none to give"),
	[L_SWAP_HIGH] = KS_AMOUNT("swap_high", "swap space above which the group is slowed down"),
	[L_SWAP_PEAK] = KS_AMOUNT("swap_peak", "most swap space ever in use"),
	[L_SWAP_HIGH_EVENTS] = EVENTS("swap_high_events", "times that the group was slowed down above swap_high"),
	[L_SWAP_MAX_EVENTS] = EVENTS("swap_max_events", "times that swap space was about to exceed its limit"),
	[L_SWAP_FAIL_EVENTS] = EVENTS("swap_fail_events", "pages not swapped out, because of the limit or a full swap space"),
	[L_PIDS_PEAK] = KS_GAUGE("pids_peak", KSTAT_DATA_UINT64, "most processes and threads that there ever were"),
	[L_DESCENDANTS] = KS_GAUGE("descendants", KSTAT_DATA_UINT64, "groups below this one"),
	[L_DYING] = KS_GAUGE("descendants_dying", KSTAT_DATA_UINT64,
	    "groups below this one that were removed and still hold memory"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_group_limit_fields);

static const struct source limit_sources[] = {
	{ KS_IN_V2, "cpu.weight", "", "", L_WEIGHT, L_PATH, 1 },
	{ KS_IN_V2, "memory.min", "", "", L_MIN, L_PATH, 1 },
	{ KS_IN_V2, "memory.low", "", "", L_LOW, L_PATH, 1 },
	{ KS_IN_V2, "memory.swap.high", "", "", L_SWAP_HIGH, L_PATH, 1 },
	{ KS_IN_V2, "memory.swap.peak", "", "", L_SWAP_PEAK, L_PATH, 1 },
	{ KS_IN_V2, "memory.swap.events", "high ", "", L_SWAP_HIGH_EVENTS, L_PATH, 1 },
	{ KS_IN_V2, "memory.swap.events", "max ", "", L_SWAP_MAX_EVENTS, L_PATH, 1 },
	{ KS_IN_V2, "memory.swap.events", "fail ", "", L_SWAP_FAIL_EVENTS, L_PATH, 1 },
	{ KS_IN_V2, "pids.peak", "", "", L_PIDS_PEAK, L_PATH, 1 },
	{ KS_IN_V2, "cgroup.stat", "nr_descendants ", "", L_DESCENDANTS, L_PATH, 1 },
	{ KS_IN_V2, "cgroup.stat", "nr_dying_descendants ", "", L_DYING, L_PATH, 1 },
	{ KS_IN_CPU, "cpu.shares", "", "", L_WEIGHT, L_PATH, 1 },
	{ KS_IN_PIDS, "pids.peak", "", "", L_PIDS_PEAK, L_PATH, 1 },
};

/* What groups are put in order by has a kstat of its own, too: who shows a few of 10,000 reads one file of the others. */
const struct ks_field ks_group_cpu_fields[] = {
	[C_PATH] = KS_TEXT("path", KSTAT_DATA_STRING, "place in the tree of control groups"),
	[C_CPU] = KS_NSEC("cpu_nsec", "CPU time used"),
	KS_FIELD_END
};

static const struct source cpu_sources[] = {
	{ KS_IN_V2, "cpu.stat", "usage_usec ", "", C_CPU, C_PATH, 1000 },
	{ KS_IN_CPUACCT, "cpuacct.usage", "", "", C_CPU, C_PATH, 1 },
};

_Static_assert((int)C_PATH == (int)L_PATH, "the path is first");

/* The tables of sources, and what they are tables of. */
static const struct asked {
	const struct source *v;
	size_t n;
	const struct ks_field *fields;
} tables[] = {
	{ sources, sizeof(sources) / sizeof(sources[0]), ks_group_fields },
	{ limit_sources, sizeof(limit_sources) / sizeof(limit_sources[0]), ks_group_limit_fields },
	{ cpu_sources, sizeof(cpu_sources) / sizeof(cpu_sources[0]), ks_group_cpu_fields },
};

/* --- files ---------------------------------------------------------------------------------------------- */

struct ks_dir
ks_group_dir(const struct ks_linux *lx, const struct ks_hierarchy *h, const char *path)
{
	struct ks_dir dir = ks_dir_below(&h->dir, path);

	dir.kept = h->dir.kernel ? lx->root[KS_ROOT_SYS].kept : NULL;
	return dir;
}

bool
ks_group_file(const struct ks_dir *dir, const char *name, char *to, size_t size, struct ks_text *text)
{
	ssize_t n = ks_file_read(dir, name, to, size - 1);
	size_t len = n > 0 ? (size_t)n : 0;

	if (n < 0)
		ks_note_fault(dir, errno);
	to[len] = '\0';
	*text = ks_text_of(to, len);
	return n >= 0 && len < size - 1;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Adds the numbers of one row, in all lines of its file. */
static void
parse(const struct source *s, struct ks_text all, struct ks_values *vals)
{
	size_t mark = strlen(s->mark);
	struct ks_text line;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		if (!ks_text_starts(&line, s->line))
			continue;
		line.p += strlen(s->line);
		if (mark > 0) {
			line.p = memmem(line.p, ks_text_size(&line), s->mark, mark);
			if (line.p == NULL)
				continue;
			line.p += mark;
		}
		if (s->times == 0 ? !ks_text_fixed(&line, 2, &v) : !ks_text_u64(&line, &v) || v >= KS_NO_LIMIT ||
		    __builtin_mul_overflow(v, (uint64_t)s->times, &v))
			continue;
		ks_have_more(vals, s->field, v);
	}
}

/* Reads the files of one hierarchy. Returns false if the group is not there. */
static bool
read_hierarchy(const struct ks_linux *lx, const struct asked *asked, const struct ks_hierarchy *h,
    const struct ks_group *g, struct ks_values *vals)
{
	const struct source *source = asked->v;
	const struct ks_dir dir = ks_group_dir(lx, h, g->path);
	bool is_there = false, some = lx->reads != NULL && asked->fields == ks_group_fields && ks_groups_of(lx)->n == 1;
	uint64_t unread = lx->unread | (some && g->is_io_unlimited ? 1ULL << C_IO_STALL : 0);
	char buf[FILE_SIZE];

	for (size_t i = 0, end; i < asked->n; i = end) {
		uint64_t had = vals->have;
		struct ks_text text;
		bool needed = false;

		for (end = i; end < asked->n && source[end].in == source[i].in &&
		    strcmp(source[end].file, source[i].file) == 0; end++)
			needed |= ((had | unread) >> source[end].field & 1) == 0 &&
			    (had >> (some && source[end].in == KS_IN_V2 ? limit_of[source[end].field] : source[end].if_has) & 1) != 0;
		if ((h->has & source[i].in) == 0 || !needed ||
		    !ks_group_file(&dir, source[i].file, buf, sizeof(buf), &text))
			continue;
		is_there = true;
		for (size_t k = i; k < end; k++) {
			if (((had | unread) >> source[k].field & 1) == 0)
				parse(&source[k], text, vals);
		}
	}
	return is_there || ks_dir_exists(&dir);
}

int
ks_group_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_groups *gs = ks_groups_of(lx);
	const struct asked *asked = tables;
	struct ks_group *g = unit->extra;
	struct ks_values vals = { .have = 0 };
	char path[KS_GROUP_PATH + 1] = "/", text[KS_GROUP_PATH];
	struct ks_texts texts = { text, sizeof(text), 0 };
	struct ks_text container = ks_group_container_of(ks_text_of(g->path, strlen(g->path)));
	bool is_there = false;

	while (asked->fields != lx->part->fields)
		asked++;
	strcpy(path + 1, g->path);
	ks_have_text(&vals, C_PATH, path);
	if (asked->fields == ks_group_fields && ks_text_size(&container) > 0)
		ks_have_copy(&vals, C_CONTAINER, &texts, container);
	for (size_t i = 0; i < gs->n; i++) {
		if ((g->in >> i & 1) != 0)
			is_there |= read_hierarchy(lx, asked, &gs->hierarchy[i], g, &vals);
	}
	if (!is_there)
		return ks_linux_gone(unit);
	g->is_unlimited = asked->fields == ks_group_fields && ((vals.have | lx->unread) >> C_MEMORY_MAX & 1) == 0;
	vals.have &= ~lx->unread;
	ks_fields_add(r, asked->fields, &vals);
	return 0;
}

/* --- what names the container of a group --------------------------------------------------- */

#define CONTAINER_ID 64

struct ks_text
ks_group_container(struct ks_text leaf)
{
	static const char *const prefixes[] = { "docker-", "libpod-", "crio-", "cri-containerd-", "nerdctl-",
		"lxc.payload.", "lxc.payload", "machine-" };
	static const char digits[] = "0123456789abcdef";
	const char *p = leaf.p;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (ks_text_starts(&leaf, prefixes[i])) {
			leaf.p += strlen(prefixes[i]);
			if (ks_text_size(&leaf) > 6 && memcmp(leaf.end - 6, ".scope", 6) == 0)
				leaf.end -= 6;
			return leaf;
		}
	}
	while (p < leaf.end && memchr(digits, *p, sizeof(digits) - 1) != NULL)
		p++;
	return ks_text_size(&leaf) == CONTAINER_ID && p == leaf.end ? leaf : (struct ks_text){ leaf.p, leaf.p };
}

struct ks_text
ks_group_container_of(struct ks_text path)
{
	struct ks_text found = { path.p, path.p };

	while (ks_text_size(&path) > 0 && ks_text_size(&found) == 0) {
		const char *slash = memrchr(path.p, '/', ks_text_size(&path));

		found = ks_group_container((struct ks_text){ slash != NULL ? slash + 1 : path.p, path.end });
		path.end = slash != NULL ? slash : path.p;
	}
	return found;
}
