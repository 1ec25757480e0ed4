/* hist.c - see hist.h. SPDX-License-Identifier: MIT */
#include "provider/hist.h"

#include <string.h>

int
ks_hist_copy(struct ks_hist *h, uint64_t *to, uint32_t n)
{
	uint64_t v = ks_word_lock(&h->word);

	if (v == KS_WORD_BUSY)
		return -1;
	memcpy(to, h->bucket, (size_t)n * sizeof(*to));
	ks_word_abort(&h->word, v);
	return 0;
}
