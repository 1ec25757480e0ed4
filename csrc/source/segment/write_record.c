/*
 * write_record.c - writing to one published kstat from outside. See segment_file.h.
 *
 * Numbers are written with pwrite(). A text is a record that its publisher may be changing, so it takes the
 * record's lock as the publisher does, in a mapping of the entry. A file that shrinks while it is mapped
 * kills who touches it: so that is done with files of the same user only, who could as well kill this process.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/directory.h"
#include "source/segment/segment_file.h"

/* A text or array as it is to be stored. */
struct text {
	const char *bytes;
	uint32_t n;    /* of them, to be copied */
	uint32_t len;  /* as stored: a string's has its NUL */
	bool present;
};

/* One that differs from what is there. */
struct change {
	const struct ks_seg_field *field;
	struct text text;
	struct ks_rec *rec; /* in the mapping */
	uint64_t word;      /* of the record, locked */
};

struct writing {
	struct ks_seg_file *f;
	const struct ks_seg_kstat *k;
	const kstat_named_t *values;
	const char *data; /* a copy of what is there */
	int fd;
	struct change *change;
	size_t nchanges;
	char *map;
	size_t mapped;
};

static int
refuse(const struct ks_seg_kstat *k, const char *stat, const char *why)
{
	return ks_fail(EINVAL, "%s:%d:%s:%.30s: %s", k->shape->e.module, k->instance, k->name, stat, why);
}

/* --- checking -------------------------------------------------------------------------------- */

/* The value of a text or array, which has to fit in its place. 0, or -1 with errno EINVAL. */
static int
text_of(const struct ks_seg_kstat *k, const struct ks_seg_field *field, const kstat_named_t *kn,
    struct text *t)
{
	size_t room = field->size - sizeof(struct ks_seg_text);
	uint64_t len;

	*t = (struct text){ .bytes = kn->value.string.addr.ptr, .n = kn->value.string.len };
	if (field->data_type == KSTAT_DATA_CHAR) {
		*t = (struct text){ kn->value.c, sizeof(kn->value.c), sizeof(kn->value.c), true };
		return 0;
	}
	t->present = t->bytes != NULL;
	if (!t->present)
		t->n = 0;
	len = t->n;
	switch (field->data_type) {
	case KSTAT_DATA_STRING:
		t->n = t->present ? (uint32_t)strnlen(t->bytes, t->n) : 0;
		len = (uint64_t)t->n + t->present;
		break;
	case KSTAT_DATA_INTS:
		if (t->n % sizeof(uint64_t) != 0)
			return refuse(k, field->name, "an array of numbers has a multiple of 8 bytes");
		break;
	default:
		if (t->n > 0 && t->bytes[t->n - 1] != '\0')
			return refuse(k, field->name, "a list of strings ends in a NUL");
	}
	if (len > room)
		return ks_fail(EINVAL, "%s:%d:%s:%s: its publisher left room for %zu bytes, not %llu",
		    k->shape->e.module, k->instance, k->name, field->name, room, (unsigned long long)len);
	t->len = (uint32_t)len;
	return 0;
}

static int
check_values(const struct ks_seg_kstat *k, const kstat_named_t *values, uint_t n)
{
	if (k->shape->e.type != KSTAT_TYPE_NAMED || k->shape->e.form != KS_FORM_FIELDS)
		return ks_fail(EACCES, "%s:%d:%s: only named values can be written from outside",
		    k->shape->e.module, k->instance, k->name);
	if (!(k->shape->e.flags & KSTAT_FLAG_WRITABLE))
		return ks_fail(EACCES, "%s:%d:%s is not writable", k->shape->e.module, k->instance, k->name);
	if (n != k->shape->e.nfields)
		return ks_fail(EINVAL, "%s:%d:%s has %u values, not %u", k->shape->e.module, k->instance,
		    k->name, k->shape->e.nfields, n);
	for (uint_t i = 0; i < n; i++) {
		if (strncmp(values[i].name, k->shape->fields[i].name, KSTAT_STRLEN) != 0 ||
		    values[i].data_type != k->shape->fields[i].data_type)
			return ks_fail(EINVAL, "%s:%d:%s: value %u is '%.30s' of type %d, not '%.30s' of type %d",
			    k->shape->e.module, k->instance, k->name, i, k->shape->fields[i].name,
			    k->shape->fields[i].data_type, values[i].name, values[i].data_type);
	}
	return 0;
}

