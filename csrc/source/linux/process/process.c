/*
 * process.c - lists processes and threads: process:PID:NAME and thread:TID:NAME. NAME is the name of the command; the
 * further kinds of statistics are NAME,status and such. Nobody gets them who does not name their module or class.
 * And how many are in each state, unix:0:procs. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "source/linux/process/processes.h"

#define TICKS_PER_SECOND 100
#define NOBODY INT32_MIN /* no process has that number */
#define NAME_MAX_SIZE (KSTAT_STRLEN - 7) /* leaves room for ",status" */

enum { STATUS_PART = 1, IO_PART, SCHED_PART, DELAY_PART, ARGS_PART, GROUP_PART, FD_PART, MEMORY_PART, OOM_PART,
	GPU_PART };

#define TITLE(module, rest) module ":ID:NAME" rest

/* The kinds of statistics, one for each file. */
#define PARTS(module) \
	KS_NAMED_PART(module, "@", module, .fields = ks_process_fields, .read = ks_process_read, \
	    .from = "/proc/PID/stat", .title = TITLE(module, "")), \
	[STATUS_PART] = KS_NAMED_PART(module, "@,status", module "_status", .fields = ks_process_status_fields, \
	    .read = ks_process_read_status, .from = "/proc/PID/status", .title = TITLE(module, ",status"), \
	    .since = "; rss_anon 4.5; rss_file 4.5; rss_shmem 4.5"), \
	[IO_PART] = KS_NAMED_PART(module, "@,io", module "_io", .fields = ks_process_io_fields, .read = ks_process_read_io, \
	    .from = "/proc/PID/io", .title = TITLE(module, ",io")), \
	[SCHED_PART] = KS_NAMED_PART(module, "@,sched", module "_sched", .fields = ks_process_sched_fields, \
	    .read = ks_process_read_sched, .from = "/proc/PID/schedstat", .title = TITLE(module, ",sched")), \
	[DELAY_PART] = KS_NAMED_PART(module, "@,delay", module "_delay", .fields = ks_process_delay_fields, \
	    .read = ks_process_read_delay, .from = "taskstats (netlink)", .title = TITLE(module, ",delay"))

/* One that only those have who name it. */
#define NAMED_PART(kind, ...) \
	KS_NAMED_PART("process", "@," kind, "process_" kind, .title = TITLE("process", "," kind), \
	    .named = true, __VA_ARGS__)

static const struct ks_part process_parts[] = {
	PARTS("process"),
	[ARGS_PART] = NAMED_PART("args", .fields = ks_process_args_fields, .read = ks_process_read_args,
	    .from = "/proc/PID/cmdline"),
	[GROUP_PART] = NAMED_PART("cgroup", .fields = ks_process_group_fields, .read = ks_process_read_group,
	    .from = "/proc/PID/cgroup"),
	[FD_PART] = NAMED_PART("fd", .fields = ks_process_fd_fields, .read = ks_process_read_fd,
	    .from = "/proc/PID/fd and limits"),
	[MEMORY_PART] = NAMED_PART("memory", .fields = ks_process_memory_fields, .read = ks_process_read_memory,
	    .from = "/proc/PID/smaps_rollup", .since = "4.14; pss_anon 5.4; pss_file 5.4; pss_shmem 5.4"),
	[OOM_PART] = NAMED_PART("oom", .fields = ks_process_oom_fields, .read = ks_process_read_oom,
	    .from = "/proc/PID/oom_score and oom_score_adj"),
	[GPU_PART] = NAMED_PART("gpu", .fields = ks_process_gpu_fields, .read = ks_process_read_gpu,
	    .meta = ks_process_gpu_meta, .from = "/proc/PID/fdinfo", .since = "5.14",
	    KS_NAMES("engine_gfx", "memory_vram", "cycles_rcs", "total_cycles_rcs")),
};
static const struct ks_part thread_parts[] = { PARTS("thread") };

/* A thread has the first of the kinds that a process has, and wants no others. */
#define NPARTS (sizeof(process_parts) / sizeof(process_parts[0]))

/* A scan that is under way. */
struct walk {
	struct ks_linux *lx;
	struct ks_units *units;
	const struct ks_part *parts;
	uint16_t wanted;     /* parts that somebody may want, one bit each */
	uint16_t of_all;     /* those of them that somebody asks for of all processes, whatever they are called */
	hrtime_t suspended;  /* how long the machine slept, which the clock of crtimes leaves out */
	bool reads_all;      /* this process may read "io" of all */
	pid_t pid;           /* the process whose threads are being listed */
};

