/*
 * blob_update.c - statsblob kstats: how threads and processes update them. See kstat_blob.h, and
 * blob_layout.h for what lies where and why. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "provider/blob_layout.h"
#include "provider/segment/segment.h"
#include "provider/segment/segment_layout.h"
#include "stats/blob.h"
#include "stats/template.h"

/* --- the log: writers go on after a death in the middle of an update, readers get the blob as of one commit ------ */

static inline double
double_of(uint64_t bits)
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
apply(const struct statsblob *form, struct statsblob *blob, enum ks_blob_op op, int32_t voi,
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
		return ks_sb_update_dbl(f, to, voi, double_of(value), false);
	case KS_BLOB_REL_DBL:
		return ks_sb_update_dbl(f, to, voi, double_of(value), true);
	case KS_BLOB_UINT:
		return ks_sb_update_uint(f, to, voi, value, false);
	case KS_BLOB_REL_UINT:
		return ks_sb_update_uint(f, to, voi, value, true);
	default:
		return EINVAL;
	}
}

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
		(void)apply(blob, blob, (enum ks_blob_op)(e.key >> 16 & 0xffff),
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

/* --- one change of a row ------------------------------------------------------------------------- */

static int
overwritten(void)
{
	return ks_fail(EIO, "the memory of a statsblob was overwritten");
}

static bool
has_form(const kstat_blob_t *b, const struct statsblob *blob)
{
	return ks_sb_ok(ks_sb(blob)) && ks_sb_same_layout(ks_sb(ks_blob_form_of(b)), ks_sb(blob));
}

/*
 * Makes the blob as of commit `at` from the newest whole copy, in private memory. True, and *from is the
 * copy's.
 */
static bool
rebuild(const kstat_blob_t *b, struct ks_blob_row *row, uint32_t at, struct statsblob *blob, uint64_t *from)
{
	for (uint32_t age = 0; age <= KS_BLOB_LOG; age++) {
		for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
			const struct ks_blob_copy *c = ks_blob_copy_of(row, i, b->blob_size);

			*from = c->number;
			if (*from <= KS_WORD_SEQ_MASK && ks_blob_age(*from, at) == age &&
			    ks_blob_replay(row, c, at, b->blob_size, blob) && has_form(b, blob))
				return true;
		}
	}
	return false;
}

/*
 * What a writer that died left behind, or one that wrote what does not belong there: copies of what was never
 * committed are dropped, and the blob is made from the newest whole one. 0, or -1 with errno EIO, ENOMEM. The
 * row is locked.
 */
static __attribute__((noinline)) int
recover(const kstat_blob_t *b, struct ks_blob_row *row, uint32_t at)
{
	struct statsblob *blob = malloc(ks_blob_rounded(b->blob_size));
	uint64_t from = 0;
	bool done;

	if (blob == NULL)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
		struct ks_blob_copy *c = ks_blob_copy_of(row, i, b->blob_size);

		if (ks_blob_age(c->number, at) > KS_BLOB_AHEAD)
			c->number = KS_BLOB_NONE;
	}
	done = rebuild(b, row, at, blob, &from);
	if (done) {
		memcpy(ks_blob_of(row, b->blob_size), blob, b->blob_size);
		row->copied = from;
		atomic_store_explicit(&row->number, at, memory_order_release);
	}
	free(blob);
	return done ? 0 : overwritten();
}

/* Locks; *v is for commit or abort. The blob is at the last commit. 0, or -1 with errno. */
static inline int
open_row(const kstat_blob_t *b, struct ks_blob_row *row, uint64_t *v)
{
	*v = ks_word_lock(&row->word);
	if (__builtin_expect(*v == KS_WORD_BUSY, 0))
		return -1;
	if (__builtin_expect(atomic_load_explicit(&row->number, memory_order_relaxed) !=
	    KS_WORD_SEQ(*v), 0) && recover(b, row, KS_WORD_SEQ(*v)) != 0) {
		ks_word_abort(&row->word, *v);
		return -1;
	}
	return 0;
}

