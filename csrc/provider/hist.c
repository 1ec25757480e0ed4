/* hist.c - see hist.h. SPDX-License-Identifier: MIT */
#include "provider/hist.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

void
ks_hist_init(struct ks_hist *h)
{
	h->log[0].sums.min = UINT64_MAX;
	h->log[0].check = ks_hist_check(0, 0, &h->log[0].sums);
}

/*
 * The log has an entry with the number after the last commit, and the word is locked: commits it if it is whole.
 * Returns the word as it is unlocked.
 */
uint64_t
ks_hist_finish(const struct ks_hist_place *p, uint64_t v)
{
	struct ks_hist_entry e = *ks_hist_entry_of(p, v + KS_WORD_ONE);
	uint32_t bucket = (uint32_t)e.key;
	ks_word *word = &p->hist->word;

	if (!ks_hist_is_whole(&e) || bucket > p->n)
		return v;
	if (bucket < p->n)
		*ks_hist_bucket(p, bucket) = e.count;
	v += KS_WORD_ONE;
	atomic_store_explicit(word, v | (atomic_load_explicit(word, memory_order_relaxed) & KS_WORD_OWNER),
	    memory_order_release);
	return v;
}

int
ks_hist_refuse(const struct ks_hist_place *p)
{
	uint64_t v = ks_hist_lock(p);
	struct ks_hist_sums sums;

	if (v == KS_WORD_BUSY)
		return -1;
	sums = ks_hist_entry_of(p, v)->sums;
	sums.out_of_range++;
	ks_hist_log(p, v, p->n, 0, &sums);
	ks_word_commit(&p->hist->word, v);
	return 0;
}

int
ks_hist_copy(const struct ks_hist_place *p, uint64_t *to, struct ks_hist_sums *sums)
{
	uint64_t v = ks_hist_lock(p);

	if (v == KS_WORD_BUSY)
		return -1;
	memcpy(to, ks_hist_bucket(p, 0), (size_t)p->n * sizeof(*to));
	*sums = ks_hist_entry_of(p, v)->sums;
	ks_word_abort(&p->hist->word, v);
	return 0;
}

/* The least and the greatest sum that counts can have, modulo 2^64. */
struct sums_of_counts {
	uint64_t least, most;
	bool is_wrapped; /* the greatest is 2^64 or more, and says nothing */
};

/* 0, or -1 with errno EINVAL. */
static int
bound_sums(const struct ks_hist_layout *l, const uint64_t *counts, uint32_t n, struct sums_of_counts *b)
{
	uint64_t count = 0, low, high, most;

	*b = (struct sums_of_counts){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		if (counts[i] == 0)
			continue;
		ks_hist_bounds(l, i, &low, &high);
		if (ks_hist_index(l, low) != i || ks_hist_index(l, high) != i)
			return ks_fail(EINVAL, "bucket %u holds no whole number, and so not %llu values", i,
			    (unsigned long long)counts[i]);
		if (__builtin_add_overflow(count, counts[i], &count) || count > INT64_MAX)
			return ks_fail(EINVAL, "2^63 values and more are too many for a histogram");
		b->is_wrapped |= __builtin_mul_overflow(counts[i], high, &most);
		b->is_wrapped |= __builtin_add_overflow(b->most, most, &b->most);
		b->least += counts[i] * low;
	}
	return 0;
}

/* Takes from what is left of the sum above the least what n values of a bucket can have of it. */
static uint64_t
take_part(uint64_t *rest, uint64_t n, uint64_t width)
{
	uint64_t most, part;

	if (__builtin_mul_overflow(n, width, &most))
		most = UINT64_MAX;
	part = *rest < most ? *rest : most;
	*rest -= part;
	return part;
}

int
ks_hist_add_counts(const struct ks_hist_place *p, const struct ks_hist_layout *l, const uint64_t *counts, uint32_t n,
    uint64_t sum)
{
	struct sums_of_counts b;
	struct ks_hist_sums sums;
	uint64_t v, rest, low, high;

	if (bound_sums(l, counts, n, &b) != 0)
		return -1;
	if (sum == 0 && !b.is_wrapped)
		sum = b.least + (b.most - b.least) / 2;
	else if (!b.is_wrapped && (sum < b.least || sum > b.most))
		sum = sum < b.least ? b.least : b.most;
	rest = sum - b.least;
	v = ks_hist_lock(p);
	if (v == KS_WORD_BUSY)
		return -1;
	sums = ks_hist_entry_of(p, v)->sums;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *count = ks_hist_bucket(p, i);

		if (counts[i] == 0)
			continue;
		ks_hist_bounds(l, i, &low, &high);
		sums.sum += counts[i] * low + take_part(&rest, counts[i], high - low);
		sums.min = low < sums.min ? low : sums.min;
		sums.max = high > sums.max ? high : sums.max;
		ks_hist_log(p, v, i, *count + counts[i], &sums);
		v = ks_hist_finish(p, v);
	}
	ks_word_abort(&p->hist->word, v);
	return 0;
}
