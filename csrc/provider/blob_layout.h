/*
 * blob_layout.h - how a statsblob kstat lies in memory that many threads and processes update and
 * others read: the data of a RAW kstat with layout "statsblob:HASH:HASH" in a segment (KS_FORM_BYTES), or
 * of a kstat of this process. Fixed widths, the writer's byte order.
 *
 *     struct ks_blob_head, then struct ks_blob_voi[nvois]: never change
 *     struct ks_blob_row, `shards` times, `row` bytes from one to the next; each:
 *         log        the last updates, by number modulo KS_BLOB_LOG
 *         copies     KS_BLOB_COPIES whole blobs with their number and a check
 *         blob       the blob that updates change
 *
 * Copying a blob for each update would cost more than the update. So writers change one blob in
 * place, log what they did (VOI and value, with a check), and set a copy aside every KS_BLOB_EVERY
 * updates. The word (word.h) counts what was committed. What the blob is at commit n follows from any
 * copy that is not newer and the log from there to n, since updates give the same result
 * wherever they are done: that is how readers get a blob that was complete at one instant, from bytes that
 * go on changing while they copy them, and how the next writer gets one after a death in mid-update.
 *
 * Each shard is a blob of its own; readers merge them. A thread updates the shard that its ID
 * chooses. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_BLOB_LAYOUT_H
#define PROVIDER_BLOB_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat_blob.h"
#include "model/blobstat.h"
#include "provider/segment/word.h"

#define KS_BLOB_MAGIC 0x626f6c62u
#define KS_BLOB_VERSION 1u
#define KS_BLOB_LAYOUT "statsblob:" /* before the hashes of template and descriptions */

#define KS_BLOB_LOG 128u   /* a power of two */
#define KS_BLOB_EVERY 64u
#define KS_BLOB_COPIES 3u
#define KS_BLOB_MOST_SHARDS 64u

struct ks_blob_head {
	uint32_t magic;
	uint32_t version;
	uint32_t blob_size; /* bytes of a blob */
	uint32_t nvois;
	uint32_t shards;
	uint32_t first;     /* offset of the first row */
	uint64_t row;       /* bytes from one row to the next */
	uint64_t check;     /* of all the above and the VOIs */
	uint64_t pad[3];
};

/* What an update did; values as the function of that name takes them. */
enum ks_blob_op {
	KS_BLOB_STORE, /* something else: only a copy tells */
	KS_BLOB_INT,   /* stats_voi_update_int() */
	KS_BLOB_DBL,   /* stats_voi_update_dbl(); the value's bits */
	KS_BLOB_REL_INT,
	KS_BLOB_REL_DBL,
	KS_BLOB_UINT, /* stats_voi_update_uint() */
	KS_BLOB_REL_UINT
};

struct ks_blob_entry {
	uint64_t key;   /* commit number << 32 | op << 16 | VOI */
	uint64_t value;
	uint64_t check; /* ks_blob_entry_check(key, value) */
};

#define KS_BLOB_NONE UINT64_MAX /* as the number of a copy: none; of the blob: being changed */

struct ks_blob_copy {
	uint64_t number; /* of the commit after which the blob was like this */
	uint64_t check;  /* ks_rec_check() */
	/* the blob, rounded up to 8 bytes */
};

struct ks_blob_row {
	ks_word word;
	_Atomic uint64_t number; /* of the commit that the blob is at */
	uint64_t copied;         /* number of the newest copy */
	uint64_t pad[5];
	struct ks_blob_entry log[KS_BLOB_LOG];
	/* the copies, the blob */
};

_Static_assert(sizeof(struct ks_blob_head) == 64, "statsblob kstat");
_Static_assert(offsetof(struct ks_blob_row, log) == 64, "statsblob kstat");

static inline uint64_t
ks_blob_entry_check(uint64_t key, uint64_t value)
{
	uint64_t h = (key ^ 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ (value + 0x632be59bd9b4e019ULL) * 0xc4ceb9fe1a85ec53ULL;
}

static inline size_t
ks_blob_rounded(size_t blob_size)
{
	return (blob_size + 7) & ~(size_t)7;
}

/* Offset of the i-th copy in a row; of the blob, which comes behind the copies. */
static inline size_t
ks_blob_copy_at(uint32_t i, size_t blob_size)
{
	return sizeof(struct ks_blob_row) + i * (sizeof(struct ks_blob_copy) + ks_blob_rounded(blob_size));
}

static inline size_t
ks_blob_at(size_t blob_size)
{
	return ks_blob_copy_at(KS_BLOB_COPIES, blob_size);
}

/* Bytes of a row, whole cache lines. */
static inline size_t
ks_blob_row_size(size_t blob_size)
{
	return (ks_blob_at(blob_size) + ks_blob_rounded(blob_size) + 63) & ~(size_t)63;
}

static inline size_t
ks_blob_first(size_t nvois)
{
	return (sizeof(struct ks_blob_head) + nvois * sizeof(struct ks_blob_voi) + 63) & ~(size_t)63;
}

/* How many commits number a lies before b. Numbers wrap. */
static inline uint32_t
ks_blob_age(uint64_t a, uint64_t b)
{
	return (uint32_t)(b - a) & KS_WORD_SEQ_MASK;
}

#define KS_BLOB_AHEAD (KS_WORD_SEQ_MASK / 2) /* an age above it: not committed yet */

/*
 * Brings *copy (n bytes, in a row of one's own or locked) to commit `to` by the row's log: into `blob`,
 * rounded bytes. False if the copy is not whole, or the log does not lead there.
 */
bool ks_blob_replay(const struct ks_blob_row *row, const struct ks_blob_copy *copy, uint32_t to,
    size_t blob_size, struct statsblob *blob);

/*
 * What a process knows of a statsblob kstat that it updates. Others that share the memory may write anything
 * there, at any time, so everything that decides about addresses is kept here: where the rows lie, and a blob
 * of the template, by which the blobs in the rows are updated (stats/blob.h).
 */
struct kstat_blob {
	size_t size;      /* of all of this, bytes */
	char *memory;     /* struct ks_blob_head and what follows it; NULL: the kstat is not installed */
	size_t blob_size, row_size;
	uint32_t first;   /* offset of the first row */
	uint32_t shards, nvois;
	uint64_t form[];  /* a blob without samples, of blob_size bytes rounded up; then the VOIs */
};

static inline size_t
ks_blob_known_size(size_t blob_size, size_t nvois)
{
	return sizeof(struct kstat_blob) + ks_blob_rounded(blob_size) + nvois * sizeof(struct ks_blob_voi);
}

/* Returns what is wrong with the part of the n bytes of a kstat that never changes, or NULL. */
const char *ks_blob_check_head(const char *bytes, size_t n);

/* --- where the parts lie, for the files that write there --- */

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

/* Makes a row without samples. */
void ks_blob_init_row(const kstat_blob_t *b, struct ks_blob_row *row);

/* Makes each row anew that others overwrote, so that it cannot be recovered from its copies and its log. */
void ks_blob_renew(kstat_blob_t *b);

#endif
