/*
 * read_blob.c - reads a published statsblob kstat from a copy of its bytes, which may be torn or hostile.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "provider/blob_layout.h"
#include "source/segment/segment_file.h"

/* Stores the blob of a row as of its last commit; false if it was changing. */
static bool
read_row(const struct ks_blob_row *row, size_t blob_size, struct statsblob *blob)
{
	uint64_t word;
	uint32_t to, age = 0;
	bool tried[KS_BLOB_COPIES] = { false };

	memcpy(&word, &row->word, sizeof(word));
	to = KS_WORD_SEQ(word);
	/* The newest first. */
	for (uint32_t round = 0; round < KS_BLOB_COPIES; round++) {
		const struct ks_blob_copy *best = NULL;
		uint32_t index = 0;

		for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
			const struct ks_blob_copy *c =
			    (const void *)((const char *)row + ks_blob_copy_at(i, blob_size));

			if (tried[i] || c->number > KS_WORD_SEQ_MASK ||
			    (best != NULL && ks_blob_age(c->number, to) >= age))
				continue;
			best = c;
			index = i;
			age = ks_blob_age(c->number, to);
		}
		if (best == NULL || age > KS_BLOB_LOG)
			return false;
		tried[index] = true;
		if (ks_blob_replay(row, best, to, blob_size, blob))
			return true;
	}
	return false;
}

/* Adds the blob `next`, the i-th, to the sum. */
static int
add_next(struct statsblob *sum, struct statsblob *next, uint32_t i, size_t blob_size)
{
	int err;

	if (next->cursz != blob_size)
		return ks_fail(EIO, "a statsblob of another size");
	next->maxsz = next->cursz;
	if (i == 0) {
		memcpy(sum, next, blob_size);
		return 0;
	}
	err = stats_blob_merge(sum, next);
	if (err == ENOMEM)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	/* A fixed-point sum that does not fit is counted in the blob's own errors. */
	return err == EINVAL ? ks_fail(EIO, "shards of a statsblob that differ") : 0;
}

int
ks_seg_blob_merge(const char *bytes, size_t n, struct ks_buf *b)
{
	const struct ks_blob_head *h = (const void *)bytes;
	const char *wrong = ks_blob_check_head(bytes, n);
	struct statsblob *sum, *next;
	size_t rounded;

	if (wrong != NULL)
		return ks_fail(EIO, "%s", wrong);
	rounded = ks_blob_rounded(h->blob_size);
	ks_buf_reset(b);
	sum = ks_buf_zeroed(b, 2 * rounded);
	if (sum == NULL)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	next = (struct statsblob *)(void *)(b->data + rounded);
	for (uint32_t i = 0; i < h->shards; i++) {
		if (!read_row((const void *)(bytes + h->first + i * h->row), h->blob_size, next))
			return 0;
		if (add_next(sum, next, i, h->blob_size) != 0)
			return -1;
	}
	/* What others wrote into a digest may be noticed only when values come to it. */
	return stats_blob_check(sum, h->blob_size) == 0 ? 1 :
	    ks_fail(EIO, "a statsblob whose values contradict each other");
}

int
ks_seg_blob_read(const char *bytes, size_t n, struct ks_record *r)
{
	const struct ks_blob_head *h = (const void *)bytes;
	struct ks_buf b = KS_BUF_INIT;
	int rc = ks_seg_blob_merge(bytes, n, &b);

	if (rc == 1 && ks_blobstat_build(r, (const void *)b.data, (const void *)(h + 1), h->nvois) != 0)
		rc = -1;
	ks_buf_free(&b);
	return rc;
}
