/*
 * devstat.h - device statistics: the interface of FreeBSD's devstat(3) over the disks and
 * tapes of the kstat chain, and the provider half of devstat(9).
 *
 * A program written to the manual page compiles unchanged with
 *     cc prog.c $(pkg-config --cflags --libs kstat)
 *
 * Where the page, the real library and this one differ:
 *   - There is no kvm(3) here: functions that take a kvm_t * accept NULL only.
 *   - devstat_errbuf belongs to the thread, so that threads do not overwrite each other's text.
 *   - Removing by name removes every named device (the page). The real library forgets the
 *     last name of the list after each hit.
 *   - num_selected is always the number of selected devices, counted in the array, whatever the
 *     caller's variable says. The real library also counts down for devices that were not
 *     selected, below zero even.
 *   - DSM_BUSY_PCT is 0 when no time has passed; the real library returns inf or nan. An etime below
 *     a nanosecond counts as 0, for all rates.
 *   - maxshowdevs is a threshold, as in the real library, and not the limit the page promises:
 *     it is checked before each pattern, and before "add" mode selects by list order, which then selects
 *     every device that is left. In top mode with nothing selected, every device is selected in
 *     the order of bytes. In all these cases the devices to show are those whose `selected` is
 *     from 1 to maxshowdevs; clients of the real library rely on this, so it stays.
 *   - Devices that moved equal numbers of bytes keep the order of the device list; the real library keeps
 *     no order.
 *   - The threshold holds in "remove" mode too, as in the real library: with num_selected at
 *     maxshowdevs or above, no pattern removes anything. Names are removed all the same.
 *   - devstat_selectdevs() returns 1 also when the array was built again with a device that was not
 *     in it before, as in the real library.
 *   - A result pointer that is NULL is skipped, whatever the metric.
 *   - Durations are computed with the real library's rounding, off by less than a nanosecond.
 *   - Differences of counters are modulo 2^64, as in the real library. For counters that went
 *     backwards (a device that was replaced) see devstat_baseline().
 *   - devstat_free(), devstat_freedevs() and devstat_swap() do what the page's BUGS section asks for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_H
#define DEVSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "kstat.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DEVSTAT_VERSION 6 /* of the structures below */
#define DEVSTAT_NAME_LEN 16
#define DEVSTAT_ERRBUF_SIZE 2048

/* The reason of this thread's last error, a char array; "" if there was none. */
#define devstat_errbuf (*devstat_errbuf_location())
char (*devstat_errbuf_location(void))[DEVSTAT_ERRBUF_SIZE];

/* A time: sec + frac / 2^64 seconds. sec may be negative; frac always counts up from it. */
#if defined(__GLIBC__) && __SIZEOF_LONG__ == 4 && !defined(__USE_TIME_BITS64) && __TIMESIZE != 64
#error "libkstat has times of 64 bits: compile with -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64"
#endif
struct bintime {
	time_t sec;
	uint64_t frac;
};

typedef struct __kvm kvm_t; /* has no members here; pass NULL */

/* Indices of cp_time. */
#define CP_USER 0
#define CP_NICE 1
#define CP_SYS 2
#define CP_INTR 3
#define CP_IDLE 4
#define CPUSTATES 5

typedef enum {
	DEVSTAT_NO_DATA = 0, /* "other" */
	DEVSTAT_READ = 1,
	DEVSTAT_WRITE = 2,
	DEVSTAT_FREE = 3 /* the device may forget these blocks: discard, trim, unmap */
} devstat_trans_flags;
#define DEVSTAT_N_TRANS_FLAGS 4

typedef enum {
	DEVSTAT_TAG_SIMPLE = 0,
	DEVSTAT_TAG_HEAD = 1,
	DEVSTAT_TAG_ORDERED = 2,
	DEVSTAT_TAG_NONE = 3
} devstat_tag_type;

/* A device's place in the list: larger is nearer to the head. */
typedef enum {
	DEVSTAT_PRIORITY_MIN = 0x000,
	DEVSTAT_PRIORITY_OTHER = 0x020,
	DEVSTAT_PRIORITY_PASS = 0x030,
	DEVSTAT_PRIORITY_FD = 0x040,
	DEVSTAT_PRIORITY_WFD = 0x050,
	DEVSTAT_PRIORITY_TAPE = 0x060,
	DEVSTAT_PRIORITY_CD = 0x090,
	DEVSTAT_PRIORITY_DISK = 0x110,
	DEVSTAT_PRIORITY_ARRAY = 0x120,
	DEVSTAT_PRIORITY_MAX = 0xfff
} devstat_priority;

