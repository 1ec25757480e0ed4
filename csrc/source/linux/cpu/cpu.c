/*
 * cpu.c - cpu_stat, cpu:N:sys, cpu:N:vm and what Linux counts beyond them, from /proc/stat,
 * /proc/interrupts, /proc/softirqs and /proc/schedstat. SPDX-License-Identifier: MIT
 */
#include "source/linux/cpu/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "model/raw_layout.h"
#include "source/linux/memory/memory.h"

static const struct ks_file online_file = { KS_ROOT_SYS, "devices/system/cpu/online", KS_MADE_WHOLE, false };

#define TICKS(stat, desc) \
	KS_FRACT(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT_DATA_UINT64, 100, "ticks", desc)

enum { SYS_TICKS_IDLE, SYS_TICKS_USER, SYS_TICKS_KERNEL, SYS_TICKS_WAIT, SYS_TICKS_STOLEN,
	/* in the order of KS_TIME_* */
	SYS_NSEC_IDLE, SYS_NSEC_USER, SYS_NSEC_KERNEL, SYS_NSEC_WAIT, SYS_NSEC_INTR, SYS_NSEC_STOLEN,
	SYS_WAIT_IO, SYS_PSWITCH, SYS_INTR, SYS_INTRTHREAD, SYS_IDLETHREAD, SYS_XCALLS, SYS_SYSFORK };

static const struct ks_field sys_fields[] = {
	[SYS_TICKS_IDLE] = TICKS("cpu_ticks_idle", "ticks idle, nothing waiting for I/O"),
	[SYS_TICKS_USER] = TICKS("cpu_ticks_user", "ticks in user mode, niced and guests included"),
	[SYS_TICKS_KERNEL] = TICKS("cpu_ticks_kernel", "ticks in the kernel, interrupts included"),
	[SYS_TICKS_WAIT] = TICKS("cpu_ticks_wait", "ticks idle with I/O outstanding"),
	[SYS_TICKS_STOLEN] = TICKS("cpu_ticks_stolen", "ticks that the hypervisor gave to others"),
	[SYS_NSEC_IDLE] = KS_NSEC("cpu_nsec_idle", "time idle, nothing waiting for I/O"),
	[SYS_NSEC_USER] = KS_NSEC("cpu_nsec_user", "time in user mode, niced and guests included"),
	[SYS_NSEC_KERNEL] = KS_NSEC("cpu_nsec_kernel", "time in the kernel, interrupts included"),
	[SYS_NSEC_WAIT] = KS_NSEC("cpu_nsec_wait", "time idle with I/O outstanding"),
	[SYS_NSEC_INTR] = KS_NSEC("cpu_nsec_intr", "time in interrupts, part of cpu_nsec_kernel"),
	[SYS_NSEC_STOLEN] = KS_NSEC("cpu_nsec_stolen", "time that the hypervisor gave to others"),
	[SYS_WAIT_IO] = TICKS("wait_ticks_io", "ticks idle with I/O outstanding; all of cpu_ticks_wait"),
	[SYS_PSWITCH] = KS_COUNT("pswitch", KSTAT_DATA_UINT64, "context switches to a process"),
	[SYS_INTR] = KS_COUNT("intr", KSTAT_DATA_UINT64, "interrupts of all kinds"),
	[SYS_INTRTHREAD] = KS_COUNT("intrthread", KSTAT_DATA_UINT64,
	    "interrupt work run outside the interrupt (softirqs)"),
	[SYS_IDLETHREAD] = KS_COUNT("idlethread", KSTAT_DATA_UINT64, "times the CPU went idle"),
	[SYS_XCALLS] = KS_COUNT("xcalls", KSTAT_DATA_UINT64,
	    "calls from other CPUs, TLB shootdowns included"),
	[SYS_SYSFORK] = KS_COUNT("sysfork", KSTAT_DATA_UINT64, "processes and threads created"),
	KS_FIELD_END
};

