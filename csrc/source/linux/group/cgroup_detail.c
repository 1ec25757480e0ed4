/*
 * cgroup_detail.c - the statistics of cgroup_memory:ID:NAME, which are the lines of memory.stat and the use of huge
 * pages, and of cgroup_io:ID:NAME, which are those of each disk. See groups.h. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "model/meta.h"
#include "source/linux/group/groups.h"

#define FILE_SIZE 32768

#define BYTES(stat, desc) KS_META_BYTES(stat, KS_KIND_GAUGE, desc)
#define EVENT(stat, unit, desc) KS_META(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, unit, desc)

/* --- memory.stat ---------------------------------------------------------------------------------------- */

const struct ks_meta ks_group_memory_known[] = {
	BYTES("anon", "anonymous memory, such as heaps and stacks"),
	BYTES("file", "cached data of files, tmpfs and shared memory included"),
	BYTES("kernel", "memory of the kernel for this group, in all"),
	BYTES("kernel_stack", "stacks of threads in the kernel"),
	BYTES("pagetables", "page tables"),
	BYTES("sec_pagetables", "secondary page tables, such as those of virtual machines"),
	BYTES("percpu", "the kernel's data that exists once for each CPU"),
	BYTES("sock", "buffers of sockets"),
	BYTES("vmalloc", "memory that the kernel mapped page by page"),
	BYTES("shmem", "files of tmpfs and shared memory, which can only be swapped out"),
	BYTES("zswap", "compressed pages in memory"),
	BYTES("zswapped", "memory that was compressed, by its size before"),
	BYTES("file_mapped", "cached data of files that is mapped by processes"),
	BYTES("file_dirty", "cached data of files that is not written yet"),
	BYTES("file_writeback", "cached data of files that is being written"),
	BYTES("swapcached", "memory that is in the swap space too"),
	BYTES("anon_thp", "anonymous memory in huge pages"),
	BYTES("file_thp", "cached data of files in huge pages"),
	BYTES("shmem_thp", "tmpfs and shared memory in huge pages"),
	BYTES("inactive_anon", "anonymous memory that was not used of late"),
	BYTES("active_anon", "anonymous memory that was used of late"),
	BYTES("inactive_file", "cached data of files that was not used of late"),
	BYTES("active_file", "cached data of files that was used of late"),
	BYTES("unevictable", "memory that cannot be reclaimed, such as locked memory"),
	BYTES("slab_reclaimable", "object caches that can be reclaimed, such as names of files"),
	BYTES("slab_unreclaimable", "object caches that cannot be reclaimed"),
	BYTES("slab", "object caches of the kernel"),
	BYTES("hugetlb", "memory in huge pages of hugetlbfs that counts as memory of the group"),
	EVENT("workingset_refault_anon", "pages", "anonymous pages read again soon after they were swapped out"),
	EVENT("workingset_refault_file", "pages", "pages of files read again soon after they were reclaimed"),
	EVENT("workingset_refault", "pages", "pages read again soon after they were reclaimed"),
	EVENT("workingset_activate_anon", "pages", "anonymous pages read again that were put among the active ones"),
	EVENT("workingset_activate_file", "pages", "pages of files read again that were put among the active ones"),
	EVENT("workingset_activate", "pages", "pages read again that were put among the active ones"),
	EVENT("workingset_restore_anon", "pages", "anonymous pages read again that were active before"),
	EVENT("workingset_restore_file", "pages", "pages of files read again that were active before"),
	EVENT("workingset_restore", "pages", "pages read again that were active before"),
	EVENT("workingset_nodereclaim", "", "times that the record of reclaimed pages was itself reclaimed"),
	EVENT("pgdemote_kswapd", "pages", "pages that kswapd moved to slower memory"),
	EVENT("pgdemote_direct", "pages", "pages that an allocation moved to slower memory"),
	EVENT("pgdemote_khugepaged", "pages", "pages that khugepaged moved to slower memory"),
	EVENT("pgdemote_proactive", "pages", "pages that a request of the user moved to slower memory"),
	EVENT("pgpromote_success", "pages", "pages moved to faster memory"),
	EVENT("pswpin", "pages", "pages read from the swap space"),
	EVENT("pswpout", "pages", "pages written to the swap space"),
	EVENT("pgscan", "pages", "pages looked at for reclaim"),
	EVENT("pgscan_kswapd", "pages", "pages looked at by kswapd for reclaim"),
	EVENT("pgscan_direct", "pages", "pages looked at by allocations for reclaim"),
	EVENT("pgscan_khugepaged", "pages", "pages looked at by khugepaged for reclaim"),
	EVENT("pgscan_proactive", "pages", "pages looked at for reclaim on request of the user"),
	EVENT("pgsteal", "pages", "pages reclaimed"),
	EVENT("pgsteal_kswapd", "pages", "pages reclaimed by kswapd"),
	EVENT("pgsteal_direct", "pages", "pages reclaimed by allocations"),
	EVENT("pgsteal_khugepaged", "pages", "pages reclaimed by khugepaged"),
	EVENT("pgsteal_proactive", "pages", "pages reclaimed on request of the user"),
	EVENT("pgfault", "", "page faults"),
	EVENT("pgmajfault", "", "page faults that read from a disk"),
	EVENT("pgrefill", "pages", "active pages looked at"),
	EVENT("pgactivate", "pages", "pages that became active"),
	EVENT("pgdeactivate", "pages", "pages that became inactive"),
	EVENT("pglazyfree", "pages", "pages that processes offered to be freed"),
	EVENT("pglazyfreed", "pages", "pages freed that processes had offered"),
	EVENT("pgpgin", "pages", "pages that were charged to the group"),
	EVENT("pgpgout", "pages", "pages that were charged to the group no longer"),
	EVENT("swpin_zero", "pages", "pages of zeros that came back from swap without being read"),
	EVENT("swpout_zero", "pages", "pages of zeros that went to swap without being written"),
	EVENT("zswpin", "pages", "compressed pages that were decompressed"),
	EVENT("zswpout", "pages", "pages compressed in memory in place of being swapped out"),
	EVENT("zswpwb", "pages", "compressed pages written to the swap space"),
	EVENT("zswap_incomp", "pages", "pages kept by zswap that could not be compressed"),
	EVENT("thp_fault_alloc", "", "huge pages allocated by page faults"),
	EVENT("thp_collapse_alloc", "", "huge pages allocated to replace small ones"),
	EVENT("thp_swpout", "", "huge pages swapped out as a whole"),
	EVENT("thp_swpout_fallback", "", "huge pages split before they were swapped out"),
	EVENT("numa_pages_migrated", "pages", "pages moved to another NUMA node"),
	EVENT("numa_pte_updates", "pages", "pages marked to find out which NUMA node uses them"),
	EVENT("numa_hint_faults", "", "page faults on pages that were marked so"),
	EVENT("numa_task_migrated", "", "tasks moved to another NUMA node"),
	EVENT("numa_task_swapped", "", "tasks that changed places with one of another NUMA node"),
	KS_META_END
};

