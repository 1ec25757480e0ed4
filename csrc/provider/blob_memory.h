/*
 * blob_memory.h - where the parts of a statsblob kstat lie in its memory, for the files that write there.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_BLOB_MEMORY_H
#define PROVIDER_BLOB_MEMORY_H

#include "kstat_blob.h"
#include "provider/blob_layout.h"
#include "stats/blob.h"

/* A kstat_blob_t is the memory itself, which starts with this. */
static inline struct ks_blob_head *
ks_blob_head_of(const kstat_blob_t *b)
{
	return (struct ks_blob_head *)(uintptr_t)b;
}

static inline struct ks_blob_voi *
ks_blob_vois_of(const kstat_blob_t *b)
{
	return (struct ks_blob_voi *)(ks_blob_head_of(b) + 1);
}

static inline struct ks_blob_row *
ks_blob_row_of(const kstat_blob_t *b, uint32_t i)
{
	const struct ks_blob_head *h = ks_blob_head_of(b);

	return (struct ks_blob_row *)((char *)(uintptr_t)b + h->first + i * h->row);
}

static inline struct ks_blob_copy *
ks_blob_copy_of(struct ks_blob_row *row, uint32_t i, size_t blob_size)
{
	return (struct ks_blob_copy *)((char *)row + ks_blob_copy_at(i, blob_size));
}

static inline struct statsblob *
ks_blob_of(struct ks_blob_row *row, size_t blob_size)
{
	return (struct statsblob *)((char *)row + ks_blob_at(blob_size));
}

#endif
