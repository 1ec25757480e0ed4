/* space.c - see space.h and segment_layout.h. SPDX-License-Identifier: MIT */
#include "provider/segment/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define STORAGE_STEP 262144u /* bytes of storage taken at a time */
#define LOOK_AT 64           /* places given up, before a new one is made */
#define QUARANTINE 1000000000LL /* ns before the place of a deleted kstat is used again */

/* --- finding an entry by name ------------------------------------------------------------------------ */

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
	const struct ks_seg_entry *e = ks_seg_entry_at(pub, offset);
	size_t i = key_hash(e) & ix->mask;

	for (; ix->offset[i] != 0; i = (i + 1) & ix->mask) {
		const struct ks_seg_entry *there = ks_seg_entry_at(pub, ix->offset[i]);

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

int
ks_seg_index_update(struct kstat_pub *pub)
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
		const struct ks_seg_entry *e = ks_seg_entry_at(pub, ix->until);

		if (e->magic != KS_SEG_ENTRY_MAGIC || e->size < sizeof(*e) || e->size > used - ix->until ||
		    e->size % KS_SEG_ALIGN != 0)
			return ks_fail(EIO, "the segment of %s is damaged", pub->name);
		if (index_add(ix, pub, ix->until) != 0)
			return -1;
		ix->until += e->size;
	}
	return 0;
}

struct ks_seg_entry *
ks_seg_find_entry(struct kstat_pub *pub, const struct ks_seg_entry *like, struct ks_seg_entry **other)
{
	struct ks_seg_index *ix = &pub->index;
	struct ks_seg_entry *found = NULL;

	*other = NULL;
	if (ix->offset == NULL)
		return NULL;
	for (size_t i = key_hash(like) & ix->mask; ix->offset[i] != 0; i = (i + 1) & ix->mask) {
		struct ks_seg_entry *e = ks_seg_entry_at(pub, ix->offset[i]);
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
fits(const struct ks_seg_entry *e, const struct ks_seg_image *im)
{
	return e->size == im->e.size && e->form == im->e.form && e->type == im->e.type &&
	    e->shards == im->e.shards && e->nfields == im->e.nfields &&
	    e->data_size == im->e.data_size && e->fields == im->e.fields &&
	    (im->fields.len == 0 ||
	    memcmp((const char *)e + e->fields, im->fields.data, im->fields.len) == 0);
}

/* Takes a fitting place that was given up a while ago (any_age: whenever), or returns NULL. */
static struct ks_seg_entry *
take_free(struct kstat_pub *pub, const struct ks_seg_image *im, bool any_age)
{
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *before = NULL, *e;
	uint32_t at = atomic_load(&h->free_first);
	hrtime_t now = gethrtime();

	for (int i = 0; at != 0 && i < LOOK_AT; i++, at = e->mflags, before = e) {
		e = ks_seg_entry_at(pub, (uint64_t)at * KS_SEG_ALIGN);
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
write_image(struct ks_seg_entry *to, const struct ks_seg_image *im)
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

struct ks_seg_entry *
ks_seg_place(struct kstat_pub *pub, const struct ks_seg_image *im)
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
	e = ks_seg_entry_at(pub, used);
	write_image(e, im);
	atomic_store(&e->state, KS_SEG_FREE);
	atomic_store(&h->used, used + im->e.size);
	return e;
}
