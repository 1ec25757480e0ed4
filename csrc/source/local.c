/*
 * local.c - the kstats that this process provides with kstat_create(), in its own chain. Their
 * update functions run when they are read or written, under their own lock.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kstat_blob.h"
#include "model/histstat.h"
#include "model/ioqueue.h"
#include "provider/blob_layout.h"
#include "provider/provider.h"
#include "source/sources.h"

struct local {
	struct ks_source src;
	uint64_t changes; /* of the registry, at the last scan */
	bool scanned;
	struct ks_buf scratch;
	struct ks_meta found; /* the answer to the last question about metadata */
	struct ks_buf texts;
};

/* The size of the data section before the first read, with room for the texts that the kstat was installed with. */
static size_t
data_size(const struct ks_provider *p)
{
	if (p->ks.ks_flags & KSTAT_FLAG_STATSBLOB)
		return 0; /* what its statistics take is known from a read */
	if (p->histogram != NULL)
		return p->ks.ks_ndata * sizeof(kstat_named_t) + p->histogram->layout.n * sizeof(uint64_t);
	return p->ks.ks_data_size + p->text_room;
}

static int
offer(struct ks_provider *p, void *arg)
{
	const struct ks_offer o = {
		.module = p->ks.ks_module, .instance = p->ks.ks_instance, .name = p->ks.ks_name,
		.class_ = p->ks.ks_class, .type = p->ks.ks_type, .flags = p->ks.ks_flags,
		.crtime = p->ks.ks_crtime,
		.ndata = p->ks.ks_flags & KSTAT_FLAG_STATSBLOB ? 0 : p->ks.ks_ndata, .data_size = data_size(p),
		.nforeign = p->histogram != NULL ? 1 : p->nforeign,
		.cookie = p->id
	};

	return ks_scan_offer(arg, &o);
}

static int
local_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct local *l = (struct local *)src;
	uint64_t changes = ks_registry_changes();

	if (l->scanned && changes == l->changes)
		return 0;
	if (ks_registry_walk(offer, scan) != 0)
		return -1;
	l->scanned = true;
	l->changes = changes;
	return 1;
}

/* --- reading ------------------------------------------------------------------------- */

static void
add_named(struct ks_record *r, const kstat_named_t *kn)
{
	char name[KSTAT_STRLEN];
	const char *ptr = kn->value.string.addr.ptr;
	uint32_t len = kn->value.string.len;
	kstat_named_t *copy;

	memcpy(name, kn->name, sizeof(name));
	name[KSTAT_STRLEN - 1] = '\0';
	switch (kn->data_type) {
	case KSTAT_DATA_STRING:
		ks_named_string(r, name, ptr, ptr == NULL ? 0 : strnlen(ptr, len));
		break;
	case KSTAT_DATA_INTS:
		ks_named_ints(r, name, kn->value.string.addr.ints, ptr == NULL ? 0 : len / 8);
		break;
	case KSTAT_DATA_STRS:
		ks_named_strs(r, name, ptr, ptr == NULL ? 0 : len);
		break;
	default:
		copy = ks_record_add(r, sizeof(*copy));
		if (copy == NULL)
			return;
		memcpy(copy->name, name, sizeof(name));
		copy->data_type = kn->data_type;
		memcpy(&copy->value, &kn->value, ks_named_width(kn->data_type));
	}
}

static void
add_records(struct ks_record *r, const kstat_t *k, const void *data)
{
	const kstat_named_t *kn = data;

	if (k->ks_type == KSTAT_TYPE_NAMED) {
		for (uint_t i = 0; i < k->ks_ndata; i++)
			add_named(r, &kn[i]);
		return;
	}
	ks_buf_add(&r->fixed, data, k->ks_data_size);
	r->ndata = k->ks_ndata;
}

/* The values of a histogram. 0, or -1 with errno. */
static int
read_histogram(struct ks_histogram *h, struct ks_record *r, struct ks_buf *scratch)
{
	const struct ks_hist_layout *l = &h->layout;
	struct ks_hist_sums sums;
	uint64_t *copy;

	ks_buf_reset(scratch);
	copy = ks_buf_zeroed(scratch, (size_t)l->n * sizeof(*copy));
	if (copy == NULL)
		return ks_fail(ENOMEM, "out of memory for %u buckets", l->n);
	for (uint32_t i = 0; h->supplied != NULL && i < l->n; i++)
		copy[i] = __atomic_load_n(&h->supplied[i], __ATOMIC_RELAXED);
	if (h->supplied == NULL && ks_hist_copy(&h->place, copy, &sums) != 0)
		return -1;
	ks_histstat_add(r, l, copy, h->supplied == NULL ? &sums : NULL);
	r->snaptime = gethrtime();
	return 0;
}

