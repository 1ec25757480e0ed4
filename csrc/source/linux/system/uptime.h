/*
 * uptime.h - for how long the machine runs, and files about it that several subsystems read.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_UPTIME_H
#define SOURCE_LINUX_UPTIME_H

#include "source/linux/linux.h"

extern const struct ks_file ks_loadavg_file;

/* Time since boot in 1/100 s, and the time of boot in seconds since 1970; false if not known. */
bool ks_linux_uptime(struct ks_linux *lx, uint64_t *centiseconds);
bool ks_linux_boot_time(struct ks_linux *lx, uint64_t *seconds);

#endif
