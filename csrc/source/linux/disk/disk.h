/* disk.h - what the files about disks share. SPDX-License-Identifier: MIT */
#ifndef SOURCE_LINUX_DISK_H
#define SOURCE_LINUX_DISK_H

#include "source/linux/linux.h"

bool ks_disk_is_partition(const struct ks_unit *unit);

/*
 * The disk that a partition is of; NULL if the unit is none. A partition follows its disk and is called after it: its
 * name and a number, a "p" between if it ends in a digit.
 */
const struct ks_unit *ks_disk_of(struct ks_units *units, const struct ks_unit *unit);

/* --- disk_own.c: the own files of few disks ------------------------------------------------------ */

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

/* Whether /sys/block has such a file of a disk; its text, as ks_file_small(); the number that it holds, false with errno. */
bool ks_disk_has(const struct ks_linux *lx, const char *disk, const char *file);
int ks_disk_text(const struct ks_linux *lx, const char *disk, const char *file, char *to, size_t size);
bool ks_disk_number(const struct ks_linux *lx, const char *disk, const char *file, uint64_t *v);

#endif
