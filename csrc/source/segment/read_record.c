/*
 * read_record.c - reading the data of one published kstat. See segment_file.h, and
 * segment_layout.h for why a copy is the record as it was at one instant.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "model/histstat.h"
#include "model/ioqueue.h"
#include "model/raw_layout.h"
#include "provider/blob_layout.h"
#include "provider/segment/directory.h"
#include "source/segment/segment_file.h"

#define TRIES 200    /* copies of a record that keeps changing, before EAGAIN */
#define YIELD_AFTER 20
#define CLOCKS_APART 2000 /* ns by which writers' clocks may be behind (base/clock.h) */

static int
short_file(const struct ks_seg_file *f, const struct ks_seg_kstat *k)
{
	return ks_fail(EIO, "%s:%d:%s: %s was cut off", k->shape->e.module, k->instance, k->name, f->path);
}

/* n bytes at an offset within the file, all or nothing. */
static bool
copy(const struct ks_seg_file *f, void *to, size_t n, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(f->fd, to, n, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)n;
}

bool
ks_seg_kstat_is(const struct ks_seg_kstat *k, const struct ks_seg_entry *now)
{
	uint32_t state = atomic_load(&now->state);

	return now->crtime == k->crtime && now->check == k->check && now->size == k->shape->e.size &&
	    (state == KS_SEG_INSTALLED || state == KS_SEG_DORMANT);
}

static int
fail_deleted(const struct ks_seg_kstat *k)
{
	return ks_fail(ENXIO, "%s:%d:%s was deleted by its publisher", k->shape->e.module, k->instance, k->name);
}

char *
ks_seg_kstat_copy(struct ks_seg_file *f, const struct ks_seg_kstat *k, size_t size)
{
	struct ks_seg_entry now;
	size_t n = k->shape->e.data + size;

	ks_buf_reset(&f->buf);
	if (ks_buf_room(&f->buf, n + KS_SEG_ALIGN) == NULL)
		return ks_fail_null(ENOMEM, "out of memory to read %s", f->path);
	if (!copy(f, ks_seg_aligned(&f->buf), n, k->offset)) {
		(void)short_file(f, k);
		return NULL;
	}
	memcpy(&now, ks_seg_aligned(&f->buf), sizeof(now));
	if (!ks_seg_kstat_is(k, &now)) {
		(void)fail_deleted(k);
		return NULL;
	}
	return ks_seg_aligned(&f->buf) + k->shape->e.data;
}

/* Returns its data as a piece has them that was copied in this walk; NULL: they are read by themselves. */
static const char *
find_in_piece(struct ks_seg_file *f, const struct ks_seg_kstat *k, uint64_t walk)
{
	const char *entry = walk != 0 ? ks_seg_piece_bytes(f, walk, k->offset, k->shape->e.data + k->shape->e.data_size) :
	    NULL;
	struct ks_seg_entry now;

	if (entry == NULL)
		return NULL;
	memcpy(&now, entry, sizeof(now));
	return ks_seg_kstat_is(k, &now) ? entry + k->shape->e.data : NULL;
}

static uint64_t
word_of(const char *data)
{
	uint64_t v;

	memcpy(&v, data, sizeof(v));
	return v;
}

/* --- cells ------------------------------------------------------------------------------------- */

uint64_t
ks_seg_cell(const struct ks_seg_entry *e, const struct ks_seg_field *field, const char *data)
{
	uint32_t rows = field->storage == KS_STORE_SHARDED ? e->shards : 1;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rows; i++)
		sum += word_of(data + field->offset + (size_t)i * e->row);
	return sum;
}

static void
add_number(struct ks_record *r, const struct ks_seg_field *field, uint64_t v)
{
	kstat_named_t *kn = ks_record_add(r, sizeof(*kn));
	double d;

	if (kn == NULL)
		return;
	memcpy(kn->name, field->name, strnlen(field->name, KSTAT_STRLEN - 1)); /* and no mark behind it */
	kn->data_type = field->data_type;
	switch (field->data_type) {
	case KSTAT_DATA_INT32:
	case KSTAT_DATA_UINT32:
		kn->value.ui32 = (uint32_t)v;
		break;
	case KSTAT_DATA_FLOAT:
		memcpy(&d, &v, sizeof(d));
		kn->value.f = (float)d;
		break;
	default:
		kn->value.ui64 = v;
	}
}

/* --- records ------------------------------------------------------------------------------------- */

