/*
 * disk.h - what the files about disks share. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_H
#define SOURCE_LINUX_DISK_H

#include "source/linux/disk/disk_own.h"

bool ks_disk_is_partition(const struct ks_unit *unit);

/*
 * The disk that a partition is of; NULL if the unit is none. A partition follows its disk and is called after it: its
 * name and a number, a "p" between if it ends in a digit.
 */
const struct ks_unit *ks_disk_of(struct ks_units *units, const struct ks_unit *unit);

#endif
