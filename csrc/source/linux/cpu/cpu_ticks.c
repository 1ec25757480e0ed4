/*
 * cpu_ticks.c - the times of the CPUs from /proc/stat; see cpus.h. The kernel corrects idle, iowait and steal
 * backwards, and the line of all CPUs falls when a CPU comes back. Here no time falls.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/array.h"
#include "source/linux/cpu/cpus.h"

void
ks_cpu_ticks_begin(struct ks_cpu_ticks_all *all, hrtime_t taken)
{
	all->parsed++;
	memcpy(all->last, all->sum, sizeof(all->last));
	all->before = all->now;
	all->now = taken;
}

/*
 * Stores what a CPU counted since the reading before. A time that fell counts 0. Where idle fell, which is nearly
 * all of the time of most CPUs, it counts what the other states leave of the time that passed. The times of
 * guests are part of others.
 */
static void
differences(const struct ks_cpu_ticks *t, const uint64_t *now, uint64_t passed, uint64_t *counted)
{
	uint64_t accounted = 0;

	for (size_t i = 0; i < t->n; i++) {
		counted[i] = now[i] > t->raw[i] ? now[i] - t->raw[i] : 0;
		if (i < KS_TICKS_GUEST)
			accounted += counted[i];
	}
	if (now[KS_TICKS_IDLE] < t->raw[KS_TICKS_IDLE] && passed > accounted)
		counted[KS_TICKS_IDLE] = passed - accounted;
}

int
ks_cpu_ticks_add(struct ks_cpu_ticks_all *all, uint64_t cpu, uint64_t seq, struct ks_text line)
{
	uint64_t now[KS_TICKS_COUNT] = { 0 }, counted[KS_TICKS_COUNT] = { 0 };
	struct ks_cpu_ticks *t;
	size_t n = ks_text_numbers(&line, now, KS_TICKS_COUNT);

	if (cpu >= KS_CPU_MAX)
		return 0;
	if (!KS_RESERVE(all->v, all->cap, cpu + 1))
		return -1;
	if (cpu >= all->n) {
		memset(all->v + all->n, 0, (cpu + 1 - all->n) * sizeof(*all->v));
		all->n = cpu + 1;
	}
	t = &all->v[cpu];
	if (t->n == 0)
		memcpy(t->ticks, now, sizeof(now));
	else if (t->parsed + 1 == all->parsed)
		differences(t, now, (uint64_t)(all->now - all->before) / KS_NSEC_PER_TICK, counted);
	/* A CPU that was away counts from its return: it is not known what it did in between. */
	for (size_t i = 0; i < KS_TICKS_COUNT; i++) {
		t->ticks[i] += counted[i];
		all->sum[i] += counted[i];
	}
	memcpy(t->raw, now, sizeof(now));
	t->n = (uint32_t)n;
	t->seq = seq;
	t->parsed = all->parsed;
	return 0;
}

void
ks_cpu_ticks_end(struct ks_cpu_ticks_all *all, struct ks_text line)
{
	uint64_t now[KS_TICKS_COUNT] = { 0 };
	size_t n = ks_text_numbers(&line, now, KS_TICKS_COUNT);

	if (all->ncolumns == 0 || all->n == 0)
		memcpy(all->sum, now, sizeof(now));
	/*
	 * The kernel rounds each line down. Where the sum differs from the line of all CPUs by no more than that, the line
	 * is taken: another program begins with it, and must not find less than this one.
	 */
	for (size_t i = 0; i < KS_TICKS_COUNT; i++) {
		if (now[i] >= all->last[i] && now[i] < all->sum[i] + all->n && now[i] + all->n > all->sum[i])
			all->sum[i] = now[i];
	}
	all->ncolumns = (uint32_t)n;
}

const struct ks_cpu_ticks *
ks_cpu_ticks_of(const struct ks_cpu_ticks_all *all, int cpu, uint64_t seq)
{
	return cpu >= 0 && (size_t)cpu < all->n && all->v[cpu].seq == seq ? &all->v[cpu] : NULL;
}
