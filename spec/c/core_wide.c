/*
 * core_wide.c - calculates with numbers of 128 bits in words (base/wide.h) and prints a check of all results, which
 * is the same on every machine. Where the compiler has such numbers, fails unless its results are the same.
 * SPDX-License-Identifier: MIT
 */
#define KS_WIDE_WORDS
#include "base/wide.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static uint64_t state = 1, check;

/* Returns a number of any magnitude, often close to a power of two or to the negative of one. */
static uint64_t
number(void)
{
	uint64_t v;

	state = state * 6364136223846793005u + 1442695040888963407u;
	v = (state ^ state >> 29) >> (state >> 58);
	if ((state >> 50 & 3) == 0) {
		uint64_t power = (UINT64_C(1) << (v & 63)) - (state >> 48 & 1);

		return (state >> 49 & 1) != 0 ? 0 - power : power;
	}
	return v;
}

static ks_wide
counted(ks_wide a)
{
	check = (check ^ ks_wide_high(a)) * UINT64_C(0x9e3779b97f4a7c15);
	check = (check ^ check >> 32 ^ ks_wide_low(a)) * UINT64_C(0x9e3779b97f4a7c15);
	return a;
}

#ifdef __SIZEOF_INT128__

static bool
is(ks_wide a, unsigned __int128 b)
{
	return ks_wide_high(a) == (uint64_t)(b >> 64) && ks_wide_low(a) == (uint64_t)b;
}

#endif

/* Calculates with the numbers a:b and c:d. Returns true if the compiler's results are the same, or it has none. */
static bool
calculate(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	ks_wide ab = ks_wide_of(a, b), cd = ks_wide_of(c, d);
	uint64_t divisor = d != 0 ? d : 1;
	unsigned n = 1 + (unsigned)(c % 63);
	ks_wide product = counted(ks_wide_product(a, b));
	ks_wide signed_product = counted(ks_wide_signed_product(a, (int64_t)b));
	ks_wide total = counted(ks_wide_add(ab, cd));
	ks_wide words = counted(ks_wide_of(ks_wide_quotient(ab, divisor), ks_wide_shift(ab, n)));
#ifdef __SIZEOF_INT128__
	typedef unsigned __int128 wide;
	wide wab = (wide)a << 64 | b, wcd = (wide)c << 64 | d;

	return is(product, (wide)a * b) && is(signed_product, (wide)a * (wide)(int64_t)b) && is(total, wab + wcd) &&
	    ks_wide_high(words) == (uint64_t)(wab / divisor) && ks_wide_low(words) == (uint64_t)(wab >> n);
#else
	(void)product, (void)signed_product, (void)total, (void)words;
	return true;
#endif
}

int
main(void)
{
	for (int i = 0; i < 300000; i++) {
		uint64_t a = number(), b = number(), c = number(), d = number();

		if (!calculate(a, b, c, d)) {
			printf("%#" PRIx64 " %#" PRIx64 " %#" PRIx64 " %#" PRIx64 "\n", a, b, c, d);
			return 1;
		}
	}
	printf("%016" PRIx64 "\n", check);
	return 0;
}
