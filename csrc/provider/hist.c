/* hist.c - see hist.h. SPDX-License-Identifier: MIT */
#include "provider/hist.h"

#include <string.h>

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
