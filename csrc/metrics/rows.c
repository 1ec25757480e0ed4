/* rows.c - see rows.h. SPDX-License-Identifier: MIT */
#include "metrics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "metrics/histogram.h"
#include "metrics/naming.h"
#include "model/meta.h"

#define STEP_ENTRIES 1024  /* that one step looks at, */
#define STEP_TIME 500000LL /* and ns that it takes at the most */
#define MOST_ROW (64u << 10)   /* bytes of a row that is looked at, */
#define MOST_BLOB (1u << 20)   /* of a statsblob, */
#define MOST_FORMS (16u << 20) /* and of all that is kept of forms: a publisher has a few for each metric */
#define TIMES_CLASS "_time" /* the end of the class of a row's distributions */

/* --- opening and closing ------------------------------------------------------------------------------- */

int
ks_metric_rows_open(struct ks_metric_rows *x, const char *path, const char *module,
    const struct ks_metric_group *groups, size_t n, size_t counted)
{
	*x = (struct ks_metric_rows){ .module = module, .groups = groups, .n = n, .counted = counted };
	return ks_seg_walk_open(&x->walk, path);
}

static void
free_kind(struct ks_metric_kind *kind)
{
	free(kind->shape.fields);
	free(kind->column);
	ks_metric_blob_kind_free(kind->blob);
}

void
ks_metric_rows_close(struct ks_metric_rows *x)
{
	for (size_t i = 0; i < x->nkinds; i++)
		free_kind(&x->kind[i]);
	free_kind(&x->spare);
	free(x->kind);
	free(x->owner);
	ks_table_free(&x->by_name);
	free(x->late);
	ks_table_free(&x->by_form);
	ks_seg_walk_close(&x->walk);
	*x = (struct ks_metric_rows){ .n = 0 };
}

/* --- names --------------------------------------------------------------------------------------------- */

/* Returns the first group whose selector a kstat of this name and class matches, or NULL. */
static const struct ks_metric_group *
find_group(const struct ks_metric_rows *x, const char *name, const char *class_)
{
	kstat_t k = { .ks_instance = 0 };

	memcpy(k.ks_module, x->module, strnlen(x->module, KSTAT_STRLEN - 1));
	memcpy(k.ks_name, name, strnlen(name, KSTAT_STRLEN - 1));
	memcpy(k.ks_class, class_, strnlen(class_, KSTAT_STRLEN - 1));
	for (size_t i = 0; i < x->n; i++) {
		if (ks_selector_matches(x->groups[i].selector, &k))
			return &x->groups[i];
	}
	return NULL;
}

static bool
is_cell(const struct ks_seg_field *f)
{
	return f->storage == KS_STORE_CELL || f->storage == KS_STORE_SHARDED;
}

/* Adds the column of a field that has this name, by its unit and description. 0, or -1 with errno ENOMEM. */
static int
add_column(struct ks_metric_kind *kind, uint32_t field, const struct ks_metric_name *name, const char *stat,
    uint32_t unit, uint32_t desc, struct ks_metric_samples *s)
{
	struct ks_metric_column c = { .field = field, .per = name->per, .is_optional = name->stat[0] == '?' };

	c.family = ks_metric_row_family(s, name->stat[0] == '*' ? NULL : name->family, name->type, stat,
	    kind->shape.strings + unit, kind->shape.strings + desc, &c.per);
	if (c.family == KS_NO_SLOT)
		return 0;
	if (!KS_RESERVE(kind->column, kind->columns_cap, kind->ncolumns + 1))
		return -1;
	c.own = ks_metric_own_labels(s, name->labels);
	kind->column[kind->ncolumns++] = c;
	return 0;
}

/* Whether a statistic has this name: "*" stands for all that the group does not name. */
static bool
is_named(const struct ks_metric_group *group, const struct ks_metric_name *name, const char *stat)
{
	return name->stat[0] == '*' ? !ks_metric_group_names(group, stat) :
	    strcmp(name->stat + (name->stat[0] == '?'), stat) == 0;
}

