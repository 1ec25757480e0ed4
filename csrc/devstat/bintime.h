/*
 * bintime.h - arithmetic on struct bintime: whole seconds and 2^-64 seconds, exact.
 * SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_BINTIME_H
#define DEVSTAT_BINTIME_H

#include <stdint.h>

#include "base/wide.h"
#include "devstat.h"

/* Seconds wrap in two's complement without undefined behaviour, because times may come from anywhere. */
static inline void
ks_bintime_add(struct bintime *t, const struct bintime *u)
{
	uint64_t carry = __builtin_add_overflow(t->frac, u->frac, &t->frac);

	t->sec = (time_t)((uint64_t)t->sec + (uint64_t)u->sec + carry);
}

static inline void
ks_bintime_sub(struct bintime *t, const struct bintime *u)
{
	uint64_t borrow = __builtin_sub_overflow(t->frac, u->frac, &t->frac);

	t->sec = (time_t)((uint64_t)t->sec - (uint64_t)u->sec - borrow);
}

static inline int
ks_bintime_before(const struct bintime *t, const struct bintime *u)
{
	return t->sec != u->sec ? t->sec < u->sec : t->frac < u->frac;
}

static inline long double
ks_bintime_seconds(const struct bintime *t)
{
	return (long double)t->sec + (long double)t->frac * 0x1p-64L;
}

/*
 * Returns cur - prev in seconds (prev NULL: cur), as the real library computes durations: each fraction is
 * rounded to a double first. The result is wrong by less than a nanosecond, but figures printed with one or
 * two decimals round up where those of the real iostat do.
 */
static inline long double
ks_bintime_difference(const struct bintime *cur, const struct bintime *prev)
{
	long double d = (long double)cur->sec + (double)cur->frac * 0x1p-64;

	return prev != NULL ? d - (long double)prev->sec - (double)prev->frac * 0x1p-64 : d;
}

/* Returns the time rounded to nanoseconds; times beyond 292 years become INT64_MIN or INT64_MAX. */
static inline int64_t
ks_bintime_ns(const struct bintime *t)
{
	ks_wide rest = ks_wide_product(t->frac, 1000000000);
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->sec, (int64_t)1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)(ks_wide_high(rest) + (ks_wide_low(rest) >> 63)), &ns))
		return t->sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Returns the time of ns nanoseconds, which may be negative. */
static inline struct bintime
ks_bintime_of_ns(int64_t ns)
{
	struct bintime t;
	int64_t sec = ns / 1000000000, rest = ns % 1000000000;

	if (rest < 0) {
		rest += 1000000000;
		sec--;
	}
	t.sec = (time_t)sec;
	t.frac = ks_wide_quotient(ks_wide_of((uint64_t)rest, 0), 1000000000);
	return t;
}

#endif
