/*
 * sys/processor.h - states of a CPU, as numbers and as cpu_info:N::state spells them. There is no p_online().
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_SOLARIS_PROCESSOR_H
#define KSTAT_SOLARIS_PROCESSOR_H
#include <sys/types.h>

#define P_OFFLINE 1
#define P_ONLINE 2
#define P_STATUS 3
#define P_FAULTED 4
#define P_POWEROFF 5
#define P_NOINTR 6
#define P_SPARE 7

#define PS_OFFLINE "off-line"
#define PS_ONLINE "on-line"
#define PS_FAULTED "faulted"
#define PS_POWEROFF "powered-off"
#define PS_NOINTR "no-intr"
#define PS_SPARE "spare"

#endif