/* Finds the names of a kind's statistics, in the order of the names. A histogram has its buckets alone. */
static int
find_columns(struct ks_metric_kind *kind, struct ks_metric_samples *s)
{
	const struct ks_seg_entry *e = &kind->shape.e;

	for (size_t i = 0; i < kind->group->n; i++) {
		const struct ks_metric_name *name = &kind->group->name[i];

		if (e->form == KS_FORM_COUNTS && is_named(kind->group, name, "buckets") &&
		    add_column(kind, 0, name, "buckets", e->measure.unit, e->measure.desc, s) != 0)
			return -1;
		for (uint32_t n = 0; n < e->nfields; n++) {
			const struct ks_seg_field *f = &kind->shape.fields[n];

			if (is_cell(f) && is_named(kind->group, name, f->name) &&
			    add_column(kind, n, name, f->name, f->unit, f->desc, s) != 0)
				return -1;
		}
	}
	return 0;
}

/* --- kinds --------------------------------------------------------------------------------------------- */

#define FORM offsetof(struct ks_seg_entry, class_) /* from here on the fixed parts of rows of a kind are the same */

static size_t
fields_size(const struct ks_seg_entry *e)
{
	return e->nfields * sizeof(struct ks_seg_field) + e->strings_size;
}

/*
 * Whether a row is of this kind. entry: all of it. What a blob is follows from its layout, which names its
 * template and its descriptions, so that nothing behind its bytes has to be read.
 */
static bool
is_of_kind(const struct ks_metric_kind *kind, const struct ks_seg_entry *e, const char *entry)
{
	return e->size == kind->shape.e.size && memcmp((const char *)e + FORM, (const char *)&kind->shape.e + FORM,
	    sizeof(*e) - FORM) == 0 &&
	    (entry == NULL || memcmp(entry + e->fields, kind->shape.fields, fields_size(e)) == 0);
}

struct form {
	const struct ks_seg_entry *e;
	const char *entry;
};

static bool
has_form(const void *kinds, uint32_t slot, const void *key)
{
	const struct form *f = key;

	return is_of_kind(&((const struct ks_metric_kind *)kinds)[slot], f->e, f->entry);
}

/* Whether the fields and strings of a row lie behind one another in it, as publishers write them. */
static bool
is_in_order(const struct ks_seg_entry *e)
{
	return ks_seg_entry_wrong(e) == NULL && (e->form == KS_FORM_FIELDS || e->form == KS_FORM_COUNTS) &&
	    e->type == KSTAT_TYPE_NAMED &&
	    e->strings == e->fields + e->nfields * sizeof(struct ks_seg_field);
}

/*
 * Checks the fields of a new kind and finds its names. 0, or -1 with errno ENOMEM; group stays NULL without
 * names.
 */
static int
describe_row(struct ks_metric_rows *x, struct ks_metric_kind *kind, const char *entry,
    struct ks_metric_samples *s)
{
	const struct ks_seg_entry *e = &kind->shape.e;
	char times[KSTAT_STRLEN + sizeof(TIMES_CLASS)];

	kind->shape.fields = malloc(fields_size(e));
	if (kind->shape.fields == NULL)
		return ks_fail(ENOMEM, "out of memory for metrics");
	memcpy(kind->shape.fields, entry + e->fields, fields_size(e));
	kind->shape.strings = (char *)(kind->shape.fields + e->nfields);
	if (ks_seg_shape_wrong(&kind->shape) != NULL)
		return 0;
	strcpy(times, e->class_);
	strcat(times, TIMES_CLASS);
	kind->has_times = find_group(x, "", times) != NULL;
	kind->group = find_group(x, e->name, e->class_);
	return kind->group != NULL ? find_columns(kind, s) : 0;
}

/*
 * Adds a kind. One for which there is no more room takes the place of the last such one: texts of many lengths
 * make a form of almost every row.
 */
