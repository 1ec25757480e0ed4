/*
 * blob_update.c - statsblob kstats: how threads and processes update them. See kstat_blob.h, and
 * blob_layout.h for what lies where and why. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "provider/blob_memory.h"
#include "provider/segment/segment.h"
#include "stats/blob.h"
#include "stats/template.h"

/* --- one change of a row ------------------------------------------------------------------------- */

/*
 * What a writer that died left behind: copies of what it never committed are dropped, and the blob is made
 * from the newest whole one. 0, or -1 with errno EIO. The row is locked.
 */
static __attribute__((noinline)) int
recover(struct ks_blob_row *row, uint32_t at, size_t blob_size)
{
	bool done = false;

	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
		struct ks_blob_copy *c = ks_blob_copy_of(row, i, blob_size);

		if (ks_blob_age(c->number, at) > KS_BLOB_AHEAD)
			c->number = KS_BLOB_NONE;
	}
	for (uint32_t age = 0; !done && age <= KS_BLOB_LOG; age++) {
		for (uint32_t i = 0; !done && i < KS_BLOB_COPIES; i++) {
			const struct ks_blob_copy *c = ks_blob_copy_of(row, i, blob_size);

			if (c->number > KS_WORD_SEQ_MASK || ks_blob_age(c->number, at) != age)
				continue;
			done = ks_blob_replay(row, c, at, blob_size, ks_blob_of(row, blob_size));
			if (done)
				row->copied = c->number;
		}
	}
	if (!done)
		return ks_fail(EIO, "the memory of a statsblob was overwritten");
	atomic_store_explicit(&row->number, at, memory_order_release);
	return 0;
}

/* Locks; *v is for commit or abort. The blob is whole and at the last commit. 0, or -1 with errno. */
static inline int
open_row(struct ks_blob_row *row, size_t blob_size, uint64_t *v)
{
	*v = ks_word_lock(&row->word);
	if (__builtin_expect(*v == KS_WORD_BUSY, 0))
		return -1;
	if (__builtin_expect(atomic_load_explicit(&row->number, memory_order_relaxed) !=
	    KS_WORD_SEQ(*v), 0) && recover(row, KS_WORD_SEQ(*v), blob_size) != 0) {
		ks_word_abort(&row->word, *v);
		return -1;
	}
	return 0;
}

