/*
 * number.h - the one place that converts numbers to text and text to numbers.
 * Nothing here depends on the locale. SPDX-License-Identifier: MIT
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define KS_NUMBER_MAX 48 /* bytes that any of the formatters may write */

/* Each formatter writes at most KS_NUMBER_MAX bytes at `to`, without a NUL, and returns their number. */
size_t ks_format_u64(char *to, uint64_t v);
size_t ks_format_i64(char *to, int64_t v);

/*
 * Writes a time in nanoseconds as seconds with nine decimals, and "0" for exactly zero. kstat(8) prints
 * the digits of the double ns / 1e9, which above 2^53 ns (104 days) are not always those of the time;
 * these are.
 */
size_t ks_format_seconds(char *to, int64_t ns);

/* Writes the shortest decimal that reads back as the same double, or "nan", "inf", "-inf". */
size_t ks_format_double(char *to, double v);

/* The same, but whole numbers below 2^53 always have all their digits: 1000000000000000 for 1e15. */
size_t ks_format_number(char *to, double v);

/*
 * Scans the decimal digits at *p, which must be below end. On success stores the value,
 * moves *p behind the last digit and returns 0; -1 if there is no digit or it does not fit.
 */
static inline int
ks_scan_u64(const char **p, const char *end, uint64_t *v)
{
	const char *s = *p;
	uint64_t r = 0;

	if (s >= end || *s < '0' || *s > '9')
		return -1;
	/* 19 digits always fit. */
	for (const char *few = end - s > 19 ? s + 19 : end; s < few && *s >= '0' && *s <= '9'; s++)
		r = r * 10 + (uint64_t)(*s - '0');
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(r, 10u, &r) ||
		    __builtin_add_overflow(r, (uint64_t)(*s - '0'), &r))
			return -1;
	}
	*p = s;
	*v = r;
	return 0;
}

/* As ks_scan_u64 with an optional sign; from -2^63 to 2^63-1. */
int ks_scan_i64(const char **p, const char *end, int64_t *v);

/*
 * Reads a decimal number with or without fraction and exponent, of exactly n bytes (at most about
 * 1,000), as the nearest double. 0, or -1 if malformed or not finite.
 */
int ks_scan_double(const char *s, size_t n, double *v);

/*
 * Reads decimal seconds ("12.345678901", "-3", "1e-09") of exactly n bytes as nanoseconds; digits
 * after the ninth are rounded, and with an exponent the precision is that of a long double.
 * 0, or -1 if malformed or out of range.
 */
int ks_scan_seconds(const char *s, size_t n, int64_t *ns);

#endif
