/*
 * linux.h - the inside of the Linux source: what its subsystems share. A subsystem is a file
 * here; it lists its units in a scan and declares the kinds of kstats ("parts") they have.
 *
 * Rounds: a file of /proc is read at most once a round, and every kstat is read at most once
 * from a round; the second reading of a kstat, and every scan, begin a new one. So a reading
 * of the whole chain costs one reading of each file, and no reader sees the same data twice.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_LINUX_H
#define SOURCE_LINUX_LINUX_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"
#include "model/record.h"
#include "source/linux/disk_own.h"
#include "source/linux/field.h"
#include "source/linux/image.h"
#include "source/linux/lines.h"
#include "source/linux/text.h"
#include "source/linux/unit.h"
#include "source/source.h"

/* Files that are read again and again. */
enum ks_image_id {
	KS_IMG_STAT,
	KS_IMG_INTERRUPTS,
	KS_IMG_SOFTIRQS,
	KS_IMG_SCHEDSTAT,
	KS_IMG_CPUINFO,
	KS_IMG_LOADAVG,
	KS_IMG_UPTIME,
	KS_IMG_MEMINFO,
	KS_IMG_VMSTAT,
	KS_IMG_ZONEINFO,
	KS_IMG_DISKSTATS,
	KS_IMG_NETDEV,
	KS_IMG_SLABINFO,
	KS_IMG_SNMP,
	KS_IMG_NETSTAT,
	KS_IMG_PSI_CPU,
	KS_IMG_PSI_IO,
	KS_IMG_PSI_MEMORY,
	KS_IMG_PSI_IRQ,
	KS_IMG_UEVENTS,
	KS_IMG_CPU_ONLINE,
	KS_IMG_MOUNTINFO,
	KS_IMG_COUNT
};

struct ks_linux;

typedef int ks_part_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r);

/* One kind of kstat. '@' in module and name is the unit's module or name, '#' its instance. */
struct ks_part {
	const char *module;
	const char *name;
	const char *class_;
	uchar_t type;
	size_t size;                   /* of the data, for types of a fixed size */
	const struct ks_field *fields; /* NAMED: its statistics, if there is a table */
	ks_part_read *read;            /* 0, or -1 with errno and message */
	const struct ks_meta *(*meta)(const char *stat); /* for statistics not in fields, or NULL */
};

struct ks_subsystem {
	const struct ks_part *parts; /* at most KS_UNIT_PARTS; a NULL module ends them */
	/*
	 * Brings the units up to date. Returns 1 if they changed, 0 if not, -1 with errno ENOMEM.
	 * Files that cannot be read are warned about, not failed on.
	 */
	int (*scan)(struct ks_linux *lx, struct ks_units *units);
	/*
	 * What is slow to list and seldom wanted is left out of the running machine unless
	 * $KSTAT_WITH names it (a list with commas, or "all"); recorded trees have it. NULL: always.
	 */
	const char *optional;
	/*
	 * For modules that follow from the machine's devices ('@'). Returns false if no device has one that
	 * the scan wants, without a file of data being read. NULL: that is not known before the scan.
	 */
	bool (*has_wanted)(struct ks_linux *lx);
};

/* The subsystems; their order is the order of the chain. */
extern const struct ks_subsystem ks_linux_unix, ks_linux_cpu, ks_linux_disk, ks_linux_link,
    ks_linux_intr, ks_linux_softirq, ks_linux_mib, ks_linux_spl, ks_linux_pressure, ks_linux_slab,
    ks_linux_hwmon, ks_linux_cgroup;

enum ks_subsystem_id {
	KS_SUB_UNIX,
	KS_SUB_CPU,
	KS_SUB_DISK,
	KS_SUB_DEVICE,
	KS_SUB_LINK,
	KS_SUB_INTR,
	KS_SUB_SOFTIRQ,
	KS_SUB_MIB,
	KS_SUB_SPL,
	KS_SUB_PRESSURE,
	KS_SUB_SLAB,
	KS_SUB_HWMON,
	KS_SUB_CGROUP,
	KS_SUB_COUNT
};

/* /proc/stat, taken apart; numbers it lacks have no bit in have. */
enum { KS_STAT_CTXT, KS_STAT_BTIME, KS_STAT_PROCESSES, KS_STAT_RUNNING, KS_STAT_BLOCKED,
	KS_STAT_INTR, KS_STAT_COUNT };

enum { KS_TIME_IDLE, KS_TIME_USER, KS_TIME_KERNEL, KS_TIME_WAIT, KS_TIME_INTR, KS_TIME_STOLEN,
	KS_TIME_COUNT };

