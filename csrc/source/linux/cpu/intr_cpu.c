/*
 * intr_cpu.c - interrupts and softirqs by CPU, with a statistic for each: intr_cpu:NUMBER:DEVICE, intr_cpu:0:LOC,
 * softirq_cpu:0:NET_RX. A large machine has a million of these counters, so that only those who name the module or
 * the class get them. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdio.h>

#include "source/linux/cpu/cpus.h"
#include "source/linux/described.h"
#include "source/linux/listing.h"

static int
set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	const char *number = unit->key;
	uint64_t irq = 0;

	if (isdigit((unsigned char)*number))
		(void)ks_scan_u64(&number, number + strlen(number), &irq);
	ks_intr_set_names(unit);
	unit->instance = (int)(irq <= INT32_MAX ? irq : 0);
	if (ks_scan_asks_for(lx->scan, "intr_cpu", "interrupts_cpu", unit->instance, unit->name))
		unit->parts = 1;
	return 0;
}

static const struct ks_listing interrupts = { &ks_interrupts_file, ks_intr_take_key, ks_intr_is_heading, NULL,
	set_up };
static const struct ks_listing softirqs = { &ks_softirqs_file, ks_intr_take_key, ks_intr_is_heading, NULL,
	NULL };

/* Adds the counters of a line, but those of a line that does not count by CPU. They have 32 bits in the kernel. */
static int
add_counters(struct ks_linux *lx, struct ks_text line, struct ks_record *r)
{
	struct ks_text all = ks_text_of(lx->im->data, lx->im->len), heading, rest;
	char name[KSTAT_STRLEN];
	uint64_t cpu, v, columns = 0, numbers = 0;

	if (!ks_text_line(&all, &heading))
		return 0;
	for (rest = heading; ks_cpu_of_heading(&rest, &cpu);)
		columns++;
	for (rest = line; ks_text_u64(&rest, &v);)
		numbers++;
	while (columns == numbers && ks_cpu_of_heading(&heading, &cpu) && ks_text_u64(&line, &v)) {
		(void)snprintf(name, sizeof(name), "cpu%u", (unsigned)cpu);
		ks_named_u32(r, name, (uint32_t)v);
	}
	return 0;
}

static const struct ks_meta *
meta(const char *stat)
{
	static const struct ks_meta counter = KS_META_COUNTER("", "");

	return ks_described_as(&counter, "times that ", stat, " served it");
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("intr_cpu", "@", "interrupts_cpu", .add = add_counters, .meta = meta,
	    .file = &ks_interrupts_file, KS_NAMES("cpu0")),
};

static const struct ks_part softirq_parts[] = {
	KS_NAMED_PART("softirq_cpu", "@", "interrupts_cpu", .add = add_counters, .meta = meta,
	    .file = &ks_softirqs_file, KS_NAMES("cpu0")),
};

KS_SUBSYSTEM(intr_cpu, parts, .listing = &interrupts, .on_demand = true);
KS_SUBSYSTEM(softirq_cpu, softirq_parts, .listing = &softirqs, .on_demand = true);
