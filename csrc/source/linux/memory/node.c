/*
 * node.c - NUMA nodes: lgrp:N:lgrpN with illumos's names, and what the kernel counts for each node, lgrp:N:meminfo
 * and lgrp:N:vm_events. SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "model/record.h"
#include "source/linux/described.h"
#include "source/linux/devices.h"
#include "source/linux/listing.h"
#include "source/linux/memory/memory.h"

static const struct ks_devices nodes = { .root = KS_ROOT_SYS, .path = "devices/system/node", .prefix = "node",
	.needs = "meminfo" };

/* Reads a file of a node, as ks_linux_once() does. */
static const struct ks_image *
read_file(struct ks_linux *lx, const struct ks_unit *unit, const char *file)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%.200s/%s", ((const struct ks_device *)unit->extra)->path, file);
	return ks_linux_once(lx, unit, KS_ROOT_SYS, path);
}

/* --- meminfo, vm_events ---------------------------------------------------------------------- */

/* What meminfo of a node has beside the statistics of unix:0:meminfo. */
static const struct ks_meta own_meminfo[] = {
	KS_META_BYTES("MemUsed", KS_KIND_GAUGE, "memory of the node that is not free"),
	KS_META_BYTES("FilePages", KS_KIND_GAUGE, "cached files, shared memory and cached blocks of devices"),
	KS_META_END
};

static const struct ks_meta *
meminfo_meta(const char *stat)
{
	const struct ks_meta *m = ks_meta_find(own_meminfo, stat);

	return m != NULL ? m : ks_meminfo_meta(stat);
}

/* The file of a node is called as the kstat. */
static int
read_all(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const char *file = strcmp(lx->part->name, "meminfo") == 0 ? "meminfo" : "vmstat";

	return read_file(lx, unit, file) != NULL ? ks_lines_add(lx, ks_image_text(lx->im), r) : -1;
}

/* --- lgrpN --------------------------------------------------------------------------------------- */

enum { L_FAIL, L_CPUS, L_FREE, L_AVAIL, L_INSTALLED, L_HIT, L_MISS, L_FOREIGN, L_INTERLEAVE, L_LOCAL, L_OTHER };

#define ALLOCATIONS(stat, desc) KS_OF(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages", stat, desc)
#define PAGES(stat, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_INT64, "pages", desc)

static const struct ks_field fields[] = {
	[L_FAIL] = KS_UNITS("alloc fail", KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_INT64, "pages",
	    "pages wanted of this node that another node had to give"),
	[L_CPUS] = KS_GAUGE("cpus", KSTAT_DATA_INT64, "CPUs of the node that are online"),
	[L_FREE] = PAGES("pages free", "memory of the node used by nobody"),
	[L_AVAIL] = PAGES("pages avail", "memory of the node that the kernel manages"),
	[L_INSTALLED] = PAGES("pages installed", "memory of the node, as far as the kernel manages it"),
	[L_HIT] = ALLOCATIONS("numa_hit", "pages allocated on this node as was wanted"),
	[L_MISS] = ALLOCATIONS("numa_miss", "pages allocated on this node though another one was wanted"),
	[L_FOREIGN] = ALLOCATIONS("numa_foreign", "pages wanted of this node and allocated on another one"),
	[L_INTERLEAVE] = ALLOCATIONS("interleave_hit",
	    "pages allocated on this node by a policy that takes turns"),
	[L_LOCAL] = ALLOCATIONS("local_node", "pages allocated on this node by its own CPUs"),
	[L_OTHER] = ALLOCATIONS("other_node", "pages allocated on this node by CPUs of other nodes"),
	KS_FIELD_END
};

/* Counts the CPUs of a list such as "0-3,8". */
static bool
count_cpus(struct ks_text t, uint64_t *count)
{
	uint64_t first, last;

	*count = 0;
	while (ks_text_u64(&t, &first)) {
		last = first;
		if (ks_text_starts(&t, "-")) {
			t.p++;
			if (!ks_text_u64(&t, &last) || last < first)
				return false;
		}
		*count += last - first + 1;
		if (ks_text_starts(&t, ","))
			t.p++;
	}
	return ks_text_empty(&t);
}

static int
read_lgrp(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 };
	struct ks_text all, line = { "", "" }, name;
	uint64_t v;

	if (read_file(lx, unit, "meminfo") == NULL)
		return -1;
	for (all = ks_image_text(lx->im); ks_lines_next(lx, &all, &name, &v);) {
		if (ks_text_is(&name, "MemFree"))
			ks_have(&vals, L_FREE, v / lx->page);
		else if (ks_text_is(&name, "MemTotal"))
			ks_have(&vals, L_AVAIL, v / lx->page);
	}
	if ((vals.have >> L_AVAIL & 1) != 0)
		ks_have(&vals, L_INSTALLED, vals.v[L_AVAIL].u);
	if (read_file(lx, unit, "cpulist") != NULL) {
		all = ks_image_text(lx->im);
		(void)ks_text_line(&all, &line);
		if (count_cpus(line, &v))
			ks_have(&vals, L_CPUS, v);
		else
			ks_linux_odd_line(lx, lx->im, &line);
	}
	if (read_file(lx, unit, "numastat") != NULL)
		ks_lines_collect(lx, ks_image_text(lx->im), &vals);
	if ((vals.have >> L_FOREIGN & 1) != 0)
		ks_have(&vals, L_FAIL, vals.v[L_FOREIGN].u);
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("lgrp", "meminfo", "vm", .fields = ks_meminfo_fields, .read = read_all,
	    .meta = meminfo_meta, .known = own_meminfo, .devices = &nodes,
	    .from = "/sys/devices/system/node/node*/meminfo"),
	KS_NAMED_PART("lgrp", "lgrp#", "misc", .fields = KS_TABLE(fields), .read = read_lgrp,
	    .devices = &nodes),
	KS_NAMED_PART("lgrp", "vm_events", "vm", .read = read_all, .meta = ks_vm_events_meta,
	    .known = ks_vm_events_known, .devices = &(const struct ks_devices){ .root = KS_ROOT_SYS,
	    .path = "devices/system/node", .prefix = "node", .needs = "vmstat" }),
};

KS_SUBSYSTEM(numa, parts, .scan = ks_devices_scan, .on_events = true);
