/*
 * published.c - kstats in a segment: their entries are laid out, installed, found again and
 * deleted. See publish.h and segment_layout.h. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "provider/publish.h"

#define STORAGE_STEP 262144u /* bytes of storage taken at a time */
#define LEAST_TEXT 64u       /* room for a string, bytes */
#define LOOK_AT 64           /* places given up, before a new one is made */
#define QUARANTINE 1000000000LL /* ns before the place of a deleted kstat is used again */

/* --- an entry, laid out in memory of one's own ---------------------------------------------------- */

struct image {
	struct ks_seg_entry e;
	struct ks_buf fields; /* struct ks_seg_field[] */
	struct ks_buf strings;
	struct ks_buf data;
};

static size_t
aligned(size_t n)
{
	return (n + KS_SEG_ALIGN - 1) & ~(size_t)(KS_SEG_ALIGN - 1);
}

static uint32_t
add_string(struct image *im, const char *s)
{
	uint32_t at = (uint32_t)im->strings.len;

	if (s == NULL || *s == '\0')
		return 0;
	ks_buf_add(&im->strings, s, strlen(s) + 1);
	return at;
}

static void
add_field(struct image *im, const struct ks_provider *p, const char *name, uint8_t data_type,
    uint8_t storage, size_t offset, size_t size)
{
	const struct ks_meta *m = ks_provider_meta(p, name);
	struct ks_seg_field f;

	memset(&f, 0, sizeof(f));
	memcpy(f.name, name, strnlen(name, KSTAT_STRLEN - 1));
	f.data_type = data_type;
	f.storage = storage;
	f.offset = (uint32_t)offset;
	f.size = (uint32_t)size;
	f.kind = UINT8_MAX; /* no metadata */
	if (m != NULL) {
		f.kind = m->kind;
		f.md_type = m->type;
		f.md_flags = m->flags;
		f.scale = m->scale;
		f.unit = add_string(im, m->unit);
		f.desc = add_string(im, m->desc);
	}
	ks_buf_add(&im->fields, &f, sizeof(f));
	im->e.nfields++;
}

/* Appends a record to the data and returns its offset. */
static size_t
add_record(struct image *im, const void *value, size_t n)
{
	size_t at = aligned(im->data.len);
	struct ks_rec *rec;

	(void)ks_buf_zeroed(&im->data, at - im->data.len);
	rec = ks_buf_zeroed(&im->data, ks_rec_size(n));
	if (rec != NULL)
		ks_rec_init(rec, value, n);
	return at;
}

static bool
is_number(uint8_t data_type)
{
	return data_type >= KSTAT_DATA_INT32 && data_type <= KSTAT_DATA_DOUBLE;
}

static bool
is_sharded(const struct ks_provider *p, const kstat_named_t *kn)
{
	const struct ks_meta *m = ks_provider_meta(p, kn->name);

	return p->published->shards > 1 && kn->data_type <= KSTAT_DATA_UINT64 &&
	    (m == NULL || m->kind == KS_KIND_COUNTER || (m->flags & KSTAT2_NVMF_PARTS));
}

/* A number as its 64-bit cell. */
static uint64_t
cell_of(const kstat_named_t *kn)
{
	double d = kn->data_type == KSTAT_DATA_FLOAT ? (double)kn->value.f : kn->value.d;
	uint64_t bits;

	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
		return (uint64_t)(int64_t)kn->value.i32;
	case KSTAT_DATA_UINT32:
		return kn->value.ui32;
	case KSTAT_DATA_FLOAT:
	case KSTAT_DATA_DOUBLE:
		memcpy(&bits, &d, sizeof(bits));
		return bits;
	default:
		return kn->value.ui64;
	}
}

/* The rows of cells at the start of the data, and who claimed each. */
static char *
add_rows(struct image *im, uint32_t ncells, uint32_t shards)
{
	im->e.ncells = ncells;
	im->e.shards = shards;
	im->e.row = (uint32_t)aligned(ncells * sizeof(uint64_t));
	(void)ks_buf_zeroed(&im->data, (size_t)im->e.row * shards);
	if (shards > 1) {
		im->e.owners = (uint32_t)im->data.len;
		(void)ks_buf_zeroed(&im->data, shards * sizeof(ks_word));
	}
	return im->data.failed ? NULL : im->data.data;
}

