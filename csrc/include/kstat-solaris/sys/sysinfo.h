/*
 * sys/sysinfo.h - the system's header with its sysinfo(), and what Solaris's has: cpu_stat_t, sysinfo_t,
 * vminfo_t, CPU_* and W_*; see kstat_raw.h. SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#include_next <sys/sysinfo.h>
#ifndef KSTAT_SOLARIS_SYSINFO_H
#define KSTAT_SOLARIS_SYSINFO_H
#include <sys/types.h>
#include <kstat_raw.h>
#endif
