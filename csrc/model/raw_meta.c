/*
 * raw_meta.c - what the members of known RAW kstats mean, wherever the kstat comes from.
 * SPDX-License-Identifier: MIT
 */
#include "model/raw_meta.h"

#include <string.h>

#define COUNT(stat, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, "", desc }
#define GAUGE(stat, desc) { stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, 0, 1, "", desc }
#define LIMIT(stat, desc) { stat, KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, 0, 1, "", desc }
#define PAGES(stat, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, "pages", desc }
#define BYTES(stat, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, 0, 1, "bytes", desc }
#define TICKS(stat, desc) \
	{ stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT2_NVMF_FRACT, 100, "ticks", desc }
#define SECONDS(stat, kind, type, desc) { stat, kind, type, 0, 1, "s", desc }
#define SUM(stat, unit, desc) { stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, unit, desc }
#define MSEC(stat, desc) \
	{ stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1000, "ms", desc }
#define TEXT(stat, desc) { stat, KS_KIND_TEXT, KSTAT2_NVMT_ID, 0, 1, "", desc }
#define END { NULL, 0, 0, 0, 0, NULL, NULL }

static const struct ks_meta cpu_stat_meta[] = {
	TICKS("idle", "time idle"),
	TICKS("user", "time in user mode"),
	TICKS("kernel", "time in the kernel"),
	TICKS("wait", "time idle with I/O outstanding"),
	TICKS("wait_io", "time idle waiting for block I/O"),
	TICKS("wait_swap", "time idle waiting for swapping"),
	TICKS("wait_pio", "time idle waiting for programmed I/O"),
	COUNT("bread", "blocks read from disks"),
	COUNT("bwrite", "blocks written to disks"),
	COUNT("lread", "blocks read, cached ones included"),
	COUNT("lwrite", "blocks written, cached ones included"),
	COUNT("phread", "raw reads"),
	COUNT("phwrite", "raw writes"),
	COUNT("pswitch", "context switches"),
	COUNT("trap", "traps"),
	COUNT("intr", "interrupts"),
	COUNT("syscall", "system calls"),
	COUNT("sysread", "read calls"),
	COUNT("syswrite", "write calls"),
	COUNT("sysfork", "fork calls"),
	COUNT("sysvfork", "vfork calls"),
	COUNT("sysexec", "exec calls"),
	BYTES("readch", "bytes read by read calls"),
	BYTES("writech", "bytes written by write calls"),
	COUNT("rcvint", "terminal receiver interrupts"),
	COUNT("xmtint", "terminal transmitter interrupts"),
	COUNT("mdmint", "modem interrupts"),
	COUNT("rawch", "terminal input characters"),
	COUNT("canch", "characters of canonical terminal input"),
	COUNT("outch", "terminal output characters"),
	COUNT("msg", "message operations"),
	COUNT("sema", "semaphore operations"),
	COUNT("namei", "path name lookups"),
	COUNT("ufsiget", "UFS inodes fetched"),
	COUNT("ufsdirblk", "UFS directory blocks read"),
	COUNT("ufsipage", "UFS inodes taken with pages attached"),
	COUNT("ufsinopage", "UFS inodes taken without pages"),
	COUNT("inodeovf", "inode table overflows"),
	COUNT("fileovf", "file table overflows"),
	COUNT("procovf", "process table overflows"),
	COUNT("intrthread", "interrupts run as threads; on Linux softirqs"),
	COUNT("intrblk", "interrupt threads that blocked"),
	COUNT("idlethread", "times the CPU went idle"),
	COUNT("inv_swtch", "involuntary context switches"),
	COUNT("nthreads", "threads created"),
	COUNT("cpumigrate", "threads that moved to this CPU"),
	COUNT("xcalls", "calls between CPUs"),
	COUNT("mutex_adenters", "mutexes found held"),
	COUNT("rw_rdfails", "reader locks not had at once"),
	COUNT("rw_wrfails", "writer locks not had at once"),
	COUNT("modload", "kernel modules loaded"),
	COUNT("modunload", "kernel modules unloaded"),
	COUNT("bawrite", "asynchronous block writes"),
	GAUGE("iowait", "processes waiting for block I/O"),
	GAUGE("swap", "processes swapping"),
	GAUGE("physio", "processes in raw I/O"),
	COUNT("pgrec", "page reclaims"),
	COUNT("pgfrec", "page reclaims from the free list"),
	COUNT("pgin", "page-in operations"),
	PAGES("pgpgin", "pages paged in"),
	COUNT("pgout", "page-out operations"),
	PAGES("pgpgout", "pages paged out"),
	COUNT("swapin", "swap-in operations"),
	PAGES("pgswapin", "pages swapped in"),
	COUNT("swapout", "swap-out operations"),
	PAGES("pgswapout", "pages swapped out"),
	PAGES("zfod", "pages filled with zeros on demand"),
	PAGES("dfree", "pages freed by the page scanner"),
	PAGES("scan", "pages examined by the page scanner"),
	COUNT("rev", "rounds of the page scanner"),
	COUNT("hat_fault", "minor faults in address translation"),
	COUNT("as_fault", "minor faults in address spaces"),
	COUNT("maj_fault", "faults that needed a disk"),
	COUNT("cow_fault", "copy-on-write faults"),
	COUNT("prot_fault", "protection faults"),
	COUNT("softlock", "faults from software locks"),
	COUNT("kernel_asflt", "faults in the kernel's address space"),
	COUNT("pgrrun", "times the page scanner was started"),
	PAGES("execpgin", "pages of programs paged in"),
	PAGES("execpgout", "pages of programs paged out"),
	PAGES("execfree", "pages of programs freed"),
	PAGES("anonpgin", "pages without a file paged in"),
	PAGES("anonpgout", "pages without a file paged out"),
	PAGES("anonfree", "pages without a file freed"),
	PAGES("fspgin", "pages of files paged in"),
	PAGES("fspgout", "pages of files paged out"),
	PAGES("fsfree", "pages of files freed"),
	END
};

