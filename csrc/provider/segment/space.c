/* space.c - see space.h and segment_layout.h. SPDX-License-Identifier: MIT */
#include "provider/segment/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define STORAGE_STEP 262144u /* bytes of storage taken at a time */
#define LOOK_AT 64           /* places given up, before a new one is made */
#define QUARANTINE 1000000000ULL /* ns before the place of a deleted kstat is used again */

/* --- what others may have changed -------------------------------------------------------------------- */

static int
damaged(const struct kstat_pub *pub)
{
	return ks_fail(EIO, "the segment of %s is damaged", pub->name);
}

/* True if n bytes from that offset on are entries' bytes of the mapping. */
static bool
is_within(const struct kstat_pub *pub, uint64_t offset, uint64_t n)
{
	return offset >= KS_SEG_HEADER && offset % KS_SEG_ALIGN == 0 && offset <= pub->mapped &&
	    n <= pub->mapped - offset;
}

/* Where the entries end. 0, or -1 with errno EIO. */
static int
read_used(const struct kstat_pub *pub, uint64_t *used)
{
	*used = atomic_load(&pub->header->used);
	return is_within(pub, *used, 0) ? 0 : damaged(pub);
}

uint64_t
ks_seg_entry_size(struct kstat_pub *pub, uint64_t offset)
{
	const struct ks_seg_entry *e;
	uint64_t used, size;

	if (read_used(pub, &used) != 0 || offset >= used || !is_within(pub, offset, sizeof(*e)))
		return 0;
	e = ks_seg_entry_at(pub, offset);
	size = *(const volatile uint64_t *)&e->size;
	return e->magic == KS_SEG_ENTRY_MAGIC && size >= sizeof(*e) && size % KS_SEG_ALIGN == 0 &&
	    size <= used - offset ? size : 0;
}

bool
ks_seg_entry_is_whole(struct kstat_pub *pub, uint64_t offset, uint64_t size)
{
	const struct ks_seg_entry *at = ks_seg_entry_at(pub, offset);
	const char *bytes = (const char *)at;
	struct ks_seg_entry e;
	uint32_t state;

	memcpy(&e, at, sizeof(e)); /* others may be changing it */
	state = atomic_load(&e.state);
	if (state == KS_SEG_FREE || state == KS_SEG_REPLACED)
		return true;
	return state <= KS_SEG_REPLACED && e.size == size && e.version == KS_SEG_VERSION && e.fields <= size &&
	    e.nfields <= (size - e.fields) / sizeof(struct ks_seg_field) && e.strings <= size &&
	    e.strings_size <= size - e.strings &&
	    e.check == ks_seg_entry_check(&e, bytes + e.fields, bytes + e.strings);
}

/* --- finding an entry by name ------------------------------------------------------------------------ */

/* Others may have overwritten the NUL of a name in the segment: so all bytes of its place are compared. */
static uint64_t
key_hash(const struct ks_seg_entry *e)
{
	uint64_t h = ks_hash_bytes(KS_HASH_INIT, e->module, sizeof(e->module));

	h = ks_hash_bytes(h, e->name, sizeof(e->name));
	return (h ^ (uint64_t)(uint32_t)e->instance) * 0x9e3779b97f4a7c15ULL >> 20;
}

static bool
same_key(const struct ks_seg_entry *a, const struct ks_seg_entry *b)
{
	return a->instance == b->instance && memcmp(a->name, b->name, sizeof(a->name)) == 0 &&
	    memcmp(a->module, b->module, sizeof(a->module)) == 0;
}

static struct ks_seg_entry *
entry_of(struct kstat_pub *pub, uint32_t slot)
{
	return ks_seg_entry_at(pub, pub->index.place[slot].offset);
}

static bool
has_key(const void *things, uint32_t slot, const void *key)
{
	return same_key(entry_of((struct kstat_pub *)(uintptr_t)things, slot), key);
}

/*
 * Adds the entry at an offset to the list of its name. Where the list has a deleted entry, the new one
 * replaces it: so the list of a name that is created and deleted again and again does not grow.
 */
