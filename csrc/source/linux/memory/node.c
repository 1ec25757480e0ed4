/*
 * node.c - NUMA nodes: lgrp:N:lgrpN with illumos's names, and what the kernel counts for each node, lgrp:N:meminfo
 * and lgrp:N:vm_events. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "model/record.h"
#include "source/linux/described.h"
#include "source/linux/devices.h"
#include "source/linux/system/unix.h"

#define MOST_NODES 4096

/* What this round knows of a node's memory, so that its meminfo is read once for two kstats. */
struct state {
	struct node {
		uint64_t round, total, free; /* in bytes */
	} *node; /* by number; owned */
	size_t n, cap;
};

static const struct ks_devices nodes = { .root = KS_ROOT_SYS, .path = "devices/system/node", .prefix = "node",
	.needs = "meminfo" };

/* Reads a file of a node into the scratch image. Returns 0, or -1 with errno and message. */
static int
read_file(struct ks_linux *lx, const struct ks_unit *unit, const char *file, char path[256])
{
	int err;

	(void)snprintf(path, 256, "%.200s/%s", ((const struct ks_device *)unit->extra)->path, file);
	err = ks_image_once(&lx->scratch, &lx->root[KS_ROOT_SYS], path);
	ks_linux_note_path(lx, KS_ROOT_SYS, path, err);
	if (err == ENOENT)
		return ks_linux_gone(unit);
	return err == 0 ? 0 : ks_fail(err, "cannot read %s/%s: %s", lx->root[KS_ROOT_SYS].name, path, strerror(err));
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

static struct node *
node_of(struct ks_linux *lx, const struct ks_unit *unit)
{
	struct state *s = lx->sub[KS_SUB_numa].state;
	size_t number = (size_t)unit->instance;

	if (number >= MOST_NODES || !KS_RESERVE(s->node, s->cap, number + 1))
		return NULL;
	for (; s->n <= number; s->n++)
		s->node[s->n] = (struct node){ 0, 0, 0 };
	return &s->node[number];
}

/* Reads the memory of a node; its statistics are added to the record if there is one. */
static int
read_memory(struct ks_linux *lx, const struct ks_unit *unit, struct ks_record *r)
{
	struct node *node = node_of(lx, unit);
	struct ks_text all, line, key, value;
	char path[256];
	uint64_t v, number;

	if (read_file(lx, unit, "meminfo", path) != 0)
		return -1;
	if (r != NULL)
		ks_meminfo_add(lx, KS_ROOT_SYS, path, &lx->scratch, r);
	if (node == NULL)
		return 0;
	*node = (struct node){ lx->round, 0, 0 };
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	while (node->free == 0 && ks_text_line(&all, &line)) {
		if (!ks_text_word(&line, &key) || !ks_text_u64(&line, &number) ||
		    !ks_text_pair(&line, &key, &value) || !ks_text_u64(&value, &v) || v > UINT64_MAX / 1024)
			continue;
		if (ks_text_is(&key, "MemTotal"))
			node->total = v * 1024;
		else if (ks_text_is(&key, "MemFree"))
			node->free = v * 1024;
	}
	return 0;
}

static int
read_meminfo(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	return read_memory(lx, unit, r);
}

static int
read_vm_events(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	char path[256];

	if (read_file(lx, unit, "vmstat", path) != 0)
		return -1;
	ks_vm_events_add(lx, KS_ROOT_SYS, path, &lx->scratch, r);
	return 0;
}

/* --- lgrpN --------------------------------------------------------------------------------------- */

enum { L_FAIL, L_CPUS, L_FREE, L_AVAIL, L_INSTALLED, L_HIT, L_MISS, L_FOREIGN, L_INTERLEAVE, L_LOCAL, L_OTHER };

#define ALLOCATIONS(stat, data, desc) \
	KS_UNITS(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_##data, "pages", desc)
#define PAGES(stat, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_INT64, "pages", desc)

static const struct ks_field fields[] = {
	[L_FAIL] = ALLOCATIONS("alloc fail", INT64, "pages wanted of this node that another node had to give"),
	[L_CPUS] = KS_GAUGE("cpus", KSTAT_DATA_INT64, "CPUs of the node that are online"),
	[L_FREE] = PAGES("pages free", "memory of the node used by nobody"),
	[L_AVAIL] = PAGES("pages avail", "memory of the node that the kernel manages"),
	[L_INSTALLED] = PAGES("pages installed", "memory of the node, as far as the kernel manages it"),
	[L_HIT] = ALLOCATIONS("numa_hit", UINT64, "pages allocated on this node as was wanted"),
	[L_MISS] = ALLOCATIONS("numa_miss", UINT64, "pages allocated on this node though another one was wanted"),
	[L_FOREIGN] = ALLOCATIONS("numa_foreign", UINT64, "pages wanted of this node and allocated on another one"),
	[L_INTERLEAVE] = ALLOCATIONS("interleave_hit", UINT64,
	    "pages allocated on this node by a policy that takes turns"),
	[L_LOCAL] = ALLOCATIONS("local_node", UINT64, "pages allocated on this node by its own CPUs"),
	[L_OTHER] = ALLOCATIONS("other_node", UINT64, "pages allocated on this node by CPUs of other nodes"),
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

static void
have_allocations(struct ks_linux *lx, const struct ks_unit *unit, struct ks_values *vals)
{
	struct ks_text all, line, key;
	char path[256];
	uint64_t v;

	if (read_file(lx, unit, "numastat", path) != 0)
		return;
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line;
		size_t i = L_HIT;

		if (!ks_text_word(&line, &key) || !ks_text_u64(&line, &v)) {
			ks_linux_odd_path(lx, KS_ROOT_SYS, path, lx->scratch.data, &whole);
			continue;
		}
		while (fields[i].meta.stat != NULL && !ks_text_is(&key, fields[i].meta.stat))
			i++;
		if (fields[i].meta.stat != NULL)
			ks_have(vals, i, v);
		if (i == L_FOREIGN)
			ks_have(vals, L_FAIL, v);
	}
}

static int
read_lgrp(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 };
	const struct node *node = node_of(lx, unit);
	char path[256];
	uint64_t v;

	if ((node == NULL || node->round != lx->round) && read_memory(lx, unit, NULL) != 0)
		return -1;
	node = node_of(lx, unit);
	if (node != NULL && node->round == lx->round && node->total != 0) {
		ks_have(&vals, L_FREE, node->free / lx->page);
		ks_have(&vals, L_AVAIL, node->total / lx->page);
		ks_have(&vals, L_INSTALLED, node->total / lx->page);
	}
	if (read_file(lx, unit, "cpulist", path) == 0) {
		struct ks_text all = ks_text_of(lx->scratch.data, lx->scratch.len), line = all;

		(void)ks_text_line(&all, &line);
		if (count_cpus(line, &v))
			ks_have(&vals, L_CPUS, v);
		else
			ks_linux_odd_path(lx, KS_ROOT_SYS, path, lx->scratch.data, &line);
	}
	have_allocations(lx, unit, &vals);
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("lgrp", "meminfo", "vm", .fields = ks_meminfo_fields, .read = read_meminfo,
	    .meta = meminfo_meta, .known = own_meminfo, .devices = &nodes,
	    .from = "/sys/devices/system/node/node*/meminfo"),
	KS_NAMED_PART("lgrp", "lgrp#", "misc", .fields = KS_TABLE(fields), .read = read_lgrp, .devices = &nodes),
	KS_NAMED_PART("lgrp", "vm_events", "vm", .read = read_vm_events, .meta = ks_vm_events_meta,
	    .known = ks_vm_events_known,
	    .devices = &(const struct ks_devices){ .root = KS_ROOT_SYS, .path = "devices/system/node",
	    .prefix = "node", .needs = "vmstat" }),
};

static void
release(void *state)
{
	free(((struct state *)state)->node);
}

KS_SUBSYSTEM(numa, parts, .scan = ks_devices_scan, .on_events = true, .state_size = sizeof(struct state),
    .release = release);
