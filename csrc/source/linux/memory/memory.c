/*
 * memory.c - unix:0:system_pages, vminfo and vm, and the two files they come from as they are:
 * unix:0:meminfo and vm_events.
 *
 * The watermarks of zones are remembered: without that vmstat takes 29 % more CPU time.
 * SPDX-License-Identifier: MIT
 */
#include "kstat_raw.h"
#include "model/meta.h"
#include "source/linux/listing.h"
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

#define MEM(stat, desc) KS_AMOUNT_K(stat, stat, desc)

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

	return ks_meta_is_header(stat) ? NULL : &other;
}

/* The first M_NEEDED numbers of /proc/meminfo, in pages; NULL with errno and message. */
static const struct ks_values *
memory_pages(struct ks_linux *lx)
{
	const struct ks_image *im = ks_linux_image(lx, &ks_meminfo_file);
	struct ks_memory_state *s = state_of(lx);
	struct ks_text all, line, name;
	uint64_t v;

	if (im == NULL || s->seq == im->seq)
		return im != NULL ? &s->pages : NULL;
	s->seq = im->seq;
	s->pages.have = 0;
	all = ks_image_text(im);
	while (s->pages.have != (1u << M_NEEDED) - 1 && ks_text_line(&all, &line)) {
		for (size_t i = 0; i < M_NEEDED && ks_text_size(&line) > 1; i++) {
			const char *key = ks_meminfo_fields[i].key;

			if (line.p[0] == key[0] && line.p[1] == key[1] && ks_text_starts(&line, key) &&
			    ks_lines_take(&line, &name) && ks_text_is(&name, key) && ks_lines_number(line, &v))
				ks_have(&s->pages, i, v / lx->page);
		}
	}
	return &s->pages;
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

/* True for every line that kernels print there: behind their first word all have another one, but for one heading. */
static bool
is_of_zoneinfo(const struct ks_text *first, const struct ks_text *rest)
{
	return rest->p < rest->end ? ks_text_plain(rest) && !ks_text_empty(rest) : ks_text_is(first, "pagesets");
}

/* Adds up the watermarks of the zones; has_watermarks becomes false if there are none. */
static void
sum_watermarks(struct ks_linux *lx, const struct ks_image *im)
{
	static const char *const names[3] = { "min", "low", "high" };
	struct ks_memory_state *u = state_of(lx);
	struct ks_text all = ks_image_text(im), line, word;
	uint64_t v;

	u->zone_seq = im->seq;
	u->has_watermarks = false;
	memset(u->watermark, 0, sizeof(u->watermark));
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line;
		size_t i = 3;

		if (!ks_text_word(&line, &word))
			continue;
		if (*word.p == 'm' || *word.p == 'l' || *word.p == 'h')
			for (i = 0; i < 3 && !ks_text_is(&word, names[i]);)
				i++;
		if (i < 3 && ks_text_u64(&line, &v)) {
			u->watermark[i] += v;
			u->has_watermarks = true;
		} else if (i < 3 || !is_of_zoneinfo(&word, &line)) {
			ks_linux_odd_line(lx, im, &whole);
		}
	}
}

/*
 * The zones' watermarks, summed. /proc/zoneinfo is long and they change only with the settings
 * that they follow from, so it is read again only when one of those changed.
 */
static bool
read_watermarks(struct ks_linux *lx, uint64_t total)
{
	struct ks_memory_state *u = state_of(lx);
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	uint64_t key[3] = { 0, 0, total };
	const struct ks_image *im;

	(void)ks_linux_number(lx, KS_ROOT_PROC, "sys/vm/min_free_kbytes", &key[0]);
	(void)ks_linux_number(lx, KS_ROOT_PROC, "sys/vm/watermark_scale_factor", &key[1]);
	if (proc->kernel && u->has_watermarks && memcmp(key, u->watermark_key, sizeof(key)) == 0)
		return true;
	im = ks_linux_try(lx, &zoneinfo_file);
	if (im == NULL)
		u->has_watermarks = false;
	else if (u->zone_seq != im->seq)
		sum_watermarks(lx, im);
	memcpy(u->watermark_key, key, sizeof(key));
	return u->has_watermarks;
}

bool
ks_memory_deficit(struct ks_linux *lx, uint64_t *pages)
{
	const uint64_t *watermark = state_of(lx)->watermark;
	const struct ks_values *m = memory_pages(lx);

	if (m == NULL || !has(m, M_FREE) || !read_watermarks(lx, number(m, M_TOTAL)))
		return false;
	*pages = number(m, M_FREE) < watermark[1] ? watermark[2] - number(m, M_FREE) : 0;
	return true;
}

int
ks_system_pages_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_values *m = memory_pages(lx);
	struct ks_values vals = { .have = 0 };

	(void)unit;
	if (m == NULL)
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
 * updates is an average. Linux keeps no such sums, so this function does, for programs in C alone (unix.c): the
 * figures of a reading count for all seconds since the reading before, those of the first one for all time before,
 * so that two programs cannot compare theirs. Swap is virtual swap, as in swap -s, which includes memory.
 */
int
ks_vminfo_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_second_sums *s = &state_of(lx)->vminfo;
	const struct ks_values *m = memory_pages(lx);
	uint64_t up = 0, dt, used;
	vminfo_t *data;

	(void)unit;
	if (m == NULL)
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

/* Takes over a line of /proc/vmstat. */
static void
take_vm_line(const struct ks_text *key, uint64_t v, struct ks_values *vals)
{
	static const struct {
		const char *key;
		int what;
	} known[] = {
		{ "pgpgin", V_PGPGIN }, { "pgpgout", V_PGPGOUT }, { "pswpin", V_SWAPIN },
		{ "pswpout", V_SWAPOUT }, { "pgfault", V_AS_FAULT }, { "pgmajfault", V_MAJ_FAULT },
	};

	if (by_whom(key, "pgscan_"))
		ks_have_more(vals, V_SCAN, v);
	else if (by_whom(key, "pgsteal_"))
		ks_have_more(vals, V_DFREE, v);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (ks_text_is(key, known[i].key))
			ks_have(vals, (size_t)known[i].what, v);
	}
}

int
ks_unix_vm_values(struct ks_linux *lx, struct ks_values *vals)
{
	const struct ks_image *im = lx->im = ks_linux_image(lx, &ks_vmstat_file);
	struct ks_text all, line, key;
	uint64_t v;

	vals->have = 0;
	if (im == NULL)
		return -1;
	all = ks_image_text(im);
	while (ks_text_line(&all, &line)) {
		/* Most of the 200 lines begin otherwise than "pgp", "psw", "pgf", "pgm", "pgs". */
		if (ks_text_size(&line) > 2 && line.p[0] == 'p' && strchr("pwfms", line.p[2]) != NULL &&
		    ks_lines_split(lx, line, &key, &v))
			take_vm_line(&key, v, vals);
	}
	for (int i = V_PGPGIN; i <= V_PGPGOUT; i++) /* the file has KiB */
		vals->v[i].u = number(vals, i) / (lx->page / 1024);
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
