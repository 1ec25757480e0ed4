/*
 * sys/dnlc.h - the Solaris header of struct ncstats, the data of unix:0:ncstats; see kstat_raw.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef SYS_DNLC_H
#define SYS_DNLC_H
#include <kstat_raw.h>
#endif