static struct ks_metric_kind *
add_kind(struct ks_metric_rows *x, uint64_t hash, const struct ks_metric_kind *kind)
{
	if (kind->blob == NULL && x->forms > MOST_FORMS) {
		free_kind(&x->spare);
		x->spare = *kind;
		return &x->spare;
	}
	if (!KS_RESERVE(x->kind, x->kinds_cap, x->nkinds + 1) ||
	    !ks_table_add(&x->by_form, hash, (uint32_t)x->nkinds))
		return NULL;
	x->kind[x->nkinds] = *kind;
	x->last = x->nkinds++;
	return &x->kind[x->last];
}

/* Returns the kind of a row, or adds it; NULL with errno: ENOMEM, or another one if the row is left out. */
static struct ks_metric_kind *
find_kind(struct ks_metric_rows *x, const struct ks_seg_entry *e, const char *entry, uint64_t offset,
    struct ks_metric_samples *s)
{
	struct form form = { e, entry };
	struct ks_metric_kind kind = { .shape = { .e = *e } }, *added;
	uint64_t hash;
	uint32_t slot;
	int rc = 0;

	if (x->nkinds > 0 && is_of_kind(&x->kind[x->last], e, entry))
		return &x->kind[x->last];
	if (entry != NULL && !is_in_order(e))
		return ks_fail_null(EINVAL, "a row that is damaged");
	hash = ks_rec_check((const char *)e + FORM, (sizeof(*e) - FORM) & ~(size_t)7, 0);
	if (entry != NULL)
		hash = ks_rec_check(entry + e->fields, fields_size(e) & ~(size_t)7, (uint32_t)hash);
	slot = ks_table_find(&x->by_form, hash, has_form, x->kind, &form);
	if (slot != KS_NO_SLOT) {
		x->last = slot;
		return &x->kind[slot];
	}
	*(entry != NULL ? &x->forms : &x->blob_forms) += sizeof(kind) + (entry != NULL ? fields_size(e) : e->ndata);
	if (ks_seg_entry_wrong(e) != NULL || (entry == NULL && (x->blob_forms > MOST_FORMS ||
	    e->ndata > e->data_size || e->ndata > MOST_BLOB)))
		return ks_fail_null(EINVAL, "a row that is damaged");
	if (entry != NULL) {
		rc = describe_row(x, &kind, entry, s);
	} else {
		kind.group = find_group(x, e->name, e->class_);
		if (kind.group != NULL)
			kind.blob = ks_metric_blob_kind_new(&x->walk, e, offset, kind.group, s);
		if (kind.blob == NULL && kind.group != NULL)
			return NULL;
	}
	added = rc == 0 ? add_kind(x, hash, &kind) : NULL;
	if (added == NULL) {
		free_kind(&kind);
		return ks_fail_null(ENOMEM, "out of memory for metrics");
	}
	return added;
}

/* --- rows by their names ------------------------------------------------------------------------------- */

/* A row whose distributions may come. */
struct ks_metric_owner {
	char name[KSTAT_STRLEN];
	uint32_t labels; /* their offset */
	bool is_other;   /* each label is "other" */
};

static bool
has_name(const void *owners, uint32_t slot, const void *name)
{
	return strcmp(((const struct ks_metric_owner *)owners)[slot].name, name) == 0;
}

/* Adds a row by its name, which may fill all of its place. 0, or -1 with errno ENOMEM. */
static int
add_owner(struct ks_metric_rows *x, const char *name, uint32_t labels, bool is_other)
{
	struct ks_metric_owner *owner;

	if (!KS_RESERVE(x->owner, x->owners_cap, x->nowners + 1))
		return -1;
	owner = &x->owner[x->nowners];
	*owner = (struct ks_metric_owner){ .labels = labels, .is_other = is_other };
	memcpy(owner->name, name, strnlen(name, KSTAT_STRLEN - 1));
	return ks_table_add(&x->by_name, ks_hash_string(KS_HASH_INIT, owner->name), (uint32_t)x->nowners++) ? 0 : -1;
}

/*
 * Returns the row of the distributions of this name, or NULL: it did not come yet. Those whose name is none of a
 * row's with an ending are all that there is of their row, which has no labels.
 */
