/*
 * sys/types.h - the system's header, and the types that Solaris's has beside them.
 * SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#include_next <sys/types.h>
#ifndef KSTAT_SOLARIS_TYPES_H
#define KSTAT_SOLARIS_TYPES_H
#include <kstat_types.h>

typedef enum { B_FALSE = 0, B_TRUE = 1 } boolean_t;
typedef int processorid_t; /* the instance of a CPU's kstats */
typedef int zoneid_t;      /* the instance of a zone's kstats */
typedef ulong_t pgcnt_t;   /* a number of pages */

#endif
