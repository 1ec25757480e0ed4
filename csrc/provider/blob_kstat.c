/*
 * blob_kstat.c - statsblob kstats: made, and updated by any thread and process. See kstat_blob.h, and
 * blob_layout.h for what lies where and why. SPDX-License-Identifier: MIT
 */
#include "kstat_blob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "provider/blob_layout.h"
#include "provider/segment/publication.h"
#include "stats/blob.h"
#include "stats/template.h"

/* A kstat_blob_t is the memory itself, which starts with this. */
static struct ks_blob_head *
head_of(const kstat_blob_t *b)
{
	return (struct ks_blob_head *)(uintptr_t)b;
}

static struct ks_blob_voi *
vois_of(const kstat_blob_t *b)
{
	return (struct ks_blob_voi *)(head_of(b) + 1);
}

static struct ks_blob_row *
row_of(const kstat_blob_t *b, uint32_t i)
{
	const struct ks_blob_head *h = head_of(b);

	return (struct ks_blob_row *)((char *)(uintptr_t)b + h->first + i * h->row);
}

static struct ks_blob_copy *
copy_of(struct ks_blob_row *row, uint32_t i, size_t blob_size)
{
	return (struct ks_blob_copy *)((char *)row + ks_blob_copy_at(i, blob_size));
}

static struct statsblob *
blob_of(struct ks_blob_row *row, size_t blob_size)
{
	return (struct statsblob *)((char *)row + ks_blob_at(blob_size));
}

/* --- creating --------------------------------------------------------------------------------------- */

static uint64_t
head_check(const kstat_blob_t *b)
{
	const struct ks_blob_head *h = head_of(b);
	uint64_t check = ks_hash_bytes(KS_HASH_INIT, h, offsetof(struct ks_blob_head, check));

	return ks_hash_bytes(check, vois_of(b), h->nvois * sizeof(struct ks_blob_voi));
}

/* What is needed of a template, as it is now. */
struct made {
	size_t size;
	char *bytes;
};

/* What readers call the i-th VOI; in `made` if it has no name of its own. */
static const char *
voi_name(const struct statsblob_tpl *t, uint32_t i, char made[static 16])
{
	if (t->voi_names[i][0] != '\0')
		return t->voi_names[i];
	(void)snprintf(made, 16, "voi%u", (unsigned)i);
	return made;
}

/*
 * Names of VOIs become part of those of statistics: one that was cut could not be told from
 * another, nor be found. 0, or -1 with errno EINVAL.
 */
static int
check_name(const struct statsblob_tpl *t, uint32_t i)
{
	size_t most = ks_blob_voi_name_max((const void *)t->image, (int32_t)i);
	uint32_t slots = ks_sb_nvois(t->image);
	char made[16], other[16];
	const char *name = voi_name(t, i, made);

	if (strlen(name) > most)
		return ks_fail(EINVAL,
		    "the value of interest %.64s: published, its name may have at most %zu bytes", name,
		    most);
	if (!ks_is_printable(name, strlen(name)))
		return ks_fail(EINVAL, "the name of the value of interest %u contains a control character",
		    (unsigned)i);
	/* Names given are unique in a template. */
	for (uint32_t k = 0; name == made && k < slots; k++) {
		if (k != i && ks_sb_voi(t->image, k)->id >= 0 &&
		    strcmp(voi_name(t, k, other), name) == 0)
			return ks_fail(EINVAL, "two values of interest are called %s", name);
	}
	return 0;
}

/*
 * Whether blobs of the template can be published; stores the number of its VOIs. 0, or -1 with
 * errno EINVAL.
 */