static int
index_add(struct kstat_pub *pub, uint64_t offset)
{
	struct ks_seg_index *ix = &pub->index;
	struct ks_seg_entry key;
	uint64_t hash;
	uint32_t first;

	memcpy(&key, ks_seg_entry_at(pub, offset), sizeof(key)); /* others may be changing it */
	hash = key_hash(&key);
	first = ks_table_find(&ix->by_name, hash, has_key, pub, &key);
	for (uint32_t i = first; i != KS_NO_SLOT; i = ix->place[i].next) {
		if (atomic_load(&entry_of(pub, i)->state) == KS_SEG_FREE) {
			ix->place[i].offset = offset;
			return 0;
		}
	}
	if (ix->n >= KS_NO_SLOT || !KS_RESERVE(ix->place, ix->cap, ix->n + 1))
		return ks_fail(ENOMEM, "out of memory for a segment");
	ix->place[ix->n] = (struct ks_seg_place){ offset, first };
	if (first == KS_NO_SLOT ? !ks_table_add(&ix->by_name, hash, (uint32_t)ix->n) :
	    !ks_table_replace(&ix->by_name, hash, first, (uint32_t)ix->n))
		return ks_fail(ENOMEM, "out of memory for a segment");
	ix->n++;
	return 0;
}

void
ks_seg_index_free(struct ks_seg_index *ix)
{
	free(ix->place);
	ks_table_free(&ix->by_name);
	*ix = (struct ks_seg_index){ .place = NULL };
}

int
ks_seg_index_update(struct kstat_pub *pub)
{
	struct ks_seg_index *ix = &pub->index;
	uint64_t reused = atomic_load(&pub->header->reused), used, size;

	if (read_used(pub, &used) != 0)
		return -1;
	if (ix->until == 0 || ix->reused != reused) {
		ks_table_clear(&ix->by_name);
		ix->n = 0;
		ix->until = KS_SEG_HEADER;
		ix->reused = reused;
	}
	while (ix->until < used) {
		size = ks_seg_entry_size(pub, ix->until);
		if (size == 0)
			return damaged(pub);
		if (index_add(pub, ix->until) != 0)
			return -1;
		ix->until += size;
	}
	return 0;
}

struct ks_seg_entry *
ks_seg_find_entry(struct kstat_pub *pub, const struct ks_seg_entry *like, struct ks_seg_entry **other)
{
	struct ks_seg_index *ix = &pub->index;
	struct ks_seg_entry *found = NULL;
	uint32_t i = ks_table_find(&ix->by_name, key_hash(like), has_key, pub, like);

	*other = NULL;
	for (; i != KS_NO_SLOT; i = ix->place[i].next) {
		struct ks_seg_entry *e = entry_of(pub, i);
		uint32_t state = atomic_load(&e->state);

		if (state == KS_SEG_FREE || state == KS_SEG_REPLACED || !same_key(e, like))
			continue;
		if (e->check == like->check && e->size == like->size &&
		    is_within(pub, ix->place[i].offset, like->size))
			found = e;
		else
			*other = e;
	}
	return found;
}

/* --- space ------------------------------------------------------------------------------------------------ */

static uint32_t
place_of(const struct kstat_pub *pub, const struct ks_seg_entry *e)
{
	return e == NULL ? 0 : (uint32_t)(((const char *)e - (const char *)pub->header) / KS_SEG_ALIGN);
}

/* The entry that the list of free places names, or NULL: there is none, or it is nowhere. */
static struct ks_seg_entry *
free_entry_at(struct kstat_pub *pub, uint32_t place)
{
	uint64_t offset = (uint64_t)place * KS_SEG_ALIGN;

	return is_within(pub, offset, sizeof(struct ks_seg_entry)) ? ks_seg_entry_at(pub, offset) : NULL;
}

void
ks_seg_free_entry(struct kstat_pub *pub, struct ks_seg_entry *e, int64_t when)
{
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *last = free_entry_at(pub, atomic_load(&h->free_last));

	/* Whoever dies half-way here loses a place, and nothing else. */
	atomic_store(&e->state, KS_SEG_FREE);
	e->crtime = when;
	e->mflags = 0;
	if (last != NULL)
		last->mflags = place_of(pub, e);
	else
		atomic_store(&h->free_first, place_of(pub, e));
	atomic_store(&h->free_last, place_of(pub, e));
}