struct ks_stat {
	uint64_t seq, cpus_seq; /* of the image; of that in which the lines of the CPUs were found */
	uint32_t have;
	uint64_t v[KS_STAT_COUNT];
	uint32_t have_time;           /* one bit each */
	uint64_t time[KS_TIME_COUNT]; /* of all CPUs together, in ns */
	uint32_t known, strangers;    /* CPUs that were online at the last scan, and others */
};

/* A table with one column per CPU (interrupts, softirqs), summed over its lines. */
struct ks_columns {
	uint64_t seq;
	size_t n, cap;      /* columns */
	struct ks_column {
		uint32_t cpu;
		uint64_t total; /* of all lines that have all columns */
		uint64_t calls; /* of the line of calls from other CPUs */
		uint64_t tlb;   /* of the line of TLB shootdowns */
	} *v;               /* owned */
};

/* Sums that Solaris keeps once a second and Linux does not: this reader keeps them. */
struct ks_second_sums {
	uint64_t updates; /* seconds */
	uint64_t freemem, swap_resv, swap_alloc, swap_avail, swap_free; /* page seconds */
};

struct ks_queue_sums {
	uint64_t up, runocc;      /* microseconds */
	uint64_t runque, waiting; /* processes times microseconds */
	uint64_t asked;           /* for runocc: the time of the last one, microseconds */
	bool told;                /* the kernel tells runocc */
};

struct ks_linux {
	struct ks_source src;
	struct ks_files root[2]; /* by enum ks_root */
	struct ks_image image[KS_IMG_COUNT];
	struct ks_units units[KS_SUB_COUNT];
	struct ks_image scratch; /* for files of a single kstat */
	uint64_t round;
	uint64_t page; /* size of the kernel's pages */
	int socket;           /* to ask about links; -1 while closed */
	uint32_t warned;      /* images that were complained about, one bit each */
	uint32_t untold;      /* images that reads found unreadable since, one bit each */
	uint32_t odd, odd_untold;      /* the same for images with a line that means nothing */
	uint32_t odd_line[KS_IMG_COUNT]; /* the first such line, from 1 */
	struct ks_path_trouble *troubles; /* trouble.c: of files that are no images; owned */
	char trouble[512];    /* what ks_linux_trouble() tells */
	uint32_t off;         /* subsystems that are left out, one bit each */
	uint32_t absent;      /* those of which the machine has nothing that is wanted, as of `asked` */
	hrtime_t asked;
	uint16_t wanted[KS_SUB_COUNT]; /* parts that the chain may hold, one bit each */
	bool listed;          /* a first scan is complete */
	hrtime_t looked;      /* when the last scan or reading was */
	struct ks_scan *scan; /* the scan under way */
	hrtime_t taken;       /* of the oldest image that the reading under way has used */

	struct ks_stat stat;
	struct ks_columns interrupts, softirqs;
	uint64_t schedstat_seq, cpuinfo_seq, diskstats_seq, netdev_seq; /* of the image last parsed */
	uint64_t interrupts_seq, softirqs_seq, slab_seq;
	struct ks_own_files own; /* disk_own.c */
	bool slab_wanted;     /* a cache was read since the last scan */
	struct ks_lines meminfo_lines, vminfo_lines; /* of /proc/meminfo: for system_pages, for vminfo */
	struct ks_lines vmstat_lines, stat_lines;    /* for unix:0:vm; totals */
	struct ks_second_sums vminfo;
	struct ks_queue_sums sysinfo;
	uint64_t watermark[3], watermark_key[3]; /* in pages: min, low, high; what they follow from */
	bool watermarks;
	size_t cgroup_root;    /* length of the path of the root group below /sys */
	uint64_t events;      /* the kernel's count of devices that came and went; 0: not told */
	bool counts_events;   /* that count is looked at */
	bool settled;         /* for the scan under way: none did since the last one */
	enum { KS_TLB_UNKNOWN, KS_TLB_ONCE, KS_TLB_TWICE } tlb_counted; /* cpu.c: by the running kernel */
	hrtime_t spl_asked;   /* when spl.c last looked for its directory, which was not there */
	uint64_t online_hash; /* of the list of CPUs at the last scan */
	uint32_t cpus_online; /* those of that scan */
	bool has_schedstat;   /* there was the file at that scan */
	uint32_t cpuinfo_cpus; /* units when the cores were numbered */
};