/* True if a record holds that text, in a copy of one's own. */
static bool
is_as_it_was(const struct ks_seg_field *field, char *rec, const struct text *t)
{
	char *value = (char *)(uintptr_t)ks_rec_current(rec, field->size);
	struct ks_seg_text head;

	if (value == NULL)
		return false;
	/* It was read with its control characters replaced. */
	if (field->data_type == KSTAT_DATA_CHAR) {
		ks_clean_text(value, strnlen(value, t->n));
		return memcmp(value, t->bytes, t->n) == 0;
	}
	memcpy(&head, value, sizeof(head));
	value += sizeof(head);
	if (head.len > field->size - sizeof(head))
		return false;
	if (!head.present)
		head.len = 0;
	/* Readers get an empty array in the place of none, and write that back. */
	if (field->data_type == KSTAT_DATA_STRING && (head.present != 0) != t->present)
		return false;
	if (field->data_type == KSTAT_DATA_STRING)
		head.len = (uint32_t)strnlen(value, head.len);
	if (field->data_type != KSTAT_DATA_INTS)
		ks_clean_text(value, head.len);
	return head.len == t->n && (t->n == 0 || memcmp(value, t->bytes, t->n) == 0);
}

/* Finds the texts that are to change. 0, or -1 with errno. */
static int
find_changes(struct writing *w)
{
	char *data = ks_seg_kstat_copy(w->f, w->k, w->k->shape->e.data_size);

	if (data == NULL)
		return -1;
	w->data = data;
	for (uint32_t i = 0; i < w->k->shape->e.nfields; i++) {
		const struct ks_seg_field *field = &w->k->shape->fields[i];
		struct change c = { .field = field };

		if (field->storage != KS_STORE_RECORD)
			continue;
		if (text_of(w->k, field, &w->values[i], &c.text) != 0)
			return -1;
		if (is_as_it_was(field, data + field->offset, &c.text))
			continue;
		if (w->change == NULL)
			w->change = malloc(w->k->shape->e.nfields * sizeof(*w->change));
		if (w->change == NULL)
			return ks_fail(ENOMEM, "out of memory to write to %s", w->f->path);
		w->change[w->nchanges++] = c;
	}
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Maps the entry, if its texts may be changed by this process. 0, or -1 with errno. */
static int
map_entry(struct writing *w)
{
	const struct ks_seg_kstat *k = w->k;
	size_t skew = (size_t)(k->offset % (uint64_t)sysconf(_SC_PAGESIZE));
	struct stat st;
	void *at;

	if (fstat(w->fd, &st) != 0)
		return ks_fail(errno, "%s: %s", w->f->path, strerror(errno));
	if (st.st_uid != geteuid())
		return ks_fail(EPERM, "%s:%d:%s: texts are changed by the owner of %s only", k->shape->e.module,
		    k->instance, k->name, w->f->path);
	if (st.st_size < 0 || (uint64_t)st.st_size < k->offset ||
	    (uint64_t)st.st_size - k->offset < k->shape->e.size)
		return ks_fail(EIO, "%s:%d:%s: %s was cut off", k->shape->e.module, k->instance, k->name,
		    w->f->path);
	at = mmap(NULL, skew + k->shape->e.size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
	    (off_t)(k->offset - skew));
	if (at == MAP_FAILED)
		return ks_fail(errno, "cannot map %s: %s", w->f->path, strerror(errno));
	w->map = at;
	w->mapped = skew + k->shape->e.size;
	if (!ks_seg_kstat_is(k, (const struct ks_seg_entry *)(const void *)(w->map + skew)))
		return ks_fail(ENXIO, "%s:%d:%s was deleted by its publisher", k->shape->e.module, k->instance,
		    k->name);
	for (size_t i = 0; i < w->nchanges; i++)
		w->change[i].rec = (struct ks_rec *)(void *)(w->map + skew + k->shape->e.data +
		    w->change[i].field->offset);
	return 0;
}

/* Lets the first n records be as they were. */
static void
let_go(struct writing *w, size_t n)
{
	while (n-- > 0)
		ks_word_abort(&w->change[n].rec->word, w->change[n].word);
}

/* In the order of the fields, so that two writers never wait for one another. */
static int
lock_all(struct writing *w)
{
	for (size_t i = 0; i < w->nchanges; i++) {
		w->change[i].word = ks_word_lock(&w->change[i].rec->word);
		if (w->change[i].word == KS_WORD_BUSY) {
			let_go(w, i);
			return -1;
		}
	}
	return 0;
}

static void
commit_all(struct writing *w)
{
	for (size_t i = 0; i < w->nchanges; i++) {
		struct change *c = &w->change[i];
		size_t rounded = (c->field->size + 7) & ~(size_t)7, at = 0;
		struct ks_seg_text head = { c->text.len, c->text.present };
		char *next = ks_rec_next(c->rec, c->word, c->field->size);

		memset(next, 0, rounded);
		if (c->field->data_type != KSTAT_DATA_CHAR) {
			memcpy(next, &head, sizeof(head));
			at = sizeof(head);
		}
		if (c->text.n > 0)
			memcpy(next + at, c->text.bytes, c->text.n);
		ks_rec_commit(c->rec, c->word, next, rounded);
	}
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int
write_numbers(const struct writing *w)
{
	const struct ks_seg_kstat *k = w->k;

	for (uint32_t i = 0; i < k->shape->e.nfields; i++) {
		const struct ks_seg_field *field = &k->shape->fields[i];
		uint64_t v = ks_seg_cell_of(&w->values[i]), first;

		if (field->storage == KS_STORE_RECORD)
			continue;
		/* The value is the sum of its shards: the first is changed so that the sum is what is to be stored. */
		memcpy(&first, w->data + field->offset, sizeof(first));
		v -= ks_seg_cell(&k->shape->e, field, w->data) - first;
		if (pwrite(w->fd, &v, sizeof(v), (off_t)(k->offset + k->shape->e.data + field->offset)) !=
		    (ssize_t)sizeof(v))
			return ks_fail(errno, "%s: %s", w->f->path, strerror(errno));
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int
write_all(struct writing *w)
{
	char path[64];

	/* The very file that is read, whatever has its name by now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", w->f->fd);
	w->fd = open(path, (w->nchanges > 0 ? O_RDWR : O_WRONLY) | O_CLOEXEC);
	if (w->fd < 0)
		return ks_fail(errno == EACCES ? EPERM : errno, "%s: %s", w->f->path, strerror(errno));
	if (w->nchanges > 0 && (map_entry(w) != 0 || lock_all(w) != 0))
		return -1;
	if (write_numbers(w) != 0) {
		let_go(w, w->nchanges);
		return -1;
	}
	commit_all(w);
	return 0;
}

int
ks_seg_kstat_write(struct ks_seg_file *f, const struct ks_seg_kstat *k,
    const kstat_named_t *values, uint_t n)
{
	struct writing w = { .f = f, .k = k, .values = values, .fd = -1 };
	int rc, error;

	if (check_values(k, values, n) != 0)
		return -1;
	rc = find_changes(&w) == 0 ? write_all(&w) : -1;
	error = errno;
	if (w.map != NULL)
		(void)munmap(w.map, w.mapped);
	if (w.fd >= 0)
		(void)close(w.fd);
	free(w.change);
	errno = error;
	return rc;
}
