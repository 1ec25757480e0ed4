/*
 * disk.h - what the files about disks share. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_H
#define SOURCE_LINUX_DISK_H

#include "source/linux/disk/disk_own.h"

bool ks_disk_is_partition(const struct ks_unit *unit);

#endif
