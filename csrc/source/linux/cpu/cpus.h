/*
 * cpus.h - what the files about CPUs share. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_CPUS_H
#define SOURCE_LINUX_CPUS_H

#include "source/linux/linux.h"

/* /proc counts CPU time in ticks of 1/100 s, whatever the kernel's own clock. */
#define KS_NSEC_PER_TICK 10000000u

#define KS_CPU_MAX 65536 /* more than any kernel knows: a limit for malformed lists */

/* Where the part of an image is that is about one CPU. */
struct ks_line {
	uint32_t at, len;
	uint64_t seq; /* ks_image.seq */
};

/* Facts from /sys that do not change while a CPU is there; they are read when they are needed first. */
enum { KS_CACHE_L1D, KS_CACHE_L1I, KS_CACHE_L2, KS_CACHE_L3 };

struct ks_cpu_facts {
	bool known;
	bool has_cache;
	uint64_t cache_id;
	uint64_t base_khz; /* 0: not known */
	bool has_chip, has_core;
	uint64_t chip, core; /* as /sys has them */
	uint64_t ncpu, ncore; /* of its chip, counted where no file says it; 0: not known */
	uint64_t cache[4]; /* bytes of the caches that the CPU uses, by KS_CACHE_*; 0: not known */
	bool has_frequency, has_list; /* its clock can be set; to one of a list */
	char frequencies[512]; /* in Hz, ascending, with colons between; empty: not known */
	char implementation[160]; /* for a clock of `mhz` */
	uint64_t mhz;
};

/* The numbers of /proc/stat that are not about a single CPU. One that the file lacks has no bit in have. */
enum { KS_STAT_CTXT, KS_STAT_BTIME, KS_STAT_PROCESSES, KS_STAT_RUNNING, KS_STAT_BLOCKED,
	KS_STAT_INTR, KS_STAT_COUNT };

enum { KS_TIME_IDLE, KS_TIME_USER, KS_TIME_KERNEL, KS_TIME_WAIT, KS_TIME_INTR, KS_TIME_STOLEN,
	KS_TIME_COUNT };

/* Columns of a cpu line of /proc/stat, in their order; in ticks of 1/100 s. */
enum { KS_TICKS_USER, KS_TICKS_NICE, KS_TICKS_SYSTEM, KS_TICKS_IDLE, KS_TICKS_IOWAIT, KS_TICKS_IRQ,
	KS_TICKS_SOFTIRQ, KS_TICKS_STEAL, KS_TICKS_GUEST, KS_TICKS_GUEST_NICE, KS_TICKS_COUNT };

/*
 * The times of one CPU. `raw` are the columns as the file had them last; the kernel lets some fall. `ticks`
 * start with these and never fall.
 */
struct ks_cpu_ticks {
	uint32_t n; /* columns; 0: the CPU was never in the file */
	uint64_t seq, parsed;  /* ks_image.seq, and ks_cpu_ticks_all.parsed, of the reading that had it last */
	uint64_t raw[KS_TICKS_COUNT], ticks[KS_TICKS_COUNT];
};

/* The times of all CPUs: the line of all CPUs as it was first, and what each CPU has counted since. */
struct ks_cpu_ticks_all {
	struct ks_cpu_ticks *v; /* by the number of the CPU; owned */
	size_t n, cap;
	uint64_t parsed;        /* how many readings there were */
	hrtime_t before, now;   /* when the last two began */
	uint32_t ncolumns;      /* 0: nothing was read yet */
	uint64_t sum[KS_TICKS_COUNT];
	uint64_t last[KS_TICKS_COUNT]; /* the same at the reading before */
};

struct ks_stat {
	const struct ks_image *im;
	uint64_t seq, cpus_seq; /* of the image; of the image in which the lines of the CPUs were found */
	uint32_t have;
	uint64_t v[KS_STAT_COUNT];
	uint32_t have_time;           /* one bit each */
	uint64_t time[KS_TIME_COUNT]; /* of all CPUs together, in ns; only if the lines of the CPUs were parsed */
	uint32_t known;     /* how many CPUs it has that were online at the last scan */
	uint32_t strangers; /* and how many others */
};

_Static_assert(KS_STAT_COUNT <= 32 && KS_TIME_COUNT <= 32, "each needs a bit");

/* A file with a column for each CPU (interrupts, softirqs), summed over its lines. */
struct ks_columns {
	uint64_t seq;
	size_t n, cap;
	struct ks_column {
		uint32_t cpu;
		uint64_t total; /* of all lines that have all columns */
		uint64_t calls; /* of the line of calls from other CPUs */
		uint64_t tlb;   /* of the line of TLB shootdowns */
	} *v;               /* owned */
	struct ks_row {
		const char *start, *end; /* of its numbers */
		uint64_t sum;
	} *row;             /* the lines with a number for each CPU, in their order; owned */
	size_t nrows, row_cap, next; /* next: the one behind that which was asked for last */
};

/* Stores the sum of the numbers of a line and returns how many there are; 0 if the columns are of another image. */
size_t ks_columns_of_row(struct ks_columns *c, const struct ks_image *im, const struct ks_text *numbers, uint64_t *sum);