/* Calls the provider's snapshot function, whose copy may hold strings of the provider's. */
static int
custom_snapshot(kstat_t *k, struct ks_record *r, struct ks_buf *scratch)
{
	size_t least = k->ks_type == KSTAT_TYPE_NAMED ? k->ks_ndata * sizeof(kstat_named_t) : 0;
	void *copy;
	int error;

	if (k->ks_data_size < least)
		return ks_fail(EIO, "ks_data_size %zu is too small for %u named values",
		    k->ks_data_size, k->ks_ndata);
	ks_buf_reset(scratch);
	copy = ks_buf_zeroed(scratch, k->ks_data_size);
	if (copy == NULL)
		return ks_fail(ENOMEM, "out of memory for a snapshot");
	error = k->ks_snapshot(k, copy, KSTAT_READ);
	if (error != 0)
		return ks_fail(error, "its snapshot function refused: %s", strerror(error));
	r->snaptime = k->ks_snaptime != 0 ? k->ks_snaptime : gethrtime();
	add_records(r, k, copy);
	return 0;
}

/* Reads a statsblob kstat of this process, which is locked shard by shard while it is copied. */
static int
read_blob(kstat_t *k, struct ks_record *r)
{
	const struct ks_blob_head *h = ks_blob_head_of(k->ks_data);
	struct statsblob *copy = NULL;
	int rc = kstat_blob_copy(kstat_blob(k), &copy);

	if (rc == 0)
		rc = ks_blobstat_build(r, copy, ks_blob_vois_of(k->ks_data), h->nvois);
	stats_blob_destroy(copy);
	return rc;
}

static int
read_held(struct ks_provider *p, struct ks_record *r, struct ks_buf *scratch)
{
	kstat_t *k = &p->ks;

	if (k->ks_update != NULL) {
		int error = k->ks_update(k, KSTAT_READ);

		if (error != 0)
			return ks_fail(error, "its update function refused: %s", strerror(error));
	}
	if (p->histogram != NULL)
		return read_histogram(p->histogram, r, scratch);
	if (k->ks_flags & KSTAT_FLAG_STATSBLOB) {
		r->snaptime = gethrtime();
		return read_blob(k, r);
	}
	if (k->ks_snapshot != NULL)
		return custom_snapshot(k, r, scratch);
	if (k->ks_data == NULL && k->ks_data_size > 0)
		return ks_fail(EIO, "it has no data");
	r->snaptime = gethrtime();
	add_records(r, k, k->ks_data);
	if (k->ks_type == KSTAT_TYPE_IO && r->fixed.len == sizeof(kstat_io_t)) {
		kstat_io_t io;

		memcpy(&io, r->fixed.data, sizeof(io));
		ks_queue_snapshot(&io, r->snaptime);
		memcpy(r->fixed.data, &io, sizeof(io));
	}
	return 0;
}

/* Puts the kstat's name before the message of a failure. */
static int
named_failure(const kstat_t *k)
{
	int error = errno;
	char text[256];

	strncpy(text, kstat_errmsg(), sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	return ks_fail(error, "%s:%d:%s: %s", k->ks_module, k->ks_instance, k->ks_name, text);
}

/* Finds the kstat of a cookie and locks it. NULL with errno and message if it is gone. */
static struct ks_provider *
hold(const kstat_t *ksp, uint64_t cookie)
{
	struct ks_provider *p = ks_registry_hold(cookie);

	if (p == NULL)
		(void)named_failure(ksp);
	else if (p->ks.ks_lock != NULL)
		(void)pthread_mutex_lock(p->ks.ks_lock);
	return p;
}

/* Lets the kstat go; rc: how reading or writing it ended. Returns rc, with the errno and message of a failure. */
static int
let_go(const kstat_t *ksp, struct ks_provider *p, int rc)
{
	int error;

	if (p->ks.ks_lock != NULL)
		(void)pthread_mutex_unlock(p->ks.ks_lock);
	if (rc != 0)
		(void)named_failure(ksp);
	error = errno;
	ks_registry_release(p);
	errno = error;
	return rc;
}

static int
local_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct local *l = (struct local *)src;
	struct ks_provider *p = hold(ksp, cookie);

	return p != NULL ? let_go(ksp, p, read_held(p, r, &l->scratch)) : -1;
}

/* --- writing ----------------------------------------------------------------------------- */

/* True if two texts, or two arrays, are equal. A reader gets an empty array in the place of none. */
static bool
is_same_text(const kstat_named_t *a, const kstat_named_t *b)
{
	const char *p = a->value.string.addr.ptr, *q = b->value.string.addr.ptr;
	size_t n = p == NULL ? 0 : a->value.string.len, m = q == NULL ? 0 : b->value.string.len;

	if (a->data_type == KSTAT_DATA_STRING) {
		if ((p == NULL) != (q == NULL))
			return false;
		n = p == NULL ? 0 : strnlen(p, n);
		m = q == NULL ? 0 : strnlen(q, m);
	}
	return n == m && (n == 0 || memcmp(p, q, n) == 0);
}

/*
 * Only values may be written: names and types must be those that are there. Texts and arrays are the
 * provider's own memory, which may be constant: they can only be written as they are.
 */
