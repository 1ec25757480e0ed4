/*
 * memory.c - unix:0:system_pages, vminfo and vm, and the two files they come from as they are:
 * unix:0:meminfo and vm_events. SPDX-License-Identifier: MIT
 */
#include "kstat_raw.h"
#include "source/linux/memory/memory.h"
#include "source/linux/system/uptime.h"

const struct ks_file ks_meminfo_file = { KS_ROOT_PROC, "meminfo", KS_MADE_WHOLE, false };
const struct ks_file ks_vmstat_file = { KS_ROOT_PROC, "vmstat", KS_MADE_BRIEFLY, false };
static const struct ks_file zoneinfo_file = { KS_ROOT_PROC, "zoneinfo", KS_MADE_ANYHOW, false };

static struct ks_memory_state *
state_of(const struct ks_linux *lx)
{
	return lx->sub[KS_SUB_unix].state;
}

/* --- /proc/meminfo ------------------------------------------------------------------ */

#define MEM(stat, desc) { KS_META_BYTES(stat, KS_KIND_GAUGE, desc), KSTAT_DATA_UINT64, stat }

/* The numbers that other kstats are made of come first, in the order of the file. */
enum { M_TOTAL, M_FREE, M_AVAILABLE, M_UNEVICTABLE, M_SWAP_TOTAL, M_SWAP_FREE, M_ANON, M_SHMEM,
	M_SLAB, M_STACK, M_TABLES, M_SEC_TABLES, M_COMMITTED, M_PERCPU, M_NEEDED };