/* From here to commit_row() the blob is nobody's: whoever comes after a death makes it anew. */
static inline void
begin_change(struct ks_blob_row *row)
{
	atomic_store_explicit(&row->number, KS_BLOB_NONE, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void
commit_row(struct ks_blob_row *row, uint64_t v)
{
	atomic_store_explicit(&row->number, (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK,
	    memory_order_release);
	ks_word_commit(&row->word, v);
}

/* Sets the blob aside as commit `number`, in place of the oldest copy. */
static __attribute__((noinline)) void
set_aside(struct ks_blob_row *row, uint32_t number, size_t blob_size)
{
	size_t n = ks_blob_rounded(blob_size);
	struct ks_blob_copy *to = NULL;
	uint32_t age = 0;

	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
		struct ks_blob_copy *c = ks_blob_copy_of(row, i, blob_size);

		if (c->number > KS_WORD_SEQ_MASK) {
			to = c;
			break;
		}
		if (to == NULL || ks_blob_age(c->number, number) > age) {
			to = c;
			age = ks_blob_age(c->number, number);
		}
	}
	to->number = KS_BLOB_NONE;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(to + 1, ks_blob_of(row, blob_size), n);
	to->check = ks_rec_check(to + 1, n, number);
	atomic_signal_fence(memory_order_seq_cst);
	to->number = number;
	row->copied = number;
}

static inline void
log_change(struct ks_blob_row *row, uint32_t number, enum ks_blob_op op, int32_t voi, uint64_t value)
{
	struct ks_blob_entry *e = &row->log[number % KS_BLOB_LOG];

	e->key = (uint64_t)number << 32 | (uint64_t)op << 16 | (uint16_t)voi;
	e->value = value;
	e->check = ks_hist_check(e->key, value);
}

static const char *
what_failed(int err)
{
	switch (err) {
	case EINVAL:
		return "no such value of interest, or not one for this update";
	case ERANGE:
		return "the value is not one of its type";
	default:
		return "the value is too large for a statistic";
	}
}

_Static_assert(offsetof(struct ks_sb, created) == 16 && sizeof(struct ks_sb) == 32, "pairs of words");

/* Two words that a processor compares at once. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline bool
has_form(const struct ks_blob_held *h, const struct ks_blob_row *row)
{
	const pair *found = (const void *)((const char *)row + ks_blob_at(h->blob_size));
	const pair *form = (const void *)h->form, *mask = form + h->npairs;
	pair other = found[0] ^ form[0];

	/* The second pair has the times of creation and reset, which differ. */
	for (uint32_t i = 2; i < h->npairs; i++)
		other |= (found[i] ^ form[i]) & mask[i];
	return (other[0] | other[1]) == 0;
}

/* Makes the blob anew from a copy, which has a check, if it has not its form. 0, or -1 with errno EIO. */
static __attribute__((noinline)) int
restore_form(const struct ks_blob_held *h, struct ks_blob_row *row, uint64_t v)
{
	if (recover(row, KS_WORD_SEQ(v), h->blob_size) == 0 && has_form(h, row))
		return 0;
	ks_word_abort(&row->word, v);
	return ks_fail(EIO, "the memory of a statsblob was overwritten");
}

/* Does one update of a row. h: NULL where the memory is believed. */
static inline __attribute__((always_inline)) int
update_row(struct ks_blob_row *row, size_t blob_size, const struct ks_blob_held *h, enum ks_blob_op op,
    int32_t voi, uint64_t value)
{
	uint32_t number;
	uint64_t v;
	int err;

	if (open_row(row, blob_size, &v) != 0)
		return -1;
	if (h != NULL && __builtin_expect(!has_form(h, row), 0) && restore_form(h, row, v) != 0)
		return -1;
	number = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
	begin_change(row);
	err = ks_blob_apply(ks_blob_of(row, blob_size), op, voi, value);
	if (__builtin_expect(err == EINVAL, 0)) {
		/* It was refused before anything changed. */
		atomic_store_explicit(&row->number, KS_WORD_SEQ(v), memory_order_release);
		ks_word_abort(&row->word, v);
		return ks_fail(err, "%s", what_failed(err));
	}
	log_change(row, number, op, voi, value);
	if (__builtin_expect(ks_blob_age(row->copied, number) >= KS_BLOB_EVERY, 0))
		set_aside(row, number, blob_size);
	commit_row(row, v);
	return __builtin_expect(err == 0, 1) ? 0 : ks_fail(err, "%s", what_failed(err));
}

static inline __attribute__((always_inline)) int
update(kstat_blob_t *b, enum ks_blob_op op, int32_t voi, uint64_t value)
{
	struct ks_blob_row *row;

	if (__builtin_expect(b == NULL, 0))
		return ks_fail(EINVAL, "no statsblob");
	row = ks_blob_row_of(b, ks_blob_head_of(b)->shards == 1 ? 0 : ks_thread_self() % ks_blob_head_of(b)->shards);
	return update_row(row, ks_blob_head_of(b)->blob_size, NULL, op, voi, value);
}

static inline __attribute__((always_inline)) int
held_update(const struct ks_blob_held *h, enum ks_blob_op op, int32_t voi, uint64_t value)
{
	size_t at = h->shards == 1 ? 0 : ks_thread_self() % h->shards * h->row_size;

	return update_row((void *)((char *)h->row + at), h->blob_size, h, op, voi, value);
}

int
kstat_blob_update_int(kstat_blob_t *b, int32_t voi_id, int64_t v, bool rel)
{
	return update(b, rel ? KS_BLOB_REL_INT : KS_BLOB_INT, voi_id, (uint64_t)v);
}

int
kstat_blob_update_uint(kstat_blob_t *b, int32_t voi_id, uint64_t v, bool rel)
{
	return update(b, rel ? KS_BLOB_REL_UINT : KS_BLOB_UINT, voi_id, v);
}

int
kstat_blob_update_dbl(kstat_blob_t *b, int32_t voi_id, double v, bool rel)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return update(b, rel ? KS_BLOB_REL_DBL : KS_BLOB_DBL, voi_id, bits);
}

