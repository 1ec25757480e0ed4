/*
 * disk.h - what the files about disks share. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_H
#define SOURCE_LINUX_DISK_H

#include "source/linux/disk/disk_own.h"
#include "source/linux/linux.h"

struct ks_disk_state {
	struct ks_own_files own;
	uint32_t last_disk; /* during a scan: slot of the last unit that is no partition */
};

extern const struct ks_file ks_diskstats_file;

/* Writes the path of a file of a disk below /sys, where names have "!" in place of a slash. */
void ks_disk_path(char *to, size_t size, const char *dir, const char *disk, const char *file);

bool ks_disk_is_partition(const struct ks_unit *unit);

#endif
