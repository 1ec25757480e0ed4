/*
 * sys/var.h - the Solaris header of struct var, the data of unix:0:var; see kstat_raw.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef SYS_VAR_H
#define SYS_VAR_H
#include <kstat_raw.h>
#endif
