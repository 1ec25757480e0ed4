/*
 * kstat_raw.h - the C structures inside the RAW kstats that kstat(8) decodes, for programs that read them
 * as structures: cpu_stat:N:cpu_statN, unix:0:sysinfo, unix:0:vminfo, unix:0:var, unix:0:ncstats and
 * nfs:N:mntinfo. The ABI is that of 64-bit Solaris, in native byte order. Solaris spreads them over
 * <sys/sysinfo.h>, <sys/var.h>, <sys/dnlc.h> and <nfs/nfs_clnt.h>. The latter three exist here and
 * include this header. On Linux <sys/sysinfo.h> is another file; with `pkg-config --cflags kstat-solaris` it
 * includes this header, too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_RAW_H
#define KSTAT_RAW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Indexes of cpu_sysinfo_t.cpu: ticks in each state. */
#define CPU_IDLE 0
#define CPU_USER 1
#define CPU_KERNEL 2
#define CPU_WAIT 3
#define CPU_STATES 4

/* Indexes of cpu_sysinfo_t.wait: ticks of waiting for each. */
#define W_IO 0
#define W_SWAP 1
#define W_PIO 2
#define W_STATES 3

typedef struct cpu_sysinfo {
	uint32_t cpu[CPU_STATES];
	uint32_t wait[W_STATES];
	uint32_t bread, bwrite, lread, lwrite, phread, phwrite, pswitch, trap, intr, syscall,
	    sysread, syswrite, sysfork, sysvfork, sysexec, readch, writech, rcvint, xmtint,
	    mdmint, rawch, canch, outch, msg, sema, namei, ufsiget, ufsdirblk, ufsipage,
	    ufsinopage, inodeovf, fileovf, procovf, intrthread, intrblk, idlethread, inv_swtch,
	    nthreads, cpumigrate, xcalls, mutex_adenters, rw_rdfails, rw_wrfails, modload,
	    modunload, bawrite, rw_enters, win_uo_cnt, win_uu_cnt, win_so_cnt, win_su_cnt,
	    win_suo_cnt;
} cpu_sysinfo_t;

typedef struct cpu_syswait {
	int32_t iowait, swap, physio; /* threads waiting for each */
} cpu_syswait_t;

typedef struct cpu_vminfo {
	uint32_t pgrec, pgfrec, pgin, pgpgin, pgout, pgpgout, swapin, pgswapin, swapout,
	    pgswapout, zfod, dfree, scan, rev, hat_fault, as_fault, maj_fault, cow_fault,
	    prot_fault, softlock, kernel_asflt, pgrrun, execpgin, execpgout, execfree,
	    anonpgin, anonpgout, anonfree, fspgin, fspgout, fsfree;
} cpu_vminfo_t;

/* cpu_stat:N:cpu_statN, 380 bytes */
typedef struct cpu_stat {
	uint32_t __cpu_stat_lock[2];
	cpu_sysinfo_t cpu_sysinfo;
	cpu_syswait_t cpu_syswait;
	cpu_vminfo_t cpu_vminfo;
} cpu_stat_t;

/* unix:0:sysinfo, 24 bytes: the number of updates, and sums of the values at each update */
typedef struct {
	uint32_t updates, runque, runocc, swpque, swpocc, waiting;
} sysinfo_t;

/* unix:0:vminfo, 48 bytes: as sysinfo_t, in pages */
typedef struct vminfo {
	uint64_t freemem, swap_resv, swap_alloc, swap_avail, swap_free, updates;
} vminfo_t;

/* unix:0:var, 60 bytes */
struct var {
	int32_t v_buf, v_call, v_proc, v_maxupttl, v_nglobpris, v_maxsyspri, v_clist, v_maxup,
	    v_hbuf, v_hmask, v_pbuf, v_sptmap, v_maxpmem, v_autoup, v_bufhwm;
};

/* unix:0:ncstats, 32 bytes */
struct ncstats {
	int32_t hits, misses, enters, dbl_enters, long_enter, long_look, move_to_front, purges;
};

/* nfs:N:mntinfo, 492 bytes */
#define KNC_STRSIZE 128
#define NFS_CALLTYPES 3

struct mntinfo_kstat {
	char mik_proto[KNC_STRSIZE];
	uint32_t mik_vers, mik_flags, mik_secmod, mik_curread, mik_curwrite;
	int32_t mik_timeo, mik_retrans;
	uint32_t mik_acregmin, mik_acregmax, mik_acdirmin, mik_acdirmax;
	struct {
		uint32_t srtt, deviate, rtxcur;
	} mik_timers[NFS_CALLTYPES + 1]; /* lookup, read, write, all */
	uint32_t mik_noresponse, mik_failover, mik_remap;
	char mik_curserver[257];
};

#ifdef __cplusplus
}
#endif

#endif /* KSTAT_RAW_H */
