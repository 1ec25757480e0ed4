/*
 * blob_memory.h - where the parts of a statsblob kstat lie in its memory, for the files that write there.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_BLOB_MEMORY_H
#define PROVIDER_BLOB_MEMORY_H

#include <errno.h>
#include <string.h>

#include "kstat_blob.h"
#include "provider/blob_layout.h"
#include "stats/blob.h"

/* Of a blob's memory, or of the first contents of it. */
static inline struct ks_blob_head *
ks_blob_head_of(void *memory)
{
	return memory;
}

static inline struct ks_blob_voi *
ks_blob_vois_of(void *memory)
{
	return (struct ks_blob_voi *)(ks_blob_head_of(memory) + 1);
}

static inline struct statsblob *
ks_blob_form_of(const kstat_blob_t *b)
{
	return (struct statsblob *)(uintptr_t)b->form;
}

/* The VOIs as this process knows them. */
static inline struct ks_blob_voi *
ks_blob_known_vois(const kstat_blob_t *b)
{
	return (struct ks_blob_voi *)((uintptr_t)b->form + ks_blob_rounded(b->blob_size));
}

static inline struct ks_blob_row *
ks_blob_row_of(const kstat_blob_t *b, uint32_t i)
{
	return (struct ks_blob_row *)(void *)(b->memory + b->first + i * b->row_size);
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

static inline double
ks_blob_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

/*
 * Does one update of a blob as an entry of the log says it; `form` as in stats/blob.h. 0, or the errno of
 * ks_sb_update_*(). Inlined, as most callers know the operation.
 */
static inline __attribute__((always_inline)) int
ks_blob_apply(const struct statsblob *form, struct statsblob *blob, enum ks_blob_op op, int32_t voi,
    uint64_t value)
{
	const struct ks_sb *f = ks_sb(form);
	struct ks_sb *to = ks_sb(blob);

	switch (op) {
	case KS_BLOB_INT:
		return ks_sb_update_int(f, to, voi, (int64_t)value, false);
	case KS_BLOB_REL_INT:
		return ks_sb_update_int(f, to, voi, (int64_t)value, true);
	case KS_BLOB_DBL:
		return ks_sb_update_dbl(f, to, voi, ks_blob_double(value), false);
	case KS_BLOB_REL_DBL:
		return ks_sb_update_dbl(f, to, voi, ks_blob_double(value), true);
	case KS_BLOB_UINT:
		return ks_sb_update_uint(f, to, voi, value, false);
	case KS_BLOB_REL_UINT:
		return ks_sb_update_uint(f, to, voi, value, true);
	default:
		return EINVAL;
	}
}

/* Makes a row without samples. */
void ks_blob_init_row(const kstat_blob_t *b, struct ks_blob_row *row);

/* Makes each row anew that others overwrote, so that it cannot be recovered from its copies and its log. */
void ks_blob_renew(kstat_blob_t *b);

#endif
