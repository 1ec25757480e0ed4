/*
 * kstat_types.h - the names that Solaris gives to integer types, which the headers of kstats use. Other headers may
 * have them, too, and C90 and C++98 have no long long: neither is worth a warning. SPDX-License-Identifier: MIT
 */
#pragma GCC system_header
#ifndef KSTAT_TYPES_H
#define KSTAT_TYPES_H

typedef long long hrtime_t; /* nanoseconds */
typedef int kid_t;
typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
typedef long long longlong_t;
typedef unsigned long long u_longlong_t;

/* A truth value, which C90 has no type for, and a conversion, of which C++ warns as C writes it. */
#ifdef __cplusplus
typedef bool kstat_bool_t;
#define KSTAT_CAST_(type, value) static_cast<type>(value)
#else
typedef _Bool kstat_bool_t;
#define KSTAT_CAST_(type, value) ((type)(value))
#endif

#endif /* KSTAT_TYPES_H */
