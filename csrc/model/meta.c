/*
 * meta.c - see meta.h, and what the statistics of known types and layouts mean, wherever the kstat comes from.
 * SPDX-License-Identifier: MIT
 */
#include "model/meta.h"

#include <stdio.h>
#include <string.h>

#include "model/blobstat.h"
#include "model/histstat.h"
#include "model/raw_layout.h"

const struct ks_meta ks_meta_not_counted = KS_META_OF("", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN,
    KSTAT2_NVMF_NOT_COUNTED, 1, "", "a statistic of illumos that Linux does not count");

const struct ks_meta *
ks_meta_find(const struct ks_meta *table, const char *stat)
{
	for (; table->stat != NULL; table++) {
		if (strcmp(table->stat, stat) == 0)
			return table;
	}
	return NULL;
}

const char *
ks_kind_name(uint8_t kind)
{
	static const char *const names[] = { "counter", "gauge", "text", "time" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

#define LIMIT(stat, desc) KS_META(stat, KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, "", desc)
#define PAGES(stat, desc) SUM(stat, "pages", desc)
#define TICKS(stat, desc) KS_META_PER(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, 100, "ticks", desc)
#define SECONDS(stat, kind, type, desc) KS_META(stat, kind, type, "s", desc)
#define SUM(stat, unit, desc) KS_META(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, unit, desc)
#define MSEC(stat, desc) KS_META_PER(stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, 1000, "ms", desc)

static const struct ks_meta cpu_stat_meta[] = {
	TICKS("idle", "time idle"),
	TICKS("user", "time in user mode"),
	TICKS("kernel", "time in the kernel"),
	TICKS("wait", "time idle with I/O outstanding"),
	TICKS("wait_io", "time idle waiting for block I/O"),
	TICKS("wait_swap", "time idle waiting for swapping"),
	TICKS("wait_pio", "time idle waiting for programmed I/O"),
	KS_META_COUNTER("bread", "blocks read from disks"),
	KS_META_COUNTER("bwrite", "blocks written to disks"),
	KS_META_COUNTER("lread", "blocks read, cached ones included"),
	KS_META_COUNTER("lwrite", "blocks written, cached ones included"),
	KS_META_COUNTER("phread", "raw reads"),
	KS_META_COUNTER("phwrite", "raw writes"),
	KS_META_COUNTER("pswitch", "context switches"),
	KS_META_COUNTER("trap", "traps of the CPU"),
	KS_META_COUNTER("intr", "interrupts of the CPU"),
	KS_META_COUNTER("syscall", "system calls"),
	KS_META_COUNTER("sysread", "read calls"),
	KS_META_COUNTER("syswrite", "write calls"),
	KS_META_COUNTER("sysfork", "fork calls"),
	KS_META_COUNTER("sysvfork", "vfork calls"),
	KS_META_COUNTER("sysexec", "exec calls"),
	KS_META_BYTES("readch", KS_KIND_COUNTER, "bytes read by read calls"),
	KS_META_BYTES("writech", KS_KIND_COUNTER, "bytes written by write calls"),
	KS_META_COUNTER("rcvint", "terminal receiver interrupts"),
	KS_META_COUNTER("xmtint", "terminal transmitter interrupts"),
	KS_META_COUNTER("mdmint", "modem interrupts"),
	KS_META_COUNTER("rawch", "terminal input characters"),
	KS_META_COUNTER("canch", "characters of canonical terminal input"),
	KS_META_COUNTER("outch", "terminal output characters"),
	KS_META_COUNTER("msg", "message operations"),
	KS_META_COUNTER("sema", "semaphore operations"),
	KS_META_COUNTER("namei", "path name lookups"),
	KS_META_COUNTER("ufsiget", "UFS inodes fetched"),
	KS_META_COUNTER("ufsdirblk", "UFS directory blocks read"),
	KS_META_COUNTER("ufsipage", "UFS inodes taken with pages attached"),
	KS_META_COUNTER("ufsinopage", "UFS inodes taken without pages"),
	KS_META_COUNTER("inodeovf", "inode table overflows"),
	KS_META_COUNTER("fileovf", "file table overflows"),
	KS_META_COUNTER("procovf", "process table overflows"),
	KS_META_COUNTER("intrthread", "interrupts run as threads; on Linux softirqs"),
	KS_META_COUNTER("intrblk", "interrupt threads that blocked"),
	KS_META_COUNTER("idlethread", "times the CPU went idle"),
	KS_META_COUNTER("inv_swtch", "involuntary context switches"),
	KS_META_COUNTER("nthreads", "threads created"),
	KS_META_COUNTER("cpumigrate", "threads that moved to this CPU"),
	KS_META_COUNTER("xcalls", "calls between CPUs"),
	KS_META_COUNTER("mutex_adenters", "mutexes found held"),
	KS_META_COUNTER("rw_rdfails", "reader locks not had at once"),
	KS_META_COUNTER("rw_wrfails", "writer locks not had at once"),
	KS_META_COUNTER("modload", "kernel modules loaded"),
	KS_META_COUNTER("modunload", "kernel modules unloaded"),
	KS_META_COUNTER("bawrite", "asynchronous block writes"),
	KS_META_GAUGE("iowait", "processes waiting for block I/O"),
	KS_META_GAUGE("swap", "processes swapping"),
	KS_META_GAUGE("physio", "processes in raw I/O"),
	KS_META_COUNTER("pgrec", "page reclaims"),
	KS_META_COUNTER("pgfrec", "page reclaims from the free list"),
	KS_META_COUNTER("pgin", "page-in operations"),
	PAGES("pgpgin", "pages paged in"),
	KS_META_COUNTER("pgout", "page-out operations"),
	PAGES("pgpgout", "pages paged out"),
	KS_META_COUNTER("swapin", "swap-in operations"),
	PAGES("pgswapin", "pages swapped in"),
	KS_META_COUNTER("swapout", "swap-out operations"),
	PAGES("pgswapout", "pages swapped out"),
	PAGES("zfod", "pages filled with zeros on demand"),
	PAGES("dfree", "pages freed by the page scanner"),
	PAGES("scan", "pages examined by the page scanner"),
	KS_META_COUNTER("rev", "rounds of the page scanner"),
	KS_META_COUNTER("hat_fault", "minor faults in address translation"),
	KS_META_COUNTER("as_fault", "minor faults in address spaces"),
	KS_META_COUNTER("maj_fault", "faults that needed a disk"),
	KS_META_COUNTER("cow_fault", "copy-on-write faults"),
	KS_META_COUNTER("prot_fault", "protection faults"),
	KS_META_COUNTER("softlock", "faults from software locks"),
	KS_META_COUNTER("kernel_asflt", "faults in the kernel's address space"),
	KS_META_COUNTER("pgrrun", "times the page scanner was started"),
	PAGES("execpgin", "pages of programs paged in"),
	PAGES("execpgout", "pages of programs paged out"),
	PAGES("execfree", "pages of programs freed"),
	PAGES("anonpgin", "pages without a file paged in"),
	PAGES("anonpgout", "pages without a file paged out"),
	PAGES("anonfree", "pages without a file freed"),
	PAGES("fspgin", "pages of files paged in"),
	PAGES("fspgout", "pages of files paged out"),
	PAGES("fsfree", "pages of files freed"),
	KS_META_END
};

static const struct ks_meta var_meta[] = {
	LIMIT("v_buf", "I/O buffers"),
	LIMIT("v_call", "callout table entries"),
	LIMIT("v_proc", "processes in the machine"),
	LIMIT("v_maxupttl", "processes of all users but root"),
	LIMIT("v_nglobpris", "global scheduling priorities"),
	LIMIT("v_maxsyspri", "highest priority of the system class"),
	LIMIT("v_clist", "clists of terminals"),
	LIMIT("v_maxup", "processes of one user"),
	LIMIT("v_hbuf", "hash buckets of buffers"),
	LIMIT("v_hmask", "hash mask of buffers"),
	LIMIT("v_pbuf", "buffers for raw I/O"),
	LIMIT("v_sptmap", "entries of the system page table map"),
	LIMIT("v_maxpmem", "limit of physical memory in pages, 0 for all there is"),
	SECONDS("v_autoup", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "age at which dirty data is written"),
	KS_META_TIMES("v_bufhwm", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, 1024, "KiB", "high water mark of buffers"),
	KS_META_END
};

static const struct ks_meta ncstats_meta[] = {
	KS_META_COUNTER("hits", "names found in the name cache"),
	KS_META_COUNTER("misses", "names not found in the name cache"),
	KS_META_COUNTER("enters", "names entered"),
	KS_META_COUNTER("dbl_enters", "names entered that were there"),
	KS_META_COUNTER("long_enter", "names too long to enter"),
	KS_META_COUNTER("long_look", "names too long to look up"),
	KS_META_COUNTER("move_to_front", "entries moved to the front of their chain"),
	KS_META_COUNTER("purges", "purges of the name cache"),
	KS_META_END
};

static const struct ks_meta sysinfo_meta[] = {
	SECONDS("updates", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds that the sums cover"),
	SUM("runque", "process seconds", "processes waiting for a CPU, summed over the seconds"),
	SECONDS("runocc", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds with processes waiting for a CPU"),
	SUM("swpque", "process seconds", "processes swapped out, summed over the seconds"),
	SECONDS("swpocc", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds with processes swapped out"),
	SUM("waiting", "process seconds", "processes waiting for block I/O, summed over the seconds"),
	KS_META_END
};

static const struct ks_meta vminfo_meta[] = {
	SUM("freemem", "page seconds", "free memory, summed over the seconds"),
	SUM("swap_resv", "page seconds", "virtual swap reserved, summed over the seconds"),
	SUM("swap_alloc", "page seconds", "virtual swap allocated, summed over the seconds"),
	SUM("swap_avail", "page seconds", "virtual swap not reserved, summed over the seconds"),
	SUM("swap_free", "page seconds", "virtual swap not allocated, summed over the seconds"),
	SECONDS("updates", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds that the sums cover"),
	KS_META_END
};

static const struct ks_meta mntinfo_meta[] = {
	KS_META_TEXT("mik_proto", "transport protocol"),
	KS_META_GAUGE("mik_vers", "NFS version"),
	KS_META("mik_flags", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, "", "mount flags"),
	KS_META_GAUGE("mik_secmod", "security flavor"),
	KS_META_BYTES("mik_curread", KS_KIND_GAUGE, "size of reads"),
	KS_META_BYTES("mik_curwrite", KS_KIND_GAUGE, "size of writes"),
	KS_META_PER("mik_timeo", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, 10, "1/10 s", "time until a call is repeated"),
	KS_META_GAUGE("mik_retrans", "repetitions of a call"),
	SECONDS("mik_acregmin", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "shortest caching of file attributes"),
	SECONDS("mik_acregmax", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "longest caching of file attributes"),
	SECONDS("mik_acdirmin", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "shortest caching of directories"),
	SECONDS("mik_acdirmax", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "longest caching of directories"),
	MSEC("lookup_srtt", "smoothed round trip time of lookups"),
	MSEC("lookup_deviate", "deviation of round trips of lookups"),
	MSEC("lookup_rtxcur", "time until a lookup is repeated"),
	MSEC("read_srtt", "smoothed round trip time of reads"),
	MSEC("read_deviate", "deviation of round trips of reads"),
	MSEC("read_rtxcur", "time until a read is repeated"),
	MSEC("write_srtt", "smoothed round trip time of writes"),
	MSEC("write_deviate", "deviation of round trips of writes"),
	MSEC("write_rtxcur", "time until a write is repeated"),
	KS_META_COUNTER("mik_noresponse", "times the server did not respond"),
	KS_META_COUNTER("mik_failover", "times another server was taken"),
	KS_META_COUNTER("mik_remap", "times a file was found again on another server"),
	KS_META_STATE("mik_curserver", "server in use"),
	KS_META_END
};

static const struct ks_meta header_meta[] = {
	KS_META_TEXT("class", "broad class of the kstat"),
	KS_META_NSEC("crtime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the kstat was created"),
	KS_META_NSEC("snaptime", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the data was taken"),
	KS_META_END
};

static const struct ks_meta intr_meta[] = {
	KS_META_COUNTER("hard", "interrupts from the device"),
	KS_META_COUNTER("soft", "interrupts caused by software"),
	KS_META_COUNTER("watchdog", "interrupts from a periodic timer"),
	KS_META_COUNTER("spurious", "interrupts with nothing to service"),
	KS_META_COUNTER("multiple_service", "interrupts found while returning from another"),
	KS_META_END
};

static const struct ks_meta io_meta[] = {
	KS_META_BYTES("nread", KS_KIND_COUNTER, "bytes read"),
	KS_META_BYTES("nwritten", KS_KIND_COUNTER, "bytes written"),
	KS_META_COUNTER("reads", "read operations"),
	KS_META_COUNTER("writes", "write operations"),
	KS_META_NSEC("wtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests waiting"),
	KS_META_NSEC("wlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "wait queue length times time"),
	KS_META_NSEC("wlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the wait queue"),
	KS_META_NSEC("rtime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time with requests in service"),
	KS_META_NSEC("rlentime", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "run queue length times time"),
	KS_META_NSEC("rlastupdate", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "last change of the run queue"),
	KS_META_GAUGE("wcnt", "requests waiting"),
	KS_META_GAUGE("rcnt", "requests in service"),
	KS_META_END
};

static const struct ks_meta timer_meta[] = {
	KS_META_TEXT("name", "name of the event"),
	KS_META_COUNTER("num_events", "events timed"),
	KS_META_NSEC("elapsed_time", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "time of all events together"),
	KS_META_NSEC("min_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "shortest event"),
	KS_META_NSEC("max_time", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "longest event"),
	KS_META_NSEC("start_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event started"),
	KS_META_NSEC("stop_time", KS_KIND_TIME, KSTAT2_NVMT_T_REL, "when the last event stopped"),
	KS_META_END
};

static const struct ks_meta histogram_meta[] = {
	KS_META_COUNTER("buckets", "values in each bucket"),
	KS_META_TEXT("type", "how the buckets are laid out"),
	KS_META("range_min", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, "", "where the first bucket ends"),
	KS_META("range_max", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, "", "where the last bucket starts"),
	KS_META_GAUGE("stepping", "width of a bucket, their number in a power of ten, or the scale"),
	KS_META_COUNTER("out_of_range", "values that have no bucket of their own, and refused ones"),
	KS_META_END
};

/* What the decoder computes: as if the values were plain counts. */
static const struct ks_meta computed_meta[] = {
	KS_META_COUNTER("count", "how many values"),
	KS_META_COUNTER("sum", "sum of all values"),
	KS_META_GAUGE("min", "least value"),
	KS_META_GAUGE("max", "greatest value"),
	KS_META_GAUGE("mean", "mean of all values"),
	KS_META_GAUGE("p50", "median"),
	KS_META_GAUGE("p90", "90th percentile"),
	KS_META_GAUGE("p99", "99th percentile"),
	KS_META_GAUGE("p999", "99.9th percentile"),
	KS_META_END
};

const struct ks_meta *
ks_meta_of_histogram(const char *stat)
{
	const struct ks_meta *m = ks_meta_find(histogram_meta, stat);

	return m != NULL ? m : ks_meta_find(computed_meta, stat);
}

bool
ks_meta_has_histogram(const char *name)
{
	static const char *const keys[] = { "module", "instance", "name" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(keys[i], name) == 0)
			return true;
	}
	return ks_meta_of_histogram(name) != NULL || ks_meta_find(header_meta, name) != NULL;
}

const struct ks_meta *
ks_meta_of_values(const struct ks_meta *buckets, const char *stat)
{
	static _Thread_local struct ks_meta found;
	static _Thread_local char text[160];
	const struct ks_meta *m = ks_meta_find(computed_meta, stat);
	const char *desc = buckets->desc != NULL ? buckets->desc : "";

	if (m == NULL)
		return NULL;
	(void)snprintf(text, sizeof(text), "%s%s%s", desc, *desc != '\0' ? ": " : "", m->desc);
	found = *m;
	found.desc = text;
	if (strcmp(stat, "count") != 0) {
		found.type = buckets->type;
		found.flags = buckets->flags;
		found.scale = buckets->scale;
		found.unit = buckets->unit;
	}
	return &found;
}

static const struct ks_meta *
meta_of_layout(const struct ks_raw_layout *layout, const char *stat)
{
	static const struct {
		const char *key;
		const struct ks_meta *table;
	} tables[] = {
		{ "cpu_stat:cpu_stat", cpu_stat_meta }, { "unix:var", var_meta },
		{ "unix:ncstats", ncstats_meta }, { "unix:sysinfo", sysinfo_meta },
		{ "unix:vminfo", vminfo_meta }, { "nfs:mntinfo", mntinfo_meta },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(tables[i].key, layout->key) == 0)
			return ks_meta_find(tables[i].table, stat);
	}
	return NULL;
}

static const struct ks_meta *
meta_of_raw(const kstat_t *ksp, const char *stat)
{
	const struct ks_raw_layout *layout;

	if (ks_blobstat_is(ksp))
		return ks_blobstat_meta(ksp, stat);
	layout = ks_raw_layout_find(ksp->ks_module, ksp->ks_name);
	return layout != NULL ? meta_of_layout(layout, stat) : NULL;
}

bool
ks_meta_is_header(const char *stat)
{
	return strcmp(stat, "class") == 0 || strcmp(stat, "crtime") == 0 || strcmp(stat, "snaptime") == 0;
}

const struct ks_meta *
ks_meta_of_model(const kstat_t *ksp, const char *stat)
{
	const struct ks_meta *m = NULL;

	if (ksp->ks_type == KSTAT_TYPE_INTR)
		m = ks_meta_find(intr_meta, stat);
	else if (ksp->ks_type == KSTAT_TYPE_IO)
		m = ks_meta_find(io_meta, stat);
	else if (ksp->ks_type == KSTAT_TYPE_TIMER)
		m = ks_meta_find(timer_meta, stat);
	else if (ks_histstat_is(ksp))
		m = ks_meta_of_histogram(stat);
	else if (ksp->ks_type == KSTAT_TYPE_RAW)
		m = meta_of_raw(ksp, stat);
	return m != NULL ? m : ks_meta_find(header_meta, stat);
}