const struct ks_field ks_meminfo_fields[] = {
	[M_TOTAL] = MEM("MemTotal", "memory that the kernel manages"),
	[M_FREE] = MEM("MemFree", "memory used by nobody"),
	[M_AVAILABLE] = MEM("MemAvailable", "memory that new programs could get without swapping"),
	[M_UNEVICTABLE] = MEM("Unevictable", "memory that cannot be paged out"),
	[M_SWAP_TOTAL] = MEM("SwapTotal", "swap space"),
	[M_SWAP_FREE] = MEM("SwapFree", "swap space not used"),
	[M_ANON] = MEM("AnonPages", "mapped memory without a file"),
	[M_SHMEM] = MEM("Shmem", "shared memory and tmpfs"),
	[M_SLAB] = MEM("Slab", "kernel objects"),
	[M_STACK] = MEM("KernelStack", "kernel stacks"),
	[M_TABLES] = MEM("PageTables", "page tables"),
	[M_SEC_TABLES] = MEM("SecPageTables", "page tables of virtual machines and devices"),
	[M_COMMITTED] = MEM("Committed_AS", "memory promised to processes"),
	[M_PERCPU] = MEM("Percpu", "kernel data kept once per CPU"),
	[M_NEEDED] = MEM("Buffers", "cached blocks of devices"),
	MEM("Cached", "cached files"),
	MEM("SwapCached", "memory that is in swap space as well"),
	MEM("Active", "memory used lately"),
	MEM("Inactive", "memory not used lately"),
	MEM("Active(anon)", "memory without a file, used lately"),
	MEM("Inactive(anon)", "memory without a file, not used lately"),
	MEM("Active(file)", "memory of files, used lately"),
	MEM("Inactive(file)", "memory of files, not used lately"),
	MEM("Mlocked", "memory locked by programs"),
	MEM("Zswap", "size of compressed swap in memory"),
	MEM("Zswapped", "memory that was compressed into Zswap"),
	MEM("Dirty", "memory to be written to disk"),
	MEM("Writeback", "memory being written to disk"),
	MEM("Mapped", "files that are mapped"),
	MEM("KReclaimable", "kernel memory that can be given back"),
	MEM("SReclaimable", "kernel objects that can be given back"),
	MEM("SUnreclaim", "kernel objects that cannot be given back"),
	MEM("NFS_Unstable", "NFS pages sent but not on stable storage"),
	MEM("Bounce", "bounce buffers of block devices"),
	MEM("WritebackTmp", "FUSE write buffers"),
	MEM("CommitLimit", "limit of Committed_AS in strict overcommit"),
	MEM("VmallocTotal", "size of the vmalloc address space"),
	MEM("VmallocUsed", "vmalloc memory in use"),
	MEM("VmallocChunk", "largest free vmalloc block"),
	MEM("HardwareCorrupted", "memory taken out of use after errors"),
	MEM("AnonHugePages", "huge pages without a file"),
	MEM("ShmemHugePages", "huge pages of shared memory"),
	MEM("ShmemPmdMapped", "shared huge pages that are mapped"),
	MEM("FileHugePages", "huge pages of files"),
	MEM("FilePmdMapped", "huge pages of files that are mapped"),
	MEM("Balloon", "memory given back to the hypervisor"),
	MEM("CmaTotal", "memory for contiguous allocation"),
	MEM("CmaFree", "memory for contiguous allocation that is free"),
	KS_GAUGE("HugePages_Total", KSTAT_DATA_UINT64, "huge pages in the pool"),
	KS_GAUGE("HugePages_Free", KSTAT_DATA_UINT64, "huge pages not allocated"),
	KS_GAUGE("HugePages_Rsvd", KSTAT_DATA_UINT64, "huge pages promised, not yet allocated"),
	KS_GAUGE("HugePages_Surp", KSTAT_DATA_UINT64, "huge pages above the size of the pool"),
	MEM("Hugepagesize", "size of a huge page"),
	MEM("Hugetlb", "memory in huge pages of all sizes"),
	MEM("DirectMap4k", "kernel's map of memory in 4 KiB pages"),
	MEM("DirectMap2M", "kernel's map of memory in 2 MiB pages"),
	MEM("DirectMap4M", "kernel's map of memory in 4 MiB pages"),
	MEM("DirectMap1G", "kernel's map of memory in 1 GiB pages"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_meminfo_fields);

const struct ks_meta *
ks_meminfo_meta(const char *stat)
{
	static const struct ks_meta other = KS_META_BYTES("", KS_KIND_GAUGE, "memory, see proc_meminfo(5)");

	return ks_linux_is_header(stat) ? NULL : &other;
}

/* Which of the first M_NEEDED numbers a line is, or KS_USELESS. */
static int
needed_line(const struct ks_text *line)
{
	struct ks_text t = *line, key, value;

	if (ks_text_pair(&t, &key, &value)) {
		for (int i = 0; i < M_NEEDED; i++) {
			if (ks_text_is(&key, ks_meminfo_fields[i].key))
				return i;
		}
	}
	return KS_USELESS;
}

/* The same for the lines that unix:0:vminfo needs, which vmstat reads at each tick. */
static int
summed_line(const struct ks_text *line)
{
	const uint64_t summed = 1u << M_FREE | 1u << M_AVAILABLE | 1u << M_SWAP_TOTAL |
	    1u << M_SWAP_FREE | 1u << M_ANON | 1u << M_SHMEM | 1u << M_COMMITTED;
	int what = needed_line(line);

	return what != KS_USELESS && (summed >> what & 1) != 0 ? what : KS_USELESS;
}

/* Collects numbers of /proc/meminfo, in pages; false with errno and message. */
static bool
memory_pages(struct ks_linux *lx, struct ks_lines *lines, int (*classify)(const struct ks_text *),
    struct ks_values *vals)
{
	const struct ks_image *im = ks_linux_image(lx, &ks_meminfo_file);
	bool again;

	if (im == NULL)
		return false;
	do {
		struct ks_walk w = ks_walk_of(lines, im, lx->root[KS_ROOT_PROC].kernel, classify);
		uint64_t v;

		vals->have = 0;
		while (ks_walk_next(&w)) {
			if (ks_lines_number(w.value, &v))
				ks_have(vals, (size_t)w.what, v / lx->page);
		}
		again = w.known && !lines->known;
	} while (again);
	return true;
}

static bool
has(const struct ks_values *vals, int i)
{
	return (vals->have >> i & 1) != 0;
}

static uint64_t
number(const struct ks_values *vals, int i)
{
	return has(vals, i) ? vals->v[i].u : 0;
}

/* --- system_pages ---------------------------------------------------------------------- */

enum { P_PHYSMEM, P_FREEMEM, P_AVAILRMEM, P_LOTSFREE, P_DESFREE, P_MINFREE, P_KERNEL, P_FREE,
	P_LOCKED, P_TOTAL };

#define PAGES(stat, desc) \
	KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages", desc)

const struct ks_field ks_system_pages_fields[] = {
	[P_PHYSMEM] = PAGES("physmem", "memory that the kernel manages"),
	[P_FREEMEM] = PAGES("freemem", "memory used by nobody"),
	[P_AVAILRMEM] = PAGES("availrmem", "memory that programs could get without swapping"),
	[P_LOTSFREE] = PAGES("lotsfree", "free memory at which reclaim stops (high watermarks)"),
	[P_DESFREE] = PAGES("desfree", "free memory at which reclaim starts (low watermarks)"),
	[P_MINFREE] = PAGES("minfree", "free memory kept for the kernel itself (min watermarks)"),
	[P_KERNEL] = PAGES("pp_kernel", "kernel objects, stacks, page tables and per-CPU data"),
	[P_FREE] = PAGES("pagesfree", "free memory, the same as freemem"),
	[P_LOCKED] = PAGES("pageslocked", "memory that cannot be paged out"),
	[P_TOTAL] = PAGES("pagestotal", "memory that the kernel manages, the same as physmem"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_system_pages_fields);

/* True for every line that kernels print there: all have two words, but for one heading. */
static bool
is_of_zoneinfo(struct ks_text line)
{
	struct ks_text first, second;

	return ks_text_plain(&line) && ks_text_word(&line, &first) &&
	    (ks_text_word(&line, &second) || ks_text_is(&first, "pagesets"));
}

/*
 * The zones' watermarks, summed. /proc/zoneinfo is long and they change only with the settings
 * that they follow from, so it is read again only when one of those changed.
 */
static bool
read_watermarks(struct ks_linux *lx, uint64_t total)
{
	static const char *const names[3] = { "min", "low", "high" };
	struct ks_memory_state *u = state_of(lx);
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	uint64_t key[3] = { 0, 0, total }, v;
	const struct ks_image *im;
	struct ks_text all, line, word;

	(void)ks_linux_number(lx, KS_ROOT_PROC, "sys/vm/min_free_kbytes", &key[0]);
	(void)ks_linux_number(lx, KS_ROOT_PROC, "sys/vm/watermark_scale_factor", &key[1]);
	if (proc->kernel && u->has_watermarks && memcmp(key, u->watermark_key, sizeof(key)) == 0)
		return true;
	im = ks_linux_try(lx, &zoneinfo_file);
	u->has_watermarks = false;
	if (im == NULL)
		return false;
	memset(u->watermark, 0, sizeof(u->watermark));
	all = ks_text_of(im->data, im->len);
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line;
		size_t i = 0;

		if (!ks_text_word(&line, &word))
			continue;
		while (i < 3 && !ks_text_is(&word, names[i]))
			i++;
		if (i < 3 && ks_text_u64(&line, &v)) {
			u->watermark[i] += v;
			u->has_watermarks = true;
		} else if (i < 3 || !is_of_zoneinfo(whole)) {
			ks_linux_odd_line(lx, im, &whole);
		}
	}
	memcpy(u->watermark_key, key, sizeof(key));
	return u->has_watermarks;
}

bool
ks_memory_deficit(struct ks_linux *lx, uint64_t *pages)
{
	const uint64_t *watermark = state_of(lx)->watermark;
	struct ks_values mem, *m = &mem;

	if (!memory_pages(lx, &state_of(lx)->meminfo_lines, needed_line, m) || !has(m, M_FREE) ||
	    !read_watermarks(lx, number(m, M_TOTAL)))
		return false;
	*pages = number(m, M_FREE) < watermark[1] ? watermark[2] - number(m, M_FREE) : 0;
	return true;
}

int
ks_system_pages_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 }, mem, *m = &mem;

	(void)unit;
	if (!memory_pages(lx, &state_of(lx)->meminfo_lines, needed_line, m))
		return -1;
	if (has(m, M_TOTAL)) {
		ks_have(&vals, P_PHYSMEM, number(m, M_TOTAL));
		ks_have(&vals, P_TOTAL, number(m, M_TOTAL));
	}
	if (has(m, M_FREE)) {
		ks_have(&vals, P_FREEMEM, number(m, M_FREE));
		ks_have(&vals, P_FREE, number(m, M_FREE));
	}
	if (has(m, M_AVAILABLE))
		ks_have(&vals, P_AVAILRMEM, number(m, M_AVAILABLE));
	if (has(m, M_UNEVICTABLE))
		ks_have(&vals, P_LOCKED, number(m, M_UNEVICTABLE));
	if (has(m, M_SLAB))
		ks_have(&vals, P_KERNEL, number(m, M_SLAB) + number(m, M_STACK) + number(m, M_TABLES) +
		    number(m, M_SEC_TABLES) + number(m, M_PERCPU));
	if (read_watermarks(lx, number(m, M_TOTAL))) {
		ks_have(&vals, P_MINFREE, state_of(lx)->watermark[0]);
		ks_have(&vals, P_DESFREE, state_of(lx)->watermark[1]);
		ks_have(&vals, P_LOTSFREE, state_of(lx)->watermark[2]);
	}
	ks_fields_add(r, ks_system_pages_fields, &vals);
	return 0;
}