/* A named value from its record's copy: the text's length was written by somebody else. */
static int
add_text(struct ks_record *r, const struct ks_seg_field *field, const char *value)
{
	struct ks_seg_text text;
	const char *bytes = value + sizeof(text);

	if (field->data_type == KSTAT_DATA_CHAR) {
		ks_named_chars(r, field->name, value, 16);
		return 0;
	}
	memcpy(&text, value, sizeof(text));
	if (text.len > field->size - sizeof(text))
		return ks_fail(EIO, "%s: a text longer than its place", field->name);
	if (!text.present) {
		text.len = 0;
		bytes = field->data_type == KSTAT_DATA_STRING ? NULL : bytes;
	}
	if (field->data_type == KSTAT_DATA_STRING) {
		ks_named_string(r, field->name, bytes, text.len);
	} else if (field->data_type == KSTAT_DATA_INTS) {
		ks_named_ints(r, field->name, (const uint64_t *)(const void *)bytes, text.len / 8);
	} else {
		ks_named_strs(r, field->name, bytes, text.len);
	}
	return 0;
}

static void
add_timer(struct ks_record *r, const struct ks_seg_field *field, const char *value)
{
	kstat_timer_t *kt = ks_record_add(r, sizeof(*kt));

	if (kt == NULL)
		return;
	memcpy(kt->name, field->name, KSTAT_STRLEN);
	memcpy(ks_seg_timer_values(kt), value, KS_SEG_TIMER_SIZE);
}

/* 1 done, 0 a record was changing, -1 with errno. */
static int
build_fields(const struct ks_seg_kstat *k, const char *data, struct ks_record *r)
{
	kstat_intr_t *intr;

	if (k->shape->e.type == KSTAT_TYPE_INTR) {
		intr = ks_record_add(r, sizeof(*intr));
		for (uint32_t i = 0; intr != NULL && i < KSTAT_NUM_INTRS; i++)
			intr->intrs[i] = (uint_t)ks_seg_cell(&k->shape->e, &k->shape->fields[i], data);
		return 1;
	}
	for (uint32_t i = 0; i < k->shape->e.nfields; i++) {
		const struct ks_seg_field *field = &k->shape->fields[i];
		const char *value;

		if (field->storage == KS_STORE_TEXT) {
			value = data + field->offset;
			ks_named_string(r, field->name, value, (uint32_t)strnlen(value, field->size - 1) + 1);
			continue;
		}
		if (field->storage != KS_STORE_RECORD) {
			add_number(r, field, ks_seg_cell(&k->shape->e, field, data));
			continue;
		}
		value = ks_rec_current(data + field->offset, field->size);
		if (value == NULL)
			return 0;
		if (k->shape->e.type == KSTAT_TYPE_TIMER)
			add_timer(r, field, value);
		else if (add_text(r, field, value) != 0)
			return -1;
	}
	return 1;
}

/*
 * A queue that is not empty is shown as it is at the time of the copy. That is known only while nobody is
 * changing it, since the change in progress may have an earlier time: true then. A thread that died will
 * change nothing any more.
 */
static bool
is_undecided(const kstat_io_t *io, const char *data)
{
	uint64_t owner = word_of(data) & KS_WORD_OWNER;

	return owner != 0 && (owner & KS_WORD_DIED) == 0 && (io->wcnt > 0 || io->rcnt > 0);
}

static int
build_record(const struct ks_seg_kstat *k, const char *data, struct ks_record *r)
{
	size_t size = k->shape->e.type == KSTAT_TYPE_IO ? sizeof(kstat_io_t) : k->shape->e.ndata;
	const char *value = ks_rec_current(data, size);
	kstat_io_t *io;

	if (value == NULL)
		return 0;
	if (k->shape->e.type == KSTAT_TYPE_RAW) {
		ks_buf_add(&r->fixed, value, size);
		r->ndata = k->shape->e.ndata;
		return 1;
	}
	io = ks_record_add(r, sizeof(*io));
	if (io == NULL)
		return 1;
	memcpy(io, value, sizeof(*io));
	if (is_undecided(io, data))
		return 0;
	/* The time was taken before the copy: if the record is older, nothing happened in between. */
	r->snaptime -= CLOCKS_APART;
	if (io->wlastupdate > r->snaptime)
		r->snaptime = io->wlastupdate;
	if (io->rlastupdate > r->snaptime)
		r->snaptime = io->rlastupdate;
	ks_queue_snapshot(io, r->snaptime);
	return 1;
}

/* --- histograms ------------------------------------------------------------------------------------- */

