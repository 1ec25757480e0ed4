/*
 * schedstat.c - cpu:N:sched, and what else CPUs have of /proc/schedstat. SPDX-License-Identifier: MIT
 */
#include "source/linux/cpu/cpus.h"

const struct ks_file ks_schedstat_file = { KS_ROOT_PROC, "schedstat", KS_MADE_ANYHOW, false };

const struct ks_field ks_cpu_sched_fields[] = {
	[KS_SCHED_YIELDS] = KS_COUNT("yields", KSTAT_DATA_UINT64, "calls of sched_yield"),
	[KS_SCHED_UNUSED] = KS_COUNT("unused", KSTAT_DATA_UINT64, "column that kernels no longer use"),
	[KS_SCHED_SCHEDULES] = KS_COUNT("schedules", KSTAT_DATA_UINT64, "calls of the scheduler"),
	[KS_SCHED_IDLE] = KS_COUNT("idle_schedules", KSTAT_DATA_UINT64, "calls that left the CPU idle"),
	[KS_SCHED_WAKEUPS] = KS_COUNT("wakeups", KSTAT_DATA_UINT64, "processes woken"),
	[KS_SCHED_WAKEUPS_LOCAL] = KS_COUNT("local_wakeups", KSTAT_DATA_UINT64,
	    "processes woken by their own CPU"),
	[KS_SCHED_RUN] = KS_NSEC("run_nsec", "time that processes ran"),
	[KS_SCHED_WAIT] = KS_NSEC("wait_nsec", "time that processes waited for this CPU, summed over them"),
	[KS_SCHED_SLICES] = KS_COUNT("timeslices", KSTAT_DATA_UINT64, "times that a process began to run"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_cpu_sched_fields);

static void
parse_schedstat(struct ks_linux *lx, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, number;

	while (ks_text_line(&all, &line)) {
		if (ks_cpu_label(&line, &number)) {
			struct ks_unit *unit = ks_cpu_unit(lx, &number);

			if (unit != NULL)
				ks_cpu_of(unit)->sched = ks_line_of(im, &line);
		} else if (!ks_text_plain(&line)) {
			ks_linux_odd_line(lx, im, &line);
		}
	}
	ks_cpu_state_of(lx)->schedstat_seq = im->seq;
}

size_t
ks_cpu_sched_of(struct ks_linux *lx, struct ks_unit *unit, uint64_t v[KS_SCHED_COUNT])
{
	struct ks_cpu *cpu = ks_cpu_of(unit);
	const struct ks_image *im = ks_linux_try(lx, &ks_schedstat_file);
	struct ks_text t;
	size_t n;

	if (im == NULL)
		return 0;
	if (ks_cpu_state_of(lx)->schedstat_seq != im->seq)
		parse_schedstat(lx, im);
	if (cpu->sched.seq != im->seq)
		return 0;
	if (cpu->scheduled.seq != im->seq) {
		t = ks_line_text(im, &cpu->sched);
		n = ks_text_numbers(&t, cpu->scheduled.v, KS_SCHED_COUNT);
		for (size_t i = 0; i < n && i < KS_CPU_NARROW; i++)
			cpu->scheduled.v[i] = ks_widen(&cpu->schedules[i], cpu->scheduled.v[i]);
		cpu->scheduled.n = n;
		cpu->scheduled.seq = im->seq;
	}
	memcpy(v, cpu->scheduled.v, sizeof(cpu->scheduled.v));
	return cpu->scheduled.n;
}

int
ks_cpu_sched_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	uint64_t s[KS_SCHED_COUNT];
	struct ks_values vals = { .have = 0 };
	size_t n;

	if (ks_linux_image(lx, &ks_schedstat_file) == NULL)
		return -1;
	n = ks_cpu_sched_of(lx, unit, s);
	for (size_t i = 0; i < n; i++) {
		if (i != KS_SCHED_UNUSED)
			ks_have(&vals, i, s[i]);
	}
	ks_fields_add(r, ks_cpu_sched_fields, &vals);
	return 0;
}
