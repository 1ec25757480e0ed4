/*
 * perf.c - the hardware's own counters of each CPU by perf_event_open(2): perf:N:cpuN. They take registers of the CPU
 * and a descriptor for each CPU and event, so they are optional. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "source/linux/cpu/cpus.h"

enum { E_CYCLES, E_INSTRUCTIONS, E_REFERENCES, E_MISSES, E_BRANCHES, E_BRANCH_MISSES, E_COUNT };

static const struct ks_field fields[] = {
	[E_CYCLES] = KS_COUNT("cycles", KSTAT_DATA_UINT64, "cycles in which the CPU was not halted, since this was opened"),
	[E_INSTRUCTIONS] = KS_COUNT("instructions", KSTAT_DATA_UINT64, "instructions retired since this was opened"),
	[E_REFERENCES] = KS_COUNT("cache_references", KSTAT_DATA_UINT64,
	    "accesses to the last level of cache since this was opened"),
	[E_MISSES] = KS_COUNT("cache_misses", KSTAT_DATA_UINT64, "accesses that this cache did not have"),
	[E_BRANCHES] = KS_COUNT("branches", KSTAT_DATA_UINT64, "branches retired since this was opened"),
	[E_BRANCH_MISSES] = KS_COUNT("branch_misses", KSTAT_DATA_UINT64, "branches that were predicted wrongly"),
	KS_FIELD_END
};

static const uint64_t events[E_COUNT] = { PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	PERF_COUNT_HW_BRANCH_MISSES };

/* What a read returns: the count, and for how long the event was wanted and had a register. */
struct reading {
	uint64_t value, enabled, running;
};

/* The descriptors of a CPU's events. They are in the state, because ks_unit.extra has nobody to close them. */
struct counters {
	int cpu;
	bool is_open;
	int fd[E_COUNT]; /* -1: the hardware does not have it */
	struct reading last[E_COUNT];
	uint64_t count[E_COUNT]; /* estimated where events shared a register */
};

struct state {
	struct counters *v; /* owned */
	size_t n, cap;
	bool is_refused; /* the user was told that there are none */
};

static void
close_counters(struct counters *c)
{
	for (size_t i = 0; c->is_open && i < E_COUNT; i++) {
		if (c->fd[i] >= 0)
			(void)close(c->fd[i]);
	}
	c->is_open = false;
}

static void
release(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->n; i++)
		close_counters(&s->v[i]);
	free(s->v);
}

/* Opens the events of a CPU. Returns 0 if it has any, else an errno. */
static int
open_counters(struct counters *c)
{
	int err = ENOENT;

	for (size_t i = 0; i < E_COUNT; i++) {
		struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = events[i],
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING };

		c->fd[i] = (int)syscall(SYS_perf_event_open, &a, -1, c->cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (c->fd[i] < 0 && err != 0)
			err = errno;
		if (c->fd[i] >= 0) {
			c->is_open = true;
			err = 0;
		}
	}
	return err;
}

static struct counters *
counters_of(struct state *s, int cpu)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].cpu == cpu)
			return &s->v[i];
	}
	return NULL;
}

/* Continues a count by what came since the last reading; where events took turns, in proportion to their time. */
static uint64_t
advance(struct counters *c, size_t i, const struct reading *now)
{
	const struct reading *last = &c->last[i];
	uint64_t enabled = now->enabled - last->enabled, running = now->running - last->running;
	uint64_t step = now->value - last->value;

	if (now->value >= last->value && running > 0 && running < enabled)
		step = (uint64_t)((double)step * (double)enabled / (double)running);
	if (now->value >= last->value)
		c->count[i] += step;
	c->last[i] = *now;
	return c->count[i];
}

