/*
 * kstat.h - kernel statistics: the consumer interface of kstat(3KSTAT).
 *
 * A program written to the manual page compiles unchanged with
 *     cc prog.c $(pkg-config --cflags --libs kstat)
 * and one that includes further headers of Solaris, such as <sys/sysinfo.h> for cpu_stat_t, with kstat-solaris
 * in place of kstat.
 * All times are hrtime_t: signed 64-bit nanoseconds on the monotonic clock.
 * A kstat_ctl_t and its chain belong to the thread that opened it; different
 * handles may be used by different threads at the same time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_H
#define KSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#include "kstat_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define KSTAT_VERSION "0.9.0"

/*
 * gethrtime(3C): nanoseconds of a clock that never steps back (CLOCK_MONOTONIC:
 * zero is near boot, time spent suspended is not counted). OpenZFS's <sys/time.h>, which
 * programs of libzfs have on their path, defines an inline function of that name, with the same clock.
 */
#ifndef _LIBSPL_SYS_TIME_H
hrtime_t gethrtime(void);
#endif

#define KSTAT_STRLEN 31 /* 30 bytes and a NUL, for every name */

typedef struct kstat {
	hrtime_t ks_crtime;            /* creation time */
	struct kstat *ks_next;         /* chain linkage */
	kid_t ks_kid;                  /* unique kstat ID */
	char ks_module[KSTAT_STRLEN];  /* module name */
	uchar_t ks_resv;               /* reserved */
	int ks_instance;               /* module's instance */
	char ks_name[KSTAT_STRLEN];    /* kstat name */
	uchar_t ks_type;               /* KSTAT_TYPE_* */
	char ks_class[KSTAT_STRLEN];   /* kstat class */
	uchar_t ks_flags;              /* KSTAT_FLAG_* */
	void *ks_data;                 /* type-specific data, NULL before the first read */
	uint_t ks_ndata;               /* number of data records; of KSTAT_TYPE_RAW: bytes */
	size_t ks_data_size;           /* bytes at ks_data, and before the first read the room that it needs */
	hrtime_t ks_snaptime;          /* time of the last data snapshot; before the first read ks_crtime */
	int (*ks_update)(struct kstat *, int); /* providers only */
	void *ks_private;                      /* providers only */
	int (*ks_snapshot)(struct kstat *, void *, int); /* providers only */
	void *ks_lock;                         /* providers only */
} kstat_t;

typedef struct kstat_ctl {
	kid_t kc_chain_id;  /* current kstat chain ID (KCID) */
	kstat_t *kc_chain;  /* pointer to the kstat chain */
	int kc_kd;          /* not for clients; a descriptor that is closed on exec and by kstat_close() */
} kstat_ctl_t;

#define KSTAT_TYPE_RAW 0   /* can be anything; ks_ndata == ks_data_size, unless it is VAR_SIZE or a statsblob */
#define KSTAT_TYPE_NAMED 1 /* name/value pairs; ks_ndata >= 0 */
#define KSTAT_TYPE_INTR 2  /* interrupt statistics; ks_ndata == 1 */
#define KSTAT_TYPE_IO 3    /* I/O statistics; ks_ndata == 1 */
#define KSTAT_TYPE_TIMER 4 /* event timers; ks_ndata >= 1 */
#define KSTAT_NUM_TYPES 5

#define KSTAT_FLAG_VIRTUAL 0x01     /* the provider supplies ks_data */
#define KSTAT_FLAG_VAR_SIZE 0x02    /* the data section's size varies, and may be 0 before the first read */
#define KSTAT_FLAG_WRITABLE 0x04    /* kstat_write() is allowed */
#define KSTAT_FLAG_PERSISTENT 0x08  /* survives kstat_delete() as dormant */
#define KSTAT_FLAG_DORMANT 0x10     /* deleted, waiting to be re-created */
#define KSTAT_FLAG_INVALID 0x20     /* created, not yet installed */
#define KSTAT_FLAG_LONGSTRINGS 0x40 /* has KSTAT_DATA_STRING (or _STRS) values */
#define KSTAT_FLAG_STATSBLOB 0x80   /* RAW: ks_ndata bytes of ks_data are a statsblob (kstat_blob.h) */

#define KSTAT_READ 0  /* second argument of ks_update and ks_snapshot */
#define KSTAT_WRITE 1

/* --- KSTAT_TYPE_NAMED ---------------------------------------------------- */