static const struct ks_field time_fields[] = {
	[KS_TICKS_USER] = KS_NSEC("nsec_user", "time in user mode, guests included"),
	[KS_TICKS_NICE] = KS_NSEC("nsec_nice", "time in user mode at low priority, guests included"),
	[KS_TICKS_SYSTEM] = KS_NSEC("nsec_system", "time in system calls and kernel threads"),
	[KS_TICKS_IDLE] = KS_NSEC("nsec_idle", "time idle, nothing waiting for I/O"),
	[KS_TICKS_IOWAIT] = KS_NSEC("nsec_iowait", "time idle with I/O outstanding"),
	[KS_TICKS_IRQ] = KS_NSEC("nsec_irq", "time in hard interrupts"),
	[KS_TICKS_SOFTIRQ] = KS_NSEC("nsec_softirq", "time in softirqs"),
	[KS_TICKS_STEAL] = KS_NSEC("nsec_steal", "time that the hypervisor gave to others"),
	[KS_TICKS_GUEST] = KS_NSEC("nsec_guest", "time running guests, part of nsec_user"),
	[KS_TICKS_GUEST_NICE] = KS_NSEC("nsec_guest_nice", "time running niced guests, part of nsec_nice"),
	KS_FIELD_END
};

/* --- counts of a CPU --------------------------------------------------------------- */

/* The ticks of one CPU; NULL with errno and message. */
static const struct ks_cpu_ticks *
ticks_of(struct ks_linux *lx, const struct ks_unit *unit)
{
	const struct ks_stat *st = ks_linux_stat_with_times(lx);
	const struct ks_cpu_ticks *t;

	if (st == NULL)
		return NULL;
	t = ks_cpu_ticks_of(&ks_cpu_state_of(lx)->ticks, unit->instance, st->seq);
	if (t == NULL)
		(void)ks_fail(ENXIO, "CPU %s is not in %s/stat", unit->key, lx->root[KS_ROOT_PROC].name);
	return t;
}

/* --- interrupts ------------------------------------------------------------------ */

#define ENOUGH_TLB 1000 /* shootdowns that show which of the two it is */

/*
 * Some kernels count a TLB shootdown in the line of function calls as well. /proc/stat counts each interrupt
 * once, so a comparison shows which kind of kernel this is. That is found out once: a kernel does not change its
 * way, and a CPU that goes must not change what the others have counted.
 */
static bool
tlb_counted_twice(struct ks_linux *lx)
{
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	const struct ks_columns *c = &s->interrupts;
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;
	uint64_t total = 0, tlb = 0, once = s->stat.v[KS_STAT_INTR], off;
	bool twice;

	if (s->tlb_counted != KS_TLB_UNKNOWN)
		return s->tlb_counted == KS_TLB_TWICE;
	for (size_t i = 0; i < c->n; i++) {
		total += c->v[i].total;
		tlb += c->v[i].tlb;
	}
	total -= tlb;
	off = total > once ? total - once : once - total;
	twice = (s->stat.have & 1u << KS_STAT_INTR) != 0 && off < tlb / 2;
	/* Only /proc/stat counts the interrupts of CPUs that are offline: all kernels since Linux 4.12 do. */
	if (lx->root[KS_ROOT_PROC].kernel && (s->online != c->n || c->n + cpus->dead != cpus->n))
		twice = true;
	if (tlb >= ENOUGH_TLB || (!lx->root[KS_ROOT_PROC].kernel && tlb > 1))
		s->tlb_counted = twice ? KS_TLB_TWICE : KS_TLB_ONCE;
	return twice;
}

static const struct ks_column *
column_of(struct ks_linux *lx, const struct ks_file *file, struct ks_columns *c,
    const struct ks_unit *unit)
{
	const struct ks_image *im = ks_linux_try(lx, file);

	return im != NULL ? ks_columns_of_cpu(lx, c, im, (uint32_t)unit->instance) : NULL;
}

/* --- the kstats ------------------------------------------------------------------ */