typedef enum {
	DEVSTAT_ALL_SUPPORTED = 0x00,
	DEVSTAT_NO_BLOCKSIZE = 0x01,
	DEVSTAT_NO_ORDERED_TAGS = 0x02,
	DEVSTAT_BS_UNAVAILABLE = 0x04
} devstat_support_flags;

/* Device type (low four bits), interface, and whether it is a passthrough device. */
typedef enum {
	DEVSTAT_TYPE_DIRECT = 0x000,
	DEVSTAT_TYPE_SEQUENTIAL = 0x001,
	DEVSTAT_TYPE_PRINTER = 0x002,
	DEVSTAT_TYPE_PROCESSOR = 0x003,
	DEVSTAT_TYPE_WORM = 0x004,
	DEVSTAT_TYPE_CDROM = 0x005,
	DEVSTAT_TYPE_SCANNER = 0x006,
	DEVSTAT_TYPE_OPTICAL = 0x007,
	DEVSTAT_TYPE_CHANGER = 0x008,
	DEVSTAT_TYPE_COMM = 0x009,
	DEVSTAT_TYPE_ASC0 = 0x00a,
	DEVSTAT_TYPE_ASC1 = 0x00b,
	DEVSTAT_TYPE_STORARRAY = 0x00c,
	DEVSTAT_TYPE_ENCLOSURE = 0x00d,
	DEVSTAT_TYPE_FLOPPY = 0x00e,
	DEVSTAT_TYPE_MASK = 0x00f,
	DEVSTAT_TYPE_IF_SCSI = 0x010,
	DEVSTAT_TYPE_IF_IDE = 0x020,
	DEVSTAT_TYPE_IF_OTHER = 0x030,
	DEVSTAT_TYPE_IF_MASK = 0x0f0,
	DEVSTAT_TYPE_PASS = 0x100
} devstat_type_flags;

/*
 * One device. Arrays of four are indexed by devstat_trans_flags; bytes[DEVSTAT_NO_DATA] is
 * never counted. Numbers only grow, modulo their width.
 */
struct devstat {
	unsigned int sequence0;     /* provider half: changes before and after ... */
	unsigned int start_count;   /* transactions started */
	unsigned int end_count;     /* transactions ended */
	unsigned int allocated;
	struct bintime busy_from; /* busy_time includes the time up to here */
	uint32_t device_number;   /* unique while the list lives, not reused */
	char device_name[DEVSTAT_NAME_LEN]; /* "da"; with unit_number "da0" */
	int unit_number;
	uint64_t bytes[DEVSTAT_N_TRANS_FLAGS];
	uint64_t operations[DEVSTAT_N_TRANS_FLAGS];
	struct bintime duration[DEVSTAT_N_TRANS_FLAGS]; /* sums over transactions */
	struct bintime busy_time;     /* time with at least one transaction outstanding */
	struct bintime creation_time; /* on the uptime clock */
	uint32_t block_size;          /* bytes; 0 not known */
	uint64_t tag_types[3];        /* ended transactions by devstat_tag_type */
	devstat_support_flags flags;
	devstat_type_flags device_type;
	devstat_priority priority;
	const void *id;  /* for the provider; NULL for devices of the chain */
	unsigned int sequence1; /* ... each update of the counters */
	/*
	 * Extension: the system's name of the device ("sda", "nvme0n1"); "" if that is
	 * device_name and unit_number. devstat_selectdevs() accepts it too. Linux's sda is unit 0 of "sd",
	 * nvme0n1 unit 1 of "nvme0n".
	 */
	char system_name[KSTAT_STRLEN];
};

/* --- the list of devices ------------------------------------------------------ */

struct devinfo {
	struct devstat *devices; /* numdevs of them, in list order; inside mem_ptr */
	uint8_t *mem_ptr;        /* malloc()ed; devstat_freedevs() or free() */
	long generation;
	int numdevs;
};

struct statinfo {
	long cp_time[CPUSTATES]; /* clock ticks of all CPUs, by CP_* */
	long tk_nin;             /* characters read from terminals; 0 where the system does not count */
	long tk_nout;            /* characters written to terminals; likewise */
	struct devinfo *dinfo;   /* the caller's, zeroed before the first call */
	long double snap_time;   /* seconds on the uptime clock */
};