static int
lay_out_text(struct image *im, const struct ks_provider *p, const kstat_named_t *kn)
{
	const char *ptr = kn->value.string.addr.ptr;
	uint32_t len = ptr == NULL ? 0 : kn->value.string.len;
	uint32_t room = len < LEAST_TEXT ? LEAST_TEXT : (len + 7) & ~7u;
	struct ks_seg_text *text;

	if (len > KS_SEG_MOST_STRINGS)
		return ks_fail(EINVAL, "%s: %u bytes are too many", kn->name, len);
	text = calloc(1, sizeof(*text) + room);
	if (text == NULL)
		return ks_fail(ENOMEM, "out of memory");
	text->len = len;
	text->present = ptr != NULL;
	if (len > 0)
		memcpy(text + 1, ptr, len);
	add_field(im, p, kn->name, kn->data_type, KS_STORE_RECORD,
	    add_record(im, text, sizeof(*text) + room), sizeof(*text) + room);
	free(text);
	return 0;
}

static int
lay_out_named(struct image *im, const struct ks_provider *p)
{
	const kstat_named_t *kn = p->ks.ks_data;
	uint32_t ncells = 0, cell = 0;
	char *row;

	for (uint_t i = 0; i < p->ks.ks_ndata; i++)
		ncells += is_number(kn[i].data_type);
	row = add_rows(im, ncells, p->published->shards);
	if (row == NULL && ncells > 0)
		return ks_fail(ENOMEM, "out of memory");
	for (uint_t i = 0; i < p->ks.ks_ndata; i++) {
		uint64_t bits = is_number(kn[i].data_type) ? cell_of(&kn[i]) : 0;

		if (kn[i].name[0] == '\0')
			return ks_fail(EINVAL, "value %u has no name", i);
		switch (kn[i].data_type) {
		case KSTAT_DATA_CHAR:
			add_field(im, p, kn[i].name, KSTAT_DATA_CHAR, KS_STORE_RECORD,
			    add_record(im, kn[i].value.c, sizeof(kn[i].value.c)), sizeof(kn[i].value.c));
			break;
		case KSTAT_DATA_STRING:
		case KSTAT_DATA_INTS:
		case KSTAT_DATA_STRS:
			if (lay_out_text(im, p, &kn[i]) != 0)
				return -1;
			break;
		default:
			if (!is_number(kn[i].data_type))
				return ks_fail(EINVAL, "%s: there is no data type %d", kn[i].name,
				    kn[i].data_type);
			/* The data may have moved as it grew. */
			memcpy(im->data.data + 8 * (size_t)cell, &bits, sizeof(bits));
			add_field(im, p, kn[i].name, kn[i].data_type,
			    is_sharded(p, &kn[i]) ? KS_STORE_SHARDED : KS_STORE_CELL, 8 * (size_t)cell, 0);
			cell++;
		}
		if (im->data.failed)
			return ks_fail(ENOMEM, "out of memory");
	}
	return 0;
}

static const char *const intr_names[KSTAT_NUM_INTRS] = {
	"hard", "soft", "watchdog", "spurious", "multiple_service"
};

static int
lay_out_intr(struct image *im, const struct ks_provider *p)
{
	const kstat_intr_t *intr = p->ks.ks_data;
	char *row = add_rows(im, KSTAT_NUM_INTRS, p->published->shards);

	if (row == NULL)
		return ks_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < KSTAT_NUM_INTRS; i++) {
		uint64_t v = intr->intrs[i];

		memcpy(row + 8 * i, &v, sizeof(v));
		add_field(im, p, intr_names[i], KSTAT_DATA_UINT32,
		    p->published->shards > 1 ? KS_STORE_SHARDED : KS_STORE_CELL, 8 * i, 0);
	}
	return 0;
}

static int
lay_out_timers(struct image *im, const struct ks_provider *p)
{
	const kstat_timer_t *kt = p->ks.ks_data;

	for (uint_t i = 0; i < p->ks.ks_ndata; i++) {
		struct ks_seg_timer t = { kt[i].num_events, kt[i].elapsed_time, kt[i].min_time,
			kt[i].max_time, kt[i].start_time, kt[i].stop_time };

		add_field(im, p, kt[i].name, 0, KS_STORE_RECORD, add_record(im, &t, sizeof(t)), sizeof(t));
	}
	return 0;
}

