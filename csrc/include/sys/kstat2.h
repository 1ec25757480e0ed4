/*
 * sys/kstat2.h - where kstat2_create_histogram(9F) has kstat2.h. SPDX-License-Identifier: MIT
 */
#ifndef SYS_KSTAT2_H
#define SYS_KSTAT2_H
#include <kstat2.h>
#endif