/* Names of version 1 that differ, without "total_", which begins those that count the groups below too. */
static const char *const renamed[][2] = {
	{ "cache", "file" }, { "rss", "anon" }, { "rss_huge", "anon_thp" }, { "mapped_file", "file_mapped" },
	{ "dirty", "file_dirty" }, { "writeback", "file_writeback" }, { "swap", "" },
};

/* The name of a statistic for a name in memory.stat of version 1; "": none. */
static const char *
name_of_v1(const char *name)
{
	static const char total[] = "total_";

	if (strncmp(name, total, sizeof(total) - 1) != 0)
		return "";
	name += sizeof(total) - 1;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strcmp(name, renamed[i][0]) == 0)
			return renamed[i][1];
	}
	return name;
}

static void
add_memory(const struct ks_linux *lx, const struct ks_hierarchy *h, struct ks_text all, struct ks_record *r)
{
	struct ks_text line, word;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		char name[64];
		const char *stat = name;

		if (!ks_text_word(&line, &word) || !ks_text_u64(&line, &v))
			continue;
		ks_name_set(name, sizeof(name), word.p, ks_text_size(&word));
		if ((h->has & KS_IN_V2) == 0)
			stat = name_of_v1(name);
		if (*stat != '\0' && (lx->reads == NULL || ks_linux_is_listed(lx->reads, stat)))
			ks_named_u64(r, stat, v);
	}
}