static int
read_perf(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct counters *c = counters_of(lx->sub[KS_SUB_perf].state, unit->instance);
	struct ks_values vals = { .have = 0 };

	if (c == NULL || !c->is_open)
		return ks_linux_gone(unit);
	for (size_t i = 0; i < E_COUNT; i++) {
		struct reading now;

		if (c->fd[i] >= 0 && read(c->fd[i], &now, sizeof(now)) == (ssize_t)sizeof(now))
			ks_have(&vals, i, advance(c, i, &now));
	}
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("perf", "@", "perf", .fields = KS_TABLE(fields), .read = read_perf, .needs = &ks_linux_cpu,
	    .from = "perf_event_open(2)", .title = "perf:N:cpuN"),
};

/* True if the user means these kstats, and not all that are optional. */
static bool
is_meant(const struct ks_linux *lx)
{
	const char *with = getenv("KSTAT_WITH");

	return ks_scan_names(lx->scan, "perf") || (with != NULL && strstr(with, "perf") != NULL);
}

/* Says why there are no counters. They are not tried again. */
static void
warn(struct ks_linux *lx, int err)
{
	struct state *s = lx->sub[KS_SUB_perf].state;

	s->is_refused = true;
	if (!is_meant(lx))
		return;
	if (err == EACCES || err == EPERM)
		ks_scan_warn(lx->scan, "perf: %s (needs CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0)", strerror(err));
	else if (ks_is_lack(err))
		ks_scan_damage(lx->scan, "perf: %s", strerror(err));
	else
		ks_scan_warn(lx->scan, "perf: this CPU or virtual machine has no hardware counters");
}

/* The counters of a CPU, opened if need be; NULL if it has none, or without memory: then errno is ENOMEM. */
static struct counters *
find_or_open(struct ks_linux *lx, int cpu)
{
	struct state *s = lx->sub[KS_SUB_perf].state;
	struct counters *c = counters_of(s, cpu);
	int err;

	if (c == NULL) {
		if (!KS_RESERVE(s->v, s->cap, s->n + 1)) {
			errno = ENOMEM;
			return NULL;
		}
		c = &s->v[s->n++];
		*c = (struct counters){ .cpu = cpu };
	}
	errno = 0;
	if (c->is_open || s->is_refused)
		return c->is_open ? c : NULL;
	err = open_counters(c);
	if (err != 0)
		warn(lx, err);
	errno = 0;
	return err == 0 ? c : NULL;
}

/* The kernel never continues the events of a CPU that was offline: it gets new ones when it comes back. */
static void
close_absent(struct state *s, struct ks_units *units)
{
	for (size_t i = 0; i < s->n; i++) {
		char key[16];
		const struct ks_unit *unit = ks_units_find(units, key,
		    (size_t)snprintf(key, sizeof(key), "cpu%d", s->v[i].cpu));

		if (unit == NULL || !unit->seen) {
			close_counters(&s->v[i]);
			s->v[i] = (struct counters){ .cpu = s->v[i].cpu };
		}
	}
}

static int
scan_perf(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;
	struct ks_unit *unit;
	char key[16];
	bool is_new;

	ks_units_begin(units);
	for (uint32_t i = 0; lx->root[KS_ROOT_PROC].kernel && i < cpus->n; i++) {
		int cpu = cpus->v[i].instance;

		if (!cpus->v[i].alive || !ks_cpu_of(&cpus->v[i])->online)
			continue;
		if (find_or_open(lx, cpu) == NULL) {
			if (errno == ENOMEM)
				return -1;
			continue;
		}
		unit = ks_units_see(units, key, (size_t)snprintf(key, sizeof(key), "cpu%d", cpu), 0, &is_new);
		if (unit == NULL)
			return -1;
		if (is_new) {
			unit->instance = cpu;
			unit->crtime = ks_linux_now(lx);
			unit->parts = 1;
		}
	}
	close_absent(lx->sub[KS_SUB_perf].state, units);
	return ks_units_end(units);
}

KS_SUBSYSTEM(perf, parts, .scan = scan_perf, .optional = "perf", .state_size = sizeof(struct state), .release = release);
