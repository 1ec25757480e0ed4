/*
 * blob_checks.h - the checks of a statsblob kstat's bytes that a fuzzer changed, made right again.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_BLOB_CHECKS_H
#define FUZZ_BLOB_CHECKS_H

#include "provider/blob_layout.h"
#include "provider/segment/segment_layout.h"

/*
 * What was changed in copies and logs gets past their checks, where the head still leads to them. `image` is
 * aligned.
 */
static inline void
blob_make_checks_right(char *image, size_t used)
{
	struct ks_blob_head *h = (void *)image;

	if (used < sizeof(*h))
		return;
	if (h->nvois <= KS_BLOB_MOST_VOIS && ks_blob_first(h->nvois) <= used) {
		h->check = ks_hash_bytes(KS_HASH_INIT, h, offsetof(struct ks_blob_head, check));
		h->check = ks_hash_bytes(h->check, h + 1, h->nvois * sizeof(struct ks_blob_voi));
	}
	if (h->blob_size > UINT16_MAX || h->shards > 2 ||
	    h->nvois > KS_BLOB_MOST_VOIS || h->first != ks_blob_first(h->nvois) ||
	    h->first + h->shards * ks_blob_row_size(h->blob_size) > used)
		return;
	for (uint32_t i = 0; i < h->shards; i++) {
		struct ks_blob_row *row = (void *)(image + h->first + i * ks_blob_row_size(h->blob_size));

		for (uint32_t j = 0; j < KS_BLOB_COPIES; j++) {
			struct ks_blob_copy *c = (void *)((char *)row + ks_blob_copy_at(j, h->blob_size));

			c->check = ks_rec_check(c + 1, ks_blob_rounded(h->blob_size), (uint32_t)c->number);
		}
		for (uint32_t j = 0; j < KS_BLOB_LOG; j++)
			row->log[j].check = ks_blob_entry_check(row->log[j].key, row->log[j].value);
	}
}

#endif