typedef struct kstat_named {
	char name[KSTAT_STRLEN]; /* name of the statistic */
	uchar_t data_type;       /* KSTAT_DATA_* */
	union {
		char c[16]; /* KSTAT_DATA_CHAR; all 16 bytes may be used */
		int32_t i32;
		uint32_t ui32;
		int64_t i64;
		uint64_t ui64;
		struct {
			union {
				char *ptr; /* NUL-terminated, or NULL */
				uint64_t *ints; /* KSTAT_DATA_INTS: element 0 */
				char __pad[8];
			} addr;
			uint32_t len; /* bytes, the NUL included; of KSTAT_DATA_INTS: 8 * elements */
		} string;
		struct {
			union {
				char *ptr;
				char __pad[8];
			} addr;
			uint32_t len;
		} str; /* the same, by the name that illumos gives it */
		/* Obsolete members. */
		long l;
		ulong_t ul;
		longlong_t ll;
		u_longlong_t ull;
		float f;
		double d;
	} value;
} kstat_named_t;

#define KSTAT_DATA_CHAR 0
#define KSTAT_DATA_INT32 1
#define KSTAT_DATA_UINT32 2
#define KSTAT_DATA_INT64 3
#define KSTAT_DATA_UINT64 4
#define KSTAT_DATA_FLOAT 5  /* obsolete */
#define KSTAT_DATA_DOUBLE 6 /* obsolete */
#define KSTAT_DATA_STRING 9
/* Arrays (kstat2_md(9S): KSTAT2_NVVT_INTS, KSTAT2_NVVT_STRS). */
#define KSTAT_DATA_INTS 16 /* string.addr.ints, string.len / 8 elements of uint64_t */
#define KSTAT_DATA_STRS 17 /* string.addr.ptr: NUL-terminated strings one after the other, string.len bytes in all */

#if __SIZEOF_LONG__ == 8
#define KSTAT_DATA_LONG KSTAT_DATA_INT64
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT64
#else
#define KSTAT_DATA_LONG KSTAT_DATA_INT32
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT32
#endif
#define KSTAT_DATA_LONGLONG KSTAT_DATA_INT64   /* obsolete */
#define KSTAT_DATA_ULONGLONG KSTAT_DATA_UINT64 /* obsolete */

#define KSTAT_NAMED_STR_PTR(knptr) ((knptr)->value.str.addr.ptr)
#define KSTAT_NAMED_STR_BUFLEN(knptr) ((knptr)->value.str.len)

/* --- KSTAT_TYPE_INTR ------------------------------------------------------ */

#define KSTAT_INTR_HARD 0
#define KSTAT_INTR_SOFT 1
#define KSTAT_INTR_WATCHDOG 2
#define KSTAT_INTR_SPURIOUS 3
#define KSTAT_INTR_MULTSVC 4
#define KSTAT_NUM_INTRS 5

typedef struct kstat_intr {
	uint_t intrs[KSTAT_NUM_INTRS]; /* interrupt counters */
} kstat_intr_t;

/* --- KSTAT_TYPE_IO -------------------------------------------------------- */

typedef struct kstat_io {
	u_longlong_t nread;    /* bytes read */
	u_longlong_t nwritten; /* bytes written */
	uint_t reads;          /* read operations */
	uint_t writes;         /* write operations */
	/*
	 * Time sums in nanoseconds; the "len" sums are Riemann sums of queue
	 * length over time (ns * requests). w: waiting, r: being served.
	 */
	hrtime_t wtime;       /* time with a non-empty wait queue */
	hrtime_t wlentime;    /* sum of wait queue length * time */
	hrtime_t wlastupdate; /* last time the wait queue changed */
	hrtime_t rtime;       /* time with a non-empty run queue */
	hrtime_t rlentime;    /* sum of run queue length * time */
	hrtime_t rlastupdate; /* last time the run queue changed */
	uint_t wcnt;          /* requests waiting */
	uint_t rcnt;          /* requests in service */
} kstat_io_t;

/* --- KSTAT_TYPE_TIMER ------------------------------------------------------ */

typedef struct kstat_timer {
	char name[KSTAT_STRLEN];  /* event name */
	uchar_t resv;             /* reserved */
	u_longlong_t num_events;  /* number of events */
	hrtime_t elapsed_time;    /* cumulative elapsed time */
	hrtime_t min_time;        /* shortest event duration */
	hrtime_t max_time;        /* longest event duration */
	hrtime_t start_time;      /* previous event start time */
	hrtime_t stop_time;       /* previous event stop time */
} kstat_timer_t;

#define KSTAT_NAMED_PTR(kptr) KSTAT_CAST_(kstat_named_t *, (kptr)->ks_data)
#define KSTAT_INTR_PTR(kptr) KSTAT_CAST_(kstat_intr_t *, (kptr)->ks_data)
#define KSTAT_IO_PTR(kptr) KSTAT_CAST_(kstat_io_t *, (kptr)->ks_data)
#define KSTAT_TIMER_PTR(kptr) KSTAT_CAST_(kstat_timer_t *, (kptr)->ks_data)

/* --- libkstat --------------------------------------------------------------- */