/* Those of the parts that somebody asks for of that process or thread; name NULL: it is not known yet. */
static uint16_t
asked_parts(const struct walk *w, int instance, const char *name)
{
	size_t n = name != NULL ? strlen(name) : 0;
	char full[KSTAT_STRLEN];
	uint16_t asked = 0;

	if (name != NULL)
		memcpy(full, name, n);
	for (size_t i = 0; i < NPARTS && w->wanted >> i != 0; i++) {
		const struct ks_part *part = &w->parts[i];

		if ((w->wanted >> i & 1) == 0)
			continue;
		(void)memccpy(full + n, part->name + 1, '\0', sizeof(full) - n);
		if (ks_scan_asks_for(w->lx->scan, part->module, part->class_, instance, name != NULL ? full : NULL))
			asked |= (uint16_t)(1u << i);
	}
	return asked;
}

/* Copies the name of a command, as it can be written in an operand: a colon becomes '_'. */
static void
copy_name(char name[NAME_MAX_SIZE], const struct ks_process_line *line)
{
	static const char worker[] = "kworker/";
	size_t n;

	ks_name_set(name, NAME_MAX_SIZE, line->name.p, ks_text_size(&line->name));
	n = strlen(name);
	/* What a worker of the kernel does now or did last follows a '+' or '-'. */
	if (line->is_worker && n >= sizeof(worker) && strncmp(name, worker, sizeof(worker) - 1) == 0)
		name[sizeof(worker) + strcspn(name + sizeof(worker), "+-")] = '\0';
	ks_clean_text(name, strlen(name));
	for (char *colon = name; (colon = strchr(colon, ':')) != NULL;)
		*colon = '_';
	if (name[0] == '\0')
		ks_name_set(name, NAME_MAX_SIZE, "-", 1);
}

/* When a process was created, on the clock of crtimes. */
static hrtime_t
creation_time(const struct walk *w, uint64_t start)
{
	hrtime_t time;

	if (start > INT64_MAX / KS_NANOSEC || (!w->lx->root[KS_ROOT_PROC].kernel && w->lx->tree.now == 0))
		return 0;
	time = (hrtime_t)start * (KS_NANOSEC / TICKS_PER_SECOND) - w->suspended;
	return time > 0 ? time : 0;
}

/*
 * True if the kernel lets this process read the "io" of all: it is not asked of a thousand of them, one by one. A
 * capability counts for all users where the first line of uid_map has all of them.
 */
static bool
may_read_all(const struct ks_linux *lx)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 } };
	char text[64];
	unsigned long inside, outside, count;

	return lx->root[KS_ROOT_PROC].kernel && syscall(SYS_capget, &head, sets) == 0 &&
	    (sets[0].effective & 1u << CAP_SYS_PTRACE) != 0 &&
	    ks_file_small(&lx->root[KS_ROOT_PROC], "self/uid_map", text, sizeof(text)) > 0 &&
	    sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
	    count == UINT32_MAX;
}

/* True if this user may read what a process read and wrote: others get an error from the file. */
static bool
has_io(const struct walk *w, const struct ks_process *p)
{
	char path[KS_PROCESS_PATH], text[8];

	if (w->reads_all)
		return true;
	ks_process_path(path, p->pid, p->tid, "io");
	return ks_file_small(&w->lx->root[KS_ROOT_PROC], path, text, sizeof(text)) >= 0;
}

/* There may be many processes, and most callers want the statistics of "stat" alone. */
static size_t
size_of_extra(const struct walk *w)
{
	return (w->wanted & (1u << STATUS_PART | 1u << SCHED_PART | 1u << IO_PART)) != 0 ? sizeof(struct ks_process) :
	    offsetof(struct ks_process, sum);
}

