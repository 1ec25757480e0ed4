/*
 * plan.h - makes counting in a template's histograms quick. A plan is computed when the first blob of the
 * template's form is made, found by the blob's template hash, and never freed. It cannot lie in the blob,
 * whose layout is fixed by the ABI. Blobs whose hash has no plan are updated by the definition
 * (ks_hist_slot), which is slower.
 *
 * Buckets of any kind, also overlapping and unsorted ones, cut the range of values into intervals, and each
 * interval has one counter. A plan holds the starts of the intervals, in ascending order, and their counters.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_PLAN_H
#define STATS_PLAN_H

#include <stdint.h>

#include "base/wide.h"
#include "stats/abi.h"

struct ks_histplan {
	uint64_t slot;    /* the statistic's slot without errs and flags: what it is for */
	uint64_t magic;   /* linear: (2^64 - 1) / step; 0: search */
	uint64_t least;   /* linear: values below count as this one, just below interval 1 */
	uint64_t most;    /* linear: values above count as this one, the last start */
	uint64_t origin;  /* linear: what makes the quotient the interval's number */
	uint32_t half;    /* search: (number of starts + 1) / 2 */
	uint32_t wide;    /* 64-bit counters */
	/* search: of interval i + 1, biased to be ordered unsigned; a power of 2 less 1 of them,
	 * filled up with the greatest */
	uint64_t *start;
	uint16_t target[]; /* counter of interval i, as an offset in the histogram */
};

struct ks_plan {
	uint32_t hash;
	uint32_t nvois;
	struct ks_plan *next;
	struct ks_sb *image;        /* the image it is for */
	const struct ks_histplan *hist[]; /* by VOI */
};

#define KS_PLAN_BUCKETS 256
extern struct ks_plan *ks_plan_table[KS_PLAN_BUCKETS]; /* never NULL */
/* Used in the place of a missing plan; it matches no slot. */
extern const struct ks_histplan ks_plan_none;

/* The bits of a slot that must match those of a plan: type, data type, offset and size. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KS_PLAN_SLOT 0x0000ffffffffffffULL
#else
#define KS_PLAN_SLOT 0xffffffffffff0000ULL
#endif

/*
 * Returns the plan of a VOI's histogram in blobs with this hash. It may be used if its slot equals
 * the blob's.
 */
static inline const struct ks_histplan *
ks_plan_find(uint32_t hash, uint32_t voi)
{
	const struct ks_plan *p =
	    __atomic_load_n(&ks_plan_table[hash % KS_PLAN_BUCKETS], __ATOMIC_ACQUIRE);

	while (__builtin_expect(p->hash != hash, 0)) {
		p = p->next;
		if (p == NULL)
			return &ks_plan_none;
	}
	return __builtin_expect(voi < p->nvois, 1) ? __atomic_load_n(&p->hist[voi],
	                                                 __ATOMIC_RELAXED)
	                                           : &ks_plan_none;
}

/*
 * Returns the offset of the counter of a value, whose type is signed or not: by a division if all steps are
 * equal, else by a search without branches that depend on the value.
 */
static inline __attribute__((always_inline)) size_t
ks_plan_linear(const struct ks_histplan *h, uint64_t v, bool sgn)
{
	if (sgn) {
		v = (int64_t)v > (int64_t)h->least ? v : h->least;
		v = (int64_t)v < (int64_t)h->most ? v : h->most;
	} else {
		v = v > h->least ? v : h->least;
		v = v < h->most ? v : h->most;
	}
	/* v - origin is 1 more than the distance from the start of interval 0, which makes the
	 * rounded-down reciprocal exact (see plan.c). */
	return h->target[ks_wide_high(ks_wide_product(v - h->origin, h->magic))];
}

static inline __attribute__((always_inline)) size_t
ks_plan_search(const struct ks_histplan *h, uint64_t v, bool sgn)
{
	uint64_t i = 0;

	v ^= sgn ? 1ULL << 63 : 0;

	for (uint64_t half = h->half; half > 0; half /= 2) {
		uint64_t next = i + half;

		i = h->start[next - 1] <= v ? next : i;
	}
	return h->target[i];
}

/* Returns the plan of one histogram of an integer VOI, owned by the caller; NULL without memory. */
struct ks_histplan *ks_histplan_new(const struct ks_sb *image, const struct ks_voi *voi,
    const struct ks_vs *vs);
void ks_histplan_free(struct ks_histplan *h);

/* Adds the plans for a template's image; one thread at a time (ks_tpl_plan). */
void ks_plan_add(const struct ks_sb *image);

#endif