static const struct ks_meta var_meta[] = {
	LIMIT("v_buf", "I/O buffers"),
	LIMIT("v_call", "callout table entries"),
	LIMIT("v_proc", "processes in the machine"),
	LIMIT("v_maxupttl", "processes of all users but root"),
	LIMIT("v_nglobpris", "global scheduling priorities"),
	LIMIT("v_maxsyspri", "highest priority of the system class"),
	LIMIT("v_clist", "clists"),
	LIMIT("v_maxup", "processes of one user"),
	LIMIT("v_hbuf", "hash buckets of buffers"),
	LIMIT("v_hmask", "hash mask of buffers"),
	LIMIT("v_pbuf", "buffers for raw I/O"),
	LIMIT("v_sptmap", "entries of the system page table map"),
	LIMIT("v_maxpmem", "limit of physical memory in pages, 0 for all there is"),
	SECONDS("v_autoup", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "age at which dirty data is written"),
	{ "v_bufhwm", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, 0, 1024, "KiB", "high water mark of buffers" },
	END
};

static const struct ks_meta ncstats_meta[] = {
	COUNT("hits", "names found in the name cache"),
	COUNT("misses", "names not found in the name cache"),
	COUNT("enters", "names entered"),
	COUNT("dbl_enters", "names entered that were there"),
	COUNT("long_enter", "names too long to enter"),
	COUNT("long_look", "names too long to look up"),
	COUNT("move_to_front", "entries moved to the front of their chain"),
	COUNT("purges", "purges of the name cache"),
	END
};

static const struct ks_meta sysinfo_meta[] = {
	SECONDS("updates", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds that the sums cover"),
	SUM("runque", "process seconds", "processes waiting for a CPU, summed over the seconds"),
	SECONDS("runocc", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds with processes waiting for a CPU"),
	SUM("swpque", "process seconds", "processes swapped out, summed over the seconds"),
	SECONDS("swpocc", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds with processes swapped out"),
	SUM("waiting", "process seconds", "processes waiting for block I/O, summed over the seconds"),
	END
};

static const struct ks_meta vminfo_meta[] = {
	SUM("freemem", "page seconds", "free memory, summed over the seconds"),
	SUM("swap_resv", "page seconds", "virtual swap reserved, summed over the seconds"),
	SUM("swap_alloc", "page seconds", "virtual swap allocated, summed over the seconds"),
	SUM("swap_avail", "page seconds", "virtual swap not reserved, summed over the seconds"),
	SUM("swap_free", "page seconds", "virtual swap not allocated, summed over the seconds"),
	SECONDS("updates", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "seconds that the sums cover"),
	END
};

static const struct ks_meta mntinfo_meta[] = {
	TEXT("mik_proto", "transport protocol"),
	GAUGE("mik_vers", "NFS version"),
	{ "mik_flags", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, 0, 1, "", "mount flags" },
	GAUGE("mik_secmod", "security flavor"),
	{ "mik_curread", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, 0, 1, "bytes", "size of reads" },
	{ "mik_curwrite", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, 0, 1, "bytes", "size of writes" },
	{ "mik_timeo", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 10, "1/10 s",
	    "time until a call is repeated" },
	GAUGE("mik_retrans", "repetitions of a call"),
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
	COUNT("mik_noresponse", "times the server did not respond"),
	COUNT("mik_failover", "times another server was taken"),
	COUNT("mik_remap", "times a file was found again on another server"),
	TEXT("mik_curserver", "server in use"),
	END
};

const struct ks_meta *
ks_raw_meta(const struct ks_raw_layout *layout, const char *stat)
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