static const struct ks_metric_owner *
find_owner(const struct ks_metric_rows *x, const char *name)
{
	static const char *const endings[] = { ",time", ",le", ",in", ",out" }; /* of the names of distributions */
	static const struct ks_metric_owner nobody = { .labels = 0 }; /* "" */
	size_t n = strnlen(name, KSTAT_STRLEN - 1);
	char row[KSTAT_STRLEN] = "";
	uint32_t slot;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i]);

		if (n <= end || memcmp(name + n - end, endings[i], end) != 0)
			continue;
		memcpy(row, name, n - end);
		slot = ks_table_find(&x->by_name, ks_hash_string(KS_HASH_INIT, row), has_name, x->owner, row);
		return slot != KS_NO_SLOT ? &x->owner[slot] : NULL;
	}
	return &nobody;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* Returns a text and stores its length; NULL: it was being changed. */
static const char *
text_of(const struct ks_seg_field *f, const char *data, size_t *n)
{
	struct ks_seg_text head;
	const char *text = data + f->offset;

	if (f->storage == KS_STORE_TEXT) {
		*n = strnlen(text, f->size);
		return text;
	}
	text = ks_rec_current(text, f->size);
	if (text == NULL)
		return NULL;
	memcpy(&head, text, sizeof(head));
	*n = head.present && head.len <= f->size - sizeof(head) ? strnlen(text + sizeof(head), head.len) : 0;
	return text + sizeof(head);
}

/*
 * Appends the texts as labels. Returns how many there are, -1: they were being changed; and whether each is
 * "other".
 */
static int
add_labels(const struct ks_metric_kind *kind, const struct ks_seg_entry *e, const char *data,
    struct ks_metric_samples *s, bool *is_other)
{
	int texts = 0;

	ks_metric_samples_row(s, e->crtime);
	*is_other = true;
	for (uint32_t i = 0; i < kind->shape.e.nfields; i++) {
		const struct ks_seg_field *f = &kind->shape.fields[i];
		const char *text;
		size_t n;

		if (f->data_type != KSTAT_DATA_STRING)
			continue;
		text = text_of(f, data, &n);
		if (text == NULL)
			return -1;
		ks_metric_add_label(&s->labels, s->ksp_labels, f->name, text, n);
		*is_other = *is_other && n == 5 && memcmp(text, "other", 5) == 0;
		texts++;
	}
	ks_buf_addc(&s->labels, '\0');
	*is_other = *is_other && texts > 0;
	return texts;
}

static struct ks_value
value_of(const struct ks_metric_kind *kind, const struct ks_seg_field *f, const char *data)
{
	struct ks_value v = { .kind = KS_VALUE_U64, .bits = 64 };

	v.u64 = ks_seg_cell(&kind->shape.e, f, data);
	switch (f->data_type) {
	case KSTAT_DATA_INT32:
		v.i64 = (int32_t)v.u64;
		v.kind = KS_VALUE_I64;
		break;
	case KSTAT_DATA_INT64:
		v.kind = KS_VALUE_I64;
		break;
	case KSTAT_DATA_UINT32:
		v.u64 = (uint32_t)v.u64;
		break;
	case KSTAT_DATA_FLOAT:
	case KSTAT_DATA_DOUBLE:
		v.kind = KS_VALUE_DOUBLE; /* the bits are those of the double */
		break;
	default:
		break;
	}
	return v;
}

static bool
is_idle(const struct ks_metric_kind *kind, const char *data)
{
	for (uint32_t i = 0; i < kind->shape.e.nfields; i++) {
		if (is_cell(&kind->shape.fields[i]) && ks_seg_cell(&kind->shape.e, &kind->shape.fields[i], data) != 0)
			return false;
	}
	return true;
}