/*
 * Marks the blob as being changed, until commit_row() says which commit it is. If this thread dies in
 * between, the next one finds the mark, and makes the blob anew from the last copy and the log.
 */
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
set_aside(const kstat_blob_t *b, struct ks_blob_row *row, uint32_t number)
{
	size_t blob_size = b->blob_size, n = ks_blob_rounded(blob_size);
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
	e->check = ks_blob_entry_check(e->key, value);
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

/* Tries an update again that met something else than a digest. */
static __attribute__((noinline)) int
apply_again(const kstat_blob_t *b, struct ks_blob_row *row, uint32_t at, enum ks_blob_op op, int32_t voi,
    uint64_t value)
{
	if (recover(b, row, at) != 0)
		return EBADMSG;
	begin_change(row);
	return apply(ks_blob_form_of(b), ks_blob_of(row, b->blob_size), op, voi, value);
}

/*
 * Sets the blob aside. Where it lost its form, it is made from the last copy and the log, and its form is
 * back.
 */
static __attribute__((noinline)) void
keep(const kstat_blob_t *b, struct ks_blob_row *row, uint32_t number)
{
	if (has_form(b, ks_blob_of(row, b->blob_size)) || recover(b, row, number) == 0)
		set_aside(b, row, number);
}

/* Does one update of the thread's row. */
static inline __attribute__((always_inline)) int
update(const kstat_blob_t *b, enum ks_blob_op op, int32_t voi, uint64_t value)
{
	struct ks_blob_row *row;
	uint32_t number;
	uint64_t v;
	int err;

	if (__builtin_expect(b == NULL, 0))
		return ks_fail(EINVAL, "no statsblob");
	row = ks_blob_row_of(b, b->shards == 1 ? 0 : ks_thread_self() % b->shards);
	if (open_row(b, row, &v) != 0)
		return -1;
	number = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
	begin_change(row);
	err = apply(ks_blob_form_of(b), ks_blob_of(row, b->blob_size), op, voi, value);
	if (__builtin_expect(err == EBADMSG, 0))
		err = apply_again(b, row, KS_WORD_SEQ(v), op, voi, value);
	if (__builtin_expect(err == EINVAL || err == EBADMSG, 0)) {
		/*
		 * EINVAL: nothing was changed, so the blob is the last commit still. EBADMSG: others have
		 * overwritten it, and the mark makes the next thread look at it again.
		 */
		if (err == EINVAL)
			atomic_store_explicit(&row->number, KS_WORD_SEQ(v), memory_order_release);
		ks_word_abort(&row->word, v);
		return err == EINVAL ? ks_fail(err, "%s", what_failed(err)) : overwritten();
	}
	log_change(row, number, op, voi, value);
	if (__builtin_expect(ks_blob_age(row->copied, number) >= KS_BLOB_EVERY, 0))
		keep(b, row, number);
	commit_row(row, v);
	return __builtin_expect(err == 0, 1) ? 0 : ks_fail(err, "%s", what_failed(err));
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

/* --- whole blobs ------------------------------------------------------------------------- */

/* What replace() does to a row's blob: 0, or an errno that leaves it as it is but for EOVERFLOW. */
typedef int change_fn(struct statsblob *blob, const struct statsblob *from);

/* Locks a row, and copies its blob into memory of its size. 0, or -1 with errno: it is not locked then. */
static int
lock_whole(const kstat_blob_t *b, struct ks_blob_row *row, struct statsblob *to, uint64_t *v)
{
	if (open_row(b, row, v) != 0)
		return -1;
	memcpy(to, ks_blob_of(row, b->blob_size), b->blob_size);
	if (stats_blob_check(to, b->blob_size) == 0 && has_form(b, to))
		return 0;
	if (recover(b, row, KS_WORD_SEQ(*v)) == 0) {
		memcpy(to, ks_blob_of(row, b->blob_size), b->blob_size);
		if (stats_blob_check(to, b->blob_size) == 0 && has_form(b, to))
			return 0;
		(void)overwritten();
	}
	ks_word_abort(&row->word, *v);
	return -1;
}

/*
 * A change that no log entry could tell: it is made in a private copy, and set aside at once. 0, or -1 with
 * errno.
 */
static int
replace(kstat_blob_t *b, uint32_t shard, change_fn *change, const struct statsblob *from)
{
	struct ks_blob_row *row = ks_blob_row_of(b, shard);
	struct statsblob *blob = malloc(b->blob_size);
	uint32_t number;
	uint64_t v;
	int err;

	if (blob == NULL)
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	err = lock_whole(b, row, blob, &v) == 0 ? 0 : errno;
	if (err == 0 && (err = change(blob, from)) != 0 && err != EOVERFLOW) {
		ks_word_abort(&row->word, v);
		(void)ks_fail(err, err == EINVAL ? "a blob of another template" : "cannot merge a blob");
	} else if (err == 0 || err == EOVERFLOW) {
		number = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
		begin_change(row);
		memcpy(ks_blob_of(row, b->blob_size), blob, b->blob_size);
		log_change(row, number, KS_BLOB_STORE, 0, 0);
		set_aside(b, row, number);
		commit_row(row, v);
		if (err != 0)
			(void)ks_fail(err, "%s", what_failed(err));
	}
	free(blob);
	return err == 0 ? 0 : -1;
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
	return replace(b, ks_thread_self() % b->shards, stats_blob_merge, from);
}

int
kstat_blob_store(kstat_blob_t *b, const struct statsblob *from)
{
	if (b == NULL)
		return ks_fail(EINVAL, "no statsblob");
	if (replace(b, 0, from != NULL ? take_over : reset, from) != 0)
		return -1;
	for (uint32_t i = 1; i < b->shards; i++) {
		if (replace(b, i, reset, NULL) != 0)
			return -1;
	}
	return 0;
}

void
ks_blob_init_row(const kstat_blob_t *b, struct ks_blob_row *row)
{
	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++)
		ks_blob_copy_of(row, i, b->blob_size)->number = KS_BLOB_NONE;
	memcpy(ks_blob_of(row, b->blob_size), b->form, b->blob_size);
	set_aside(b, row, KS_WORD_SEQ(atomic_load(&row->word)));
	atomic_store_explicit(&row->number, row->copied, memory_order_release);
}

void
ks_blob_renew(kstat_blob_t *b)
{
	struct statsblob *copy = malloc(b->blob_size);
	uint64_t v;

	for (uint32_t i = 0; copy != NULL && i < b->shards; i++) {
		struct ks_blob_row *row = ks_blob_row_of(b, i);

		if (lock_whole(b, row, copy, &v) == 0) {
			ks_word_abort(&row->word, v);
		} else if (errno == EIO && (v = ks_word_lock(&row->word)) != KS_WORD_BUSY) {
			ks_blob_init_row(b, row);
			ks_word_abort(&row->word, v);
		}
	}
	free(copy);
}

/* A row's blob into memory of its size. 0, or -1 with errno. */
static int
copy_row(const kstat_blob_t *b, uint32_t shard, struct statsblob *to)
{
	struct ks_blob_row *row = ks_blob_row_of(b, shard);
	uint64_t v;

	if (lock_whole(b, row, to, &v) != 0)
		return -1;
	ks_word_abort(&row->word, v);
	return 0;
}

int
kstat_blob_copy(kstat_blob_t *b, struct statsblob **copy)
{
	struct statsblob *sum, *next;
	int rc, err;

	if (b == NULL || copy == NULL)
		return ks_fail(EINVAL, "no statsblob");
	sum = malloc(b->blob_size);
	next = malloc(b->blob_size);
	rc = sum != NULL && next != NULL ? copy_row(b, 0, sum) :
	    ks_fail(ENOMEM, "out of memory for a statsblob");
	for (uint32_t i = 1; rc == 0 && i < b->shards; i++) {
		rc = copy_row(b, i, next);
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
