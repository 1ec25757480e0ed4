/*
 * wide.h - unsigned numbers of 128 bits: what products of 64-bit words need. Sums and products wrap. A
 * compiler without such a type, which is one for 32-bit machines, uses two words.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include <stdint.h>

/* KS_WIDE_WORDS chooses the two words everywhere, for tests. */
#if defined(__SIZEOF_INT128__) && !defined(KS_WIDE_WORDS)

typedef unsigned __int128 ks_wide;

static inline ks_wide
ks_wide_of(uint64_t high, uint64_t low)
{
	return (ks_wide)high << 64 | low;
}

static inline uint64_t
ks_wide_high(ks_wide a)
{
	return (uint64_t)(a >> 64);
}

static inline uint64_t
ks_wide_low(ks_wide a)
{
	return (uint64_t)a;
}

static inline ks_wide
ks_wide_add(ks_wide a, ks_wide b)
{
	return a + b;
}

static inline ks_wide
ks_wide_product(uint64_t a, uint64_t b)
{
	return (ks_wide)a * b;
}

/* Returns the low word of a / b, where b is not 0. */
static inline uint64_t
ks_wide_quotient(ks_wide a, uint64_t b)
{
	return a >> 64 == 0 ? (uint64_t)a / b : (uint64_t)(a / b);
}

/* Returns the low word of a / 2^n, where n is 1 to 63. */
static inline uint64_t
ks_wide_shift(ks_wide a, unsigned n)
{
	return (uint64_t)(a >> n);
}

/* Returns a * b in two's complement. */
static inline ks_wide
ks_wide_signed_product(uint64_t a, int64_t b)
{
	return (ks_wide)a * (ks_wide)b;
}

#else

typedef struct {
	uint64_t high, low;
} ks_wide;

static inline ks_wide
ks_wide_of(uint64_t high, uint64_t low)
{
	return (ks_wide){ high, low };
}

static inline uint64_t
ks_wide_high(ks_wide a)
{
	return a.high;
}

static inline uint64_t
ks_wide_low(ks_wide a)
{
	return a.low;
}

static inline ks_wide
ks_wide_add(ks_wide a, ks_wide b)
{
	uint64_t low = a.low + b.low;

	return (ks_wide){ a.high + b.high + (low < b.low), low };
}

static inline ks_wide
ks_wide_product(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;

	return (ks_wide){ a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | (uint32_t)low };
}

/* Returns the low word of a / b, where b is not 0: by long division, bit by bit. */
static inline uint64_t
ks_wide_quotient(ks_wide a, uint64_t b)
{
	uint64_t rest = a.high % b, quotient = 0;

	if (a.high == 0)
		return a.low / b;
	for (int i = 63; i >= 0; i--) {
		uint64_t carry = rest >> 63;

		rest = rest << 1 | (a.low >> i & 1);
		if (carry != 0 || rest >= b) {
			rest -= b;
			quotient |= UINT64_C(1) << i;
		}
	}
	return quotient;
}

/* Returns the low word of a / 2^n, where n is 1 to 63. */
static inline uint64_t
ks_wide_shift(ks_wide a, unsigned n)
{
	return a.high << (64 - n) | a.low >> n;
}

/* Returns a * b in two's complement. */
static inline ks_wide
ks_wide_signed_product(uint64_t a, int64_t b)
{
	return ks_wide_add(ks_wide_product(a, (uint64_t)b), ks_wide_of(b < 0 ? 0 - a : 0, 0));
}

#endif

#endif
