/*
 * pool.c - memory that the kernel keeps in pools or shares: huge pages of each size, on the machine and on each node,
 * same pages (KSM), and caches of its objects, unix:0:CACHE. SPDX-License-Identifier: MIT
 */
#include "source/linux/devices.h"
#include "source/linux/listing.h"

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

/* --- caches of objects ------------------------------------------------------------------------ */

/*
 * The class kmem_cache. Only root may read the file: other users do not have these kstats, and get no warning. There
 * are hundreds of caches and the file is slow, so on the running machine they are optional.
 */

static const struct ks_file slabinfo_file = { KS_ROOT_PROC, "slabinfo", KS_MADE_ANYHOW, true };

struct state {
	bool was_read; /* a kstat was read since the last scan */
};

enum { S_BUF_SIZE, S_SLAB_SIZE, S_INUSE, S_AVAIL, S_TOTAL, S_SLABS, S_ACTIVE_SLABS };

static const struct ks_field slab_fields[] = {
	[S_BUF_SIZE] = KS_AMOUNT("buf_size", "size of an object"),
	[S_SLAB_SIZE] = KS_AMOUNT("slab_size", "size of a slab, which holds several objects"),
	[S_INUSE] = KS_GAUGE("buf_inuse", KSTAT_DATA_UINT64, "objects in use"),
	[S_AVAIL] = KS_GAUGE("buf_avail", KSTAT_DATA_UINT64, "objects free"),
	[S_TOTAL] = KS_GAUGE("buf_total", KSTAT_DATA_UINT64, "objects in all slabs"),
	[S_SLABS] = KS_GAUGE("slabs", KSTAT_DATA_UINT64, "slabs, which hold the objects of the cache"),
	[S_ACTIVE_SLABS] = KS_GAUGE("slabs_active", KSTAT_DATA_UINT64, "slabs with objects in use"),
	KS_FIELD_END
};

static void
collect_slab(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct state *s = lx->sub[KS_SUB_slab].state;
	struct ks_text word;
	uint64_t v[5], slabs[2];

	s->was_read = true;
	/* active_objs num_objs objsize objperslab pagesperslab : tunables ... : slabdata active num */
	if (ks_text_numbers(&line, v, 5) == 5) {
		ks_have(vals, S_BUF_SIZE, v[2]);
		ks_have(vals, S_SLAB_SIZE, v[4] * lx->page);
		ks_have(vals, S_INUSE, v[0]);
		ks_have(vals, S_AVAIL, v[1] > v[0] ? v[1] - v[0] : 0);
		ks_have(vals, S_TOTAL, v[1]);
	} else {
		ks_linux_odd_line(lx, lx->im, &line);
	}
	while (ks_text_word(&line, &word)) {
		if (ks_text_is(&word, "slabdata") && ks_text_numbers(&line, slabs, 2) == 2) {
			ks_have(vals, S_ACTIVE_SLABS, slabs[0]);
			ks_have(vals, S_SLABS, slabs[1]);
		}
	}
}

static const struct ks_part slab_parts[] = {
	KS_NAMED_PART("unix", "@", "kmem_cache", .fields = KS_TABLE(slab_fields), .collect = collect_slab,
	    .from = "/proc/slabinfo", .title = "unix:0:CACHE"),
};

/* --- scanning ------------------------------------------------------------------------------ */

/* Removes the name from "name <numbers>". */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text name;

	if (*line->p == '#' || !ks_text_word(line, &name) || !ks_text_at_number(line))
		return 0;
	return ks_listing_key(key, &name);
}

static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	(void)im;
	return *line->p == '#' || ks_text_starts(line, "slabinfo ");
}

static const struct ks_listing listing = { &slabinfo_file, take_key, is_heading, NULL, NULL };

/*
 * The file is slow and the list hardly changes, so it is read again only for callers who read caches and need
 * the file in any case.
 */
static int
scan_slab(struct ks_linux *lx, struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_slab].state;

	if (units->scanned && !s->was_read && lx->root[KS_ROOT_PROC].kernel)
		return 0;
	s->was_read = false;
	return ks_listing_scan(lx, units, &listing);
}

KS_SUBSYSTEM(slab, slab_parts, .scan = scan_slab, .listing = &listing, .optional = "slab", .state_size = sizeof(struct state));