/*
 * These read one list per process: the machine's disks and tapes, or the replay that the environment
 * names (see kstat_open()). The first call opens the chain behind the list; all threads share the chain
 * under a lock; the child of a fork opens its own; devstat_close() closes it. The generation continues
 * from one chain to the next. A fork does not wait for calls of other threads, and is possible at any
 * time, also in an update function (ks_update) of a disk of this process. Such a function cannot call
 * these functions itself (EDEADLK). kd must be NULL. -1: an error, see devstat_errbuf.
 */
int devstat_getnumdevs(kvm_t *kd);      /* number of devices */
long devstat_getgeneration(kvm_t *kd);  /* from 1; grows when the list of devices changes */
int devstat_getversion(kvm_t *kd);      /* DEVSTAT_VERSION */
int devstat_checkversion(kvm_t *kd);    /* 0 */

/*
 * Reads all devices and CPU times into *stats; stats->dinfo keeps state between calls.
 * Returns 0; 1 if the generation differs from the one in stats->dinfo, which includes the first call;
 * or -1. In a replay each call that would read the same sample again moves to the next one.
 */
int devstat_getdevs(kvm_t *kd, struct statinfo *stats);

/* Extension: the same for a chain of the caller, with the state of the list in a handle. */
typedef struct devstat_list devstat_list_t;
/* kc still belongs to the caller and must outlive the list. NULL with errno ENOMEM, or EINVAL for no kc. */
devstat_list_t *devstat_list_open(kstat_ctl_t *kc);
void devstat_list_close(devstat_list_t *list);
/* Reads the devices that are in the chain; the caller updates the chain with kstat_chain_update(). */
int devstat_list_getdevs(devstat_list_t *list, struct statinfo *stats);

/* Extension: frees what devstat_getdevs() allocated; dinfo is zeroed and can be used again. */
void devstat_freedevs(struct devinfo *dinfo);
/* Extension: frees what devstat_selectdevs() or devstat_buildmatch() allocated, or NULL. */
void devstat_free(void *p);
/*
 * Extension: does what every client does between two samples: current becomes previous, and the next
 * devstat_getdevs() uses the buffers of previous. Times are exchanged, too. With a NULL the function does
 * nothing.
 */
void devstat_swap(struct statinfo *current, struct statinfo *previous);
/*
 * Extension: closes the process's chain; the next call opens it again. Does nothing if an update function
 * calls it that runs inside one of these functions.
 */
void devstat_close(void);

/*
 * Extension: returns the device of `devices` that is the same as *device (name, unit and creation
 * time), or NULL if it is gone or was replaced. Takes constant time when the lists have
 * the same order, and numdevs steps for a device that is gone; `hint` is the index to try first,
 * usually the position in the other list. To find all devices of a long list, which may all
 * have been replaced, make an index.
 */
struct devstat *devstat_finddev(struct devstat *devices, int numdevs,
    const struct devstat *device, int hint);

/*
 * Extension: the same for many searches, each in log2(numdevs) steps whether the device is there or not.
 * The index holds pointers to the devices, so close it before the next devstat_getdevs() writes into
 * their memory. devstat_index_open() returns NULL with errno EINVAL (numdevs is negative, or devices
 * is NULL and numdevs is not 0), ENOMEM. With a NULL index devstat_index_find() returns NULL, and
 * devstat_index_close() does nothing.
 */
typedef struct devstat_index devstat_index_t;
devstat_index_t *devstat_index_open(struct devstat *devices, int numdevs);
struct devstat *devstat_index_find(const devstat_index_t *index, const struct devstat *device);
void devstat_index_close(devstat_index_t *index);

/* Extension: writes the name by which people know the device to buf, KSTAT_STRLEN bytes. Returns buf. */
char *devstat_devname(const struct devstat *device, char *buf);

/* --- choosing devices ---------------------------------------------------------- */

typedef enum {
	DEVSTAT_MATCH_NONE = 0x00,
	DEVSTAT_MATCH_TYPE = 0x01,
	DEVSTAT_MATCH_IF = 0x02,
	DEVSTAT_MATCH_PASS = 0x04
} devstat_match_flags;

struct devstat_match {
	devstat_match_flags match_fields; /* which of the categories below count */
	devstat_type_flags device_type;
	int num_match_categories;
};

