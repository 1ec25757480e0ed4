/*
 * kstat_types.h - the names that Solaris gives to integer types, which the headers of kstats use.
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_TYPES_H
#define KSTAT_TYPES_H

/* C90 and C++98 have no long long. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
typedef long long hrtime_t; /* nanoseconds */
typedef int kid_t;
typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
typedef long long longlong_t;
typedef unsigned long long u_longlong_t;
#pragma GCC diagnostic pop

#endif /* KSTAT_TYPES_H */