/* Copies the log's entry at the place of a commit's number. False if it is not whole. */
static bool
get_entry(const struct ks_seg_kstat *k, const char *log, uint32_t seq, struct ks_hist_entry *e)
{
	memcpy(e, log + (seq & (k->shape->e.log - 1)) * sizeof(*e), sizeof(*e));
	return ks_hist_is_whole(e) && (uint32_t)e->key <= k->shape->hist.n;
}

/* Stores what the entry says in its bucket; an entry for a value that was refused has none. */
static void
set_bucket(const struct ks_seg_kstat *k, uint64_t *bucket, const struct ks_hist_entry *e, uint64_t count)
{
	if ((uint32_t)e->key < k->shape->hist.n)
		bucket[(uint32_t)e->key] = count;
}

/*
 * Brings buckets that were copied between commits `from` and `to` to commit `to`, by the log that was copied after
 * them, and stores the sums at that commit. False if the log does not reach back that far, or was being changed.
 */
static bool
roll_forward(const struct ks_seg_kstat *k, const char *log, uint64_t *bucket, uint32_t from, uint32_t to,
    struct ks_hist_sums *sums)
{
	uint32_t updates = (to - from) & KS_WORD_SEQ_MASK;
	struct ks_hist_entry e;

	if (updates >= k->shape->e.log)
		return false;
	for (uint32_t i = updates > 0; i <= updates; i++) {
		uint32_t seq = (from + i) & KS_WORD_SEQ_MASK;

		if (!get_entry(k, log, seq, &e) || e.key >> 32 != seq)
			return false;
		set_bucket(k, bucket, &e, e.count);
	}
	*sums = e.sums;
	return true;
}

/*
 * The update after commit `to` may have been under way when the buckets were copied: it counts if its entry is whole, as
 * whoever locks next commits it (ks_hist_finish()). While its entry is not whole its bucket is as it was; but an entry
 * that is not whole may also be a later one in the same place, as the word tells then. False if so.
 */
static bool
take_begun(const struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *log, uint64_t *bucket, uint32_t to,
    struct ks_hist_sums *sums)
{
	uint32_t seq = (to + 1) & KS_WORD_SEQ_MASK;
	struct ks_hist_entry e;
	uint64_t word;

	if (get_entry(k, log, seq, &e)) {
		if (e.key >> 32 == seq) {
			set_bucket(k, bucket, &e, e.count);
			*sums = e.sums;
		}
		return e.key >> 32 == seq || e.key >> 32 == ((seq - k->shape->e.log) & KS_WORD_SEQ_MASK);
	}
	atomic_thread_fence(memory_order_acquire);
	return copy(f, &word, sizeof(word), k->offset + k->shape->e.data) &&
	    ((KS_WORD_SEQ(word) - to) & KS_WORD_SEQ_MASK) < k->shape->e.log;
}

/* Copies the counts into f->buf. 1 done, 0 it changed too fast, -1 with errno. */
static int
copy_counts(struct ks_seg_file *f, const struct ks_seg_kstat *k, const uint64_t **counts, struct ks_hist_sums *sums)
{
	uint64_t base = k->offset + k->shape->e.data, before, after;
	char head[sizeof(struct ks_hist) + KS_HIST_LOG * sizeof(struct ks_hist_entry)];
	const char *data = ks_seg_kstat_copy(f, k, sizeof(before)), *log = head + sizeof(struct ks_hist);
	size_t size = (size_t)k->shape->hist.n * sizeof(uint64_t);
	uint64_t *bucket;

	if (data == NULL)
		return -1;
	before = word_of(data);
	bucket = (uint64_t *)(void *)ks_buf_room(&f->buf, size);
	if (bucket == NULL)
		return ks_fail(ENOMEM, "out of memory to read %s", f->path);
	/* Each copy sees memory after what the one before it saw. */
	atomic_thread_fence(memory_order_acquire);
	if (!copy(f, bucket, size, base + ks_hist_buckets(k->shape->e.log)))
		return short_file(f, k);
	atomic_thread_fence(memory_order_acquire);
	if (!copy(f, head, ks_hist_buckets(k->shape->e.log), base))
		return short_file(f, k);
	after = word_of(head);
	if (!roll_forward(k, log, bucket, KS_WORD_SEQ(before), KS_WORD_SEQ(after), sums) ||
	    !take_begun(f, k, log, bucket, KS_WORD_SEQ(after), sums))
		return 0;
	if (!ks_hist_sums_fit(&k->shape->hist, bucket, k->shape->hist.n, sums))
		return ks_fail(EBADMSG, "%s:%d:%s: its counts and sums in %s do not fit", k->shape->e.module, k->instance,
		    k->name, f->path);
	*counts = bucket;
	return 1;
}

