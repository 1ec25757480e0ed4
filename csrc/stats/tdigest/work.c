/*
 * work.c - memory for the work on digests, and how waiting samples are sorted in it. The memory is on the stack, and at
 * most about twice as large as what is asked for; large pieces are allocated.
 * SPDX-License-Identifier: MIT
 */
#include "stats/tdigest/work.h"

#include <stdlib.h>

/* --- memory --- */

/* These are separate functions, so that a call uses the stack of its own size only. */
#define ON_STACK(n) \
	static __attribute__((noinline)) int \
	with_##n(ks_tdgst_job *fn, void *ctx) \
	{ \
		_Alignas(16) char memory[KS_TDGST_SCRATCH_SIZE(n)]; \
 \
		return fn(memory, ctx); \
	}
ON_STACK(100) /* merging with 128 */
ON_STACK(128)
ON_STACK(256)
ON_STACK(400) /* merging with 512 */
ON_STACK(512)
ON_STACK(3150) /* merging with 4094 */
ON_STACK(4094)

_Static_assert(KS_TDGST_MAXCTDS == 4094, "the largest memory");

int
ks_tdgst_with_memory(size_t size, size_t most, ks_tdgst_job *fn, void *ctx)
{
	void *p = size > most ? malloc(size) : NULL;
	int ret;

	if (p != NULL) {
		ret = fn(p, ctx);
		free(p);
		return ret;
	}
	if (size <= KS_TDGST_SCRATCH_SIZE(100))
		return with_100(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(128))
		return with_128(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(256))
		return with_256(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(400))
		return with_400(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(512))
		return with_512(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(3150))
		return with_3150(fn, ctx);
	return with_4094(fn, ctx);
}

/* --- sorting --- */

/*
 * Values are distributed to buckets by the leading bits of their distance from the least value plus an
 * offset. An offset of a 32nd of the range, with five bits below the highest, spreads values well unless
 * they are distributed very unevenly. Then an offset of 8 and three bits are used, which work over any
 * number of orders of magnitude.
 */
#define BUCKETS 512
#define CROWD 32 /* largest bucket that is sorted by insertion */

KS_TDGST_INLINE unsigned
bucket_of(uint64_t d, unsigned bits)
{
	unsigned e = (63 ^ (unsigned)__builtin_clzll(d)) - bits;

	return (e << bits) + (unsigned)(d >> e);
}

/* Sorts v, whose values crowd in few buckets, with the help of as much memory at tmp. */
static int64_t *
merge_sort(int64_t *v, int64_t *tmp, size_t n)
{
	int64_t *swap, *to;
	size_t lo, mid, hi, len, a, b;
	bool first;

	for (len = 1; len < n; len *= 2) {
		for (lo = 0; lo < n; lo = hi) {
			mid = lo + len < n ? lo + len : n;
			hi = mid + len < n ? mid + len : n;
			to = tmp + lo;
			a = lo;
			b = mid;
			while (a < mid && b < hi) {
				first = v[a] <= v[b];
				*to++ = first ? v[a] : v[b];
				a += first;
				b += !first;
			}
			memcpy(to, v + a, (mid - a) * sizeof(*v));
			memcpy(to + (mid - a), v + b, (hi - b) * sizeof(*v));
		}
		swap = v;
		v = tmp;
		tmp = swap;
	}
	return v;
}

/* Distributes n values from v to `to`; returns the number of values in the fullest bucket. */
KS_TDGST_INLINE unsigned
distribute(const int64_t *v, int64_t *to, uint16_t *bucket, size_t n, int64_t min, unsigned shift,
    uint64_t offset, unsigned bits)
{
	uint16_t place[BUCKETS] = { 0 };
	unsigned at = 0, c, most = 0, first = bucket_of(offset, bits);
	size_t i, b;

	for (i = 0; i < n; i++) {
		b = bucket_of(((uint64_t)(v[i] - min) >> shift) + offset, bits) - first;
		bucket[i] = (uint16_t)b;
		place[b]++;
	}
	for (i = 0; at < n; i++) {
		c = place[i];
		place[i] = (uint16_t)at;
		at += c;
		most = c > most ? c : most;
	}
	for (i = 0; i < n; i++)
		to[place[bucket[i]]++] = v[i];
	return most;
}

int64_t *
ks_tdgst_sort(int64_t *v, int64_t *tmp, uint16_t *bucket, size_t n, int64_t min, int64_t max,
    unsigned shift)
{
	uint64_t offset = ((uint64_t)max - (uint64_t)min) >> shift >> 10;
	int64_t *p, x;
	size_t i, run;
	bool descends;

	*tmp++ = INT64_MIN; /* ends the inner loop below */
	if (n == 0)
		return tmp;
	for (run = 1; run < n && v[run - 1] >= v[run]; run++)
		;
	descends = run > 2;
	for (run = descends ? run : 1; !descends && run < n && v[run - 1] <= v[run]; run++)
		;
	if (run >= n - n / 8) { /* most values came in order */
		for (i = 0; i < run; i++)
			tmp[i] = v[descends ? run - 1 - i : i];
		memcpy(tmp + run, v + run, (n - run) * sizeof(*v));
	} else {
		run = 1;
		offset = offset > 16 ? offset : 16;
		if (distribute(v, tmp, bucket, n, min, shift, offset, 4) > CROWD &&
		    distribute(v, tmp, bucket, n, min, shift, 8, 3) > CROWD) {
			for (i = 1; i < n && tmp[i - 1] <= tmp[i]; i++)
				; /* often a crowd of equal values */
			return i < n ? merge_sort(tmp, v, n) : tmp;
		}
	}
	for (i = run; i < n; i++) {
		x = tmp[i];
		if (tmp[i - 1] <= x)
			continue;
		p = tmp + i;
		do {
			p[0] = p[-1];
			p--;
		} while (p[-1] > x);
		p[0] = x;
	}
	return tmp;
}