int
ks_blob_held_update_int(const struct ks_blob_held *h, int32_t voi_id, int64_t v, bool rel)
{
	return held_update(h, rel ? KS_BLOB_REL_INT : KS_BLOB_INT, voi_id, (uint64_t)v);
}

int
ks_blob_held_update_uint(const struct ks_blob_held *h, int32_t voi_id, uint64_t v, bool rel)
{
	return held_update(h, rel ? KS_BLOB_REL_UINT : KS_BLOB_UINT, voi_id, v);
}

int
ks_blob_held_update_dbl(const struct ks_blob_held *h, int32_t voi_id, double v, bool rel)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return held_update(h, rel ? KS_BLOB_REL_DBL : KS_BLOB_DBL, voi_id, bits);
}

size_t
ks_blob_held_size(uint32_t tpl_id)
{
	const struct statsblob_tpl *t;
	size_t size = 0;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t != NULL)
		size = sizeof(struct ks_blob_held) +
		    (t->image->statsdata_off + 15u) / 16 * 2 * sizeof(struct ks_blob_pair);
	ks_tpl_unlock();
	return size;
}

/* Stores the words of a blob of the template before its data, of which each blob has 8 bytes at least. */
static void
note_form(struct ks_blob_held *h, const struct ks_sb *image)
{
	size_t end = image->statsdata_off, pairs = (end + 15) / 16;
	char *form = (char *)h->form, *mask = (char *)(h->form + pairs);

	h->npairs = (uint32_t)pairs;
	memset(form, 0, 2 * pairs * sizeof(struct ks_blob_pair));
	memcpy(form, image, end);
	memset(mask, 0xff, end);
	for (size_t at = image->stats_off; at < end; at += sizeof(struct ks_vs))
		memset(mask + at + offsetof(struct ks_vs, errs), 0,
		    sizeof(struct ks_vs) - offsetof(struct ks_vs, errs));
}

int
ks_blob_hold(kstat_t *ksp, uint32_t tpl_id, struct ks_blob_held *h)
{
	kstat_blob_t *b = kstat_blob(ksp);
	const struct statsblob_tpl *t;
	struct ks_sb *image;
	uint32_t nvois = 0;
	size_t n;

	if (b == NULL)
		return -1;
	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	n = t != NULL ? t->image->cursz : 0;
	image = n > 0 ? malloc(n) : NULL;
	if (image != NULL) {
		memcpy(image, t->image, n);
		image->maxsz = image->cursz;
		for (uint32_t i = 0; i < ks_sb_nvois(image); i++)
			nvois += ks_sb_voi(image, i)->id >= 0;
	}
	ks_tpl_unlock();
	if (image == NULL)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	*h = (struct ks_blob_held){ .blob = b, .blob_size = n, .row_size = ks_blob_row_size(n),
		.row = (void *)((char *)b + ks_blob_first(nvois)), .shards = ks_blob_head_of(b)->shards };
	h->size = ks_blob_first(nvois) + h->shards * h->row_size;
	note_form(h, image);
	free(image);
	/* The head is whole, and has a check; it must be that of the template, too. */
	return ks_blob_head_of(b)->blob_size == n && ks_blob_head_of(b)->nvois == nvois && h->shards >= 1 &&
	    h->shards <= KS_BLOB_MOST_SHARDS && h->size <= ksp->ks_ndata ? 0 :
	    ks_fail(EIO, "the memory of a statsblob was overwritten");
}

/* --- whole blobs ------------------------------------------------------------------------- */

/* What replace() does to a row's blob: 0, or an errno that leaves it as it is but for EOVERFLOW. */
typedef int change_fn(struct statsblob *blob, const struct statsblob *from);