/*
 * The file, read in this round; the contents stay until the next call with that id. NULL with
 * errno and a message that names the file.
 */
const struct ks_image *ks_linux_image(struct ks_linux *lx, enum ks_image_id id);

/* The same; no more than the first `enough` bytes need be there, if the file has them. */
const struct ks_image *ks_linux_begin(struct ks_linux *lx, enum ks_image_id id, size_t enough);

/* The same as ks_linux_image(); NULL without a message where the caller can do without the file. */
const struct ks_image *ks_linux_try(struct ks_linux *lx, enum ks_image_id id);

/*
 * The same for an image that is none of these: reads it if this round has not, and keeps its time
 * for the snaptime. 0 or an errno.
 */
int ks_linux_fetch(struct ks_linux *lx, struct ks_image *im);

/* For scans: NULL if the file is not there; if it is unreadable the person is told, once. */
const struct ks_image *ks_linux_scan_image(struct ks_linux *lx, enum ks_image_id id);

/*
 * A line of an image, any part of it, means nothing to its parser, which goes on without it. The
 * person is told once a file.
 */
void ks_linux_odd_line(struct ks_linux *lx, const struct ks_image *im, const struct ks_text *line);

/*
 * trouble.c: the same for files that are no images. What a reading of a file or a directory ended
 * with: 0, or an errno. One that is there and cannot be read is told once, until it can be.
 */
void ks_linux_note_path(struct ks_linux *lx, enum ks_root root, const char *path, int err);
bool ks_linux_is_unreadable(struct ks_linux *lx, enum ks_root root, const char *path);
void ks_linux_odd_path(struct ks_linux *lx, enum ks_root root, const char *path, const char *text,
    const struct ks_text *line);

/* The number that a file holds; false if it is not known. A file that cannot be read is told. */
bool ks_linux_number(struct ks_linux *lx, enum ks_root root, const char *path, uint64_t *v);

/* Notes whether what is in a directory, if it is there, can be had. */
void ks_linux_check_directory(struct ks_linux *lx, enum ks_root root, const char *path);

/* For linux.c: an image was just read; a scan needs one that could not be. */
void ks_linux_note_image(struct ks_linux *lx, enum ks_image_id id);
void ks_linux_note_scan(struct ks_linux *lx, enum ks_image_id id, int err);
const char *ks_linux_remedy(int err);

/* A line for the person about what was found since the last question, or NULL. */
const char *ks_linux_trouble(struct ks_source *src);
void ks_linux_forget_troubles(struct ks_linux *lx);

/*
 * Calls a function with the name of each entry of a directory of the running kernel, but for "." and "..",
 * until it returns true. Returns that, and true as well if the directory cannot be read.
 */
bool ks_linux_any_entry(struct ks_linux *lx, enum ks_root root, const char *path,
    bool (*is_meant)(struct ks_linux *lx, const char *name));

/* True if the file exists, readable or not. */
bool ks_linux_exists(const struct ks_linux *lx, enum ks_root root, const char *path);

/* True for crtime, snaptime and class, which every kstat has. */
bool ks_linux_is_header(const char *stat);

/* Fails with ENXIO: the thing that the kstat was about is gone. */
int ks_linux_gone(const struct ks_unit *unit);

/* cpu.c: /proc/stat of this round with all its numbers, or NULL with errno and message. */
const struct ks_stat *ks_linux_stat(struct ks_linux *lx);

void ks_columns_free(struct ks_columns *c);

/* unix.c: seconds since boot; false if not known. */
bool ks_linux_uptime(struct ks_linux *lx, uint64_t *centiseconds);

/* unix.c: true if what is wanted of module unix counts the CPUs. */
bool ks_unix_needs_cpus(const struct ks_linux *lx);

/* unix.c: time of boot, seconds since 1970; false if not known. */
bool ks_linux_boot_time(struct ks_linux *lx, uint64_t *seconds);

/* disk.c: path of something of a disk below /sys, where "!" stands for a slash in names. */
void ks_disk_path(char *to, size_t size, const char *dir, const char *disk, const char *file);

/* memory.c: the parts of module unix that are about memory. */
extern const struct ks_field ks_system_pages_fields[], ks_unix_vm_fields[], ks_meminfo_fields[];
ks_part_read ks_system_pages_read, ks_unix_vm_read, ks_vm_events_read, ks_meminfo_read,
    ks_vminfo_read;
const struct ks_meta *ks_vm_events_meta(const char *stat);
const struct ks_meta *ks_meminfo_meta(const char *stat);

#endif