struct ks_cpu_state {
	struct ks_stat stat;
	struct ks_cpu_ticks_all ticks;
	struct ks_columns interrupts, softirqs;
	uint64_t schedstat_seq, cpuinfo_seq; /* of the images in which the lines of the CPUs were found */
	uint32_t cpuinfo_cpus; /* how many units there were when the cores were numbered */
	uint64_t online_hash;  /* of the list of CPUs at the last scan */
	uint32_t online;       /* CPUs that were online at the last scan */
	bool has_stat, has_schedstat; /* the files existed at that scan */
	enum { KS_TLB_UNKNOWN, KS_TLB_ONCE, KS_TLB_TWICE } tlb_counted; /* by the running kernel */
};

extern const struct ks_file ks_stat_file, ks_schedstat_file;

static inline struct ks_cpu_state *
ks_cpu_state_of(const struct ks_linux *lx)
{
	return lx->sub[KS_SUB_cpu].state;
}

/* Columns of a cpu line of /proc/schedstat; the second is always 0. */
enum { KS_SCHED_YIELDS, KS_SCHED_UNUSED, KS_SCHED_SCHEDULES, KS_SCHED_IDLE, KS_SCHED_WAKEUPS,
	KS_SCHED_WAKEUPS_LOCAL, KS_SCHED_RUN, KS_SCHED_WAIT, KS_SCHED_SLICES, KS_SCHED_COUNT };

#define KS_CPU_NARROW KS_SCHED_RUN /* the columns before the times have 32 bits */

/* ks_unit.extra of a CPU. */
struct ks_cpu {
	bool online;
	int64_t since; /* when the CPU came into this state, seconds since 1970; 0: at boot */
	/* Counters of 32 bits that are continued: columns of /proc/schedstat, and sums of lines. */
	struct ks_widened schedules[KS_CPU_NARROW], interrupts, calls, softirqs;
	struct ks_line sched, info;
	struct {
		uint64_t seq; /* of the image that they are of */
		uint64_t v[KS_SCHED_COUNT];
		size_t n;
	} scheduled; /* the numbers of /proc/schedstat: three kstats have some of them */
	struct {
		uint64_t seq;    /* of the image of /proc/stat; 0: of none */
		hrtime_t taken;  /* when the oldest of their images was read */
		struct ks_values vals;
	} sys; /* what cpu:N:sys and cpu_stat have in common */
	uint32_t core; /* number of its core in the machine */
	struct ks_cpu_facts facts;
};

static inline struct ks_cpu *
ks_cpu_of(const struct ks_unit *unit)
{
	return unit->extra;
}

static inline struct ks_text
ks_line_text(const struct ks_image *im, const struct ks_line *line)
{
	return ks_text_of(im->data + line->at, line->len);
}

static inline struct ks_line
ks_line_of(const struct ks_image *im, const struct ks_text *t)
{
	return (struct ks_line){ (uint32_t)(t->p - im->data), (uint32_t)ks_text_size(t), im->seq };
}

/* Returns the column of a CPU, from an image of a file with a column for each CPU; NULL if there is none. */
const struct ks_column *ks_columns_of_cpu(struct ks_linux *lx, struct ks_columns *c, const struct ks_image *im,
    uint32_t cpu);

void ks_columns_free(struct ks_columns *c);

/* Takes the number of a CPU from the heading "CPU0 CPU1 ..." of such a file; false at its end. */
bool ks_cpu_of_heading(struct ks_text *heading, uint64_t *cpu);

/* intr.c */
extern const struct ks_file ks_interrupts_file, ks_softirqs_file;

/* Returns the numbers of /proc/stat, without times; NULL with errno and message. */
const struct ks_stat *ks_linux_stat(struct ks_linux *lx);

/* The same with the times of all CPUs. */
const struct ks_stat *ks_linux_stat_with_times(struct ks_linux *lx);

/* The times of a CPU if the image with that number has it, else NULL. */
const struct ks_cpu_ticks *ks_cpu_ticks_of(const struct ks_cpu_ticks_all *all, int cpu, uint64_t seq);

/*
 * Sums columns of a line of /proc/stat, those that it lacks being 0, to times in ticks. Returns which it has, one bit
 * each.
 */
uint32_t ks_cpu_times(const uint64_t t[KS_TICKS_COUNT], size_t ncolumns, uint64_t time[KS_TIME_COUNT]);

/* Removes "cpuN" from a line; false if it is another line. */
bool ks_cpu_label(struct ks_text *line, struct ks_text *number);

/* Returns the unit of a CPU by its number as text, or NULL. */
struct ks_unit *ks_cpu_unit(struct ks_linux *lx, const struct ks_text *number);

/* --- schedstat.c --- */

/* The columns of one CPU; returns how many, 0 if the file does not exist or does not list the CPU. */
size_t ks_cpu_sched_of(struct ks_linux *lx, struct ks_unit *unit, uint64_t v[KS_SCHED_COUNT]);

extern const struct ks_field ks_cpu_sched_fields[];
ks_part_read ks_cpu_sched_read;

/* --- cpuinfo.c --- */

extern const struct ks_field ks_cpu_info_fields[];
ks_part_read ks_cpu_info_read;

#endif