/* Whether a histogram is still as a copy of its data, which was made at once. Stores the sums. */
static bool
is_current(const struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, struct ks_hist_sums *sums)
{
	const char *bucket = data + ks_hist_buckets(k->shape->e.log);
	uint64_t word = word_of(data), now;
	struct ks_hist_entry e;

	if ((word & KS_WORD_OWNER) != 0 || !get_entry(k, data + sizeof(struct ks_hist), KS_WORD_SEQ(word), &e) ||
	    e.key >> 32 != KS_WORD_SEQ(word))
		return false;
	*sums = e.sums;
	atomic_thread_fence(memory_order_acquire);
	return copy(f, &now, sizeof(now), k->offset + k->shape->e.data) && now == word &&
	    ks_hist_sums_fit(&k->shape->hist, (const uint64_t *)(const void *)bucket, k->shape->hist.n, sums);
}

/* As copy_counts(). data: a copy of all of it, whose counts are taken where nothing was counted since then, or NULL. */
static int
find_counts(struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, const uint64_t **counts,
    struct ks_hist_sums *sums)
{
	if (data == NULL || !is_current(f, k, data, sums))
		return copy_counts(f, k, counts, sums);
	*counts = (const uint64_t *)(const void *)(data + ks_hist_buckets(k->shape->e.log));
	return 1;
}

static int
build_counts(struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, struct ks_record *r)
{
	const uint64_t *bucket;
	struct ks_hist_sums sums;
	int rc = find_counts(f, k, data, &bucket, &sums);

	if (rc <= 0)
		return rc;
	ks_histstat_add(r, &k->shape->hist, bucket, &sums);
	for (uint32_t i = 0; i < k->shape->e.nfields; i++) {
		const struct ks_seg_field *label = &k->shape->fields[i];
		char text[KS_SEG_MOST_LABEL + 1];

		if (data != NULL)
			memcpy(text, data + label->offset, label->size);
		else if (!copy(f, text, label->size, k->offset + k->shape->e.data + label->offset))
			return short_file(f, k);
		ks_named_string(r, label->name, text, (uint32_t)strnlen(text, label->size - 1) + 1);
	}
	return 1;
}

int
ks_seg_counts_read(struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, struct ks_histstat *h)
{
	const uint64_t *bucket;
	struct ks_hist_sums sums;
	int rc = 0;

	for (int i = 0; rc == 0 && i < TRIES; i++)
		rc = find_counts(f, k, i == 0 ? data : NULL, &bucket, &sums);
	if (rc > 0)
		*h = (struct ks_histstat){ .layout = k->shape->hist, .buckets = (const char *)bucket, .n = k->shape->hist.n,
			.has_sum = true, .sum = sums.sum, .min = sums.min, .max = sums.max,
			.out_of_range = sums.out_of_range };
	return rc > 0 ? 0 : -1;
}

/* --- statsblobs -------------------------------------------------------------------------------------- */

bool
ks_seg_is_statsblob(const struct ks_seg_entry *e)
{
	return e->type == KSTAT_TYPE_RAW && e->form == KS_FORM_BYTES &&
	    strncmp(e->layout, KS_BLOB_LAYOUT, strlen(KS_BLOB_LAYOUT)) == 0;
}