static int
lay_out_data(struct image *im, const struct ks_provider *p)
{
	const struct ks_hist_layout *l = p->histogram != NULL ? &p->histogram->layout : NULL;

	im->e.shards = 1;
	if (l != NULL) {
		im->e.form = KS_FORM_COUNTS;
		im->e.hist_type = l->type;
		im->e.range_min = l->range_min;
		im->e.range_max = l->range_max;
		im->e.stepping = l->stepping;
		(void)ks_buf_zeroed(&im->data, ks_hist_size(l->n));
		add_field(im, p, "buckets", KSTAT_DATA_INTS, KS_STORE_NONE, 0, 0);
		return 0;
	}
	switch (p->ks.ks_type) {
	case KSTAT_TYPE_NAMED:
		return lay_out_named(im, p);
	case KSTAT_TYPE_INTR:
		return lay_out_intr(im, p);
	case KSTAT_TYPE_TIMER:
		return lay_out_timers(im, p);
	case KSTAT_TYPE_IO:
		im->e.form = KS_FORM_RECORD;
		(void)add_record(im, p->ks.ks_data, sizeof(kstat_io_t));
		return 0;
	default:
		memcpy(im->e.layout, p->published->layout, sizeof(im->e.layout));
		im->e.form = p->published->bytes ? KS_FORM_BYTES : KS_FORM_RECORD;
		if (p->published->bytes)
			ks_buf_add(&im->data, p->ks.ks_data, p->ks.ks_data_size);
		else
			(void)add_record(im, p->ks.ks_data, p->ks.ks_data_size);
		return 0;
	}
}

static void
free_image(struct image *im)
{
	ks_buf_free(&im->fields);
	ks_buf_free(&im->strings);
	ks_buf_free(&im->data);
}

static int
lay_out(struct image *im, const struct ks_provider *p)
{
	struct ks_seg_entry *e = &im->e;
	size_t fields, strings;

	memset(im, 0, sizeof(*im));
	ks_buf_addc(&im->strings, '\0'); /* offset 0 is the empty string */
	if (lay_out_data(im, p) != 0)
		return -1;
	if (im->data.failed || im->fields.failed || im->strings.failed)
		return ks_fail(ENOMEM, "out of memory for the layout of a kstat");
	if (e->nfields > KS_SEG_MOST_FIELDS || im->strings.len > KS_SEG_MOST_STRINGS ||
	    im->data.len > KS_SEG_MOST_DATA)
		return ks_fail(EINVAL, "the kstat is too large for a segment");
	e->magic = KS_SEG_ENTRY_MAGIC;
	e->version = KS_SEG_VERSION;
	e->mflags = p->mflags;
	memcpy(e->module, p->ks.ks_module, KSTAT_STRLEN);
	memcpy(e->name, p->ks.ks_name, KSTAT_STRLEN);
	memcpy(e->class_, p->ks.ks_class, KSTAT_STRLEN);
	e->instance = p->ks.ks_instance;
	e->type = p->ks.ks_type;
	e->flags = p->ks.ks_flags & (KSTAT_FLAG_WRITABLE | KSTAT_FLAG_PERSISTENT |
	    KSTAT_FLAG_LONGSTRINGS);
	e->ndata = p->ks.ks_ndata;
	e->data = sizeof(*e);
	e->data_size = im->data.len;
	fields = aligned(e->data + im->data.len);
	strings = fields + im->fields.len;
	e->fields = (uint32_t)fields;
	e->strings = (uint32_t)strings;
	e->strings_size = (uint32_t)im->strings.len;
	e->size = aligned(strings + im->strings.len);
	e->crtime = p->ks.ks_crtime;
	e->check = ks_seg_entry_check(e, im->fields.data, im->strings.data);
	return 0;
}

/* Readers show no other names, so nobody publishes them. */
static int
check_names(const struct image *im)
{
	const struct ks_seg_entry *e = &im->e;

	if (!ks_seg_is_name(e->module) || !ks_seg_is_name(e->name) ||
	    (e->class_[0] != '\0' && !ks_seg_is_name(e->class_)))
		return ks_fail(EINVAL, "a control character in the name or class of a kstat");
	for (uint32_t i = 0; i < e->nfields; i++) {
		struct ks_seg_field f;

		memcpy(&f, im->fields.data + (size_t)i * sizeof(f), sizeof(f));
		if (!ks_seg_is_name(f.name))
			return ks_fail(EINVAL, "%s:%u:%s: value %u has no name, or one with a control "
			    "character", e->module, (unsigned)e->instance, e->name, i);
	}
	return 0;
}

