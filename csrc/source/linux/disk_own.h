/*
 * disk_own.h - the disks' own files, /sys/class/block/sda/stat: the numbers of a line of
 * /proc/diskstats for one disk or partition. For diskstats the kernel adds up what each CPU counted
 * for each disk; a report that looks at few of many disks does not wait for the others. Where a machine has ten disks,
 * a further sample of vmstat takes 6 % more CPU time without this file (`bench/run tools`); each disk adds to that.
 *
 * If the last round that read disks read few of them, this one reads their own files, else, as the
 * first one does, diskstats. Both show the same counters: nothing goes backwards between them.
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
		struct ks_image image; /* closed: of no disk */
		struct ks_file decl;   /* of the image */
		char path[96];
		uint32_t disk;         /* slot of its unit */
	} file[KS_FEW_DISKS];
	uint64_t round;              /* the last one that read disks; 0: none yet */
	uint32_t disk[KS_FEW_DISKS]; /* slots of those that it read */
	uint32_t disks;              /* how many; one more than a few stands for all above */
	bool few;                    /* the round before it read few of the disks that there are */
	bool failed;                 /* a file could not be read since they were closed last */
};

void ks_own_init(struct ks_own_files *own);

/* For the end, and when disks came or went. */
void ks_own_close(struct ks_own_files *own);

/*
 * A disk is about to be read. True with its columns as this round has them if they come from its
 * own file; valid until the next call. False: diskstats has them, or tells that it is gone.
 */
bool ks_own_line(struct ks_linux *lx, const struct ks_unit *unit, struct ks_text *line);

#endif