/* --- huge pages ----------------------------------------------------------------------------------------- */

static const struct huge {
	uint8_t in;
	const char *file, *stat, *line;
} huge[] = {
	{ KS_IN_V2, "current", "", "" }, { KS_IN_V2, "max", "_max", "" },
	{ KS_IN_V2, "events", "_max_events", "max " },
	{ KS_IN_HUGETLB, "usage_in_bytes", "", "" }, { KS_IN_HUGETLB, "max_usage_in_bytes", "_peak", "" },
	{ KS_IN_HUGETLB, "limit_in_bytes", "_max", "" }, { KS_IN_HUGETLB, "failcnt", "_max_events", "" },
};

static void
add_huge_pages(const struct ks_groups *gs, const struct ks_hierarchy *h, const struct ks_dir *dir,
    struct ks_record *r)
{
	char file[64], stat[KSTAT_STRLEN], buf[512];
	struct ks_text text;
	uint64_t v;

	for (size_t s = 0; s < gs->npage_sizes; s++) {
		for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
			if ((h->has & huge[i].in) == 0)
				continue;
			(void)snprintf(file, sizeof(file), "hugetlb.%s.%s", gs->page_size[s], huge[i].file);
			if (!ks_group_file(dir, file, buf, sizeof(buf), &text) && *huge[i].stat == '\0')
				break; /* the group is without this controller */
			text.p += ks_text_starts(&text, huge[i].line) ? strlen(huge[i].line) : 0;
			(void)snprintf(stat, sizeof(stat), "hugetlb_%s%s", gs->page_size[s], huge[i].stat);
			if (ks_text_u64(&text, &v) && v < KS_NO_LIMIT)
				ks_named_u64(r, stat, v);
		}
	}
}

int
ks_group_memory_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_groups *gs = ks_groups_of(lx);
	const struct ks_group *g = unit->extra;
	bool is_there = false;
	char buf[FILE_SIZE];
	struct ks_text text;

	for (size_t i = 0; i < gs->n; i++) {
		const struct ks_hierarchy *h = &gs->hierarchy[i];
		const struct ks_dir dir = ks_group_dir(lx, h, g->path);
		uint_t before = r->ndata;

		if ((g->in >> i & 1) == 0 || (h->has & (KS_IN_V2 | KS_IN_MEMORY | KS_IN_HUGETLB)) == 0)
			continue;
		if (!(lx->reads != NULL && g->is_unlimited) && ks_group_file(&dir, "memory.stat", buf, sizeof(buf), &text))
			add_memory(lx, h, text, r);
		if (lx->reads == NULL)
			add_huge_pages(gs, h, &dir, r);
		is_there |= r->ndata > before || ks_dir_exists(&dir);
	}
	return is_there ? 0 : ks_linux_gone(unit);
}

const struct ks_meta *
ks_group_memory_meta(const char *stat)
{
	static const struct ks_meta in_use = BYTES("", "memory in huge pages of this size"),
	    most = BYTES("", "most memory ever in huge pages of this size"),
	    limit = BYTES("", "limit of memory in huge pages of this size"),
	    events = EVENT("", "", "times that huge pages of this size were refused because of the limit"),
	    other = EVENT("", "", "a number of memory.stat that this version of kstat does not know");
	const struct ks_meta *m = ks_meta_find(ks_group_memory_known, stat);
	const char *end;

	if (m != NULL)
		return m;
	if (strncmp(stat, "hugetlb_", 8) == 0 && (end = strstr(stat, "B")) != NULL) {
		return strcmp(end, "B_max") == 0 ? &limit : strcmp(end, "B_peak") == 0 ? &most :
		    strcmp(end, "B_max_events") == 0 ? &events : &in_use;
	}
	return ks_meta_is_header(stat) ? NULL : &other;
}