/* --- finding an entry by name ------------------------------------------------------------------------ */

static struct ks_seg_entry *
entry_at(struct kstat_pub *pub, uint64_t offset)
{
	return (struct ks_seg_entry *)((char *)pub->header + offset);
}

static uint64_t
key_hash(const struct ks_seg_entry *e)
{
	uint64_t h = ks_hash_string(ks_hash_string(KS_HASH_INIT, e->module), e->name);

	return (h ^ (uint64_t)(uint32_t)e->instance) * 0x9e3779b97f4a7c15ULL >> 20;
}

static bool
same_key(const struct ks_seg_entry *a, const struct ks_seg_entry *b)
{
	return a->instance == b->instance && memcmp(a->name, b->name, sizeof(a->name)) == 0 &&
	    memcmp(a->module, b->module, sizeof(a->module)) == 0;
}

/* An entry takes the slot of a deleted one with its name, so that names that come and go take one. */
static void
index_put(struct ks_seg_index *ix, struct kstat_pub *pub, uint64_t offset)
{
	const struct ks_seg_entry *e = entry_at(pub, offset);
	size_t i = key_hash(e) & ix->mask;

	for (; ix->offset[i] != 0; i = (i + 1) & ix->mask) {
		const struct ks_seg_entry *there = entry_at(pub, ix->offset[i]);

		if (atomic_load(&there->state) == KS_SEG_FREE && same_key(there, e)) {
			ix->offset[i] = offset;
			return;
		}
	}
	ix->offset[i] = offset;
	ix->n++;
}

static int
index_grow(struct ks_seg_index *ix, struct kstat_pub *pub)
{
	struct ks_seg_index bigger = *ix;
	size_t size = ix->offset == NULL ? 64 : 2 * (ix->mask + 1);

	bigger.offset = calloc(size, sizeof(*bigger.offset));
	if (bigger.offset == NULL)
		return ks_fail(ENOMEM, "out of memory for a segment");
	bigger.mask = size - 1;
	bigger.n = 0;
	for (size_t i = 0; ix->offset != NULL && i <= ix->mask; i++) {
		if (ix->offset[i] != 0)
			index_put(&bigger, pub, ix->offset[i]);
	}
	free(ix->offset);
	*ix = bigger;
	return 0;
}

static int
index_add(struct ks_seg_index *ix, struct kstat_pub *pub, uint64_t offset)
{
	if ((ix->offset == NULL || 2 * ix->n >= ix->mask) && index_grow(ix, pub) != 0)
		return -1;
	index_put(ix, pub, offset);
	return 0;
}

/* Takes in entries that this or another process added. The segment is locked. */
static int
index_update(struct kstat_pub *pub)
{
	struct ks_seg_index *ix = &pub->index;
	uint64_t used = atomic_load(&pub->header->used);
	uint64_t reused = atomic_load(&pub->header->reused);

	if (ix->until == 0 || ix->reused != reused) {
		if (ix->offset != NULL)
			memset(ix->offset, 0, (ix->mask + 1) * sizeof(*ix->offset));
		ix->n = 0;
		ix->until = KS_SEG_HEADER;
		ix->reused = reused;
	}
	while (ix->until < used) {
		const struct ks_seg_entry *e = entry_at(pub, ix->until);

		if (e->magic != KS_SEG_ENTRY_MAGIC || e->size < sizeof(*e) || e->size > used - ix->until ||
		    e->size % KS_SEG_ALIGN != 0)
			return ks_fail(EIO, "the segment of %s is damaged", pub->name);
		if (index_add(ix, pub, ix->until) != 0)
			return -1;
		ix->until += e->size;
	}
	return 0;
}

/*
 * The entry of that name and layout, whatever became of it; else NULL, and the entry that has the
 * name in *other (or NULL).
 */
static struct ks_seg_entry *
find_entry(struct kstat_pub *pub, const struct ks_seg_entry *like, struct ks_seg_entry **other)
{
	struct ks_seg_index *ix = &pub->index;
	struct ks_seg_entry *found = NULL;

	*other = NULL;
	if (ix->offset == NULL)
		return NULL;
	for (size_t i = key_hash(like) & ix->mask; ix->offset[i] != 0; i = (i + 1) & ix->mask) {
		struct ks_seg_entry *e = entry_at(pub, ix->offset[i]);
		uint32_t state = atomic_load(&e->state);

		if (state == KS_SEG_FREE || !same_key(e, like))
			continue;
		if (e->check == like->check && e->size == like->size && state != KS_SEG_REPLACED)
			found = e;
		else if (state != KS_SEG_REPLACED)
			*other = e;
	}
	return found;
}