static int
collect_sys(struct ks_linux *lx, struct ks_unit *unit, struct ks_values *vals)
{
	static const int fields[KS_TIME_COUNT] = {
		[KS_TIME_IDLE] = SYS_TICKS_IDLE, [KS_TIME_USER] = SYS_TICKS_USER, [KS_TIME_KERNEL] = SYS_TICKS_KERNEL,
		[KS_TIME_WAIT] = SYS_TICKS_WAIT, [KS_TIME_INTR] = -1, [KS_TIME_STOLEN] = SYS_TICKS_STOLEN,
	};
	const struct ks_cpu_ticks *ticks = ticks_of(lx, unit);
	struct ks_cpu *cpu = ks_cpu_of(unit);
	const struct ks_column *col;
	uint64_t s[KS_SCHED_COUNT], time[KS_TIME_COUNT];
	uint32_t have;

	vals->have = 0;
	if (ticks == NULL)
		return -1;
	have = ks_cpu_times(ticks->ticks, ticks->n, time);
	for (int i = 0; i < KS_TIME_COUNT; i++) {
		if ((have >> i & 1) == 0)
			continue;
		ks_have(vals, (size_t)(SYS_NSEC_IDLE + i), time[i] * KS_NSEC_PER_TICK);
		if (fields[i] >= 0)
			ks_have(vals, (size_t)fields[i], time[i]);
	}
	if ((have >> KS_TIME_WAIT & 1) != 0)
		ks_have(vals, SYS_WAIT_IO, time[KS_TIME_WAIT]);
	if (ks_cpu_sched_of(lx, unit, s) == KS_SCHED_COUNT) {
		ks_have(vals, SYS_PSWITCH, s[KS_SCHED_SLICES]);
		/* Only counted while kernel.sched_schedstats is on. */
		if (s[KS_SCHED_SCHEDULES] > 0)
			ks_have(vals, SYS_IDLETHREAD, s[KS_SCHED_IDLE]);
	}
	col = column_of(lx, &ks_interrupts_file, &ks_cpu_state_of(lx)->interrupts, unit);
	if (col != NULL) {
		uint64_t twice = tlb_counted_twice(lx) ? col->tlb : 0;

		ks_have(vals, SYS_INTR, ks_widen(&cpu->interrupts, col->total - twice));
		ks_have(vals, SYS_XCALLS, ks_widen(&cpu->calls, col->calls + col->tlb - twice));
	}
	col = column_of(lx, &ks_softirqs_file, &ks_cpu_state_of(lx)->softirqs, unit);
	if (col != NULL)
		ks_have(vals, SYS_INTRTHREAD, ks_widen(&cpu->softirqs, col->total));
	return 0;
}

/* Returns the values of cpu:N:sys, of which cpu_stat is made as well; NULL with errno and message. */
static const struct ks_values *
sys_values(struct ks_linux *lx, struct ks_unit *unit)
{
	const struct ks_stat *st = ks_linux_stat_with_times(lx);
	struct ks_cpu *cpu = ks_cpu_of(unit);

	if (st == NULL)
		return NULL;
	if (cpu->sys.seq != st->seq) {
		cpu->sys.seq = 0;
		if (collect_sys(lx, unit, &cpu->sys.vals) != 0)
			return NULL;
		cpu->sys.seq = st->seq;
		cpu->sys.taken = lx->taken;
	}
	ks_linux_taken(lx, 0, cpu->sys.taken);
	return &cpu->sys.vals;
}

/* True if the machine has one CPU. What Linux counts for the machine alone is then the CPU's own. */
static bool
is_single(const struct ks_linux *lx)
{
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;

	return cpus->n - cpus->dead == 1;
}

/*
 * True if a program in C gets what Linux counts for the machine alone with this CPU: the first one that is online.
 * Such programs add the CPUs up.
 */
static bool
stands_for_machine(const struct ks_linux *lx, const struct ks_unit *unit)
{
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;
	uint32_t first = 0;

	while (first < cpus->n && !(cpus->v[first].alive && ks_cpu_of(&cpus->v[first])->online))
		first++;
	return lx->for_program && first < cpus->n && unit == &cpus->v[first];
}