/* --- vminfo ------------------------------------------------------------------------------ */

/*
 * Solaris adds the current figures to these sums once a second, so that a difference divided by that of
 * updates is an average. Linux keeps no such sums, so this function does: the figures of a reading count
 * for all seconds since the reading before, those of the first one for all time before. Swap is virtual
 * swap, as in swap -s, which includes memory.
 */
int
ks_vminfo_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_second_sums *s = &state_of(lx)->vminfo;
	struct ks_values mem, *m = &mem;
	uint64_t up = 0, dt, used;
	vminfo_t *data;

	(void)unit;
	if (!memory_pages(lx, &state_of(lx)->vminfo_lines, summed_line, m))
		return -1;
	if (ks_linux_uptime(lx, &up))
		up /= 100;
	dt = up > s->updates ? up - s->updates : 0;
	used = number(m, M_SWAP_TOTAL) - number(m, M_SWAP_FREE);
	s->updates += dt;
	s->freemem += number(m, M_FREE) * dt;
	s->swap_resv += number(m, M_COMMITTED) * dt;
	s->swap_alloc += (number(m, M_ANON) + number(m, M_SHMEM) + used) * dt;
	s->swap_avail += (number(m, M_AVAILABLE) + number(m, M_SWAP_FREE)) * dt;
	s->swap_free += (number(m, M_FREE) + number(m, M_SWAP_FREE)) * dt;

	data = ks_record_add(r, sizeof(*data));
	if (data != NULL)
		*data = (vminfo_t){ .freemem = s->freemem, .swap_resv = s->swap_resv,
			.swap_alloc = s->swap_alloc, .swap_avail = s->swap_avail, .swap_free = s->swap_free,
			.updates = s->updates };
	return 0;
}