/* Sets up what the scan found. Returns 0, or -1 with errno ENOMEM. */
static int
set_up(const struct walk *w, struct ks_unit *unit, bool is_new, const struct ks_process *found, const char *name,
    uint16_t parts)
{
	struct ks_process *p = unit->extra;

	if (is_new || p == NULL) {
		unit->extra = p = calloc(1, size_of_extra(w));
		if (p == NULL)
			return -1;
		unit->instance = found->tid != 0 ? found->tid : found->pid;
		unit->crtime = creation_time(w, found->start);
		p->has_io = (parts >> IO_PART & 1) != 0 && has_io(w, found);
	}
	p->asked = parts;
	if (!p->has_io)
		parts &= (uint16_t)~(1u << IO_PART);
	if ((parts >> GPU_PART & 1) != 0 && !ks_process_uses_gpu(w->lx, found->pid))
		parts &= (uint16_t)~(1u << GPU_PART);
	memcpy(p, found, offsetof(struct ks_process, asked)); /* what was read */
	if (strcmp(unit->name, name) != 0 || unit->parts != parts) {
		ks_name_set(unit->name, sizeof(unit->name), name, strlen(name));
		unit->parts = parts;
		w->units->changed = true;
	}
	return 0;
}

/* Lists one process (tid 0) or thread. Returns 0, also if it is gone by now; -1 with errno ENOMEM. */
static int
list_one(struct walk *w, pid_t pid, pid_t tid)
{
	struct ks_process found = { .pid = pid, .tid = tid };
	int instance = tid != 0 ? tid : pid;
	char text[KS_PROCESS_STAT], name[NAME_MAX_SIZE], key[KS_NUMBER_MAX];
	size_t len = ks_format_i64(key, instance);
	struct ks_unit *unit = ks_units_find(w->units, key, len);
	struct ks_process_line line;
	uint16_t parts;
	bool is_new;

	if ((unit == NULL && w->of_all == 0 && asked_parts(w, instance, NULL) == 0) ||
	    ks_process_load(w->lx, &found, unit != NULL ? ks_process_of(unit) : NULL, text, &line) != 0)
		return 0;
	copy_name(name, &line);
	/* Who is asked for by one name is so as long as it has that name. */
	if (unit != NULL && unit->extra != NULL && strcmp(unit->name, name) == 0)
		parts = ks_process_of(unit)->asked & w->wanted;
	else
		parts = w->of_all == w->wanted ? w->wanted : asked_parts(w, instance, name);
	if (parts == 0)
		return 0;
	found.start = line.start;
	unit = ks_units_see(w->units, key, len, line.start + 1, &is_new);
	return unit != NULL ? set_up(w, unit, is_new, &found, name, parts) : -1;
}

static int
list_process(void *walk, pid_t pid)
{
	return list_one(walk, pid, 0);
}

static int
list_thread(void *walk, pid_t tid)
{
	return list_one(walk, ((struct walk *)walk)->pid, tid);
}

static int
list_threads(void *walk, pid_t pid)
{
	struct walk *w = walk;

	w->pid = pid;
	return ks_process_each_of(w->lx, pid, "task", 1, list_thread, w) < 0 ? -1 : 0; /* else it is gone */
}

/* How long the machine slept since boot; to a hundredth of a second, so that crtimes stay the same. */
static hrtime_t
time_suspended(const struct ks_linux *lx)
{
	const hrtime_t unit = KS_NANOSEC / TICKS_PER_SECOND;
	struct timespec t;

	if (!lx->root[KS_ROOT_PROC].kernel || clock_gettime(CLOCK_BOOTTIME, &t) != 0)
		return 0;
	return ((hrtime_t)t.tv_sec * KS_NANOSEC + t.tv_nsec - gethrtime() + unit / 2) / unit * unit;
}

static int
scan_all(struct ks_linux *lx, struct ks_units *units, size_t id, const struct ks_part *parts,
    ks_process_take *list)
{
	struct ks_process_state *s = lx->sub[id].state;
	struct walk w = { .lx = lx, .units = units, .parts = parts, .wanted = lx->sub[id].wanted,
		.suspended = time_suspended(lx) };
	DIR *dir = ks_linux_open_directory(lx, KS_ROOT_PROC, ".");
	int rc;

	if (dir == NULL)
		ks_note_lack(&lx->root[KS_ROOT_PROC], errno); /* processes and threads share the path of a warning */
	if ((w.wanted >> DELAY_PART & 1) != 0 && !ks_process_has_delays(lx, s))
		w.wanted &= (uint16_t)~(1u << DELAY_PART);
	w.of_all = asked_parts(&w, NOBODY, "");
	w.reads_all = (w.wanted >> IO_PART & 1) != 0 && may_read_all(lx);
	s->began = gethrtime();
	ks_units_begin(units);
	rc = ks_process_each(lx, dir, 1, list, &w);
	s->took = gethrtime() - s->began;
	return rc == 0 ? ks_units_end(units) : -1;
}