/* Collects what Linux counts for the machine alone, and what *own does not have. */
static void
machine_values(struct ks_linux *lx, const struct ks_values *own, struct ks_values *vals)
{
	const struct ks_stat *st = ks_linux_stat(lx);

	vals->have = 0;
	if (st != NULL && (st->have & 1u << KS_STAT_PROCESSES) != 0)
		ks_have(vals, SYS_SYSFORK, st->v[KS_STAT_PROCESSES]);
	if (st != NULL && (st->have & 1u << KS_STAT_CTXT) != 0 && (own->have >> SYS_PSWITCH & 1) == 0)
		ks_have(vals, SYS_PSWITCH, st->v[KS_STAT_CTXT]);
	if (st != NULL && (st->have & 1u << KS_STAT_INTR) != 0 && (own->have >> SYS_INTR & 1) == 0)
		ks_have(vals, SYS_INTR, st->v[KS_STAT_INTR]);
}

/* Adds the statistics that have values, and hides them if `hidden`. */
static void
add_values(struct ks_record *r, const struct ks_field *table, const struct ks_values *vals, bool hidden)
{
	uint_t first = r->ndata;

	ks_fields_add(r, table, vals);
	if (hidden)
		ks_record_hide(r, first);
}

static int
read_sys(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_values *vals = sys_values(lx, unit);
	struct ks_values machine;

	if (vals == NULL)
		return -1;
	add_values(r, sys_fields, vals, false);
	if (is_single(lx) || stands_for_machine(lx, unit)) {
		machine_values(lx, vals, &machine);
		add_values(r, sys_fields, &machine, !is_single(lx));
	}
	return 0;
}

static int
read_vm(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals;

	if (is_single(lx))
		return ks_unix_vm_read(lx, unit, r);
	if (stands_for_machine(lx, unit) && ks_unix_vm_values(lx, &vals) == 0)
		add_values(r, ks_unix_vm_fields, &vals, true);
	return 0;
}

/* Puts the values of sys_fields into a cpu_stat_t. */
static void
put_sysinfo(struct ks_record *r, const struct ks_raw_layout *l, const struct ks_values *vals)
{
	static const struct {
		const char *name;
		int field;
	} map[] = {
		{ "idle", SYS_TICKS_IDLE }, { "user", SYS_TICKS_USER }, { "kernel", SYS_TICKS_KERNEL },
		{ "wait", SYS_TICKS_WAIT }, { "wait_io", SYS_WAIT_IO }, { "pswitch", SYS_PSWITCH },
		{ "intr", SYS_INTR }, { "intrthread", SYS_INTRTHREAD }, { "idlethread", SYS_IDLETHREAD },
		{ "xcalls", SYS_XCALLS }, { "sysfork", SYS_SYSFORK },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if ((vals->have >> map[i].field & 1) != 0)
			ks_raw_put_u64(r, l, map[i].name, vals->v[map[i].field].u);
	}
}

static int
read_cpu_stat(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_raw_layout *l = ks_raw_layout_find("cpu_stat", "cpu_stat");
	const struct ks_field *vm = ks_unix_vm_fields;
	const struct ks_values *vals = sys_values(lx, unit);
	struct ks_values machine;

	if (vals == NULL)
		return -1;
	if (!ks_raw_start(r, l, !lx->for_program))
		return 0;
	put_sysinfo(r, l, vals);
	if (!is_single(lx) && !stands_for_machine(lx, unit))
		return 0;
	machine_values(lx, vals, &machine);
	put_sysinfo(r, l, &machine);
	if (ks_unix_vm_values(lx, &machine) != 0)
		return 0;
	for (size_t i = 0; vm[i].meta.stat != NULL; i++) {
		if ((machine.have >> i & 1) != 0)
			ks_raw_put_u64(r, l, vm[i].meta.stat, machine.v[i].u);
	}
	return 0;
}

static int
read_time(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_cpu_ticks *t = ticks_of(lx, unit);
	struct ks_values vals = { .have = 0 };

	if (t == NULL)
		return -1;
	for (uint32_t i = 0; i < t->n; i++)
		ks_have(&vals, i, t->ticks[i] * KS_NSEC_PER_TICK);
	ks_fields_add(r, time_fields, &vals);
	return 0;
}