/* A change that no log entry could tell: the blob is set aside at once. 0, or -1 with errno. */
static int
replace(kstat_blob_t *b, uint32_t shard, change_fn *change, const struct statsblob *from)
{
	size_t blob_size = ks_blob_head_of(b)->blob_size;
	struct ks_blob_row *row = ks_blob_row_of(b, shard);
	uint32_t number;
	uint64_t v;
	int err;

	if (open_row(row, blob_size, &v) != 0)
		return -1;
	number = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
	begin_change(row);
	err = change(ks_blob_of(row, blob_size), from);
	if (err != 0 && err != EOVERFLOW) {
		/* The next change makes the blob anew from what was committed. */
		ks_word_abort(&row->word, v);
		return ks_fail(err, err == EINVAL ? "a blob of another template" : "cannot merge a blob");
	}
	log_change(row, number, KS_BLOB_STORE, 0, 0);
	set_aside(row, number, blob_size);
	commit_row(row, v);
	return err == 0 ? 0 : ks_fail(err, "%s", what_failed(err));
}

static int
take_over(struct statsblob *blob, const struct statsblob *from)
{
	struct ks_sb *to = ks_sb(blob);
	const struct ks_sb *sb = ks_sb(from);

	if (!ks_sb_ok(sb) || !ks_sb_same_layout(to, sb))
		return EINVAL;
	memcpy(to, sb, sb->cursz);
	to->maxsz = to->cursz;
	return 0;
}

static int
reset(struct statsblob *blob, const struct statsblob *from)
{
	(void)from;
	return stats_blob_reset(blob);
}

int
kstat_blob_merge(kstat_blob_t *b, const struct statsblob *from)
{
	if (b == NULL || from == NULL)
		return ks_fail(EINVAL, "no statsblob");
	return replace(b, ks_thread_self() % ks_blob_head_of(b)->shards, stats_blob_merge, from);
}

int
kstat_blob_store(kstat_blob_t *b, const struct statsblob *from)
{
	if (b == NULL)
		return ks_fail(EINVAL, "no statsblob");
	if (replace(b, 0, from != NULL ? take_over : reset, from) != 0)
		return -1;
	for (uint32_t i = 1; i < ks_blob_head_of(b)->shards; i++) {
		if (replace(b, i, reset, NULL) != 0)
			return -1;
	}
	return 0;
}

/* A row's blob into memory of its size. 0, or -1 with errno. */
static int
copy_row(struct ks_blob_row *row, size_t blob_size, struct statsblob *to)
{
	uint64_t v;

	if (open_row(row, blob_size, &v) != 0)
		return -1;
	memcpy(to, ks_blob_of(row, blob_size), blob_size);
	ks_word_abort(&row->word, v);
	return stats_blob_check(to, blob_size) == 0 ? 0 :
	    ks_fail(EIO, "the memory of a statsblob was overwritten");
}

int
kstat_blob_copy(kstat_blob_t *b, struct statsblob **copy)
{
	struct statsblob *sum, *next;
	size_t blob_size;
	int rc, err;

	if (b == NULL || copy == NULL)
		return ks_fail(EINVAL, "no statsblob");
	blob_size = ks_blob_head_of(b)->blob_size;
	sum = malloc(blob_size);
	next = malloc(blob_size);
	rc = sum != NULL && next != NULL ? copy_row(ks_blob_row_of(b, 0), blob_size, sum) :
	    ks_fail(ENOMEM, "out of memory for a statsblob");
	for (uint32_t i = 1; rc == 0 && i < ks_blob_head_of(b)->shards; i++) {
		rc = copy_row(ks_blob_row_of(b, i), blob_size, next);
		err = rc == 0 ? stats_blob_merge(sum, next) : 0;
		if (err != 0 && err != EOVERFLOW)
			rc = ks_fail(err, "cannot merge the shards of a statsblob");
	}
	free(next);
	if (rc == 0)
		*copy = sum;
	else
		free(sum);
	return rc;
}