/* --- space ------------------------------------------------------------------------------------------------ */

void
ks_seg_free_entry(struct ks_seg_header *h, struct ks_seg_entry *e, int64_t when)
{
	uint32_t at = (uint32_t)(((char *)e - (char *)h) / KS_SEG_ALIGN);
	uint32_t last = atomic_load(&h->free_last);

	/* Whoever dies half-way here loses a place, and nothing else. */
	atomic_store(&e->state, KS_SEG_FREE);
	e->crtime = when;
	e->mflags = 0;
	if (last != 0)
		((struct ks_seg_entry *)((char *)h + (uint64_t)last * KS_SEG_ALIGN))->mflags = at;
	else
		atomic_store(&h->free_first, at);
	atomic_store(&h->free_last, at);
}

/* True if the data at e has the very form that is needed, so that a late update does no harm. */
static bool
fits(const struct ks_seg_entry *e, const struct image *im)
{
	return e->size == im->e.size && e->form == im->e.form && e->type == im->e.type &&
	    e->shards == im->e.shards && e->nfields == im->e.nfields &&
	    e->data_size == im->e.data_size && e->fields == im->e.fields &&
	    (im->fields.len == 0 ||
	    memcmp((const char *)e + e->fields, im->fields.data, im->fields.len) == 0);
}

/* Takes a fitting place that was given up a while ago (any_age: whenever), or returns NULL. */
static struct ks_seg_entry *
take_free(struct kstat_pub *pub, const struct image *im, bool any_age)
{
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *before = NULL, *e;
	uint32_t at = atomic_load(&h->free_first);
	hrtime_t now = gethrtime();

	for (int i = 0; at != 0 && i < LOOK_AT; i++, at = e->mflags, before = e) {
		e = entry_at(pub, (uint64_t)at * KS_SEG_ALIGN);
		if (!any_age && e->crtime + QUARANTINE > now)
			return NULL; /* and the others are younger */
		if (!fits(e, im))
			continue;
		if (before != NULL)
			before->mflags = e->mflags;
		else
			atomic_store(&h->free_first, e->mflags);
		if (e->mflags == 0)
			atomic_store(&h->free_last, before == NULL ? 0 :
			    (uint32_t)(((char *)before - (char *)h) / KS_SEG_ALIGN));
		return e;
	}
	return NULL;
}

static int
take_storage(struct kstat_pub *pub, uint64_t end)
{
	struct ks_seg_header *h = pub->header;
	uint64_t allocated = atomic_load(&h->allocated);
	uint64_t want = (end + STORAGE_STEP - 1) / STORAGE_STEP * STORAGE_STEP;
	int error;

	if (end <= allocated)
		return 0;
	if (want > h->capacity)
		want = h->capacity;
	error = posix_fallocate(pub->fd, (off_t)allocated, (off_t)(want - allocated));
	if (error != 0)
		return ks_fail(error, "no storage for the segment of %s: %s", pub->name, strerror(error));
	atomic_store(&h->allocated, want);
	return 0;
}

static void
write_image(struct ks_seg_entry *to, const struct image *im)
{
	char *at = (char *)to;

	/* The state comes first in time: until it changes, readers pass the entry over. */
	memcpy(at + offsetof(struct ks_seg_entry, mflags),
	    (const char *)&im->e + offsetof(struct ks_seg_entry, mflags),
	    sizeof(im->e) - offsetof(struct ks_seg_entry, mflags));
	if (im->data.len > 0)
		memcpy(at + im->e.data, im->data.data, im->data.len);
	if (im->fields.len > 0)
		memcpy(at + im->e.fields, im->fields.data, im->fields.len);
	memcpy(at + im->e.strings, im->strings.data, im->strings.len);
	to->magic = im->e.magic;
	to->version = im->e.version;
	to->size = im->e.size;
}

