/*
 * core_wide.c - compares the arithmetic of 128 bits in words (base/wide.h) with that of the compiler, if it
 * has one. SPDX-License-Identifier: MIT
 */
#define KS_WIDE_WORDS
#include "base/wide.h"

#include <stdio.h>

#ifdef __SIZEOF_INT128__

static uint64_t state = 1;

/* Returns a number of any magnitude, often close to a power of two. */
static uint64_t
number(void)
{
	uint64_t v;

	state = state * 6364136223846793005u + 1442695040888963407u;
	v = (state ^ state >> 29) >> (state >> 58);
	return (state >> 50 & 3) == 0 ? (UINT64_C(1) << (v & 63)) - (v >> 6 & 1) : v;
}

static int
is(ks_wide a, unsigned __int128 b)
{
	return ks_wide_high(a) == (uint64_t)(b >> 64) && ks_wide_low(a) == (uint64_t)b;
}

int
main(void)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t a = number(), b = number(), c = number(), d = number() | 1;
		unsigned __int128 ab = (unsigned __int128)a << 64 | b, cd = (unsigned __int128)c << 64 | d;
		unsigned n = 1 + (unsigned)(d >> 1) % 63;

		if (!is(ks_wide_product(a, b), (unsigned __int128)a * b) ||
		    !is(ks_wide_signed_product(a, (int64_t)b), (unsigned __int128)a * (unsigned __int128)(int64_t)b) ||
		    !is(ks_wide_add(ks_wide_of(a, b), ks_wide_of(c, d)), ab + cd) ||
		    ks_wide_quotient(ks_wide_of(a, b), d) != (uint64_t)(ab / d) ||
		    ks_wide_shift(ks_wide_of(a, b), n) != (uint64_t)(ab >> n)) {
			printf("%#llx %#llx %#llx %#llx\n", (unsigned long long)a, (unsigned long long)b,
			    (unsigned long long)c, (unsigned long long)d);
			return 1;
		}
	}
	puts("equal");
	return 0;
}

#else

int
main(void)
{
	puts("equal");
	return 0;
}

#endif
