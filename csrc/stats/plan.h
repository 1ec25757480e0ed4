/*
 * plan.h - how to count in a template's histograms quickly: worked out once when a VOI is
 * added, found by the blob's template hash, never freed. A blob's layout is fixed by its
 * ABI, so nothing of this can live in the blob; a blob whose hash has no plan is updated
 * by the definition (ks_hist_slot), only slower. SPDX-License-Identifier: MIT
 *
 * Whatever the buckets, overlapping and unsorted ones included, they cut the range of
 * values into intervals, and each interval has one counter. A plan holds where the
 * intervals start, in ascending order, and each one's counter.
 */
#ifndef STATS_PLAN_H
#define STATS_PLAN_H

#include <stdint.h>

#include "stats/layout.h"

struct ks_histplan {
	uint64_t slot;    /* the statistic's slot without errs and flags: what it is for */
	uint64_t first;   /* start of interval 1; values are biased to be ordered unsigned */
	uint64_t span;    /* linear: from the first start to the last */
	uint64_t magic;   /* linear: 2^63 / step, rounded up; 0: search */
	uint32_t size;    /* search: starts, a power of 2 less 1, filled up with the greatest */
	uint32_t wide;    /* 64-bit counters */
	const uint16_t *target; /* counter of interval i, as an offset in the histogram */
	const uint64_t *start;  /* search: of interval i + 1 */
};

struct ks_plan {
	uint32_t hash;
	uint32_t nvois;
	struct ks_plan *next;
	struct ks_sb *image;        /* the image it is for */
	struct ks_histplan *hist[]; /* by VOI; NULL: none, or two images have this hash */
};

#define KS_PLAN_BUCKETS 256
extern struct ks_plan *ks_plan_table[KS_PLAN_BUCKETS];

/* A slot's bits that a plan is bound to: type, data type, offset and size. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KS_PLAN_SLOT 0x0000ffffffffffffULL
#else
#define KS_PLAN_SLOT 0xffffffffffff0000ULL
#endif

/* The plan of a VOI's histogram in a blob with this hash, or NULL. */
static inline const struct ks_histplan *
ks_plan_find(uint32_t hash, uint32_t voi)
{
	const struct ks_plan *p =
	    __atomic_load_n(&ks_plan_table[hash % KS_PLAN_BUCKETS], __ATOMIC_ACQUIRE);

	while (p != NULL && p->hash != hash)
		p = p->next;
	return p != NULL && voi < p->nvois ? __atomic_load_n(&p->hist[voi], __ATOMIC_RELAXED)
	                                   : NULL;
}

/* The offset of the counter of a biased value. */
static inline __attribute__((always_inline)) size_t
ks_plan_slot(const struct ks_histplan *h, uint64_t v)
{
	uint64_t d, i;

	if (h->magic != 0) {
		if (v < h->first)
			return h->target[0];
		d = v - h->first;
		d = d < h->span ? d : h->span;
		i = (uint64_t)(((unsigned __int128)(2 * d) * h->magic) >> 64) + 1;
		return h->target[i];
	}
	i = 0;
	for (uint64_t half = (h->size + 1) / 2; half > 0; half /= 2)
		i += h->start[i + half - 1] <= v ? half : 0;
	return h->target[i];
}

/* Adds the plans for a template's image; the caller holds the list's lock for writing. */
void ks_plan_add(const struct ks_sb *image);

#endif