/* --- disks ---------------------------------------------------------------------------------------------- */

#define TOTAL(stat, desc) KS_META_BYTES(stat, KS_KIND_COUNTER, desc)
#define LIMIT(stat, unit, desc) KS_META(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, unit, desc)

/* What a disk has: where it stands in both versions, in which file and behind which mark; and the end of its name. */
static const struct io {
	struct place {
		const char *file, *mark;
	} v2, v1;
	struct ks_meta meta;
} ios[] = {
	{ { "io.stat", "rbytes=" }, { "bytes", "Read " }, TOTAL("nread", "bytes read from this disk") },
	{ { "io.stat", "wbytes=" }, { "bytes", "Write " }, TOTAL("nwritten", "bytes written to this disk") },
	{ { "io.stat", "rios=" }, { "requests", "Read " }, EVENT("reads", "", "reads from this disk") },
	{ { "io.stat", "wios=" }, { "requests", "Write " }, EVENT("writes", "", "writes to this disk") },
	{ { "io.stat", "dbytes=" }, { "bytes", "Discard " }, TOTAL("ndiscarded", "bytes of this disk declared unused") },
	{ { "io.stat", "dios=" }, { "requests", "Discard " },
	    EVENT("discards", "", "requests that declared parts of this disk unused") },
	{ { "io.max", "rbps=" }, { "read_bps", "" },
	    LIMIT("nread_max", "bytes/s", "bytes a second that it may read from this disk") },
	{ { "io.max", "wbps=" }, { "write_bps", "" },
	    LIMIT("nwritten_max", "bytes/s", "bytes a second that it may write there") },
	{ { "io.max", "riops=" }, { "read_iops", "" },
	    LIMIT("reads_max", "1/s", "reads a second that it may make of this disk") },
	{ { "io.max", "wiops=" }, { "write_iops", "" }, LIMIT("writes_max", "1/s", "writes a second that it may make there") },
};
#define NIOS (sizeof(ios) / sizeof(ios[0]))

/* Notes the names of all block devices. */
static void
find_devices(struct ks_linux *lx, struct ks_devices *d)
{
	struct ks_text all, line, major, minor, name;

	d->n = 0;
	d->known = true;
	if (ks_linux_try_once(lx, KS_ROOT_PROC, "diskstats") != 0)
		return;
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	while (ks_text_line(&all, &line)) {
		if (!ks_text_word(&line, &major) || !ks_text_word(&line, &minor) || !ks_text_word(&line, &name))
			continue;
		if (!KS_RESERVE(d->v, d->cap, d->n + 1)) {
			lx->lack = ENOMEM;
			return;
		}
		(void)snprintf(d->v[d->n].number, sizeof(d->v[0].number), "%.*s:%.*s", (int)ks_text_size(&major),
		    major.p, (int)ks_text_size(&minor), minor.p);
		ks_name_set(d->v[d->n++].name, KSTAT_STRLEN, name.p, ks_text_size(&name));
	}
}

/* The name of the device of a number such as "8:0", or "dev8_0" where it is not known. */
static void
set_device_name(struct ks_linux *lx, const struct ks_text *number, char name[KSTAT_STRLEN])
{
	struct ks_devices *d = &ks_groups_of(lx)->devices;
	char *colon;

	if (!d->known)
		find_devices(lx, d);
	for (size_t i = 0; i < d->n; i++) {
		if (ks_text_is(number, d->v[i].number)) {
			memcpy(name, d->v[i].name, KSTAT_STRLEN);
			return;
		}
	}
	(void)snprintf(name, KSTAT_STRLEN, "dev%.*s", (int)ks_text_size(number), number->p);
	colon = strchr(name, ':');
	if (colon != NULL)
		*colon = '_';
}

