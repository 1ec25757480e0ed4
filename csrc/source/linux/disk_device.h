/*
 * disk_device.h - what disks and partitions are: sd:0:sda,dev and sd:0:sda1,dev (class device).
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DISK_DEVICE_H
#define SOURCE_LINUX_DISK_DEVICE_H

#include "source/linux/linux.h"

/* A unit for each disk and partition of the disk subsystem, which must be scanned before. */
extern const struct ks_subsystem ks_linux_device;

#endif
