/*
 * sys/kstat2.h - the path of kstat2.h in kstat2_create_histogram(9F). SPDX-License-Identifier: MIT
 */
#ifndef SYS_KSTAT2_H
#define SYS_KSTAT2_H
#include <kstat2.h>
#endif
