/*
 * segment.c - the kstats that processes of this host publish: offering, reading and describing them.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"
#include "model/origin.h"
#include "provider/segment/directory.h"
#include "source/segment/segments.h"
#include "source/sources.h"

static uint64_t
name_hash(const struct ks_seg_kstat *k)
{
	return ks_hash_string(ks_hash_string(KS_HASH_INIT, k->shape->e.module), k->name) ^ (uint32_t)k->instance;
}

static bool
has_name(const void *things, uint32_t slot, const void *key)
{
	const struct ks_seg_kstat *a = ((const struct ks_seg_kstat *const *)things)[slot], *b = key;

	return a->instance == b->instance && strcmp(a->name, b->name) == 0 &&
	    strcmp(a->shape->e.module, b->shape->e.module) == 0;
}

static bool
is_named(const struct ks_segments *s, const struct ks_seg_kstat *k)
{
	return ks_table_find(&s->trusted, name_hash(k), has_name, s->named, k) != KS_NO_SLOT;
}

/* Remembers the names that strangers cannot have. 0, or -1 with errno ENOMEM. */
static int
remember_name(struct ks_segments *s, const struct ks_seg_kstat *k)
{
	if (is_named(s, k))
		return 0;
	if (!KS_RESERVE(s->named, s->named_cap, s->nnamed + 1) ||
	    !ks_table_add(&s->trusted, name_hash(k), (uint32_t)s->nnamed))
		return ks_fail(ENOMEM, "out of memory for published kstats");
	s->named[s->nnamed++] = k;
	return 0;
}

/* The size of the data section before the first read, with all the room that texts have. */
static size_t
data_size(const struct ks_seg_kstat *k)
{
	size_t size = k->shape->e.ndata * sizeof(kstat_named_t), room = 0;

	switch (k->shape->e.type) {
	case KSTAT_TYPE_RAW:
		return k->shape->e.ndata;
	case KSTAT_TYPE_INTR:
		return sizeof(kstat_intr_t);
	case KSTAT_TYPE_IO:
		return sizeof(kstat_io_t);
	case KSTAT_TYPE_TIMER:
		return k->shape->e.ndata * sizeof(kstat_timer_t);
	default:
		break;
	}
	if (k->shape->e.form == KS_FORM_COUNTS)
		size += k->shape->hist.n * sizeof(uint64_t);
	for (uint32_t i = 0; i < k->shape->e.nfields; i++) {
		if (k->shape->fields[i].storage == KS_STORE_RECORD || k->shape->fields[i].storage == KS_STORE_TEXT)
			room += ks_named_room(k->shape->fields[i].size);
	}
	/* A file may say that all texts are in the same place. */
	return size + (room < k->shape->e.data_size ? room : k->shape->e.data_size);
}

static uint_t
count_foreign(const struct ks_seg_kstat *k)
{
	const struct ks_seg_entry *e = &k->shape->e;
	uint_t n = e->form == KS_FORM_COUNTS; /* the buckets */

	for (uint32_t i = 0; e->form == KS_FORM_FIELDS && e->type == KSTAT_TYPE_NAMED && i < e->nfields; i++)
		n += ks_named_is_foreign((uchar_t)k->shape->fields[i].data_type);
	return n;
}

/*
 * True if a stranger's kstat has a module of the machine, or the name of a trusted one, which it notes for the
 * complaint, or a class by which the caller would take it for the machine's.
 */
static bool
is_refused(struct ks_segments *s, const struct ks_segment *seg, const struct ks_seg_kstat *k,
    const struct ks_scan *scan)
{
	struct ks_publisher *user = (struct ks_publisher *)(void *)seg->file.budget;

	if (seg->trusted)
		return false;
	if (ks_scan_owns(scan, k->shape->e.module)) {
		memcpy(user->owned, k->shape->e.module, sizeof(user->owned));
		return true;
	}
	if (ks_scan_mistakes(scan, k->shape->e.class_))
		return true;
	if (!is_named(s, k))
		return false;
	user->hidden = true;
	return true;
}

static uid_t
user_of(const struct ks_seg_file *f)
{
	return ((const struct ks_publisher *)(const void *)f->budget)->uid;
}

