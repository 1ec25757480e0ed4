/*
 * sys/qmath.h - fixed-point (Q) numbers, after the manual page qmath(3) of FreeBSD: what a program needs that feeds Q
 * values to a statsblob. `q` is a variable, `a` a pointer to one; arguments may be evaluated more than once. Results
 * have the precision of *a and are cut, not rounded; 0 is returned, or EOVERFLOW or EINVAL, and *a stays as it was.
 * Names that end with "_" are not for programs. SPDX-License-Identifier: MIT
 */
#ifndef SYS_QMATH_H
#define SYS_QMATH_H

#include <errno.h>
#include <statsblob.h>
#include <stdio.h>

typedef int8_t s8q_t;
typedef uint8_t u8q_t;
typedef int16_t s16q_t;
typedef uint16_t u16q_t;

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 stats_q_wide_;
#else
typedef long double stats_q_wide_;
#endif

#define Q_NCBITS 3u
#define Q_TC(q, v) ((__typeof__(q))(v))
#define Q_NTBITS(q) ((unsigned)sizeof(q) * 8u)
#define Q_SIGNED(q) (Q_TC(q, -1) < 1)
#define Q_LTZ(q) (Q_SIGNED(q) && (int64_t)(q) < 0)
#define Q_GCVAL(q) ((unsigned)(q) & 7u)
#define Q_NFCBITS(q) ((Q_GCVAL(q) % 4u + 1u) * (Q_GCVAL(q) > 3u ? 16u : 2u))
#define Q_MAXNFBITS(q) (Q_NTBITS(q) - Q_NCBITS - (unsigned)Q_SIGNED(q))
#define Q_NFBITS(q) (Q_NFCBITS(q) < Q_MAXNFBITS(q) ? Q_NFCBITS(q) : Q_MAXNFBITS(q))
#define Q_NIBITS(q) (Q_MAXNFBITS(q) - Q_NFBITS(q))
#define Q_GIFABSVAL(q) (((uint64_t)(q) << (64u - Q_MAXNFBITS(q) - Q_NCBITS)) >> (64u - Q_MAXNFBITS(q)))
#define Q_GIFVAL(q) (Q_LTZ(q) ? -(int64_t)Q_GIFABSVAL(q) : (int64_t)Q_GIFABSVAL(q))
#define Q_GIABSVAL(q) (Q_GIFABSVAL(q) >> Q_NFBITS(q))
#define Q_GIVAL(q) (Q_LTZ(q) ? -(int64_t)Q_GIABSVAL(q) : (int64_t)Q_GIABSVAL(q))
#define Q_GFABSVAL(q) (Q_GIFABSVAL(q) & (Q_ONE_(q) - 1u))
#define Q_GFVAL(q) (Q_LTZ(q) ? -(int64_t)Q_GFABSVAL(q) : (int64_t)Q_GFABSVAL(q))
#define Q_Q2D(q) ((double)Q_GIFVAL(q) / (double)Q_ONE_(q))
#define Q_Q2F(q) ((float)Q_Q2D(q))

#define Q_ONE_(q) ((uint64_t)1 << Q_NFBITS(q))
#define Q_FAR_ ((int64_t)1 << 62) /* more than any Q number has */

/* x * y / d, cut; Q_FAR_ or -Q_FAR_ if that is more. d is not 0. */
static inline int64_t
stats_q_scale_(int64_t x, int64_t y, int64_t d)
{
	stats_q_wide_ v = (stats_q_wide_)x * y / d;

	return v >= Q_FAR_ ? Q_FAR_ : v <= -Q_FAR_ ? -Q_FAR_ : (int64_t)v;
}

/* Makes a word that of a value in units of its last fractional bit. */
static inline int
stats_q_word_(int64_t v, unsigned bits, unsigned sign, uint64_t *word)
{
	uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	if (size >> bits != 0 || (v < 0 && sign == 0))
		return EOVERFLOW;
	*word = size << Q_NCBITS | (*word & 7u) | (v < 0 ? (uint64_t)1 << sign : 0);
	return 0;
}

#define Q_SET_(a, v) __extension__({ \
		uint64_t word_ = (uint64_t)*(a); \
		int err_ = stats_q_word_((v), Q_MAXNFBITS(*(a)), Q_SIGNED(*(a)) ? Q_NTBITS(*(a)) - 1u : 0, &word_); \
 \
		*(a) = Q_TC(*(a), word_); \
		err_; \
	})
#define Q_AS_(a, q) stats_q_scale_(Q_GIFVAL(q), (int64_t)Q_ONE_(*(a)), (int64_t)Q_ONE_(q))
#define Q_INT_(a, i) stats_q_scale_((int64_t)(i), (int64_t)Q_ONE_(*(a)), 1)

