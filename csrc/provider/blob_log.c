/*
 * blob_log.c - applies the log of a statsblob kstat (blob_layout.h). Writers do so to go on after a death
 * in the middle of an update, readers to get the blob as of one commit. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "provider/blob_memory.h"
#include "provider/segment/segment_layout.h"

bool
ks_blob_replay(const struct ks_blob_row *row, const struct ks_blob_copy *copy, uint32_t to,
    size_t blob_size, struct statsblob *blob)
{
	uint32_t from = (uint32_t)copy->number, updates = ks_blob_age(copy->number, to);
	size_t n = ks_blob_rounded(blob_size);

	if (copy->number > KS_WORD_SEQ_MASK || updates > KS_BLOB_LOG)
		return false;
	/* The blob, not the copy, is what was checked: the copy may be changing. */
	memcpy(blob, copy + 1, n);
	if (copy->check != ks_rec_check(blob, n, from) || stats_blob_check(blob, blob_size) != 0)
		return false;
	for (uint32_t i = 1; i <= updates; i++) {
		uint32_t number = (from + i) & KS_WORD_SEQ_MASK;
		struct ks_blob_entry e;

		memcpy(&e, &row->log[number % KS_BLOB_LOG], sizeof(e));
		if (e.check != ks_blob_entry_check(e.key, e.value) || e.key >> 32 != number ||
		    (e.key >> 16 & 0xffff) == KS_BLOB_STORE)
			return false;
		(void)ks_blob_apply(blob, blob, (enum ks_blob_op)(e.key >> 16 & 0xffff),
		    (int32_t)(e.key & 0xffff), e.value);
	}
	return true;
}

const char *
ks_blob_check_head(const char *bytes, size_t n)
{
	const struct ks_blob_head *h = (const void *)bytes;
	const struct ks_blob_voi *vois = (const void *)(bytes + sizeof(*h));
	uint64_t check;

	if (n < sizeof(*h) || h->magic != KS_BLOB_MAGIC)
		return "no statsblob where one should be";
	if (h->version != KS_BLOB_VERSION)
		return "a statsblob of another version";
	if (h->blob_size < sizeof(struct statsblob) || h->blob_size > UINT16_MAX ||
	    h->nvois > KS_BLOB_MOST_VOIS || h->shards == 0 || h->shards > KS_BLOB_MOST_SHARDS ||
	    h->first != ks_blob_first(h->nvois) || h->row != ks_blob_row_size(h->blob_size) ||
	    h->first + h->shards * h->row > n)
		return "a statsblob whose sizes are impossible";
	check = ks_hash_bytes(KS_HASH_INIT, h, offsetof(struct ks_blob_head, check));
	if (h->check != ks_hash_bytes(check, vois, h->nvois * sizeof(*vois)))
		return "a statsblob whose head was changed";
	if (!ks_blob_vois_check(vois, h->nvois))
		return "a statsblob without proper names";
	return NULL;
}
