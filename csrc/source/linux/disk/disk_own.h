/*
 * disk_own.h - the disks' own files, /sys/class/block/sda/stat, which have the numbers of a line of
 * /proc/diskstats for one disk or partition. For diskstats the kernel adds up what each CPU counted for each
 * disk; a report on a few of many disks need not wait for the others. On a machine with ten disks a further
 * sample of vmstat takes 6 % more CPU time without this file (`bench/run tools`), and more with each disk.
 *
 * If the last round that read disks read only a few, this round reads their own files; otherwise, and in the
 * first round, it reads diskstats. Both show the same counters, so no counter goes backwards between them.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_OWN_H
#define SOURCE_LINUX_DISK_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "source/linux/image.h"
#include "source/linux/text.h"
#include "source/linux/unit.h"

#define KS_FEW_DISKS 4

struct ks_linux;

struct ks_own_files {
	struct ks_own_file {
		struct ks_image image; /* closed: it belongs to no disk */
		struct ks_file decl;   /* of the image */
		char path[96];
		uint32_t disk;         /* slot of its unit */
	} file[KS_FEW_DISKS];
	uint64_t round;              /* the last one that read disks; 0: none yet */
	uint32_t disk[KS_FEW_DISKS]; /* slots of those that it read */
	uint32_t disks;              /* how many it read; KS_FEW_DISKS + 1 means any larger number */
	bool few;                    /* the round before read only few of the disks of the machine */
	bool failed;                 /* a file could not be read since all of them were closed */
};

void ks_own_init(struct ks_own_files *own);

/* Closes all files: at the end, and when disks came or went. */
void ks_own_close(struct ks_own_files *own);

/*
 * Call this when a disk is about to be read. Returns true and its columns, valid until the next call, if they
 * come from its own file. False if diskstats must be read.
 */
bool ks_own_line(struct ks_linux *lx, const struct ks_unit *unit, struct ks_text *line);

#endif
