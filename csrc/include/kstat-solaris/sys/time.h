/*
 * sys/time.h - the system's header, and what Solaris's has for times of kstats: hrtime_t, gethrtime() and the
 * parts of a second. SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#include_next <sys/time.h>
#ifndef KSTAT_SOLARIS_TIME_H
#define KSTAT_SOLARIS_TIME_H
#include <kstat_types.h>

#define SEC 1
#define MILLISEC 1000
#define MICROSEC 1000000
#define NANOSEC 1000000000LL

#ifdef __cplusplus
extern "C" {
#endif

/* gethrtime(3C): nanoseconds of a clock that never steps back; see kstat.h. */
hrtime_t gethrtime(void);

#ifdef __cplusplus
}
#endif

#endif
