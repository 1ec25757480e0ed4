/*
 * unix.h - what unix.c and memory.c share: the kstats of the machine as a whole. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_UNIX_H
#define SOURCE_LINUX_UNIX_H

#include "source/linux/lines.h"
#include "source/linux/linux.h"

/*
 * Solaris adds up some gauges once a second, and Linux does not: these are the sums that the source keeps in
 * its place, each in units times seconds.
 */
struct ks_second_sums {
	uint64_t updates; /* seconds */
	uint64_t freemem, swap_resv, swap_alloc, swap_avail, swap_free; /* page seconds */
};

struct ks_queue_sums {
	uint64_t up, runocc;      /* microseconds */
	uint64_t runque, waiting; /* processes times microseconds */
	uint64_t asked;           /* when the kernel was asked for runocc last, microseconds */
	bool is_exact;            /* the kernel counts runocc itself */
};

struct ks_unix_state {
	struct ks_lines meminfo_lines, vminfo_lines; /* of /proc/meminfo: for system_pages, for vminfo */
	struct ks_lines vmstat_lines;                /* for unix:0:vm */
	struct ks_second_sums vminfo;
	struct ks_queue_sums sysinfo;
	uint64_t watermark[3];     /* min, low and high, in pages */
	uint64_t watermark_key[3]; /* the settings that they follow from */
	bool has_watermarks;
};

/* memory.c: the parts that are about memory. */
extern const struct ks_file ks_meminfo_file, ks_vmstat_file;
extern const struct ks_field ks_system_pages_fields[], ks_unix_vm_fields[], ks_meminfo_fields[];
ks_part_read ks_system_pages_read, ks_unix_vm_read, ks_vminfo_read;

/* Collects the values of ks_unix_vm_fields, which are those of the machine. 0, or -1 with errno and message. */
int ks_unix_vm_values(struct ks_linux *lx, struct ks_values *vals);

/* Stores how many pages reclaim still has to free, 0 while free memory is above the low watermarks; false if not known. */
bool ks_memory_deficit(struct ks_linux *lx, uint64_t *pages);

const struct ks_meta *ks_meminfo_meta(const char *stat);

/* pressure.c: time in which some process waited for a CPU, in microseconds; false if it is not known. */
bool ks_pressure_cpu_us(struct ks_linux *lx, uint64_t *us);

/* unix.c: the file, which tables.c reads, too. */
extern const struct ks_file ks_loadavg_file;

/* unix.c: time since boot in 1/100 s, and the time of boot in seconds since 1970; false if not known. */
bool ks_linux_uptime(struct ks_linux *lx, uint64_t *centiseconds);
bool ks_linux_boot_time(struct ks_linux *lx, uint64_t *seconds);

#endif