static int
check_template(const struct statsblob_tpl *t, uint_t shards, uint32_t *nvois)
{
	uint32_t slots;
	bool rel = false;

	if (t == NULL)
		return ks_fail(EINVAL, "there is no such template of statistics");
	slots = ks_sb_nvois(t->image);
	*nvois = 0;
	for (uint32_t i = 0; i < slots; i++) {
		const struct ks_voi *voi = ks_sb_voi(t->image, i);

		if (voi->id < 0)
			continue;
		if (check_name(t, i) != 0)
			return -1;
		++*nvois;
		rel |= (voi->flags & KS_VOI_REL) != 0;
	}
	if (*nvois == 0)
		return ks_fail(EINVAL, "the template has no values of interest");
	if (*nvois > KS_BLOB_MOST_VOIS)
		return ks_fail(EINVAL, "the template has too many values of interest");
	if (shards == 0 || shards > KS_BLOB_MOST_SHARDS)
		return ks_fail(EINVAL, "1 to 64 shards are possible");
	if (rel && shards > 1)
		return ks_fail(EINVAL, "values that are updated relatively cannot be sharded");
	return 0;
}

static void
init_row(struct ks_blob_row *row, const void *blob, size_t blob_size)
{
	size_t n = ks_blob_rounded(blob_size);

	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++)
		copy_of(row, i, blob_size)->number = KS_BLOB_NONE;
	memcpy(blob_of(row, blob_size), blob, blob_size);
	memcpy(copy_of(row, 0, blob_size) + 1, blob, blob_size);
	copy_of(row, 0, blob_size)->number = 0;
	copy_of(row, 0, blob_size)->check = ks_rec_check(copy_of(row, 0, blob_size) + 1, n, 0);
}

static int
fill(struct made *m, struct statsblob_tpl *t, uint32_t nvois, uint_t shards)
{
	struct ks_blob_head h = { .magic = KS_BLOB_MAGIC, .version = KS_BLOB_VERSION,
		.blob_size = t->image->cursz, .nvois = nvois, .shards = shards };
	kstat_blob_t *b;
	struct ks_sb *blob;
	uint32_t slots = ks_sb_nvois(t->image), at = 0;
	char made[16];

	h.first = (uint32_t)ks_blob_first(nvois);
	h.row = ks_blob_row_size(h.blob_size);
	m->size = h.first + shards * h.row;
	m->bytes = calloc(1, m->size);
	blob = malloc(h.blob_size);
	if (m->bytes == NULL || blob == NULL) {
		free(blob);
		free(m->bytes);
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	}
	ks_tpl_plan(t);
	memcpy(blob, t->image, h.blob_size);
	blob->maxsz = blob->cursz;
	blob->created = blob->lastrst = ks_sb_now();
	b = (kstat_blob_t *)(void *)m->bytes;
	*head_of(b) = h;
	for (uint32_t i = 0; i < slots; i++) {
		if (ks_sb_voi(t->image, i)->id >= 0)
			ks_blob_voi_set(&vois_of(b)[at++], (int32_t)i, voi_name(t, i, made), NULL,
			    NULL);
	}
	head_of(b)->check = head_check(b);
	for (uint32_t i = 0; i < shards; i++)
		init_row(row_of(b, i), (const void *)blob, h.blob_size);
	free(blob);
	return 0;
}

/* The first contents of a kstat of that template. 0, or -1 with errno. */
static int
make(struct made *m, uint32_t tpl_id, uint_t shards)
{
	struct statsblob_tpl *t;
	uint32_t nvois = 0;
	int rc;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	rc = check_template(t, shards, &nvois);
	if (rc == 0)
		rc = fill(m, t, nvois, shards);
	ks_tpl_unlock();
	return rc;
}

kstat_t *
kstat_create_statsblob(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags)
{
	struct made m;
	kstat_t *k;

	if (ks_flags != 0)
		return ks_fail_null(EINVAL, "a statsblob kstat of this process has no flags");
	if (make(&m, tpl_id, shards) != 0)
		return NULL;
	k = kstat_create(ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW, (uint_t)m.size, 0);
	if (k != NULL) {
		memcpy(k->ks_data, m.bytes, m.size);
		k->ks_flags |= KSTAT_FLAG_STATSBLOB;
	}
	free(m.bytes);
	return k;
}

