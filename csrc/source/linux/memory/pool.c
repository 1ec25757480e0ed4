/*
 * pool.c - memory that the kernel keeps in pools or shares: huge pages of each size, on the machine and on each node,
 * and same pages (KSM). SPDX-License-Identifier: MIT
 */
#include "source/linux/devices.h"

#define PAGES(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages", key, desc)
#define EVENTS(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)

static const struct ks_field huge_fields[] = {
	PAGES("total", "nr_hugepages", "huge pages of this size in the pool"),
	PAGES("free", "free_hugepages", "huge pages not allocated"),
	PAGES("reserved", "resv_hugepages", "huge pages promised, not yet allocated"),
	PAGES("surplus", "surplus_hugepages", "huge pages above the size of the pool"),
	PAGES("overcommit_limit", "nr_overcommit_hugepages", "how many surplus pages there may be"),
	KS_FIELD_END
};

static const struct ks_field ksm_fields[] = {
	KS_STATE_K("run", "run", "1 if pages are compared, 0 if not, 2 if all are being separated"),
	PAGES("pages_shared", "pages_shared", "pages that several users share"),
	PAGES("pages_sharing", "pages_sharing", "further uses of these pages: what is saved"),
	PAGES("pages_unshared", "pages_unshared", "pages compared that no other is equal to"),
	PAGES("pages_volatile", "pages_volatile", "pages that change too fast to be shared"),
	EVENTS("full_scans", "full_scans", "times that all memory was compared"),
	EVENTS("pages_scanned", "pages_scanned", "pages that were compared"),
	EVENTS("pages_skipped", "pages_skipped", "pages that were not compared because they had never been equal"),
	EVENTS("zero_pages", "ksm_zero_pages", "empty pages that were replaced by the one of the kernel"),
	KS_OF("general_profit", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_INT64, "bytes", "general_profit",
	    "memory saved, less what this costs"),
	KS_GAUGE_K("pages_to_scan", KSTAT_DATA_UINT64, "pages_to_scan", "pages compared at a time"),
	KS_OF_PER("sleep", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT64, 1000, "ms", "sleep_millisecs",
	    "time between"),
	KS_STATE_K("merge_across_nodes", "merge_across_nodes", "1 if pages of several NUMA nodes are shared"),
	KS_FIELD_END
};

static const struct ks_part parts[] = {
	KS_DEVICE_PART("hugepages", "@", "vm", huge_fields, KS_DEVICES("kernel/mm/hugepages", "hugepages-",
	    .by = KS_BY_NAME)),
	KS_DEVICE_PART("lgrp", "@", "vm", huge_fields, KS_DEVICES("devices/system/node", "node",
	    .inside = "hugepages", .inner = "hugepages-", .by = KS_BY_NAME)),
	KS_DEVICE_PART("unix", "ksm", "vm", ksm_fields, KS_DEVICES("kernel/mm/ksm", NULL),
	    .since = "; general_profit 6.4"),
};

KS_SUBSYSTEM(pool, parts, .scan = ks_devices_scan, .on_events = true);
