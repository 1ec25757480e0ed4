/*
 * solaris.c - kstats of Solaris about things that Linux does not count. Programs in C end without them, so they find
 * them with the value 0, and vminfo with sums of their own readings; nobody else sees them.
 * SPDX-License-Identifier: MIT
 */
#include "kstat_raw.h"
#include "source/linux/memory/memory.h"

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

static const struct ks_part parts[] = {
	KS_NAMED_PART("unix", "dnlcstats", "misc", .fields = no_fields, .read = read_nothing),
	KS_NAMED_PART("unix", "biostats", "misc", .fields = no_fields, .read = read_nothing),
	KS_RAW_PART("unix", "vminfo", "vm", sizeof(vminfo_t), .read = ks_vminfo_read, .file = &ks_meminfo_file,
	    .needs = &ks_linux_unix),
	KS_RAW_PART("unix", "ncstats", "misc", sizeof(struct ncstats), .read = read_zeros),
};

KS_SUBSYSTEM(solaris, parts, .for_program = true);