/* 1 done, 0 it changed too fast, -1 with errno. */
static int
build_statsblob(const struct ks_seg_kstat *k, const char *data, struct ks_record *r)
{
	char why[128];
	int rc = ks_seg_blob_read(data, k->shape->e.ndata, r), error = errno;

	if (rc >= 0)
		return rc;
	strncpy(why, kstat_errmsg(), sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	return ks_fail(error, "%s:%d:%s: %s", k->shape->e.module, k->instance, k->name, why);
}

/* --- reading --------------------------------------------------------------------------------------------- */

/* data: a copy of it, or NULL. */
static int
build(struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, struct ks_record *r)
{
	if (k->shape->e.form == KS_FORM_COUNTS)
		return build_counts(f, k, data, r);
	if (data == NULL)
		data = ks_seg_kstat_copy(f, k, k->shape->e.data_size);
	if (data == NULL)
		return -1;
	if (k->shape->e.form == KS_FORM_FIELDS)
		return build_fields(k, data, r);
	if (k->shape->e.form == KS_FORM_RECORD)
		return build_record(k, data, r);
	if (ks_seg_is_statsblob(&k->shape->e))
		return build_statsblob(k, data, r);
	ks_buf_add(&r->fixed, data, k->shape->e.ndata);
	r->ndata = k->shape->e.ndata;
	return 1;
}

/* The publisher may be anybody, and a text with a line feed in it would forge lines of whoever prints it. */
static void
clean_texts(const struct ks_seg_kstat *k, struct ks_record *r)
{
	const struct ks_raw_layout *l;

	if (k->shape->e.type == KSTAT_TYPE_NAMED)
		ks_record_clean_texts(r, false); /* names were checked */
	if (k->shape->e.type != KSTAT_TYPE_RAW || ks_seg_is_statsblob(&k->shape->e))
		return; /* a blob's names were checked */
	l = ks_raw_layout_find(k->shape->e.module, k->name);
	if (l == NULL || r->fixed.failed || r->fixed.len < l->size)
		return;
	for (const struct ks_raw_field *f = l->fields; f->name != NULL; f++) {
		if (f->type == KS_RAW_CHARS)
			ks_clean_text(r->fixed.data + f->offset, strnlen(r->fixed.data + f->offset, f->count));
	}
}

/* What the last copy of records looked like, to tell one that changes from one that is broken. */
static uint64_t
fingerprint(const struct ks_seg_file *f, const struct ks_seg_kstat *k)
{
	return ks_rec_check(ks_seg_aligned(&f->buf) + k->shape->e.data, k->shape->e.data_size & ~(size_t)7, 0);
}

/* True if the first record of what was copied was locked: its writer may just be asleep. */
static bool
is_locked(const struct ks_seg_file *f, const struct ks_seg_kstat *k)
{
	return k->shape->e.form == KS_FORM_RECORD &&
	    (word_of(ks_seg_aligned(&f->buf) + k->shape->e.data) & KS_WORD_OWNER) != 0;
}

/* Whether its user, and all strangers, have patience left for a record that has kept changing since `start`. */
static bool
is_patient(struct ks_seg_file *f, hrtime_t start)
{
	hrtime_t took = gethrtime() - start;

	for (const struct ks_seg_budget *b = f->budget; b != NULL; b = b->whole) {
		if (took >= b->patience)
			return false;
	}
	return true;
}

/*
 * Takes the time that was spent on a record that kept changing from the patience that is left for this user's
 * other records, and for those of all strangers.
 */
static void
lose_patience(struct ks_seg_file *f, hrtime_t start)
{
	hrtime_t took = gethrtime() - start;

	for (struct ks_seg_budget *b = f->budget; b != NULL; b = b->whole)
		b->patience -= took;
}

/* Copies the record until a copy is whole; *tries becomes the number of copies. */
static int
read_patiently(struct ks_seg_file *f, const struct ks_seg_kstat *k, hrtime_t start, struct ks_record *r, int *tries)
{
	uint64_t last = 0, now;

	for (int i = 0; i < TRIES && (i == 0 || is_patient(f, start)); i++) {
		int rc;

		*tries = i + 1;
		ks_record_reset(r);
		r->snaptime = gethrtime();
		rc = build(f, k, NULL, r);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			clean_texts(k, r);
			return 0;
		}
		if (k->shape->e.form != KS_FORM_COUNTS) {
			now = fingerprint(f, k);
			if (i > 0 && now == last && !is_locked(f, k))
				return ks_fail(EIO, "%s:%d:%s: its record in %s is damaged", k->shape->e.module,
				    k->instance, k->name, f->path);
			last = now;
		}
		if (i >= YIELD_AFTER)
			(void)sched_yield();
	}
	return ks_fail(EAGAIN, "%s:%d:%s changed all the time while it was read", k->shape->e.module, k->instance,
	    k->name);
}

int
ks_seg_kstat_read(struct ks_seg_file *f, const struct ks_seg_kstat *k, struct ks_record *r)
{
	const char *data = find_in_piece(f, k, r->walk);
	hrtime_t start;
	int tries = 0, rc;

	if (data != NULL) {
		r->snaptime = f->piece->taken;
		rc = build(f, k, data, r);
		if (rc > 0)
			clean_texts(k, r);
		if (rc != 0)
			return rc > 0 ? 0 : -1;
	}
	start = gethrtime();
	rc = read_patiently(f, k, start, r, &tries);
	if (tries > 1)
		lose_patience(f, start);
	return rc;
}