/* The name of the layout tells all that must be the same for a kstat to go on with its values. */
static int
name_layout(kstat_t *k)
{
	const struct ks_blob_head *h = k->ks_data;
	struct ks_blob_row *row = row_of(k->ks_data, 0);
	char layout[32];

	(void)snprintf(layout, sizeof(layout), KS_BLOB_LAYOUT "%08x:%08x",
	    (unsigned)ks_sb(blob_of(row, h->blob_size))->tplhash, (unsigned)(h->check ^ h->check >> 32));
	return kstat_publish_layout(k, layout, 1);
}

kstat_t *
kstat_publish_statsblob(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags)
{
	struct made m;
	kstat_t *k;

	if ((ks_flags & ~KSTAT_FLAG_PERSISTENT) != 0)
		return ks_fail_null(EINVAL, "a published statsblob kstat has no flag but PERSISTENT");
	if (make(&m, tpl_id, shards) != 0)
		return NULL;
	k = kstat_publish_create(pub, ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW,
	    (uint_t)m.size, ks_flags);
	if (k != NULL) {
		memcpy(k->ks_data, m.bytes, m.size);
		(void)name_layout(k);
		k->ks_flags |= KSTAT_FLAG_STATSBLOB;
	}
	free(m.bytes);
	return k;
}

int
kstat_blob_describe(kstat_t *ksp, int32_t voi_id, const char *unit, const char *desc)
{
	kstat_blob_t *b;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) == 0)
		return ks_fail(EINVAL, "no statsblob kstat, or one that is installed already");
	b = ksp->ks_data;
	for (uint32_t i = 0; i < head_of(b)->nvois; i++) {
		struct ks_blob_voi *v = &vois_of(b)[i];
		char name[sizeof(v->name)];

		if (v->id != voi_id)
			continue;
		memcpy(name, v->name, sizeof(name));
		ks_blob_voi_set(v, voi_id, name, unit, desc);
		head_of(b)->check = head_check(b);
		return ((struct ks_provider *)ksp)->published != NULL ? name_layout(ksp) : 0;
	}
	return ks_fail(EINVAL, "%s:%d:%s has no value of interest %d", ksp->ks_module,
	    ksp->ks_instance, ksp->ks_name, (int)voi_id);
}

kstat_blob_t *
kstat_blob(kstat_t *ksp)
{
	const char *wrong;
	void *memory;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) != 0)
		return ks_fail_null(EINVAL, "not a statsblob kstat, or not installed");
	if (((struct ks_provider *)ksp)->published == NULL)
		return ksp->ks_data;
	memory = kstat_publish_memory(ksp);
	/* Others that share the segment may have written there before this process created the kstat again. */
	wrong = memory != NULL ? ks_blob_check_head(memory, ksp->ks_ndata) : NULL;
	return wrong == NULL ? memory : ks_fail_null(EIO, "%s:%d:%s: %s", ksp->ks_module, ksp->ks_instance,
	    ksp->ks_name, wrong);
}

int32_t
kstat_blob_voi(const kstat_blob_t *b, const char *name)
{
	for (uint32_t i = 0; b != NULL && name != NULL && i < head_of(b)->nvois; i++) {
		if (strncmp(vois_of(b)[i].name, name, sizeof(vois_of(b)[i].name)) == 0)
			return vois_of(b)[i].id;
	}
	return ks_fail(ENOENT, "there is no value of interest %.40s", name != NULL ? name : "");
}

/* --- one change of a row --------------------------------------------------------------------------------- */

/*
 * What a writer that died left behind: copies of what it never committed are dropped, and the blob is made
 * from the newest whole one. 0, or -1 with errno EIO. The row is locked.
 */
