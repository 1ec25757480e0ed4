/* number.c - see number.h. SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NANOSEC 1000000000u
#define NUMBER_TEXT_MAX 1100 /* more digits than any double has */

size_t
ks_format_u64(char *to, uint64_t v)
{
	static const char pairs[] =
	    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	    "8081828384858687888990919293949596979899";
	char tmp[20];
	size_t i = sizeof(tmp);

	while (v >= 100) {
		i -= 2;
		memcpy(tmp + i, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		i -= 2;
		memcpy(tmp + i, pairs + 2 * v, 2);
	} else {
		tmp[--i] = (char)('0' + v);
	}
	memcpy(to, tmp + i, sizeof(tmp) - i);
	return sizeof(tmp) - i;
}

size_t
ks_format_i64(char *to, int64_t v)
{
	if (v >= 0)
		return ks_format_u64(to, (uint64_t)v);
	*to = '-';
	return 1 + ks_format_u64(to + 1, 0 - (uint64_t)v);
}

/*
 * Replaces the locale's decimal point, which the C library writes and which a host program may have set, by
 * ".". Returns the new length.
 */
static size_t
replace_radix(char *text, size_t n)
{
	const char *radix = nl_langinfo(RADIXCHAR);
	size_t len = strlen(radix);
	char *at;

	if (strcmp(radix, ".") == 0 || len == 0 || (at = strstr(text, radix)) == NULL)
		return n;
	*at = '.';
	memmove(at + 1, at + len, strlen(at + len) + 1);
	return n - (len - 1);
}

/* Copies n bytes of a number for strtod(), with the locale's decimal point. False if it does not fit. */
static bool
copy_with_radix(char *to, size_t size, const char *s, size_t n)
{
	const char *radix = nl_langinfo(RADIXCHAR);
	const char *point = memchr(s, '.', n);
	size_t len = strlen(radix), before;

	if (point == NULL || len == 0 || strcmp(radix, ".") == 0) {
		before = n;
		len = 0;
	} else {
		before = (size_t)(point - s);
	}
	if (n >= size || size - n - 1 < len)
		return false;
	memcpy(to, s, before);
	memcpy(to + before, radix, len);
	if (before < n)
		memcpy(to + before + len, point + 1, n - before - 1);
	to[len > 0 ? n + len - 1 : n] = '\0';
	return true;
}

size_t
ks_format_seconds(char *to, int64_t ns)
{
	uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint32_t frac = (uint32_t)(u % NANOSEC);
	size_t n = 0;

	if (ns < 0)
		to[n++] = '-';
	n += ks_format_u64(to + n, u / NANOSEC);
	if (ns == 0)
		return n;
	to[n] = '.';
	for (size_t i = n + 9; i > n; i--) {
		to[i] = (char)('0' + frac % 10);
		frac /= 10;
	}
	return n + 10;
}

size_t
ks_format_double(char *to, double v)
{
	int n = 0;

	if (isnan(v))
		return (size_t)snprintf(to, KS_NUMBER_MAX, "nan");
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(to, KS_NUMBER_MAX, "%.*g", digits, v);
		if (digits == 17 || isinf(v) || strtod(to, NULL) == v) /* 17 are always enough */
			break;
	}
	return replace_radix(to, (size_t)n);
}

size_t
ks_format_number(char *to, double v)
{
	bool is_whole = v > -0x1p53 && v < 0x1p53 && v == (double)(int64_t)v;

	return is_whole ? ks_format_i64(to, (int64_t)v) : ks_format_double(to, v);
}

int
ks_scan_i64(const char **p, const char *end, int64_t *v)
{
	const char *s = *p;
	int negative = s < end && *s == '-';
	uint64_t u;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	if (ks_scan_u64(&s, end, &u) != 0 || u > (uint64_t)INT64_MAX + (uint64_t)negative)
		return -1;
	*v = (int64_t)(negative ? 0 - u : u);
	*p = s;
	return 0;
}

/* Returns how many of the n bytes at s may belong to a decimal number. */
static size_t
count_number_bytes(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] != '\0' && strchr("0123456789+-.eE", s[i]) != NULL)
		i++;
	return i;
}

int
ks_scan_double(const char *s, size_t n, double *v)
{
	char text[NUMBER_TEXT_MAX], *stop;

	if (n == 0 || count_number_bytes(s, n) != n || !copy_with_radix(text, sizeof(text), s, n))
		return -1;
	*v = strtod(text, &stop);
	return *stop == '\0' && isfinite(*v) ? 0 : -1;
}

/* Reads seconds in scientific notation, as writers that print doubles produce it. */
static int
scan_scientific(const char *s, size_t n, int64_t *ns)
{
	char text[KS_NUMBER_MAX], *stop;
	long double v;

	if (count_number_bytes(s, n) != n || !copy_with_radix(text, sizeof(text), s, n))
		return -1;
	v = strtold(text, &stop) * NANOSEC;
	if (*stop != '\0' || !(v > -9.2e18L && v < 9.2e18L))
		return -1;
	*ns = llroundl(v);
	return 0;
}

int
ks_scan_seconds(const char *s, size_t n, int64_t *ns)
{
	const char *end = s + n;
	int negative = n > 0 && *s == '-';
	uint64_t whole = 0, frac = 0, total;

	if (memchr(s, 'e', n) != NULL || memchr(s, 'E', n) != NULL)
		return scan_scientific(s, n, ns);
	s += negative;
	if (ks_scan_u64(&s, end, &whole) != 0)
		return -1;
	if (s < end && *s == '.') {
		int digits = 0, up = 0;

		for (s++; s < end && *s >= '0' && *s <= '9'; s++, digits++) {
			if (digits < 9)
				frac = frac * 10 + (uint64_t)(*s - '0');
			else if (digits == 9)
				up = *s >= '5';
		}
		if (digits == 0)
			return -1;
		for (; digits < 9; digits++)
			frac *= 10;
		frac += (uint64_t)up;
	}
	if (s != end || __builtin_mul_overflow(whole, (uint64_t)NANOSEC, &total) ||
	    __builtin_add_overflow(total, frac, &total) || total > INT64_MAX)
		return -1;
	*ns = negative ? -(int64_t)total : (int64_t)total;
	return 0;
}