/* --- /proc/vmstat -------------------------------------------------------------------------- */

enum { V_PGPGIN, V_PGPGOUT, V_SWAPIN, V_SWAPOUT, V_ANONIN, V_ANONOUT, V_DFREE, V_SCAN, V_AS_FAULT,
	V_MAJ_FAULT, V_PAGESIZE };

#define PAGED(stat, desc) \
	KS_UNITS(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages", desc)

const struct ks_field ks_unix_vm_fields[] = {
	[V_PGPGIN] = PAGED("pgpgin", "pages read from block devices"),
	[V_PGPGOUT] = PAGED("pgpgout", "pages written to block devices"),
	[V_SWAPIN] = PAGED("pgswapin", "pages read from swap space"),
	[V_SWAPOUT] = PAGED("pgswapout", "pages written to swap space"),
	[V_ANONIN] = PAGED("anonpgin", "pages without a file read from swap space"),
	[V_ANONOUT] = PAGED("anonpgout", "pages without a file written to swap space"),
	[V_DFREE] = PAGED("dfree", "pages freed by reclaim"),
	[V_SCAN] = PAGED("scan", "pages examined by reclaim"),
	[V_AS_FAULT] = KS_COUNT("as_fault", KSTAT_DATA_UINT64, "page faults served from memory"),
	[V_MAJ_FAULT] = KS_COUNT("maj_fault", KSTAT_DATA_UINT64, "page faults that needed a disk"),
	[V_PAGESIZE] = KS_UNITS("pagesize", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT32, "bytes",
	    "size of the pages that are counted"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_unix_vm_fields);

/* True for pgscan_kswapd, pgscan_direct_normal and such: prefix, then who did it. */
static bool
by_whom(const struct ks_text *key, const char *prefix)
{
	static const char *const whom[] = { "kswapd", "direct", "khugepaged", "proactive" };
	struct ks_text t = *key;

	if (!ks_text_starts(&t, prefix))
		return false;
	t.p += strlen(prefix);
	for (size_t i = 0; i < sizeof(whom) / sizeof(whom[0]); i++) {
		if (ks_text_starts(&t, whom[i]))
			return !ks_text_is(&t, "direct_throttle");
	}
	return false;
}

/* Which number of unix:0:vm a line of /proc/vmstat adds to: one of V_*, or KS_USELESS. */
static int
vm_line(const struct ks_text *line)
{
	static const struct {
		const char *key;
		int what;
	} known[] = {
		{ "pgpgin", V_PGPGIN }, { "pgpgout", V_PGPGOUT }, { "pswpin", V_SWAPIN },
		{ "pswpout", V_SWAPOUT }, { "pgfault", V_AS_FAULT }, { "pgmajfault", V_MAJ_FAULT },
	};
	struct ks_text t = *line, key;
	uint64_t v;

	if (ks_text_empty(line))
		return KS_USELESS;
	if (!ks_text_word(&t, &key) || !ks_text_u64(&t, &v))
		return V_PAGESIZE; /* for take_vm_lines(), which warns: no line of the file is the page size */
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (ks_text_is(&key, known[i].key))
			return known[i].what;
	}
	return by_whom(&key, "pgscan_") ? V_SCAN : by_whom(&key, "pgsteal_") ? V_DFREE : KS_USELESS;
}

static void
take_vm_lines(struct ks_linux *lx, const struct ks_image *im, struct ks_values *vals)
{
	uint64_t kib_per_page = lx->page / 1024, v;
	struct ks_walk w = ks_walk_of(&state_of(lx)->vmstat_lines, im, lx->root[KS_ROOT_PROC].kernel, vm_line);

	vals->have = 0;
	while (ks_walk_next(&w)) {
		if (w.what == V_PAGESIZE || !ks_text_u64(&w.value, &v)) {
			ks_linux_odd_line(lx, im, &w.line);
			continue;
		}
		if (w.what == V_PGPGIN || w.what == V_PGPGOUT)
			v /= kib_per_page;
		if (w.what == V_SCAN || w.what == V_DFREE)
			ks_have_more(vals, (size_t)w.what, v);
		else
			ks_have(vals, (size_t)w.what, v);
	}
}

int
ks_unix_vm_values(struct ks_linux *lx, struct ks_values *vals)
{
	/* The file has more than a page, which the kernel needs a call each for. */
	const struct ks_image *im = ks_linux_begin(lx, &ks_vmstat_file,
	    ks_lines_reach(&state_of(lx)->vmstat_lines));
	bool known = state_of(lx)->vmstat_lines.known;

	vals->have = 0;
	if (im == NULL)
		return -1;
	take_vm_lines(lx, im, vals);
	if (known && !state_of(lx)->vmstat_lines.known) {
		im = ks_linux_image(lx, &ks_vmstat_file);
		if (im == NULL)
			return -1;
		take_vm_lines(lx, im, vals);
	}
	if (has(vals, V_SWAPIN))
		ks_have(vals, V_ANONIN, vals->v[V_SWAPIN].u);
	if (has(vals, V_SWAPOUT))
		ks_have(vals, V_ANONOUT, vals->v[V_SWAPOUT].u);
	ks_have(vals, V_PAGESIZE, lx->page);
	/* pgfault counts those that needed a disk too. */
	if (has(vals, V_AS_FAULT) && has(vals, V_MAJ_FAULT) &&
	    vals->v[V_AS_FAULT].u >= vals->v[V_MAJ_FAULT].u)
		vals->v[V_AS_FAULT].u -= vals->v[V_MAJ_FAULT].u;
	return 0;
}

int
ks_unix_vm_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals;

	(void)unit;
	if (ks_unix_vm_values(lx, &vals) != 0)
		return -1;
	ks_fields_add(r, ks_unix_vm_fields, &vals);
	return 0;
}