struct devstat_match_table {
	const char *match_str;
	devstat_type_flags type;
	devstat_match_flags match_field;
};

struct device_selection {
	uint32_t device_number;
	char device_name[DEVSTAT_NAME_LEN];
	int unit_number;
	int selected;   /* 0: no; else 1 is the first to show */
	uint64_t bytes; /* the caller's; performance mode sorts by it */
	int position;   /* index in the list of devices */
};

typedef enum {
	DS_SELECT_ADD,
	DS_SELECT_ONLY,
	DS_SELECT_REMOVE,
	DS_SELECT_ADDONLY
} devstat_select_mode;

/*
 * Compiles "type,interface,pass" and appends it to *matches, which starts as NULL with *num_matches 0. The
 * words may be in any order, each at most once; a word must begin with the letters of a known one, and case
 * does not matter. Items are joined by "and", entries of the list by "or"; a pattern without
 * "pass" never matches a passthrough device. An empty string appends an entry that matches
 * nothing. Returns 0, or -1 with both unchanged.
 */
int devstat_buildmatch(char *match_str, struct devstat_match **matches, int *num_matches);

/*
 * Selects devices by name, then by pattern, then (performance mode) by bytes, then ("add")
 * in list order. *dev_select starts as NULL. The array is built again, without selections,
 * if there is none, if numdevs differs from *num_selections or *select_generation is below
 * current_generation. Selection numbers start at 1 in every call, named devices first, in
 * list order. See the top of this file for maxshowdevs.
 * Returns 1 if the selection changed, which includes the first call, 0 if it did not, -1 on error.
 */
int devstat_selectdevs(struct device_selection **dev_select, int *num_selected,
    int *num_selections, long *select_generation, long current_generation,
    struct devstat *devices, int numdevs, struct devstat_match *matches, int num_matches,
    char **dev_selections, int num_dev_selections, devstat_select_mode select_mode,
    int maxshowdevs, int perf_select);

/* --- computing ----------------------------------------------------------------- */

/* The comment of each metric has the type of its result: u64 is uint64_t (u_int64_t). */
typedef enum {
	DSM_NONE = 0, /* ends the arguments */
	DSM_TOTAL_BYTES,                  /* u64: read + written + freed */
	DSM_TOTAL_BYTES_READ,             /* u64 */
	DSM_TOTAL_BYTES_WRITE,            /* u64 */
	DSM_TOTAL_TRANSFERS,              /* u64: of all four kinds */
	DSM_TOTAL_TRANSFERS_READ,         /* u64 */
	DSM_TOTAL_TRANSFERS_WRITE,        /* u64 */
	DSM_TOTAL_TRANSFERS_OTHER,        /* u64 */
	DSM_TOTAL_BLOCKS,                 /* u64: bytes / block size (512 if not known), rounded down */
	DSM_TOTAL_BLOCKS_READ,            /* u64 */
	DSM_TOTAL_BLOCKS_WRITE,           /* u64 */
	DSM_KB_PER_TRANSFER,              /* long double: 1024 bytes; 0 without transfers */
	DSM_KB_PER_TRANSFER_READ,         /* long double */
	DSM_KB_PER_TRANSFER_WRITE,        /* long double */
	DSM_TRANSFERS_PER_SECOND,         /* long double: 0 if no time has passed */
	DSM_TRANSFERS_PER_SECOND_READ,    /* long double */
	DSM_TRANSFERS_PER_SECOND_WRITE,   /* long double */
	DSM_TRANSFERS_PER_SECOND_OTHER,   /* long double */
	DSM_MB_PER_SECOND,                /* long double: 1048576 bytes; 0 if no time has passed */
	DSM_MB_PER_SECOND_READ,           /* long double */
	DSM_MB_PER_SECOND_WRITE,          /* long double */
	DSM_BLOCKS_PER_SECOND,            /* long double: of the blocks above; 0 if no time has passed */
	DSM_BLOCKS_PER_SECOND_READ,       /* long double */
	DSM_BLOCKS_PER_SECOND_WRITE,      /* long double */
	DSM_MS_PER_TRANSACTION,           /* long double: 0 without transfers */
	DSM_MS_PER_TRANSACTION_READ,      /* long double */
	DSM_MS_PER_TRANSACTION_WRITE,     /* long double */
	DSM_SKIP,                         /* its argument (NULL, any pointer) is ignored */
	DSM_TOTAL_BYTES_FREE,             /* u64 */
	DSM_TOTAL_TRANSFERS_FREE,         /* u64 */
	DSM_TOTAL_BLOCKS_FREE,            /* u64 */
	DSM_KB_PER_TRANSFER_FREE,         /* long double */
	DSM_MB_PER_SECOND_FREE,           /* long double */
	DSM_TRANSFERS_PER_SECOND_FREE,    /* long double */
	DSM_BLOCKS_PER_SECOND_FREE,       /* long double */
	DSM_MS_PER_TRANSACTION_OTHER,     /* long double */
	DSM_MS_PER_TRANSACTION_FREE,      /* long double */
	DSM_BUSY_PCT,                     /* long double: 0 or more; may exceed 100 */
	DSM_QUEUE_LENGTH,                 /* u64: transactions outstanding in current */
	DSM_TOTAL_DURATION,               /* long double: seconds; may be negative */
	DSM_TOTAL_DURATION_READ,          /* long double */
	DSM_TOTAL_DURATION_WRITE,         /* long double */
	DSM_TOTAL_DURATION_FREE,          /* long double */
	DSM_TOTAL_DURATION_OTHER,         /* long double */
	DSM_TOTAL_BUSY_TIME,              /* long double: seconds; may be negative */
	DSM_MAX
} devstat_metric;

