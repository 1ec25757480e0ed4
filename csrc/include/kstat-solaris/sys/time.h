/*
 * sys/time.h - the system's header, and what Solaris's has for times of kstats: hrtime_t, gethrtime(), the parts of a
 * second, and all of <time.h>. OpenZFS's header of this name, which may be the next on the path or the one before,
 * has gethrtime() of its own. SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#include_next <sys/time.h>
#ifndef KSTAT_SOLARIS_TIME_H
#define KSTAT_SOLARIS_TIME_H
#include <time.h>
#include <kstat_types.h>

#ifndef SEC
#define SEC 1
#endif
#ifndef MILLISEC
#define MILLISEC 1000
#endif
#ifndef MICROSEC
#define MICROSEC 1000000
#endif
#ifndef NANOSEC
#define NANOSEC 1000000000LL
#endif

#ifndef _LIBSPL_SYS_TIME_H
typedef struct timespec timespec_t;
typedef struct timespec timestruc_t;
typedef struct itimerval itimerval_t;
typedef struct itimerspec itimerspec_t;

#ifdef __cplusplus
extern "C" {
#endif

/* gethrtime(3C): nanoseconds of a clock that never steps back; see kstat.h. */
hrtime_t gethrtime(void);

#ifdef __cplusplus
}
#endif
#endif

#endif