/* True if the data at e has the very form that is needed, so that a late update does no harm. */
static bool
fits(const struct kstat_pub *pub, const struct ks_seg_entry *e, const struct ks_seg_image *im)
{
	return e->size == im->e.size && e->form == im->e.form && e->type == im->e.type &&
	    e->shards == im->e.shards && e->nfields == im->e.nfields &&
	    e->data_size == im->e.data_size && e->fields == im->e.fields &&
	    is_within(pub, (uint64_t)place_of(pub, e) * KS_SEG_ALIGN, im->e.size) &&
	    (im->fields.len == 0 ||
	    memcmp((const char *)e + im->e.fields, im->fields.data, im->fields.len) == 0);
}

/* Takes a fitting place that was given up a while ago (any_age: whenever), or returns NULL. */
static struct ks_seg_entry *
take_free(struct kstat_pub *pub, const struct ks_seg_image *im, bool any_age)
{
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *before = NULL, *e = free_entry_at(pub, atomic_load(&h->free_first));
	hrtime_t now = gethrtime();

	for (int i = 0; e != NULL && i < LOOK_AT; i++) {
		uint32_t next = *(volatile uint32_t *)&e->mflags;

		/* Unsigned, since others may have written any time there: a difference below 0 counts as old. */
		if (!any_age && (uint64_t)now - (uint64_t)e->crtime < QUARANTINE)
			return NULL; /* and the others are younger */
		if (fits(pub, e, im)) {
			if (before != NULL)
				before->mflags = next;
			else
				atomic_store(&h->free_first, next);
			if (next == 0)
				atomic_store(&h->free_last, place_of(pub, before));
			return e;
		}
		before = e;
		e = free_entry_at(pub, next);
	}
	return NULL;
}

/* As MADV_POPULATE_WRITE on kernels that do not have it (before 5.14): 0, or -1 with errno EFAULT. */
static int
touch_pages(char *from, size_t n)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), rc = 0;

	for (size_t at = 0; fd >= 0 && at < n && rc == 0; at += 4096) {
		char *p = from + at;

		/* The kernel stores the byte, so that a page that cannot be had is an error. */
		rc = *(volatile char *)p == 0 && read(fd, p, 1) == 1 ? 0 : -1;
	}
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 ? rc : -1;
}

int
ks_seg_take_storage(struct kstat_pub *pub, uint64_t used, uint64_t size)
{
	uint64_t from = used & ~(uint64_t)4095, end;
	char *at;

	if (!is_within(pub, used, size))
		return ks_fail(ENOSPC, "the segment of %s is full (%zu bytes)", pub->name, pub->mapped);
	at = (char *)pub->header + from;
	/*
	 * Storage is taken in steps. An entry that begins a step, or reaches into the next one, takes all of that. An
	 * entry within a step takes its own pages alone, which mostly are there already.
	 */
	end = (used + size + STORAGE_STEP - 1) / STORAGE_STEP * STORAGE_STEP;
	if (used / STORAGE_STEP == (used + size - 1) / STORAGE_STEP && used % STORAGE_STEP != 0)
		end = (used + size + 4095) & ~(uint64_t)4095;
	if (end > pub->mapped)
		end = pub->mapped;
	if (madvise(at, end - from, MADV_POPULATE_WRITE) == 0 ||
	    (errno == EINVAL && touch_pages(at, end - from) == 0))
		return 0;
	return ks_fail(errno == EFAULT ? ENOSPC : errno, "no storage for the segment of %s", pub->name);
}

static void
write_image(struct ks_seg_entry *to, const struct ks_seg_image *im)
{
	char *at = (char *)to;

	/* The state is not written here. It is FREE until the entry is complete, so that readers pass it over. */
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
	struct ks_seg_entry *e;
	uint64_t used;

	if (read_used(pub, &used) != 0)
		return NULL;
	e = take_free(pub, im, im->e.size > pub->mapped - used);
	if (e != NULL) {
		write_image(e, im);
		/* Other processes see the number and look at all names again; here one is new. */
		pub->index.reused = atomic_fetch_add(&h->reused, 1) + 1;
		return index_add(pub, (uint64_t)((char *)e - (char *)h)) == 0 ? e : NULL;
	}
	if (ks_seg_take_storage(pub, used, im->e.size) != 0)
		return NULL;
	e = ks_seg_entry_at(pub, used);
	write_image(e, im);
	atomic_store(&e->state, KS_SEG_FREE);
	atomic_store(&h->used, used + im->e.size);
	return e;
}