/* Adds the samples of a row of numbers. The row of refused labels is hidden until something was refused. */
static int
add_row(struct ks_metric_rows *x, const struct ks_metric_kind *kind, const struct ks_seg_entry *e,
    const char *entry, struct ks_metric_samples *s)
{
	const char *data = entry + e->data;
	size_t labels = s->labels.len;
	bool is_other;
	int texts = add_labels(kind, e, data, s, &is_other);

	if (texts < 0) {
		s->labels.len = labels;
		return 0;
	}
	x->rows += texts > 0 && !is_other && kind->group != NULL && kind->group < x->groups + x->counted;
	if (kind->has_times && add_owner(x, e->name, s->ksp_labels, is_other) != 0)
		return -1;
	if (is_other && is_idle(kind, data))
		return 0;
	for (size_t i = 0; i < kind->ncolumns; i++) {
		const struct ks_metric_column *c = &kind->column[i];
		struct ks_value v = value_of(kind, &kind->shape.fields[c->field], data);

		if ((!c->is_optional || v.u64 != 0) &&
		    ks_metric_add_sample(s, c->family, 1, c->per, KS_PART_VALUE, c->own, &v) != 0)
			return -1;
	}
	return 0;
}

/* --- distributions and the rest ------------------------------------------------------------------------ */

/*
 * Finds the labels of the distributions of an entry. 1; 0: their row did not come yet, and they are looked at again
 * behind all rows; -1 with errno ENOMEM.
 */
static int
find_labels(struct ks_metric_rows *x, const struct ks_seg_entry *e, uint64_t offset, struct ks_metric_samples *s,
    bool *is_other)
{
	const struct ks_metric_owner *owner = find_owner(x, e->name);

	*is_other = owner != NULL && owner->is_other;
	if (owner != NULL) {
		s->ksp_labels = owner->labels;
		return 1;
	}
	if (!x->is_over) {
		if (!KS_RESERVE(x->late, x->late_cap, x->nlate + 1))
			return -1;
		x->late[x->nlate++] = offset;
	}
	return 0;
}

static int
add_blob(struct ks_metric_rows *x, const struct ks_seg_entry *e, uint64_t offset, struct ks_metric_samples *s)
{
	struct ks_metric_kind *kind = find_kind(x, e, NULL, offset, s);
	bool is_other;
	int rc;

	if (kind == NULL || kind->blob == NULL)
		return kind == NULL && errno == ENOMEM ? -1 : 0;
	rc = find_labels(x, e, offset, s, &is_other);
	return rc <= 0 ? rc : ks_metric_blob_add(kind->blob, &x->walk, e, offset, s, is_other);
}

/* Adds a histogram that was read. That of refused labels is hidden while it is empty. */
static int
add_counts(const struct ks_metric_kind *kind, const struct ks_histstat *h, struct ks_metric_samples *s, bool is_other)
{
	int rc = 0;

	if (is_other && h->out_of_range == 0 && h->min > h->max)
		return 0;
	for (size_t i = 0; rc == 0 && i < kind->ncolumns; i++)
		rc = ks_metric_add_histogram(s, kind->column[i].family, 1, kind->column[i].per, h);
	return rc;
}

/* Adds a histogram, from the piece of the file that is there if nothing was counted since then. */
static int
add_histogram(struct ks_metric_rows *x, const struct ks_seg_entry *e, uint64_t offset, struct ks_metric_samples *s)
{
	const char *entry = e->size <= MOST_BLOB ? ks_seg_walk_bytes(&x->walk, offset, (size_t)e->size) : NULL;
	const struct ks_metric_kind *kind = entry != NULL ? find_kind(x, e, entry, offset, s) : NULL;
	struct ks_seg_kstat k;
	struct ks_histstat h;
	bool is_other;
	int rc;

	if (kind == NULL || kind->ncolumns == 0)
		return kind == NULL && errno == ENOMEM ? -1 : 0;
	rc = find_labels(x, e, offset, s, &is_other);
	if (rc <= 0)
		return rc;
	ks_seg_kstat_set(&k, &kind->shape, e, offset);
	return ks_seg_counts_read(&x->walk.file, &k, entry + e->data, &h) != 0 ? 0 : add_counts(kind, &h, s, is_other);
}

