/*
 * memory.h - the kstats of the machine that are about memory; unix.c has them among its parts. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_MEMORY_H
#define SOURCE_LINUX_MEMORY_H

#include "source/linux/linux.h"

/*
 * Solaris adds up some gauges once a second, and Linux does not: these are the sums that the source keeps in
 * its place, each in units times seconds.
 */
struct ks_second_sums {
	uint64_t updates; /* seconds */
	uint64_t freemem, swap_resv, swap_alloc, swap_avail, swap_free; /* page seconds */
};

/* What the state of the subsystem unix begins with. */
struct ks_memory_state {
	uint64_t seq;              /* ks_image.seq of the meminfo that pages are of; 0: of none */
	struct ks_values pages;    /* the numbers of it that other kstats are made of, in pages */
	struct ks_second_sums vminfo;
	uint64_t watermark[3];     /* min, low and high, in pages */
	uint64_t watermark_key[3]; /* the settings that they follow from */
	uint64_t zone_seq;         /* ks_image.seq of the zoneinfo that they are of */
	bool has_watermarks;
};

extern const struct ks_file ks_meminfo_file, ks_vmstat_file;
extern const struct ks_field ks_system_pages_fields[], ks_unix_vm_fields[], ks_meminfo_fields[];
ks_part_read ks_system_pages_read, ks_unix_vm_read, ks_vminfo_read;
const struct ks_meta *ks_meminfo_meta(const char *stat);

/* Collects the values of ks_unix_vm_fields, which are those of the machine. 0, or -1 with errno and message. */
int ks_unix_vm_values(struct ks_linux *lx, struct ks_values *vals);

/* Stores how many pages reclaim still has to free, 0 while free memory is above the low watermarks; false if not known. */
bool ks_memory_deficit(struct ks_linux *lx, uint64_t *pages);

#endif