/*
 * Opens the machine's kstats, and those that this and other processes publish; but what users other than
 * root and this one publish of a class of the machine, such as "disk", is left out. The chain holds headers;
 * no data is read yet. The first kstat is unix:0:kstat_headers, whose data are the headers of all.
 * Environment: KSTAT_SOURCE names a capture or recording to open in place of the machine (see
 * kstat_open_capture()); KSTAT_PROC and KSTAT_SYS name directories to read in place of /proc
 * and /sys; KSTAT_WITH (a list with commas, such as "slab,listen") adds kstats that are slow to list.
 * Returns a handle for kstat_close(), or NULL with errno (kstat_errmsg()).
 */
kstat_ctl_t *kstat_open(void);

/* Frees the handle, its chain and all data. Returns 0, or -1 with errno EINVAL. */
int kstat_close(kstat_ctl_t *kc);

/*
 * Brings the chain up to date: kstats that are gone are removed and freed (pointers
 * to them become invalid), new ones are added at the end, pointers to the others stay
 * valid. In a replay, moves to the next sample if a kstat of the current one was read.
 * Returns the new KCID if the chain changed, 0 if it did not, -1 with errno.
 */
kid_t kstat_chain_update(kstat_ctl_t *kc);

/*
 * Finds the first kstat of the chain with this module, instance and name; NULL,
 * -1 and NULL match any. Takes constant time. Returns NULL with errno ENOENT if there is none.
 */
kstat_t *kstat_lookup(kstat_ctl_t *kc, const char *ks_module, int ks_instance,
    const char *ks_name);

/*
 * Finds a statistic by name in the data of a NAMED kstat (a kstat_named_t *) or a
 * TIMER kstat (kstat_timer_t *), which must have been read. Returns NULL with errno EINVAL
 * for other types or if the kstat was not read, ENOENT if there is no such name.
 */
void *kstat_data_lookup(kstat_t *ksp, const char *name);

/*
 * Reads a kstat's data into ksp->ks_data (owned by the chain) and, unless buf is NULL, copies it to buf, which has
 * the ks_data_size bytes of the header as it is at the call; pointers of KSTAT_DATA_STRING values then point into
 * buf. The room of NAMED kstats never shrinks, so ks_data_size may be more than the values take. Returns the KCID,
 * which is never 0, or -1 with errno: ENXIO the kstat is gone, EINVAL no kstat given, EOVERFLOW the data has
 * become larger than the header says (a read without buf brings the header up to date), EAGAIN a published kstat
 * was busy, EACCES, EIO, ENOMEM.
 */
kid_t kstat_read(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/*
 * Writes the data at buf, or at ksp->ks_data if buf is NULL, to the kstat. It writes all of the data or
 * nothing. Returns the KCID, or -1 with errno: EACCES the kstat is not writable, or has a text or array
 * that its provider alone can change; EPERM this user may not write to a published kstat, or to its texts; EINVAL
 * there is no data to write, it is not that of the kstat (which also has values of types that a program only gets
 * after kstat2_all_types()), or a text or array has no room; EAGAIN; ENXIO.
 */
kid_t kstat_write(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/* --- Extensions --------------------------------------------------------------- */

/*
 * As kstat_open(), but without the running machine.
 * kstat_open_capture: opens a file made by `kstat -j`, a recording, a directory of recordings, or several, each in a
 * line; "-" is standard input.
 * Environment: KSTAT_FROM and KSTAT_TO, times as kstat(7) has them, bound its samples, or KSTAT_AT makes them the
 * two of the interval that ends then. Returns NULL with errno, beside those of open(): ENODATA no sample in that time,
 * EINVAL not a time, or files of two machines, EBADMSG damaged.
 * kstat_open_roots: opens other directories in place of /proc and /sys (NULL: the default), which must
 * exist and may be empty; published kstats and those of this process are left out.
 */
kstat_ctl_t *kstat_open_capture(const char *path);
kstat_ctl_t *kstat_open_roots(const char *proc, const char *sys);

/*
 * kstat_replay_seek: moves a recording or a capture to the latest sample that was taken at or before a time of day, in
 * nanoseconds since 1970. *time becomes that of the sample; updates go on from there. What is between is not read
 * of a recording; a capture is read. Returns what kstat_chain_update() does; -1 with errno
 *     ENODATA     no sample is that old; the chain stays where it is
 *     EBADMSG     the file is damaged there
 *     ESPIPE      a capture comes from a pipe, which cannot be read twice
 *     EOPNOTSUPP  this is the machine, which has no other time than now
 */
kid_t kstat_replay_seek(kstat_ctl_t *kc, int64_t *time);

/* Returns one line about this thread's last failed call, with the name of the kstat or file; never NULL. */
const char *kstat_errmsg(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* KSTAT_H */
