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

/* Two blobs in aligned memory: the sum so far, and the next. */
struct pair {
	struct ks_buf buf;
	struct statsblob *sum, *next;
};

static int
open_pair(struct pair *p, size_t blob_size)
{
	size_t n = ks_blob_rounded(blob_size);

	p->buf = (struct ks_buf)KS_BUF_INIT;
	p->sum = ks_buf_zeroed(&p->buf, 2 * n);
	if (p->sum == NULL)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	p->next = (struct statsblob *)(void *)((char *)p->sum + n);
	return 0;
}

/* Adds the blob at p->next, the i-th, to the sum. */
static int
add_next(struct pair *p, uint32_t i, size_t blob_size)
{
	int err;

	if (p->next->cursz != blob_size)
		return ks_fail(EIO, "a statsblob of another size");
	p->next->maxsz = p->next->cursz;
	if (i == 0) {
		memcpy(p->sum, p->next, blob_size);
		return 0;
	}
	err = stats_blob_merge(p->sum, p->next);
	if (err == ENOMEM)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	/* A fixed-point sum that does not fit is counted in the blob's own errors. */
	return err == EINVAL ? ks_fail(EIO, "shards of a statsblob that differ") : 0;
}

int
ks_seg_blob_read(const char *bytes, size_t n, struct ks_record *r)
{
	const struct ks_blob_head *h = (const void *)bytes;
	const struct ks_blob_voi *vois = (const void *)(bytes + sizeof(*h));
	const char *wrong = ks_blob_check_head(bytes, n);
	struct pair p;
	int rc;

	if (wrong != NULL)
		return ks_fail(EIO, "%s", wrong);
	if (open_pair(&p, h->blob_size) != 0)
		return -1;
	rc = 1;
	for (uint32_t i = 0; rc == 1 && i < h->shards; i++) {
		const char *row = bytes + h->first + i * h->row;

		if (!read_row((const void *)row, h->blob_size, p.next))
			rc = 0;
		else if (add_next(&p, i, h->blob_size) != 0)
			rc = -1;
	}
	/* What others wrote into a digest may be noticed only when values come to it. */
	if (rc == 1 && stats_blob_check(p.sum, h->blob_size) != 0)
		rc = ks_fail(EIO, "a statsblob whose values contradict each other");
	if (rc == 1 && ks_blobstat_build(r, p.sum, vois, h->nvois) != 0)
		rc = -1;
	ks_buf_free(&p.buf);
	return rc;
}
