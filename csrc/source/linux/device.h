/*
 * device.h - what kind of device a disk is: sd:0:sda,dev (class device).
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DEVICE_H
#define SOURCE_LINUX_DEVICE_H

#include "source/linux/linux.h"

/* One unit for each disk of the disk subsystem, which must have been scanned before. */
extern const struct ks_subsystem ks_linux_device;

#endif