/* A new entry with that content, not yet installed. The segment is locked. */
static struct ks_seg_entry *
place(struct kstat_pub *pub, const struct image *im)
{
	struct ks_seg_header *h = pub->header;
	uint64_t used = atomic_load(&h->used);
	bool full = im->e.size > h->capacity - used;
	struct ks_seg_entry *e = NULL;

	e = take_free(pub, im, full);
	if (e != NULL) {
		write_image(e, im);
		/* Other processes see the number and look at all names again; here one is new. */
		pub->index.reused = atomic_fetch_add(&h->reused, 1) + 1;
		return index_add(&pub->index, pub, (uint64_t)((char *)e - (char *)h)) == 0 ? e : NULL;
	}
	if (full)
		return ks_fail_null(ENOSPC, "the segment of %s is full (%llu bytes)", pub->name,
		    (unsigned long long)h->capacity);
	if (take_storage(pub, used + im->e.size) != 0)
		return NULL;
	e = entry_at(pub, used);
	write_image(e, im);
	atomic_store(&e->state, KS_SEG_FREE);
	atomic_store(&h->used, used + im->e.size);
	return e;
}

/* --- installing and deleting ----------------------------------------------------------------------------------- */

/* Readers see an odd number while entries change, and look again. */
static void
begin_change(struct ks_seg_header *h)
{
	atomic_store(&h->changes, atomic_load(&h->changes) | 1);
}

static void
end_change(struct ks_seg_header *h)
{
	atomic_store(&h->changes, (atomic_load(&h->changes) | 1) + 1);
}

static int
install_image(struct ks_provider *p, const struct image *im)
{
	struct kstat_pub *pub = p->published->pub;
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *e = NULL, *other = NULL;
	uint64_t v = ks_word_lock(&h->lock);
	int rc;

	if (v == KS_WORD_BUSY)
		return -1;
	begin_change(h);
	rc = index_update(pub);
	if (rc == 0) {
		e = find_entry(pub, &im->e, &other);
		if (e == NULL)
			e = place(pub, im);
	}
	if (e != NULL) {
		if (other != NULL)
			atomic_store(&other->state, KS_SEG_REPLACED);
		atomic_store(&e->state, KS_SEG_INSTALLED);
		rc = index_update(pub);
	}
	end_change(h);
	ks_word_abort(&h->lock, v);
	if (e == NULL)
		return -1;
	p->published->entry = e;
	return 0;
}

/* Sets the kstat_t to what the entry is, and gives up the template. */
static void
attach(struct ks_provider *p)
{
	struct ks_seg_entry *e = p->published->entry;

	p->ks.ks_crtime = e->crtime;
	p->ks.ks_flags &= (uchar_t)~(KSTAT_FLAG_INVALID | KSTAT_FLAG_DORMANT);
	if (p->histogram != NULL)
		p->histogram->counts = (struct ks_hist *)((char *)e + e->data);
	if (p->owns_data)
		free(p->ks.ks_data);
	p->owns_data = false;
	p->ks.ks_data = NULL;
}

int
ks_published_install(struct ks_provider *p)
{
	struct image im;
	int rc, error;

	ks_publish_lock();
	rc = lay_out(&im, p);
	if (rc == 0)
		rc = check_names(&im);
	if (rc == 0)
		rc = ks_provider_check_names(p);
	if (rc == 0)
		rc = install_image(p, &im);
	if (rc == 0)
		attach(p);
	error = errno;
	free_image(&im);
	ks_publish_unlock();
	errno = error;
	return rc;
}

void
ks_published_free(struct ks_published *d)
{
	struct ks_published **at = &d->pub->kstats;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	/* Its counts lie in the segment: ks_provider_free() must see that it is published. */
	ks_provider_free(d->provider);
	free(d);
}

void
ks_published_delete(struct ks_provider *p)
{
	struct ks_seg_entry *e = p->published->entry;
	struct ks_seg_header *h = p->published->pub->header;
	uint64_t v;

	ks_publish_lock();
	v = e != NULL ? ks_word_lock(&h->lock) : KS_WORD_BUSY;
	if (v != KS_WORD_BUSY) {
		begin_change(h);
		if (atomic_load(&e->state) == KS_SEG_INSTALLED && (e->flags & KSTAT_FLAG_PERSISTENT)) {
			atomic_store(&e->state, KS_SEG_DORMANT);
		} else if (atomic_load(&e->state) == KS_SEG_INSTALLED) {
			ks_seg_free_entry(h, e, gethrtime());
		}
		end_change(h);
		ks_word_abort(&h->lock, v);
	}
	ks_published_free(p->published);
	ks_publish_unlock();
}