enum { PART_INFO, PART_SYS, PART_VM, PART_STAT, PART_TIME, PART_SCHED };

#define CPU_STAT_SIZE 380

static const struct ks_part parts[] = {
	[PART_INFO] = KS_NAMED_PART("cpu_info", "cpu_info#", "misc", .fields = ks_cpu_info_fields,
	    .read = ks_cpu_info_read, .from = "/proc/cpuinfo, /sys/devices/system/cpu"),
	[PART_SYS] = KS_NAMED_PART("cpu", "sys", "misc", .fields = KS_TABLE(sys_fields), .read = read_sys,
	    .from = "/proc/stat, /proc/interrupts, /proc/softirqs, /proc/schedstat"),
	[PART_VM] = KS_NAMED_PART("cpu", "vm", "misc", .fields = ks_unix_vm_fields, .read = read_vm,
	    .from = "/proc/vmstat"),
	[PART_STAT] = KS_RAW_PART("cpu_stat", "cpu_stat#", "misc", CPU_STAT_SIZE, .read = read_cpu_stat,
	    KS_NAMES("idle", "user", "kernel", "wait", "wait_io", "pswitch", "intr", "intrthread", "idlethread", "xcalls",
	    /* On a machine with one CPU: */ "sysfork", "pgpgin", "pgpgout", "pgswapin", "pgswapout", "anonpgin", "anonpgout",
	    "dfree", "scan", "as_fault", "maj_fault"),
	    .from = "/proc/stat, /proc/interrupts, /proc/softirqs, /proc/schedstat"),
	[PART_TIME] = KS_NAMED_PART("cpu", "time", "misc", .fields = KS_TABLE(time_fields), .read = read_time,
	    .from = "/proc/stat"),
	[PART_SCHED] = KS_NAMED_PART("cpu", "sched", "misc", .fields = ks_cpu_sched_fields, .read = ks_cpu_sched_read,
	    .from = "/proc/schedstat"),
};

/* --- scanning -------------------------------------------------------------------- */

static int
add_cpu(struct ks_linux *lx, struct ks_units *units, uint64_t number, bool online)
{
	char key[24];
	int len = snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
	uint16_t kinds = 1u << PART_INFO;
	bool is_new;
	struct ks_unit *unit = ks_units_see(units, key, (size_t)len, 0, &is_new);
	struct ks_cpu *cpu;

	if (unit == NULL)
		return -1;
	if (is_new) {
		/* A CPU that was there before went on counting where it had stopped. */
		if (number < ks_cpu_state_of(lx)->ticks.n && ks_cpu_state_of(lx)->ticks.v[number].n > 0)
			unit->crtime = 0;
		unit->extra = calloc(1, sizeof(*cpu));
		if (unit->extra == NULL)
			return -1;
		unit->instance = (int)number;
		unit->long_texts = sizeof(cpu->facts.frequencies);
		(void)snprintf(unit->name, sizeof(unit->name), "CPU %s", key);
	}
	cpu = unit->extra;
	if (online && ks_cpu_state_of(lx)->has_stat) {
		kinds |= 1u << PART_SYS | 1u << PART_VM | 1u << PART_STAT | 1u << PART_TIME;
		if (ks_cpu_state_of(lx)->has_schedstat)
			kinds |= 1u << PART_SCHED;
	}
	if (!is_new && cpu->online == online && (kinds & ~unit->parts) == 0)
		return 0;
	if (is_new || cpu->online != online)
		cpu->since = units->scanned ? ks_time_of_day() / KS_NANOSEC : 0;
	cpu->online = online;
	units->changed = true;
	unit->parts = kinds;
	return 0;
}

