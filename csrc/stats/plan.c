/* plan.c - see plan.h. SPDX-License-Identifier: MIT */
#include "stats/plan.h"

#include <stdlib.h>

#include "stats/static_histogram.h"

const struct ks_histplan ks_plan_none = { 0 };

static struct ks_plan no_plan; /* ends every list; its hash may match, its VOIs do not */

struct ks_plan *ks_plan_table[KS_PLAN_BUCKETS] = {
	[0 ... KS_PLAN_BUCKETS - 1] = &no_plan,
};

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where the counter may change, biased, sorted, each once; returns how many. */
static size_t
cuts(const unsigned char *hist, unsigned dt, unsigned n, unsigned voi_dt, uint64_t bias,
    uint64_t *to)
{
	size_t m = 0, k = 0;

	for (unsigned i = 0; i < n; i++) {
		const unsigned char *b = ks_hist_bkt(hist, dt, i);
		uint64_t lb = ks_ldval(b, voi_dt) ^ bias;

		to[m++] = lb;
		if (ks_dtype_is_dr(dt))
			to[m++] = ks_ldval(b + 8, voi_dt) ^ bias;
		else if (!ks_dtype_is_cr(dt) && lb != UINT64_MAX)
			to[m++] = lb + 1;
	}
	qsort(to, m, sizeof(*to), by_value);
	for (size_t i = 0; i < m; i++) {
		if (k == 0 || to[k - 1] != to[i])
			to[k++] = to[i];
	}
	return k;
}

/*
 * Equal steps? Then the interval is a quotient. With M = (2^64 - 1 - t) / step, 0 <= t <
 * step, the upper half of (d + 1) * M is d / step rounded down as long as (d + 1) * step
 * is at most 2^64: the product is too small by (d + 1) * (1 + t) / step units, which is less
 * than the 1 / step that the 1 has added at least; and it is below the next quotient.
 */
static void
linear(struct ks_histplan *h, const uint64_t *start, size_t n, uint64_t bias)
{
	uint64_t step, span, area;

	/* A start of 0 has nothing below it to stand for interval 0. */
	if (n < 2 || start[0] == 0)
		return;
	step = start[1] - start[0];
	for (size_t i = 2; i < n; i++) {
		if (start[i] - start[i - 1] != step)
			return;
	}
	/* Interval 0 is treated as one step long. */
	span = start[n - 1] - start[0];
	if (span > UINT64_MAX - step - 1 ||
	    __builtin_mul_overflow(span + step + 1, step, &area))
		return;
	h->magic = UINT64_MAX / step;
	h->least = (start[0] - 1) ^ bias;
	h->most = start[n - 1] ^ bias;
	h->origin = (start[0] ^ bias) - step - 1;
}

void
ks_histplan_free(struct ks_histplan *h)
{
	if (h == NULL)
		return;
	free(h->start);
	free(h);
}

struct ks_histplan *
ks_histplan_new(const struct ks_sb *image, const struct ks_voi *voi, const struct ks_vs *vs)
{
	const unsigned char *hist = ks_sb_data(image, vs);
	unsigned dt = vs->dtype, n = ks_hist_nbkts(dt, vs->dsz), voi_dt = voi->dtype;
	uint64_t bias = ks_dtypes[voi_dt].is_signed ? 1ULL << 63 : 0;
	struct ks_histplan *h;
	size_t m, size = 1;
	uint64_t *start;

	/* At most two cuts a bucket; filled up to a power of 2 less 1. */
	while (size - 1 < 2 * (size_t)n)
		size *= 2;
	h = calloc(1, sizeof(*h) + (size + 1) * sizeof(h->target[0]));
	start = malloc(size * sizeof(*start));
	if (h == NULL || start == NULL) {
		free(h);
		free(start);
		return NULL;
	}
	memcpy(&h->slot, vs, sizeof(h->slot));
	h->slot &= KS_PLAN_SLOT;
	h->wide = ks_dtypes[dt].wide;
	m = cuts(hist, dt, n, voi_dt, bias, start);
	/* Nothing is below the least value of the type. */
	if ((int64_t)(start[0] ^ bias) == INT64_MIN && bias != 0)
		memmove(start, start + 1, --m * sizeof(*start));
	else if (ks_dtypes[voi_dt].size == 4 && bias != 0 &&
	    (int64_t)(start[0] ^ bias) == INT32_MIN)
		memmove(start, start + 1, --m * sizeof(*start));
	else if (bias == 0 && start[0] == 0)
		memmove(start, start + 1, --m * sizeof(*start));
	/* Interval 0 is represented by the value before the first cut. */
	h->target[0] = (uint16_t)ks_hist_slot(hist, vs->dsz, dt, voi_dt,
	    (m > 0 ? start[0] - 1 : UINT64_MAX) ^ bias);
	for (size_t i = 0; i < m; i++)
		h->target[i + 1] = (uint16_t)ks_hist_slot(hist, vs->dsz, dt, voi_dt, start[i] ^ bias);
	for (size = 1; size - 1 < m;)
		size *= 2;
	for (size_t i = m; i < size - 1; i++) {
		start[i] = UINT64_MAX;
		h->target[i + 1] = h->target[m];
	}
	h->half = (uint32_t)(size / 2);
	h->start = start;
	linear(h, start, m, bias);
	return h;
}

void
ks_plan_add(const struct ks_sb *image)
{
	uint32_t n = ks_sb_nvois(image), at = image->tplhash % KS_PLAN_BUCKETS;
	struct ks_plan *p;
	bool any = false;

	for (p = ks_plan_table[at]; p != NULL; p = p->next) {
		if (p->hash != image->tplhash || p->image == NULL)
			continue;
		/* Two images with one hash: neither may be planned for. */
		if (p->image->cursz != image->cursz ||
		    memcmp(p->image, image, image->cursz) != 0) {
			for (uint32_t i = 0; i < p->nvois; i++)
				__atomic_store_n(&p->hist[i], &ks_plan_none, __ATOMIC_RELEASE);
		}
		return;
	}
	p = calloc(1, sizeof(*p) + n * sizeof(p->hist[0]));
	if (p == NULL)
		return;
	p->image = malloc(image->cursz);
	if (p->image == NULL) {
		free(p);
		return;
	}
	memcpy(p->image, image, image->cursz);
	p->hash = image->tplhash;
	p->nvois = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(image, i);
		const struct ks_histplan *h = NULL;
		const struct ks_vs *vs;

		p->hist[i] = &ks_plan_none;
		if (voi->id < 0 || ks_dtypes[voi->dtype].is_q)
			continue;
		vs = ks_sb_find_vs(image, voi, VS_STYPE_HIST);
		if (vs != NULL)
			h = ks_histplan_new(image, voi, vs);
		if (h != NULL) {
			p->hist[i] = h;
			any = true;
		}
	}
	if (!any) {
		free(p->image);
		free(p);
		return;
	}
	p->next = ks_plan_table[at];
	__atomic_store_n(&ks_plan_table[at], p, __ATOMIC_RELEASE);
}