/*
 * Computes the metrics named by pairs of (devstat_metric, pointer to the result), which end with
 * DSM_NONE. previous NULL: since the device was created. etime: seconds between the two samples; it
 * counts as 0 if it is below 1e-9 or not a number. Returns 0, or -1 at a metric out of range; the results
 * before that metric are stored.
 */
int devstat_compute_statistics(struct devstat *current, struct devstat *previous,
    long double etime, ...);

/* Returns the seconds from *prev_time (NULL: zero) to *cur_time. */
long double devstat_compute_etime(struct bintime *cur_time, struct bintime *prev_time);

/* Extension: returns the type of a metric's result: 'u' uint64_t, 'f' long double, 0 none. */
int devstat_metric_type(devstat_metric metric);
/* Extension: returns "total_bytes_read" for DSM_TOTAL_BYTES_READ; NULL if the metric has no result. */
const char *devstat_metric_name(devstat_metric metric);

/*
 * Extension: copies *previous to *baseline, but each counter that is above that of *current is set equal
 * to it, so that no difference is a huge number. Returns 1 if there was such a counter, else 0.
 */
int devstat_baseline(const struct devstat *current, const struct devstat *previous,
    struct devstat *baseline);

/* --- the provider half (devstat(9)) --------------------------------------------- */

/* A list of devices in this process. If several threads use one list, the caller has to lock it. */
typedef struct devstat_registry devstat_registry_t;
devstat_registry_t *devstat_registry_create(void); /* NULL with errno ENOMEM */
void devstat_registry_destroy(devstat_registry_t *reg);

/*
 * Adds a device behind those of the same or a higher priority. dev_name is copied and cut to 15
 * characters. unit_number -1: a placeholder, which is not listed (and may have no name).
 * The entry belongs to the registry. Returns NULL with errno ENOMEM.
 */
struct devstat *devstat_new_entry(devstat_registry_t *reg, const char *dev_name,
    int unit_number, uint32_t block_size, devstat_support_flags flags,
    devstat_type_flags device_type, devstat_priority priority);

/* Removes and frees the entry. NULL is allowed. */
void devstat_remove_entry(devstat_registry_t *reg, struct devstat *ds);

/*
 * A transaction begins. now: the time (NULL: the function reads the uptime clock). If no transaction was
 * outstanding, the device becomes busy.
 */
void devstat_start_transaction(struct devstat *ds, const struct bintime *now);

/*
 * A transaction of `bytes` ends. then: when it began (NULL: not known, so that no duration is added). The
 * time since busy_from is added to busy_time even if no transaction was outstanding. tag_type is counted
 * unless it is DEVSTAT_TAG_NONE or the device has DEVSTAT_NO_ORDERED_TAGS.
 */
void devstat_end_transaction(struct devstat *ds, uint32_t bytes, devstat_tag_type tag_type,
    devstat_trans_flags flags, const struct bintime *now, const struct bintime *then);

/* As devstat_getdevs(), for a registry; cp_time and the terminal counts become 0. */
int devstat_registry_getdevs(devstat_registry_t *reg, struct statinfo *stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DEVSTAT_H */
