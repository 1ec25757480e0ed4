/*
 * sys/types.h - the system's header, and the types that Solaris's has beside them: those of <stdint.h>, which exist if
 * _INT64_TYPE is defined, and a few for kstats. OpenZFS's header of this name, which may be the next on the path or
 * the one before, has some of them, too. SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#include_next <sys/types.h>
#ifndef KSTAT_SOLARIS_TYPES_H
#define KSTAT_SOLARIS_TYPES_H
#include <stdint.h>
#include <kstat_types.h>

#ifndef _INT64_TYPE
#define _INT64_TYPE
#endif

#ifndef _LIBSPL_SYS_TYPES_H
typedef enum { B_FALSE = 0, B_TRUE = 1 } boolean_t;
typedef int zoneid_t;      /* the instance of a zone's kstats */
typedef ulong_t pgcnt_t;   /* a number of pages */
typedef uint_t major_t;    /* the parts of a device's number */
typedef uint_t minor_t;
typedef short index_t;
typedef int taskid_t;
typedef int projid_t;
typedef int poolid_t;
#endif
typedef int processorid_t; /* the instance of a CPU's kstats */

#endif