/* True if it is the machine's although a process publishes it: see origin.h. */
static bool
is_of_machine(const struct ks_seg_file *f, const struct ks_seg_kstat *k)
{
	return user_of(f) == 0 && ks_is_among(ks_reserved_module, k->shape->e.module);
}

static int
offer_all(struct ks_segments *s, const struct ks_segment *seg, struct ks_scan *scan)
{
	for (size_t i = 0; i < seg->file.n; i++) {
		const struct ks_seg_kstat *k = &seg->file.kstat[i];
		bool is_blob = ks_seg_is_statsblob(&k->shape->e); /* what its statistics take is known from a read */
		const struct ks_offer o = {
			.module = k->shape->e.module, .instance = k->instance, .name = k->name,
			.class_ = k->shape->e.class_, .type = k->shape->e.type,
			.flags = (uchar_t)(k->shape->e.flags | (k->shape->has_text ? KSTAT_FLAG_LONGSTRINGS : 0) |
			    (is_blob ? KSTAT_FLAG_STATSBLOB : 0) |
			    (ks_seg_is_dormant(&seg->file, k) ? KSTAT_FLAG_DORMANT : 0)),
			.crtime = k->crtime, .ndata = is_blob ? 0 : k->shape->e.ndata,
			.data_size = is_blob ? 0 : data_size(k), .nforeign = count_foreign(k),
			.cookie = (uint64_t)seg->id << 32 | (k->offset / KS_SEG_ALIGN),
			.published = !is_of_machine(&seg->file, k)
		};

		if (is_refused(s, seg, k, scan))
			continue;
		if ((seg->trusted && remember_name(s, k) != 0) || ks_scan_offer(scan, &o) != 0)
			return -1;
	}
	return 0;
}

/*
 * Offers everything if anything changed, of the machine too, whose modules are its own: what this user and root publish
 * comes first.
 */
static int
finish(struct ks_segments *s, struct ks_seg_pass *p)
{
	int rc = 0;

	if (!s->scanned || p->changed || ks_scan_is_other(p->scan)) {
		ks_table_clear(&s->trusted);
		s->nnamed = 0;
		for (struct ks_publisher *user = s->publishers; user != NULL; user = user->next) {
			user->hidden = false;
			user->owned[0] = '\0';
		}
		for (int trusted = 1; trusted >= 0 && rc == 0; trusted--) {
			for (size_t i = 0; i < s->n && rc == 0; i++) {
				if (s->seg[i].usable && s->seg[i].trusted == (trusted == 1))
					rc = offer_all(s, &s->seg[i], p->scan);
			}
		}
		s->scanned = true;
		rc = rc == 0 ? 1 : -1;
	}
	ks_seg_complain_of_users(s, p->scan);
	return rc;
}

static int
segment_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct ks_segments *s = (struct ks_segments *)src;
	struct ks_seg_pass p = { .s = s, .scan = scan };

	s->pid_space = 0; /* this may be a child process now */
	s->origin_of = 0;
	return ks_seg_look(&p) == 0 ? finish(s, &p) : -1;
}

/* Mostly it is the kstat that was asked about before, or the next one. */
static const struct ks_seg_kstat *
find(struct ks_segments *s, uint64_t cookie, struct ks_seg_file **f)
{
	uint64_t offset = (cookie & UINT32_MAX) * KS_SEG_ALIGN;
	const struct ks_seg_kstat *k;
	size_t i = 0;

	while (i < s->n && s->seg[i].id != cookie >> 32)
		i++;
	if (i == s->n)
		return NULL;
	*f = &s->seg[i].file;
	for (i = s->found_kstat; i < (*f)->n && i < s->found_kstat + 2; i++) {
		if ((*f)->kstat[i].offset == offset)
			break;
	}
	k = i < (*f)->n && i < s->found_kstat + 2 ? &(*f)->kstat[i] : ks_seg_file_find(*f, offset);
	if (k != NULL)
		s->found_kstat = (size_t)(k - (*f)->kstat);
	return k;
}

static int
segment_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find((struct ks_segments *)src, cookie, &f);

	if (k == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is no longer published", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return ks_seg_kstat_read(f, k, r);
}