/* Adds the statistics of the disks in the lines of a file; `kind` is its name in the table. */
static void
add_disks(struct ks_linux *lx, struct ks_text all, uint8_t in, const char *kind, struct ks_record *r)
{
	struct ks_text line, number, at;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		char device[KSTAT_STRLEN], stat[2 * KSTAT_STRLEN];

		if (!ks_text_at_number(&line) || !ks_text_word(&line, &number) ||
		    memchr(number.p, ':', ks_text_size(&number)) == NULL)
			continue;
		set_device_name(lx, &number, device);
		for (size_t i = 0; i < NIOS; i++) {
			const struct place *place = in == KS_IN_V2 ? &ios[i].v2 : &ios[i].v1;

			if (strcmp(place->file, kind) != 0)
				continue;
			at.p = memmem(line.p, ks_text_size(&line), place->mark, strlen(place->mark));
			at.end = line.end;
			if (at.p == NULL)
				continue;
			at.p += strlen(place->mark);
			(void)snprintf(stat, sizeof(stat), "%s_%s", device, ios[i].meta.stat);
			if (ks_text_u64(&at, &v))
				ks_named_u64(r, stat, v);
		}
	}
}

int
ks_group_io_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const struct { uint8_t in; const char *file, *older, *kind; } files[] = {
		{ KS_IN_V2, "io.stat", "", "io.stat" },
		{ KS_IN_BLKIO, "blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes", "bytes" },
		{ KS_IN_BLKIO, "blkio.throttle.io_serviced_recursive", "blkio.throttle.io_serviced", "requests" },
		{ KS_IN_V2, "io.max", "", "io.max" },
		{ KS_IN_BLKIO, "blkio.throttle.read_bps_device", "", "read_bps" },
		{ KS_IN_BLKIO, "blkio.throttle.write_bps_device", "", "write_bps" },
		{ KS_IN_BLKIO, "blkio.throttle.read_iops_device", "", "read_iops" },
		{ KS_IN_BLKIO, "blkio.throttle.write_iops_device", "", "write_iops" },
	};
	const struct ks_groups *gs = ks_groups_of(lx);
	struct ks_group *g = unit->extra;
	bool is_there = false;
	char buf[FILE_SIZE];
	struct ks_text text;

	for (size_t i = 0; i < gs->n; i++) {
		const struct ks_hierarchy *h = &gs->hierarchy[i];
		const struct ks_dir dir = ks_group_dir(lx, h, g->path);
		uint_t before = r->ndata;

		if ((g->in >> i & 1) == 0 || (h->has & (KS_IN_V2 | KS_IN_BLKIO)) == 0)
			continue;
		g->is_io_unlimited = lx->reads != NULL && (h->has & KS_IN_V2) != 0 &&
		    ks_group_file(&dir, "io.max", buf, sizeof(buf), &text) && ks_text_empty(&text);
		is_there |= g->is_io_unlimited;
		if (g->is_io_unlimited) /* what it does is of no use without a limit */
			continue;
		for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
			if ((h->has & files[k].in) != 0 && (ks_group_file(&dir, files[k].file, buf, sizeof(buf), &text) ||
			    (*files[k].older != '\0' && ks_group_file(&dir, files[k].older, buf, sizeof(buf), &text))))
				add_disks(lx, text, files[k].in, files[k].kind, r);
		}
		is_there |= r->ndata > before || ks_dir_exists(&dir);
	}
	return is_there ? 0 : ks_linux_gone(unit);
}

const struct ks_meta *
ks_group_io_meta(const char *stat)
{
	for (size_t i = 0; i < NIOS; i++) {
		size_t len = strlen(stat), end = strlen(ios[i].meta.stat);

		if (len > end && stat[len - end - 1] == '_' && strcmp(stat + len - end, ios[i].meta.stat) == 0)
			return &ios[i].meta;
	}
	return NULL;
}
