/*
 * procs.c - unix:0:procs, how many processes are in each state. For this the file "stat" of every process is read, so
 * it is there only for those who name it. SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/process/processes.h"

enum { N_TOTAL, N_RUNNING, N_SLEEPING, N_UNINTERRUPTIBLE, N_STOPPED, N_TRACED, N_ZOMBIE, N_IDLE, N_OTHER, N_NLWP };

#define NUMBER(stat, desc) KS_GAUGE(stat, KSTAT_DATA_UINT32, desc)

static const struct ks_field fields[] = {
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
	ks_fields_add(r, fields, &c.vals);
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

static const struct ks_part parts[] = {
	KS_NAMED_PART("unix", "procs", "misc", .fields = KS_TABLE(fields), .read = read_procs,
	    .from = "/proc/PID/stat"),
};

KS_SUBSYSTEM(procs, parts, .has_part = has_processes, .optional = "procs");
