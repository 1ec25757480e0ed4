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

/* Time in which some work waited for a CPU, in microseconds; false if not known. */
bool ks_pressure_cpu_us(struct ks_linux *lx, uint64_t *us);

/* Processes of the whole machine, also those that this user or PID name space does not see; -1 if not known. */
int64_t ks_linux_all_processes(const struct ks_linux *lx);

/* The PIDs that this process has in /proc's name space and in those within, of which v takes two; 0: not known. */
size_t ks_linux_own_pids(const struct ks_linux *lx, uint64_t v[2]);

/* Whether /proc is that of a PID name space other than the machine's first: 0 or 1; -1: not known. */
int ks_linux_has_own_pids(const struct ks_linux *lx);

#endif