/* Adds the CPUs of a list such as "0-3,8" as online, or those that are not online as offline. */
static int
add_list(struct ks_linux *lx, struct ks_units *units, const char *s, size_t n, bool online)
{
	const char *end = s + n;
	uint64_t from, to;

	while (ks_scan_u64(&s, end, &from) == 0 && from < KS_CPU_MAX) {
		to = from;
		if (s < end && *s == '-') {
			s++;
			if (ks_scan_u64(&s, end, &to) != 0 || to >= KS_CPU_MAX)
				return 0;
		}
		for (; from <= to; from++) {
			char key[24];
			int len = snprintf(key, sizeof(key), "%llu", (unsigned long long)from);
			const struct ks_unit *unit = online ? NULL : ks_units_find(units, key, (size_t)len);

			if (unit != NULL && unit->seen)
				continue;
			if (add_cpu(lx, units, from, online) != 0)
				return -1;
		}
		if (s >= end || *s++ != ',')
			break;
	}
	return 0;
}

static int
add_cpus_of_stat(struct ks_linux *lx, struct ks_units *units, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, number;
	uint64_t cpu;

	while (ks_text_line(&all, &line)) {
		if (ks_cpu_label(&line, &number) && ks_text_u64(&number, &cpu) && cpu < KS_CPU_MAX &&
		    add_cpu(lx, units, cpu, true) != 0)
			return -1;
	}
	return 0;
}

/* True if /proc/stat, which every report about CPUs reads anyway, has exactly the CPUs that are known. */
static bool
are_the_same(struct ks_linux *lx)
{
	const struct ks_stat *st = ks_linux_stat_with_times(lx);

	return st != NULL && st->strangers == 0 && st->known == ks_cpu_state_of(lx)->online;
}

static uint32_t
count_online(const struct ks_units *units)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < units->n; i++)
		n += units->v[i].alive && ks_cpu_of(&units->v[i])->online;
	return n;
}

static void
begin(struct ks_linux *lx, struct ks_units *units, bool has_stat)
{
	ks_units_begin(units);
	ks_cpu_state_of(lx)->has_stat = has_stat;
	ks_cpu_state_of(lx)->has_schedstat = ks_linux_exists(lx, KS_ROOT_PROC, "schedstat");
}

static int
scan_cpus(struct ks_linux *lx, struct ks_units *units)
{
	bool kernel = lx->root[KS_ROOT_PROC].kernel && lx->root[KS_ROOT_SYS].kernel;
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	const struct ks_image *im = NULL;
	uint64_t hash = 0;
	char present[4096];
	int rc = 0, lack = lx->lack, n;

	if (units->scanned && kernel && (lx->settled || (!lx->counts_events && are_the_same(lx))))
		return 0;
	lx->lack = 0;
	/* The running kernel's list is cheaper than /proc/stat; recorded trees may not agree. */
	if (kernel)
		im = ks_linux_try(lx, &online_file);
	if (im != NULL) {
		hash = ks_hash_bytes(KS_HASH_INIT, im->data, im->len);
		if (units->scanned && hash == s->online_hash) {
			lx->lack = lack;
			return 0;
		}
		begin(lx, units, true);
		rc = add_list(lx, units, im->data, im->len, true);
	} else {
		im = ks_linux_try(lx, &ks_stat_file);
		begin(lx, units, im != NULL);
		if (im == NULL && (im = ks_linux_try(lx, &online_file)) != NULL)
			rc = add_list(lx, units, im->data, im->len, true);
		else if (im != NULL)
			rc = add_cpus_of_stat(lx, units, im);
	}
	n = ks_file_small(&lx->root[KS_ROOT_SYS], "devices/system/cpu/present", present, sizeof(present));
	if (rc == 0 && n > 0)
		rc = add_list(lx, units, present, (size_t)n, im == NULL); /* nothing says that one is off-line */
	if (rc != 0)
		return -1;
	rc = ks_units_end(units);
	s->online = count_online(units);
	s->online_hash = hash;
	ks_linux_scanned(lx, units, lack);
	return rc;
}

static void
release(void *state)
{
	struct ks_cpu_state *s = state;

	ks_columns_free(&s->interrupts);
	ks_columns_free(&s->softirqs);
	free(s->ticks.v);
}

KS_SUBSYSTEM(cpu, parts, .scan = scan_cpus, .state_size = sizeof(struct ks_cpu_state), .release = release);