/* Adds a queue, as a kstat of a chain is added. */
static int
add_queue(struct ks_metric_rows *x, const struct ks_seg_entry *e, uint64_t offset, struct ks_metric_samples *s)
{
	const struct ks_metric_group *group = ks_seg_entry_wrong(e) == NULL ?
	    find_group(x, e->name, e->class_) : NULL;
	struct ks_seg_shape shape = { .e = *e };
	struct ks_seg_kstat k;
	struct ks_record r = { .ndata = 0 };
	kstat_io_t io;
	kstat_t ksp = { .ks_type = KSTAT_TYPE_IO, .ks_ndata = 1, .ks_data = &io, .ks_data_size = sizeof(io) };
	struct ks_values values = { .n = 0 };
	int rc = 0;

	shape.e.nfields = 0;
	ks_seg_kstat_set(&k, &shape, e, offset);
	if (group != NULL && ks_rec_size(sizeof(io)) <= e->data_size && ks_seg_kstat_read(&x->walk.file, &k, &r) == 0 &&
	    r.fixed.len == sizeof(io)) {
		memcpy(&io, r.fixed.data, sizeof(io));
		rc = ks_values_collect_stored(&values, &ksp);
		if (rc == 0)
			rc = ks_metric_samples_add_named(s, NULL, &ksp, &values, group);
	}
	ks_values_free(&values);
	ks_record_free(&r);
	return rc;
}

static int
add_entry(struct ks_metric_rows *x, const struct ks_seg_entry *e, uint64_t offset, struct ks_metric_samples *s)
{
	const char *entry;
	const struct ks_metric_kind *kind;

	if (strncmp(e->module, x->module, sizeof(e->module)) != 0)
		return 0;
	if (ks_seg_is_statsblob(e))
		return add_blob(x, e, offset, s);
	if (e->form == KS_FORM_COUNTS)
		return add_histogram(x, e, offset, s);
	if (e->form == KS_FORM_RECORD && e->type == KSTAT_TYPE_IO)
		return add_queue(x, e, offset, s);
	if (e->form != KS_FORM_FIELDS || e->size > MOST_ROW)
		return 0;
	entry = ks_seg_walk_bytes(&x->walk, offset, (size_t)e->size);
	kind = entry != NULL ? find_kind(x, e, entry, offset, s) : NULL;
	if (kind == NULL)
		return errno == ENOMEM ? -1 : 0;
	return kind->group != NULL || kind->has_times ? add_row(x, kind, e, entry, s) : 0;
}

/* Takes the next entry: of the walk, or then of those that came too early. As ks_seg_walk_next(). */
static int
next_entry(struct ks_metric_rows *x, struct ks_seg_entry *e, uint64_t *offset)
{
	const char *bytes;
	int rc = x->is_over ? KS_WALK_END : ks_seg_walk_next(&x->walk, e, offset, STEP_ENTRIES);

	if (rc != KS_WALK_END)
		return rc;
	x->is_over = true;
	if (x->late_at == x->nlate)
		return KS_WALK_END;
	*offset = x->late[x->late_at++];
	bytes = ks_seg_walk_bytes(&x->walk, *offset, sizeof(*e));
	if (bytes == NULL)
		return -1;
	memcpy(e, bytes, sizeof(*e));
	return KS_WALK_KSTAT;
}

int
ks_metric_rows_read(struct ks_metric_rows *x, struct ks_metric_samples *s)
{
	hrtime_t start = gethrtime();
	struct ks_seg_entry e;
	uint64_t offset;

	for (int i = 1; i <= STEP_ENTRIES; i++) {
		int rc = next_entry(x, &e, &offset);

		if (rc != KS_WALK_KSTAT)
			return rc == KS_WALK_MORE ? 1 : rc;
		if (add_entry(x, &e, offset, s) != 0 || s->labels.failed || s->labels.len > UINT32_MAX)
			return ks_fail(ENOMEM, "out of memory for metrics");
		if ((i % 32 == 0 || e.form == KS_FORM_BYTES) && gethrtime() - start > STEP_TIME)
			break;
	}
	return 1;
}