#define Q_QADDQ(a, q) Q_SET_(a, Q_GIFVAL(*(a)) + Q_AS_(a, q))
#define Q_QSUBQ(a, q) Q_SET_(a, Q_GIFVAL(*(a)) - Q_AS_(a, q))
#define Q_QMULQ(a, q) Q_SET_(a, stats_q_scale_(Q_GIFVAL(*(a)), Q_GIFVAL(q), (int64_t)Q_ONE_(q)))
#define Q_QDIVQ(a, q) \
	(Q_GIFABSVAL(q) == 0 ? EINVAL : Q_SET_(a, stats_q_scale_(Q_GIFVAL(*(a)), (int64_t)Q_ONE_(q), Q_GIFVAL(q))))
#define Q_QADDI(a, i) Q_SET_(a, Q_GIFVAL(*(a)) + Q_INT_(a, i))
#define Q_QSUBI(a, i) Q_SET_(a, Q_GIFVAL(*(a)) - Q_INT_(a, i))
#define Q_QMULI(a, i) Q_SET_(a, stats_q_scale_(Q_GIFVAL(*(a)), (int64_t)(i), 1))
#define Q_QDIVI(a, i) ((i) == 0 ? EINVAL : Q_SET_(a, stats_q_scale_(Q_GIFVAL(*(a)), 1, (int64_t)(i))))
#define Q_QFRACI(a, n, d) \
	((d) == 0 ? EINVAL : Q_SET_(a, stats_q_scale_((int64_t)(n), (int64_t)Q_ONE_(*(a)), (int64_t)(d))))
#define Q_QCPYVALQ(a, q) Q_SET_(a, Q_AS_(a, q))
#define Q_QCPYVALI(a, i) Q_SET_(a, Q_INT_(a, i))
#define Q_QCLONEQ(a, q) (*(a) = Q_TC(*(a), Q_GCVAL(q)), Q_QCPYVALQ(a, q))

/* The order of two values: below 0, 0 or above 0. */
static inline int
stats_q_order_(int64_t v, uint64_t one, int64_t w, uint64_t other)
{
	stats_q_wide_ x = (stats_q_wide_)v * (stats_q_wide_)other, y = (stats_q_wide_)w * (stats_q_wide_)one;

	return (x > y) - (x < y);
}

#define Q_ORDER_(q, r) stats_q_order_(Q_GIFVAL(q), Q_ONE_(q), Q_GIFVAL(r), Q_ONE_(r))
#define Q_QLTQ(q, r) (Q_ORDER_(q, r) < 0)
#define Q_QLEQ(q, r) (Q_ORDER_(q, r) <= 0)
#define Q_QGTQ(q, r) (Q_ORDER_(q, r) > 0)
#define Q_QGEQ(q, r) (Q_ORDER_(q, r) >= 0)
#define Q_QEQ(q, r) (Q_ORDER_(q, r) == 0)
#define Q_QNEQ(q, r) (Q_ORDER_(q, r) != 0)

/* The decimals `digits` behind the point, 14 of 3.14, in units of the last fractional bit. */
static inline int64_t
stats_q_decimals_(uint64_t digits, uint64_t one)
{
	int64_t power = 1;

	while ((uint64_t)power <= digits && power < Q_FAR_ / 10)
		power *= 10;
	return stats_q_scale_((int64_t)digits, (int64_t)one, power);
}

/* Sets *a to iv.dfv (3, 14 is 3.14) with at least rpshft fractional bits, of those that there are. */
#define Q_INI(a, iv, dfv, rpshft) \
	(*(a) = Q_TC(*(a), (rpshft) <= 8 ? ((rpshft) <= 2 ? 0 : ((rpshft) - 1) / 2) : (rpshft) <= 64 ? ((rpshft) + 63) / 16 : 7), \
	    Q_SET_(a, Q_INT_(a, iv) + ((iv) < 0 ? -1 : 1) * stats_q_decimals_((uint64_t)(dfv), Q_ONE_(*(a)))))

/* Writes the decimal text with prec digits behind the point; -1: all that there are. Returns s, or NULL: no room. */
#define Q_MAXSTRLEN(q, base) (sizeof(q) * 8 + 4)
#define Q_TOSTR(q, prec, base, s, size) \
	((base) == 10 && snprintf((s), (size), "%.*Lf", (prec) < 0 ? (int)Q_NFBITS(q) : (prec), \
	    (long double)Q_GIFVAL(q) / (long double)Q_ONE_(q)) < (int)(size) ? (s) : NULL)

#endif