static __attribute__((noinline)) int
recover(struct ks_blob_row *row, uint32_t at, size_t blob_size)
{
	bool done = false;

	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++) {
		struct ks_blob_copy *c = copy_of(row, i, blob_size);

		if (ks_blob_age(c->number, at) > KS_BLOB_AHEAD)
			c->number = KS_BLOB_NONE;
	}
	for (uint32_t age = 0; !done && age <= KS_BLOB_LOG; age++) {
		for (uint32_t i = 0; !done && i < KS_BLOB_COPIES; i++) {
			const struct ks_blob_copy *c = copy_of(row, i, blob_size);

			if (c->number > KS_WORD_SEQ_MASK || ks_blob_age(c->number, at) != age)
				continue;
			done = ks_blob_replay(row, c, at, blob_size, blob_of(row, blob_size));
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
		struct ks_blob_copy *c = copy_of(row, i, blob_size);

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
	memcpy(to + 1, blob_of(row, blob_size), n);
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
update_row(struct ks_blob_row *row, size_t blob_size, const struct ks_blob_held *h, enum ks_blob_op op, int32_t voi,
    uint64_t value)
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
	err = ks_blob_apply(blob_of(row, blob_size), op, voi, value);
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
	row = row_of(b, head_of(b)->shards == 1 ? 0 : ks_thread_self() % head_of(b)->shards);
	return update_row(row, head_of(b)->blob_size, NULL, op, voi, value);
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
		size = sizeof(struct ks_blob_held) + (t->image->statsdata_off + 15u) / 16 * 2 * sizeof(struct ks_blob_pair);
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
		.row = (void *)((char *)b + ks_blob_first(nvois)), .shards = head_of(b)->shards };
	h->size = ks_blob_first(nvois) + h->shards * h->row_size;
	note_form(h, image);
	free(image);
	/* The head is whole, and has a check; it must be that of the template, too. */
	return head_of(b)->blob_size == n && head_of(b)->nvois == nvois && h->shards >= 1 &&
	    h->shards <= KS_BLOB_MOST_SHARDS && h->size <= ksp->ks_ndata ? 0 :
	    ks_fail(EIO, "the memory of a statsblob was overwritten");
}

/* --- whole blobs ----------------------------------------------------------------------------------------------- */

/* What replace() does to a row's blob: 0, or an errno that leaves it as it is but for EOVERFLOW. */
typedef int change_fn(struct statsblob *blob, const struct statsblob *from);

/* A change that no log entry could tell: the blob is set aside at once. 0, or -1 with errno. */
static int
replace(kstat_blob_t *b, uint32_t shard, change_fn *change, const struct statsblob *from)
{
	size_t blob_size = head_of(b)->blob_size;
	struct ks_blob_row *row = row_of(b, shard);
	uint32_t number;
	uint64_t v;
	int err;

	if (open_row(row, blob_size, &v) != 0)
		return -1;
	number = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
	begin_change(row);
	err = change(blob_of(row, blob_size), from);
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
	return replace(b, ks_thread_self() % head_of(b)->shards, stats_blob_merge, from);
}

int
kstat_blob_store(kstat_blob_t *b, const struct statsblob *from)
{
	if (b == NULL)
		return ks_fail(EINVAL, "no statsblob");
	if (replace(b, 0, from != NULL ? take_over : reset, from) != 0)
		return -1;
	for (uint32_t i = 1; i < head_of(b)->shards; i++) {
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
	memcpy(to, blob_of(row, blob_size), blob_size);
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
	blob_size = head_of(b)->blob_size;
	sum = malloc(blob_size);
	next = malloc(blob_size);
	rc = sum != NULL && next != NULL ? copy_row(row_of(b, 0), blob_size, sum) :
	    ks_fail(ENOMEM, "out of memory for a statsblob");
	for (uint32_t i = 1; rc == 0 && i < head_of(b)->shards; i++) {
		rc = copy_row(row_of(b, i), blob_size, next);
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
