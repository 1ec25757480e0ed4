/*
 * bintime.h - arithmetic on struct bintime: whole seconds and 2^-64 seconds, exact.
 * SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_BINTIME_H
#define DEVSTAT_BINTIME_H

#include <stdint.h>

#include "devstat.h"

/* The seconds wrap as two's complement: times may come from anywhere. */
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

/* ns may be negative. */
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
	/* Rounded up, so that a fraction turned back into nanoseconds is the same number. */
	t.frac = rest == 0 ? 0 :
	    (uint64_t)((((unsigned __int128)rest << 64) + 999999999) / 1000000000);
	return t;
}

#endif