/* --- creating ------------------------------------------------------------------------------------------------------ */

/* Enters a kstat into the segment's list. NULL with errno; p is freed then. */
static kstat_t *
enlist(struct kstat_pub *pub, struct ks_provider *p)
{
	struct ks_published *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		ks_provider_free(p);
		return ks_fail_null(ENOMEM, "out of memory for a kstat");
	}
	d->pub = pub;
	d->provider = p;
	d->shards = 1;
	p->published = d;
	ks_publish_lock();
	d->next = pub->kstats;
	pub->kstats = d;
	ks_publish_unlock();
	return &p->ks;
}

kstat_t *
kstat_publish_create(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uchar_t ks_type, uint_t ks_ndata, uchar_t ks_flags)
{
	struct ks_provider *p;

	if (pub == NULL || (ks_flags & (KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE)) != 0)
		return ks_fail_null(EINVAL, "a published kstat is neither VIRTUAL nor VAR_SIZE");
	p = ks_provider_new(ks_module, ks_instance, ks_name, ks_class, ks_type, ks_ndata, ks_flags);
	if (p == NULL)
		return NULL;
	p->ks.ks_data = calloc(1, p->ks.ks_data_size == 0 ? 1 : p->ks.ks_data_size);
	p->owns_data = true;
	if (p->ks.ks_data == NULL) {
		ks_provider_free(p);
		return ks_fail_null(ENOMEM, "out of memory for the data of a kstat");
	}
	return enlist(pub, p);
}

kstat2_t *
kstat2_publish_histogram(kstat_pub_t *pub, const char *ks_pseg[], uint32_t ks_npseg,
    kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type, uint64_t scale,
    kstat2_nv_metaflag_t md_flags, uint64_t range_min, uint64_t range_max, uint64_t stepping,
    uint32_t ks_flags, const char *desc, kstat2_metaflag_t ks_mflags)
{
	kstat2_path_t path;
	struct ks_provider *p;

	if (pub == NULL)
		return ks_fail_null(EINVAL, "no segment given");
	if (kstat2_parse_path((const char *const *)ks_pseg, ks_npseg, &path) != 0)
		return NULL;
	if ((ks_mflags & KSTAT2_MF_PRIV) && !(pub->header->flags & KSTAT_PUBLISH_PRIV))
		return ks_fail_null(EPERM, "a PRIV kstat needs a segment published with KSTAT_PUBLISH_PRIV");
	p = ks_histogram_new(&path, type, content_type, scale, md_flags, range_min, range_max,
	    stepping, ks_flags, desc, ks_mflags);
	return p != NULL ? enlist(pub, p) : NULL;
}

/* A kstat of a segment that is not installed yet, or NULL with errno EINVAL. */
static struct ks_provider *
unfinished(kstat_t *ksp, uchar_t type, const char *what)
{
	struct ks_provider *p = (struct ks_provider *)ksp;

	if (ksp == NULL || p->published == NULL || p->published->entry != NULL ||
	    ksp->ks_type != type || p->histogram != NULL)
		return ks_fail_null(EINVAL, "%s is for published kstats of another type or state", what);
	return p;
}

int
kstat_publish_shards(kstat_t *ksp, uint_t n)
{
	uchar_t type = ksp != NULL && ksp->ks_type == KSTAT_TYPE_INTR ? KSTAT_TYPE_INTR :
	    KSTAT_TYPE_NAMED;
	struct ks_provider *p = unfinished(ksp, type, "kstat_publish_shards()");

	if (p == NULL)
		return -1;
	if (n == 0 || n > KS_SEG_MOST_SHARDS)
		return ks_fail(EINVAL, "1 to %u shards are possible, not %u", KS_SEG_MOST_SHARDS, n);
	p->published->shards = n;
	return 0;
}

int
kstat_publish_layout(kstat_t *ksp, const char *layout, int memory)
{
	struct ks_provider *p = unfinished(ksp, KSTAT_TYPE_RAW, "kstat_publish_layout()");

	if (p == NULL)
		return -1;
	if (layout == NULL || strlen(layout) >= sizeof(p->published->layout))
		return ks_fail(EINVAL, "the name of a layout has at most %zu bytes",
		    sizeof(p->published->layout) - 1);
	strcpy(p->published->layout, layout);
	p->published->bytes = memory != 0;
	return 0;
}
