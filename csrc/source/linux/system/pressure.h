/* pressure.h - what others need of pressure.c. SPDX-License-Identifier: MIT */
#ifndef SOURCE_LINUX_PRESSURE_H
#define SOURCE_LINUX_PRESSURE_H

#include "source/linux/linux.h"

/* Stores the time in which some process waited for a CPU, in microseconds; false if it is not known. */
bool ks_pressure_cpu_us(struct ks_linux *lx, uint64_t *us);

#endif
