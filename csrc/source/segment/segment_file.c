/*
 * segment_file.c - copying pieces of a file, opening it, checking its entries and listing its kstats. See segment_file.h.
 * SPDX-License-Identifier: MIT
 */
#include "source/segment/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "model/histstat.h"
#include "model/meta.h"
#include "provider/segment/directory.h"

#define MOST_METADATA (64u << 20) /* bytes of fields and strings of one file */

static int
damaged(const struct ks_seg_file *f, uint64_t at, const char *what)
{
	return ks_fail(EINVAL, "%s: damaged at byte %llu: %s", f->path, (unsigned long long)at, what);
}

/* Fails with the reason why fewer bytes were read than wanted: errno, or if that is 0 the end of the file. */
static int
cut_off(const struct ks_seg_file *f, uint64_t at)
{
	return errno != 0 ? ks_fail(errno, "%s: %s", f->path, strerror(errno)) : damaged(f, at, "the file ends");
}

bool
ks_seg_file_read(const struct ks_seg_file *f, void *to, size_t n, uint64_t offset)
{
	char *p = to;

	while (n > 0) {
		ssize_t got = pread(f->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got == 0 ? 0 : errno;
			return false;
		}
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

/* --- pieces ------------------------------------------------------------------------------------ */

#define LEAST_PIECE 4096u
#define MOST_PIECE (256u << 10) /* but for what is larger itself, */
#define MOST_BYTES (1u << 20)   /* up to this */
#define TRIES 3 /* copies of a piece whose entries change meanwhile; then what is there counts */

static bool
read_changes(const struct ks_seg_file *f, uint64_t *changes)
{
	return ks_seg_file_read(f, changes, sizeof(*changes), offsetof(struct ks_seg_header, changes));
}

/*
 * Copies n bytes as the protocol of segment_layout.h wants it: the number of changes is the same and even before and
 * after it, so that entries are as they were together.
 */
static bool
copy_piece(const struct ks_seg_file *f, char *to, size_t n, uint64_t offset)
{
	uint64_t before, after;

	for (int i = 0; i < TRIES; i++) {
		if (!read_changes(f, &before) || !ks_seg_file_read(f, to, n, offset) || !read_changes(f, &after))
			return false;
		if (before == after && before % 2 == 0)
			break;
	}
	return true;
}

/*
 * Copies the piece that begins with an offset and has n bytes at least: no more, where it does not follow the one
 * before, for whoever reads in another order gains nothing, or where little of that was asked for, for strangers may
 * lay out a GiB with few kstats in it. False: it cannot be copied, or n is too much.
 */
static bool
take_piece(struct ks_seg_file *f, uint64_t walk, uint64_t offset, size_t n)
{
	struct ks_seg_piece *p = f->piece;
	uint64_t used = atomic_load(&f->h.used), from = offset / KS_SEG_ALIGN * KS_SEG_ALIGN;
	bool follows = p->of == f && offset >= p->start && offset - p->start <= p->buf.len + LEAST_PIECE &&
	    p->served >= p->buf.len / 8;

	p->of = NULL;
	p->size = !follows ? 0 : p->size < MOST_PIECE / 2 ? p->size * 2 + LEAST_PIECE : MOST_PIECE;
	if (n > MOST_BYTES || offset > used || n > used - offset)
		return false;
	n += (size_t)(offset - from);
	n = n > p->size ? n : p->size;
	n = n < used - from ? n : (size_t)(used - from);
	ks_buf_reset(&p->buf);
	if (ks_buf_room(&p->buf, (n > MOST_PIECE ? n : MOST_PIECE) + KS_SEG_ALIGN) == NULL)
		return false;
	p->taken = gethrtime();
	if (!copy_piece(f, ks_seg_aligned(&p->buf), n, from))
		return false;
	*p = (struct ks_seg_piece){ f, walk, from, p->size, 0, p->taken, p->buf };
	p->buf.len = n;
	return true;
}

const char *
ks_seg_piece_bytes(struct ks_seg_file *f, uint64_t walk, uint64_t offset, size_t n)
{
	struct ks_seg_piece *p = f->piece;

	if (p == NULL || ((p->of != f || p->walk != walk || offset < p->start || n > p->buf.len ||
	    offset - p->start > p->buf.len - n) && !take_piece(f, walk, offset, n)))
		return NULL;
	p->served += n;
	return ks_seg_aligned(&p->buf) + (offset - p->start);
}

/* --- opening --------------------------------------------------------------------------------- */

static int
check_header(const struct ks_seg_file *f, const struct ks_seg_header *h)
{
	if (h->magic == __builtin_bswap64(KS_SEG_MAGIC))
		return ks_fail(EINVAL, "%s: published by a machine of the other byte order", f->path);
	if (h->magic != KS_SEG_MAGIC || h->byte_order != KS_SEG_BYTE_ORDER)
		return ks_fail(EINVAL, "%s: not a file of published kstats", f->path);
	if (h->version != KS_SEG_VERSION)
		return ks_fail(EINVAL, "%s: layout version %u, this library reads version %u", f->path,
		    h->version, KS_SEG_VERSION);
	if (h->check != ks_seg_header_check(h))
		return ks_fail(EINVAL, "%s: the header is damaged", f->path);
	if (atomic_load(&h->used) < KS_SEG_HEADER || atomic_load(&h->used) > h->capacity ||
	    h->capacity > KS_SEG_MOST_BYTES)
		return ks_fail(EINVAL, "%s: the header's sizes are impossible", f->path);
	return 0;
}

int
ks_seg_file_open(struct ks_seg_file *f, int dir, const char *name, const char *path)
{
	struct ks_seg_header h;
	struct stat st;

	memset(f, 0, sizeof(*f));
	/* Never wait for a FIFO that somebody put there. */
	f->fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	f->path = strdup(path);
	if (f->path == NULL) {
		ks_seg_file_close(f);
		return ks_fail(ENOMEM, "out of memory for a segment");
	}
	if (fstat(f->fd, &st) != 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ks_fail(EINVAL, "%s: not a regular file", path);
	if (!ks_seg_file_read(f, &h, sizeof(h), 0))
		return errno != 0 ? cut_off(f, 0) :
		    ks_fail(EINVAL, "%s: too short for a file of published kstats", path);
	return check_header(f, &h);
}

static void
forget_kstats(struct ks_seg_file *f)
{
	struct ks_seg_shape *shape;

	while ((shape = f->shape) != NULL) {
		f->shape = shape->next;
		free(shape);
	}
	f->n = 0;
	ks_seg_budget_give_back(f->budget, 0, f->spent, f->statistics);
	f->spent = f->statistics = 0;
}

void
ks_seg_file_close(struct ks_seg_file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	f->fd = -1;
	forget_kstats(f);
	free(f->kstat);
	free(f->path);
	f->kstat = NULL;
	f->path = NULL;
	ks_buf_free(&f->buf);
}

/* --- checking an entry ------------------------------------------------------------------------- */

/* True if [offset, offset + size) lies within [0, limit). */
static bool
within(uint64_t offset, uint64_t size, uint64_t limit)
{
	return size <= limit && offset <= limit - size;
}

const char *
ks_seg_entry_wrong(const struct ks_seg_entry *e)
{
	if (!ks_seg_is_name(e->module) || !ks_seg_is_name(e->name) || e->instance < 0 ||
	    strnlen(e->class_, sizeof(e->class_)) >= KSTAT_STRLEN ||
	    (e->class_[0] != '\0' && !ks_seg_is_name(e->class_)))
		return "a kstat without a proper name";
	if (e->type >= KSTAT_NUM_TYPES)
		return "a kstat of an unknown type";
	if (e->nfields > KS_SEG_MOST_FIELDS || e->strings_size == 0 ||
	    e->strings_size > KS_SEG_MOST_STRINGS || e->data_size > KS_SEG_MOST_DATA)
		return "a kstat that is too large";
	if (e->data != sizeof(*e) || !within(e->data, e->data_size, e->size) ||
	    !within(e->fields, (uint64_t)e->nfields * sizeof(struct ks_seg_field), e->size) ||
	    !within(e->strings, e->strings_size, e->size))
		return "a kstat whose parts lie outside of it";
	if (e->shards == 0 || e->shards > KS_SEG_MOST_SHARDS || e->ncells > KS_SEG_MOST_FIELDS ||
	    e->row % sizeof(uint64_t) != 0 || e->row < e->ncells * sizeof(uint64_t) ||
	    !within(0, (uint64_t)e->row * e->shards, e->data_size))
		return "a kstat whose rows of counters do not fit";
	return NULL;
}

static const char *
check_field(const struct ks_seg_entry *e, const struct ks_seg_field *f)
{
	if (!ks_seg_is_name(f->name))
		return "a statistic without a proper name";
	if (f->unit >= e->strings_size || f->desc >= e->strings_size)
		return "a statistic whose description lies outside";
	switch (f->storage) {
	case KS_STORE_CELL:
	case KS_STORE_SHARDED:
		return f->offset % sizeof(uint64_t) == 0 &&
		    within(f->offset, sizeof(uint64_t), e->ncells * sizeof(uint64_t)) ? NULL :
		    "a number outside of its row";
	case KS_STORE_RECORD:
		return f->size <= KS_SEG_MOST_DATA && f->offset % sizeof(uint64_t) == 0 &&
		    within(f->offset, ks_rec_size(f->size), e->data_size) ? NULL :
		    "a record outside of its kstat";
	case KS_STORE_TEXT:
		return f->size > 0 && within(f->offset, f->size, e->data_size) ? NULL : "a text outside of its kstat";
	case KS_STORE_NONE:
		return NULL;
	default:
		return "a statistic of an unknown form";
	}
}

/* A named statistic's type and its storage go together. */
static bool
type_fits(const struct ks_seg_field *f, bool is_writable)
{
	switch (f->data_type) {
	case KSTAT_DATA_CHAR:
		return f->storage == KS_STORE_RECORD && f->size == 16;
	case KSTAT_DATA_STRING:
		if (f->storage == KS_STORE_TEXT)
			return !is_writable;
		/* FALLTHROUGH */
	case KSTAT_DATA_INTS:
	case KSTAT_DATA_STRS:
		return f->storage == KS_STORE_RECORD && f->size >= sizeof(struct ks_seg_text);
	case KSTAT_DATA_INT32:
	case KSTAT_DATA_UINT32:
	case KSTAT_DATA_INT64:
	case KSTAT_DATA_UINT64:
		return f->storage == KS_STORE_CELL || f->storage == KS_STORE_SHARDED;
	case KSTAT_DATA_FLOAT:
	case KSTAT_DATA_DOUBLE:
		return f->storage == KS_STORE_CELL;
	default:
		return false;
	}
}

/* What is wrong with form and type together, or NULL. */
static const char *
check_form(struct ks_seg_shape *shape)
{
	const struct ks_seg_entry *e = &shape->e;
	bool ok = false;

	switch (e->form) {
	case KS_FORM_COUNTS:
		if (e->ndata == KS_HISTSTAT_LEAST_VALUES)
			return "a histogram without sums, of an earlier version";
		ok = e->type == KSTAT_TYPE_NAMED && e->ndata == KS_HISTSTAT_VALUES + e->nfields &&
		    e->measure.unit < e->strings_size && e->measure.desc < e->strings_size && e->log >= KS_HIST_LEAST_LOG &&
		    e->log <= KS_HIST_LOG && (e->log & (e->log - 1)) == 0 &&
		    ks_hist_layout_init(&shape->hist, (kstat2_nv_hist_type_t)e->hist_type, e->range_min,
		    e->range_max, e->stepping) == 0 && ks_hist_size(e->log, shape->hist.n) <= e->data_size;
		for (uint32_t i = 0; ok && i < e->nfields; i++)
			ok = shape->fields[i].data_type == KSTAT_DATA_STRING && shape->fields[i].storage == KS_STORE_TEXT &&
			    shape->fields[i].size <= KS_SEG_MOST_LABEL + 1 && !ks_meta_has_histogram(shape->fields[i].name);
		shape->has_text = e->nfields > 0;
		break;
	case KS_FORM_RECORD:
		ok = (e->type == KSTAT_TYPE_IO && e->ndata == 1 &&
		    ks_rec_size(sizeof(kstat_io_t)) <= e->data_size) ||
		    (e->type == KSTAT_TYPE_RAW && e->ndata <= KS_SEG_MOST_DATA &&
		    ks_rec_size(e->ndata) <= e->data_size);
		break;
	case KS_FORM_BYTES:
		ok = e->type == KSTAT_TYPE_RAW && e->ndata <= e->data_size;
		break;
	case KS_FORM_FIELDS:
		ok = (e->type == KSTAT_TYPE_NAMED && e->ndata == e->nfields) ||
		    (e->type == KSTAT_TYPE_TIMER && e->ndata == e->nfields && e->ndata > 0) ||
		    (e->type == KSTAT_TYPE_INTR && e->nfields == KSTAT_NUM_INTRS && e->ndata == 1);
		for (uint32_t i = 0; ok && i < e->nfields; i++) {
			const struct ks_seg_field *f = &shape->fields[i];

			if (e->type == KSTAT_TYPE_NAMED) {
				ok = type_fits(f, (e->flags & KSTAT_FLAG_WRITABLE) != 0);
				shape->has_text |= f->data_type == KSTAT_DATA_STRING || f->data_type == KSTAT_DATA_STRS;
			} else if (e->type == KSTAT_TYPE_TIMER) {
				ok = f->storage == KS_STORE_RECORD && f->size == KS_SEG_TIMER_SIZE;
			} else {
				ok = f->storage == KS_STORE_CELL || f->storage == KS_STORE_SHARDED;
			}
		}
		break;
	default:
		break;
	}
	return ok ? NULL : "a kstat whose data does not fit its type";
}

const char *
ks_seg_shape_wrong(struct ks_seg_shape *shape)
{
	const char *wrong = NULL;

	if (shape->strings[shape->e.strings_size - 1] != '\0' || shape->strings[0] != '\0')
		return "descriptions without end";
	for (uint32_t i = 0; wrong == NULL && i < shape->e.nfields; i++)
		wrong = check_field(&shape->e, &shape->fields[i]);
	return wrong != NULL ? wrong : check_form(shape);
}

/* --- scanning ------------------------------------------------------------------------------------- */

static bool
is_wanted(const struct ks_seg_file *f, const struct ks_seg_entry *e, const struct ks_scan *scan)
{
	uint32_t state = atomic_load(&e->state);

	if (f->h.boot != ks_seg_boot())
		return false; /* its times are those of another boot's clock */
	/* What has no proper name is complained about. */
	if (ks_seg_is_name(e->module) && ks_seg_is_name(e->class_) &&
	    !ks_scan_wants(scan, e->module, e->class_, e->name))
		return false;
	if (state == KS_SEG_INSTALLED)
		return f->live || (e->flags & KSTAT_FLAG_PERSISTENT);
	return state == KS_SEG_DORMANT;
}

/*
 * What the header of each kstat has is no name of a statistic: that of somebody who publishes it all the same gets a
 * number. False: there are two of that name then.
 */
static bool
rename_headers(struct ks_seg_shape *shape)
{
	bool ok = true;

	for (uint32_t i = 0; ok && shape->e.type == KSTAT_TYPE_NAMED && i < shape->e.nfields; i++) {
		char *name = shape->fields[i].name;

		if (!ks_meta_is_header(name))
			continue;
		strcat(name, "_2"); /* the longest has 8 bytes */
		shape->is_changed = true;
		for (uint32_t j = 0; ok && j < shape->e.nfields; j++)
			ok = j == i || strcmp(shape->fields[j].name, name) != 0;
	}
	return ok;
}

#define CHAIN_BYTES 1024 /* about what a chain needs for a kstat */

/* About how many values a kstat has to show; the buckets of a histogram are one each. */
static uint64_t
count_statistics(const struct ks_seg_entry *e)
{
	if (e->form == KS_FORM_COUNTS)
		return e->data_size / sizeof(uint64_t);
	switch (e->type) {
	case KSTAT_TYPE_IO:
		return sizeof(kstat_io_t) / sizeof(uint64_t);
	case KSTAT_TYPE_TIMER:
		return (uint64_t)e->nfields * (sizeof(kstat_timer_t) - KSTAT_STRLEN) / sizeof(uint64_t);
	default:
		return e->nfields > 0 ? e->nfields : 1;
	}
}

/* Takes what a kstat costs from the budget; false if there is no room, which *may_go_on says others may have. */
static bool
pay(struct ks_seg_file *f, const struct ks_seg_entry *e, bool *may_go_on)
{
	uint64_t statistics = count_statistics(e), cost = sizeof(struct ks_seg_kstat) + CHAIN_BYTES + e->strings_size +
	    e->data_size + (uint64_t)e->nfields * (sizeof(struct ks_seg_field) + sizeof(kstat_named_t));

	*may_go_on = !KS_SEG_TAKE(f->budget, statistics, statistics);
	if (*may_go_on) {
		f->left_out += statistics;
		return false;
	}
	f->statistics += statistics;
	if (!KS_SEG_TAKE(f->budget, bytes, cost)) {
		f->cut = "memory";
		return false;
	}
	f->spent += cost;
	return true;
}

#define MOST_RECENT 16 /* shapes with which a kstat is compared: more kinds are seldom created by turns */

static bool
has_shape(const struct ks_seg_shape *shape, const struct ks_seg_entry *e, const char *fields)
{
	const struct ks_seg_entry *known = &shape->e;
	size_t n = e->nfields * sizeof(struct ks_seg_field);

	return !shape->is_changed && known->size == e->size && memcmp(known->module, e->module, sizeof(e->module)) == 0 &&
	    memcmp(known->class_, e->class_, sizeof(e->class_)) == 0 &&
	    memcmp(&known->type, &e->type, sizeof(*e) - offsetof(struct ks_seg_entry, type)) == 0 &&
	    memcmp(shape->fields, fields, n) == 0 && memcmp(shape->strings, fields + n, e->strings_size) == 0;
}

/* Returns the shape of a kstat if it is a recent one, which becomes the first; or NULL. */
static struct ks_seg_shape *
find_shape(struct ks_seg_file *f, const struct ks_seg_entry *e, const char *fields)
{
	struct ks_seg_shape **at = &f->shape, *found;

	for (int i = 0; i < MOST_RECENT && *at != NULL && !has_shape(*at, e, fields); i++)
		at = &(*at)->next;
	found = *at;
	if (found == NULL || !has_shape(found, e, fields))
		return NULL;
	*at = found->next;
	found->next = f->shape;
	f->shape = found;
	return found;
}

/* Adds the shape of a kstat that was read. NULL with errno and a message. */
static struct ks_seg_shape *
add_shape(struct ks_seg_file *f, const struct ks_seg_entry *e, const char *fields, uint64_t at)
{
	size_t n = e->nfields * sizeof(struct ks_seg_field);
	struct ks_seg_shape *shape = calloc(1, sizeof(*shape) + n + e->strings_size);
	const char *wrong;

	if (shape == NULL)
		return ks_fail_null(ENOMEM, "out of memory for the kstats of %s", f->path);
	shape->e = *e;
	shape->fields = (struct ks_seg_field *)(shape + 1);
	shape->strings = (char *)shape->fields + n;
	memcpy(shape->fields, fields, n + e->strings_size);
	wrong = ks_seg_shape_wrong(shape);
	if (wrong == NULL && !rename_headers(shape))
		wrong = "statistics with the names of a header";
	if (wrong != NULL) {
		free(shape);
		(void)damaged(f, at, wrong);
		return NULL;
	}
	ks_clean_text(shape->strings, e->strings_size);
	shape->is_changed |= memcmp(shape->strings, fields + n, e->strings_size) != 0;
	shape->next = f->shape;
	f->shape = shape;
	return shape;
}

#define SCAN UINT64_MAX /* a scan as a walk */

/* Copies n bytes at an offset, of a piece where there is one. */
static bool
scan_bytes(struct ks_seg_file *f, void *to, size_t n, uint64_t offset)
{
	const char *bytes = ks_seg_piece_bytes(f, SCAN, offset, n);

	if (bytes == NULL)
		return ks_seg_file_read(f, to, n, offset);
	memcpy(to, bytes, n);
	return true;
}

void
ks_seg_kstat_set(struct ks_seg_kstat *k, const struct ks_seg_shape *shape, const struct ks_seg_entry *e,
    uint64_t offset)
{
	*k = (struct ks_seg_kstat){ .offset = offset, .check = e->check, .crtime = e->crtime, .shape = shape,
		.state = atomic_load(&e->state), .instance = e->instance };
	memcpy(k->name, e->name, sizeof(k->name));
}

/*
 * Adds the kstat of an entry, whose fields and strings are read and checked. 0, or -1 with errno and a message: E2BIG,
 * there is no room for this one and those behind it; EDQUOT, for this one.
 */
static int
load(struct ks_seg_file *f, const struct ks_seg_entry *e, uint64_t at, size_t *metadata)
{
	const char *wrong = ks_seg_entry_wrong(e);
	size_t n = e->nfields * sizeof(struct ks_seg_field);
	struct ks_seg_shape *shape;
	bool may_go_on;
	char *fields;

	if (wrong != NULL)
		return damaged(f, at, wrong);
	if (!pay(f, e, &may_go_on))
		return ks_fail(may_go_on ? EDQUOT : E2BIG, "%s: too large", f->path);
	ks_buf_reset(&f->buf);
	fields = ks_buf_room(&f->buf, n + e->strings_size);
	if (fields == NULL || !KS_RESERVE(f->kstat, f->cap, f->n + 1))
		return ks_fail(ENOMEM, "out of memory for the kstats of %s", f->path);
	if (!scan_bytes(f, fields, n, at + e->fields) || !scan_bytes(f, fields + n, e->strings_size, at + e->strings))
		return cut_off(f, at);
	if (e->check != ks_seg_entry_check(e, fields, fields + n))
		return damaged(f, at, "a kstat that is half written, or was changed");
	shape = find_shape(f, e, fields);
	if (shape == NULL) {
		*metadata += n + e->strings_size;
		if (*metadata > MOST_METADATA)
			return damaged(f, at, "descriptions without end");
		shape = add_shape(f, e, fields, at);
	}
	if (shape == NULL)
		return -1;
	ks_seg_kstat_set(&f->kstat[f->n++], shape, e, at);
	return 0;
}

static int
scan_entries(struct ks_seg_file *f, const struct ks_scan *scan)
{
	uint64_t used = atomic_load(&f->h.used), at = KS_SEG_HEADER, start;
	size_t metadata = 0;
	int rc = 0, error = 0;
	char message[256] = "";

	forget_kstats(f);
	f->cut = NULL;
	f->left_out = 0;
	if (f->piece != NULL)
		f->piece->of = NULL;
	for (uint32_t count = 0; at < used && f->cut == NULL; count++) {
		struct ks_seg_entry e;

		if (count == KS_SEG_MOST_ENTRIES)
			return damaged(f, at, "kstats without end");
		if (used - at < sizeof(e))
			return damaged(f, at, "the file ends");
		if (!scan_bytes(f, &e, sizeof(e), at))
			return cut_off(f, at);
		if (e.magic != KS_SEG_ENTRY_MAGIC || e.size < sizeof(e) || e.size % KS_SEG_ALIGN != 0 || e.size > used - at)
			return damaged(f, at, "no kstat where one should start");
		start = at;
		at += e.size;
		if (!KS_SEG_TAKE(f->budget, looks, 1))
			f->cut = "kstats";
		if (f->cut != NULL || !is_wanted(f, &e, scan) || load(f, &e, start, &metadata) == 0)
			continue;
		/* The others may be sound still. */
		error = errno;
		if (error == EDQUOT)
			continue;
		if (error == E2BIG)
			break;
		strncpy(message, kstat_errmsg(), sizeof(message) - 1);
		rc = -1;
		if (error == ENOMEM)
			break;
	}
	return rc == 0 ? 0 : ks_fail(error, "%s", message);
}

int
ks_seg_file_scan(struct ks_seg_file *f, const struct ks_scan *scan)
{
	struct ks_seg_header h;
	bool live = ks_seg_is_live(f->fd);
	int rc = 0;

	/*
	 * Entries are complete one by one, so one that comes or goes meanwhile is no harm; a second look
	 * sees it. A writer that died half-way leaves the odd number behind: then what is there counts.
	 */
	for (int i = 0; i < 3; i++) {
		uint64_t changes;

		if ((ks_seg_file_read(f, &h, sizeof(h), 0) ? check_header(f, &h) : cut_off(f, 0)) != 0) {
			f->scanned = false;
			forget_kstats(f);
			return -1;
		}
		changes = atomic_load(&h.changes);
		if (f->scanned && live == f->live && h.generation == f->h.generation &&
		    changes == atomic_load(&f->h.changes) && changes % 2 == 0)
			return i > 0 ? 1 : 0;
		memcpy(&f->h, &h, sizeof(h));
		f->live = live;
		rc = scan_entries(f, scan);
		f->scanned = true;
		if (rc != 0)
			break;
	}
	return rc == 0 ? 1 : -1;
}

const struct ks_seg_kstat *
ks_seg_file_find(const struct ks_seg_file *f, uint64_t offset)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->kstat[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->n && f->kstat[low].offset == offset ? &f->kstat[low] : NULL;
}

bool
ks_seg_is_dormant(const struct ks_seg_file *f, const struct ks_seg_kstat *k)
{
	return !f->live || k->state == KS_SEG_DORMANT;
}
