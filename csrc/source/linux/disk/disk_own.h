/*
 * disk_own.h - the files of one disk or partition below /sys. /sys/class/block/sda/stat has the numbers of its line
 * of /proc/diskstats, for which the kernel adds up what each CPU counted for each disk: a report on a few of many disks
 * need not wait for the others. With 1,000 disks a tick of vmstat, which shows four, takes 2.7 times the instructions
 * without these files, with 64 disks 1.1 times, with 4 as many.
 *
 * If the last round that read disks read only a few, this round reads their own files; otherwise, and in the
 * first round, it reads diskstats. Both show the same counters, so no counter goes backwards between them.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_OWN_H
#define SOURCE_LINUX_DISK_OWN_H

#include "source/linux/linux.h"

#define KS_FEW_DISKS 4

/* What is known of the last rounds that read disks. All zeros at first. */
struct ks_own_disks {
	uint64_t round;              /* the last one that read disks; 0: none yet */
	uint32_t disk[KS_FEW_DISKS]; /* slots of those that it read */
	uint32_t n;                  /* how many it read; KS_FEW_DISKS + 1 means any larger number */
	bool few;                    /* the round before read only few of the disks of the machine */
	struct {
		struct ks_reading reading;
		uint32_t disk;
		char text[512];
	} last; /* the file that was read last: several kstats are made of it */
};

extern const struct ks_file ks_diskstats_file;

/*
 * Call this when a disk is about to be read from diskstats. Returns true and its columns, valid until
 * the next call, if they come from its own file. False if diskstats must be read.
 */
bool ks_own_line(struct ks_linux *lx, struct ks_own_disks *own, const struct ks_unit *unit, struct ks_text *line);

/* Writes the path of a file of a disk below /sys, where names have "!" in place of a slash. */
void ks_disk_path(char *to, size_t size, const char *dir, const char *disk, const char *file);

#endif