static int
scan_processes(struct ks_linux *lx, struct ks_units *units)
{
	return scan_all(lx, units, KS_SUB_process, process_parts, list_process);
}

static int
scan_threads(struct ks_linux *lx, struct ks_units *units)
{
	return scan_all(lx, units, KS_SUB_thread, thread_parts, list_threads);
}

KS_SUBSYSTEM(process, process_parts, .scan = scan_processes, .on_demand = true,
    .state_size = sizeof(struct ks_process_state), .start = ks_process_start, .release = ks_process_release);
KS_SUBSYSTEM(thread, thread_parts, .scan = scan_threads, .on_demand = true,
    .state_size = sizeof(struct ks_process_state), .start = ks_process_start, .release = ks_process_release);

/* --- how many are in each state --------------------------------------------------------------- */

/* For this the file "stat" of every process is read, so it is there only for those who name it. */

enum { N_TOTAL, N_RUNNING, N_SLEEPING, N_UNINTERRUPTIBLE, N_STOPPED, N_TRACED, N_ZOMBIE, N_IDLE, N_OTHER, N_NLWP };

#define NUMBER(stat, desc) KS_GAUGE(stat, KSTAT_DATA_UINT32, desc)

static const struct ks_field count_fields[] = {
	[N_TOTAL] = NUMBER("all", "processes, those that ended and were not waited for included"),
	[N_RUNNING] = NUMBER("running", "processes that run or wait for a CPU (state R)"),
	[N_SLEEPING] = NUMBER("sleeping", "processes that sleep until something happens or a signal comes (state S)"),
	[N_UNINTERRUPTIBLE] = NUMBER("uninterruptible",
	    "processes that sleep, mostly for I/O, and that no signal wakes (state D)"),
	[N_STOPPED] = NUMBER("stopped", "processes that a signal stopped (state T)"),
	[N_TRACED] = NUMBER("traced", "processes that a debugger stopped (state t)"),
	[N_ZOMBIE] = NUMBER("zombie", "processes that ended and that their parents have not waited for (state Z)"),
	[N_IDLE] = NUMBER("idle", "threads of the kernel that have nothing to do (state I)"),
	[N_OTHER] = NUMBER("other", "processes in other states, such as parked and dead"),
	[N_NLWP] = NUMBER("nlwp", "threads of all processes"),
	KS_FIELD_END
};

static size_t
field_of_state(uint32_t state)
{
	static const char states[] = "RSDTtZI"; /* from N_RUNNING on */
	const char *at = strchr(states, (int)state);

	return at != NULL && *at != '\0' ? N_RUNNING + (size_t)(at - states) : N_OTHER;
}

/* A count that is under way. */
struct count {
	struct ks_linux *lx;
	struct ks_values vals;
};

static int
count_process(void *arg, pid_t pid)
{
	struct count *c = arg;
	struct ks_process p = { .pid = pid };
	struct ks_process_line line;
	char text[KS_PROCESS_STAT];

	if (ks_process_load_stat(c->lx, &p, text, &line) != 0)
		return 0; /* it has ended by now */
	c->vals.v[N_TOTAL].u++;
	c->vals.v[field_of_state(p.small[P_STATE])].u++;
	c->vals.v[N_NLWP].u += p.small[P_NLWP];
	return 0;
}

static int
read_procs(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct count c = { lx, { .have = (1ULL << (N_NLWP + 1)) - 1 } };
	DIR *dir = ks_linux_open_directory(lx, KS_ROOT_PROC, ".");

	(void)unit;
	if (dir == NULL)
		return ks_fail(errno, "cannot list the processes: %s", strerror(errno));
	lx->taken = gethrtime();
	(void)ks_process_each(lx, dir, 1, count_process, &c);
	ks_fields_add(r, count_fields, &c.vals);
	return 0;
}

static int
stop_at_first(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
	return 1;
}

/* True unless this is a recorded tree without processes. */
static bool
has_processes(struct ks_linux *lx, size_t part)
{
	(void)part;
	return ks_process_each(lx, ks_linux_open_directory(lx, KS_ROOT_PROC, "."), 1, stop_at_first, NULL) != 0;
}

static const struct ks_part count_parts[] = {
	KS_NAMED_PART("unix", "procs", "misc", .fields = KS_TABLE(count_fields), .read = read_procs,
	    .from = "/proc/PID/stat"),
};

KS_SUBSYSTEM(procs, count_parts, .has_part = has_processes, .optional = "procs");