static int
store_named(kstat_t *k, const kstat_named_t *from)
{
	kstat_named_t *to = k->ks_data;

	for (uint_t i = 0; i < k->ks_ndata; i++) {
		if (strncmp(to[i].name, from[i].name, KSTAT_STRLEN) != 0 ||
		    to[i].data_type != from[i].data_type)
			return ks_fail(EINVAL, "value %u is '%.30s' of type %d, not '%.30s' of type %d", i,
			    to[i].name, to[i].data_type, from[i].name, from[i].data_type);
		if (ks_named_is_reference(&to[i]) && !is_same_text(&to[i], &from[i]))
			return ks_fail(EACCES, "%.30s: a text or array that its provider alone can change",
			    to[i].name);
	}
	for (uint_t i = 0; i < k->ks_ndata; i++) {
		if (!ks_named_is_reference(&to[i]))
			to[i].value = from[i].value;
	}
	return 0;
}

static int
write_held(struct ks_provider *p, const kstat_t *ksp, const void *data, struct ks_buf *scratch)
{
	kstat_t *k = &p->ks;
	bool default_copy = k->ks_snapshot == NULL;
	size_t size = k->ks_type == KSTAT_TYPE_NAMED ? k->ks_ndata * sizeof(kstat_named_t) :
	    k->ks_data_size;
	int error = 0;

	if (!(k->ks_flags & KSTAT_FLAG_WRITABLE))
		return ks_fail(EACCES, "not writable");
	if (ksp->ks_ndata != k->ks_ndata || (k->ks_type != KSTAT_TYPE_NAMED &&
	    ksp->ks_data_size != k->ks_data_size))
		return ks_fail(EINVAL, "the data to write has another size than the kstat");
	if (!default_copy) {
		error = k->ks_snapshot(k, (void *)(uintptr_t)data, KSTAT_WRITE);
		if (error == 0 && k->ks_update != NULL)
			error = k->ks_update(k, KSTAT_WRITE);
		return error == 0 ? 0 : ks_fail(error, "refused: %s", strerror(error));
	}
	if (k->ks_data == NULL)
		return ks_fail(EACCES, "it has no data to write to");
	/* If the update function refuses the values, the old ones are put back. */
	ks_buf_reset(scratch);
	ks_buf_add(scratch, k->ks_data, size);
	if (scratch->failed)
		return ks_fail(ENOMEM, "out of memory");
	if (k->ks_type == KSTAT_TYPE_NAMED) {
		if (store_named(k, data) != 0)
			return -1;
	} else {
		memcpy(k->ks_data, data, size);
	}
	if (k->ks_update != NULL)
		error = k->ks_update(k, KSTAT_WRITE);
	if (error == 0)
		return 0;
	if (size > 0)
		memcpy(k->ks_data, scratch->data, size);
	return ks_fail(error, "its update function refused: %s", strerror(error));
}

static int
local_write(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data)
{
	struct local *l = (struct local *)src;
	struct ks_provider *p = hold(ksp, cookie);

	if (p == NULL)
		return -1;
	return let_go(ksp, p, p->histogram != NULL ? ks_fail(EACCES, "a histogram is not writable") :
	    write_held(p, ksp, data, &l->scratch));
}

/* --- the rest --------------------------------------------------------------------------------- */

/* The kstat may be deleted at any time, so the answer is a copy. */
static const struct ks_meta *
local_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	struct local *l = (struct local *)src;
	struct ks_provider *p = ks_registry_hold(cookie);
	const struct ks_meta *m;
	size_t unit, desc;

	(void)ksp;
	if (p == NULL)
		return NULL;
	m = ks_provider_meta(p, stat);
	if (m != NULL) {
		ks_buf_reset(&l->texts);
		ks_buf_add(&l->texts, m->stat, strlen(m->stat) + 1);
		unit = l->texts.len;
		ks_buf_add(&l->texts, m->unit, strlen(m->unit) + 1);
		desc = l->texts.len;
		ks_buf_add(&l->texts, m->desc, strlen(m->desc) + 1);
		l->found = *m;
		if (l->texts.failed) {
			m = ks_fail_null(ENOMEM, "out of memory for metadata");
		} else {
			l->found.stat = l->texts.data;
			l->found.unit = l->texts.data + unit;
			l->found.desc = l->texts.data + desc;
			m = &l->found;
		}
	}
	ks_registry_release(p);
	return m;
}

static void
local_close(struct ks_source *src)
{
	struct local *l = (struct local *)src;

	ks_buf_free(&l->scratch);
	ks_buf_free(&l->texts);
	free(l);
}

static const struct ks_source_ops local_ops = {
	.name = "local",
	.scan = local_scan,
	.read = local_read,
	.write = local_write,
	.meta = local_meta,
	.close = local_close
};

struct ks_source *
ks_source_local_open(void)
{
	struct local *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return ks_fail_null(ENOMEM, "out of memory for the kstats of this process");
	l->src.ops = &local_ops;
	return &l->src;
}
