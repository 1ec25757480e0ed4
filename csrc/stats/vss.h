/* vss.h - what every statistic's initial data look like. SPDX-License-Identifier: MIT */
#ifndef STATS_VSS_H
#define STATS_VSS_H

#include <stdint.h>

/*
 * Returns the value that a SUM, MAX or MIN of data type dt starts with. ctl: the control bits of a Q
 * type, else 0.
 */
uint64_t ks_vss_start(int stype, unsigned dt, unsigned ctl);

#endif