static int
segment_write(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data)
{
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find((struct ks_segments *)src, cookie, &f);

	if (k == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is no longer published", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return ks_seg_kstat_write(f, k, data, ksp->ks_ndata);
}

static const struct ks_meta *
segment_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	struct ks_segments *s = (struct ks_segments *)src;
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find(s, cookie, &f);

	(void)ksp;
	if (k == NULL)
		return NULL;
	if (k->shape->e.form == KS_FORM_COUNTS && strcmp(stat, "buckets") == 0) {
		const struct ks_seg_measure *m = &k->shape->e.measure;

		s->found = (struct ks_meta){ .stat = "buckets", .kind = m->kind, .type = m->md_type, .flags = m->md_flags,
			.scale = m->scale, .unit = k->shape->strings + m->unit, .desc = k->shape->strings + m->desc };
		return m->kind <= KS_KIND_TIME ? &s->found : NULL;
	}
	for (uint32_t i = 0; i < k->shape->e.nfields; i++) {
		const struct ks_seg_field *field;

		/* Mostly the next one is asked about. */
		s->found_field = s->found_field + 1 < k->shape->e.nfields ? s->found_field + 1 : 0;
		field = &k->shape->fields[s->found_field];
		if (strcmp(field->name, stat) != 0)
			continue;
		if (field->kind > KS_KIND_TIME)
			return NULL; /* its publisher did not describe it */
		s->found = (struct ks_meta){ .stat = field->name, .kind = field->kind,
			.type = field->md_type, .flags = field->md_flags, .scale = field->scale,
			.unit = k->shape->strings + field->unit, .desc = k->shape->strings + field->desc };
		return &s->found;
	}
	return NULL;
}

/* The process that a file says it is of; 0 if that is not known here. What a stranger says is held against /proc. */
static uint32_t
creator_of(struct ks_segments *s, const struct ks_seg_file *f, uid_t uid)
{
	struct stat st;
	char path[32];

	if (s->pid_space == 0)
		s->pid_space = ks_pid_space();
	if (f->h.pid_space != s->pid_space)
		return 0;
	if (f->budget->whole != &s->strangers)
		return f->h.creator_pid;
	(void)snprintf(path, sizeof(path), "/proc/%lu", (unsigned long)f->h.creator_pid);
	return stat(path, &st) == 0 && st.st_uid == uid ? f->h.creator_pid : 0;
}

static bool
segment_publisher(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_origin *o)
{
	struct ks_segments *s = (struct ks_segments *)src;
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find(s, cookie, &f);
	const char *file;
	uid_t uid;

	(void)ksp;
	if (k == NULL || is_of_machine(f, k))
		return false;
	if (s->origin_of != cookie >> 32) {
		uid = user_of(f);
		/* The name of the file is the publication's; what the file says of itself need not be true. */
		file = strrchr(f->path, '/');
		file = file != NULL ? file + 1 : f->path;
		(void)snprintf(s->publisher, sizeof(s->publisher), "%.*s", (int)ks_seg_name_length(file), file);
		s->origin = (struct ks_origin){ .name = s->publisher, .uid = uid, .pid = creator_of(s, f, uid) };
		s->origin_of = (uint32_t)(cookie >> 32);
	}
	*o = s->origin;
	return true;
}

static uint64_t
segment_left_out(const struct ks_source *src)
{
	const struct ks_segments *s = (const struct ks_segments *)src;
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->seg[i].file.left_out;
	return n;
}

static void
segment_close(struct ks_source *src)
{
	struct ks_segments *s = (struct ks_segments *)src;
	struct ks_publisher *p;

	while (s->n > 0)
		ks_seg_drop(s, s->n - 1);
	ks_seg_forget_watched(s);
	while ((p = s->publishers) != NULL) {
		s->publishers = p->next;
		free(p);
	}
	ks_table_free(&s->trusted);
	free(s->named);
	ks_buf_free(&s->piece.buf);
	free(s->watched);
	free(s->seg);
	free(s);
}

static const struct ks_source_ops segment_ops = {
	.name = "segment",
	.scan = segment_scan,
	.read = segment_read,
	.write = segment_write,
	.meta = segment_meta,
	.publisher = segment_publisher,
	.left_out = segment_left_out,
	.close = segment_close
};

struct ks_source *
ks_source_segment_open(void)
{
	struct ks_segments *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	s->src.ops = &segment_ops;
	ks_seg_open_budgets(s);
	return &s->src;
}
