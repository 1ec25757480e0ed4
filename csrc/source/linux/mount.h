/*
 * mount.h - where block devices are mounted. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_MOUNT_H
#define SOURCE_LINUX_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "source/linux/linux.h"

/*
 * The first place where a device as a whole is mounted, else the first where part of it is.
 * number: "major:minor" of the device; source: the path by which file systems on several devices,
 * which have a number of their own, name it. Either may be empty. False if it is not mounted, or
 * if /proc/self/mountinfo cannot be read.
 */
bool ks_linux_mount_point(struct ks_linux *lx, const char *number, const char *source, char *to,
    size_t size);

#endif
