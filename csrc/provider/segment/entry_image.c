/* entry_image.c - see entry_image.h and segment_layout.h. SPDX-License-Identifier: MIT */
#include "provider/segment/entry_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LEAST_TEXT 64u /* room for a string, bytes */
#define TEXT_STEP 32u  /* of a fixed string: so the place of one row is mostly good for the next one, too */

static size_t
aligned(size_t n)
{
	return (n + KS_SEG_ALIGN - 1) & ~(size_t)(KS_SEG_ALIGN - 1);
}

static uint32_t
add_string(struct ks_seg_image *im, const char *s)
{
	uint32_t at = (uint32_t)im->strings.len;
	size_t n = s == NULL ? 0 : strlen(s) + 1;

	if (s == NULL || *s == '\0')
		return 0;
	/* Often it is the one before, or the end of it. */
	if (at > n && memcmp(im->strings.data + at - n, s, n) == 0)
		return at - (uint32_t)n;
	ks_buf_add(&im->strings, s, n);
	return at;
}

/* Metadata of a number that its publisher did not describe, or NULL: what is summed over shards is a counter. */
static const struct ks_meta *
derive_meta(uint8_t data_type, uint8_t storage)
{
	static const struct ks_meta count = KS_META_COUNTER("", "");

	return storage == KS_STORE_SHARDED && (data_type == KSTAT_DATA_UINT32 || data_type == KSTAT_DATA_UINT64) ?
	    &count : NULL;
}

static void
add_field(struct ks_seg_image *im, const struct ks_provider *p, const char *name, uint8_t data_type,
    uint8_t storage, size_t offset, size_t size)
{
	const struct ks_meta *described = ks_provider_meta(p, name);
	const struct ks_meta *m = described != NULL ? described : derive_meta(data_type, storage);
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
add_record(struct ks_seg_image *im, const void *value, size_t n)
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

/* The rows of cells at the start of the data, and who claimed each. */
static char *
add_rows(struct ks_seg_image *im, const struct ks_provider *p, uint32_t ncells)
{
	uint32_t shards = p->published->shards;

	im->e.ncells = ncells;
	im->e.shards = shards;
	im->e.row = ncells * (uint32_t)sizeof(uint64_t);
	if (!p->published->is_dense)
		im->e.row = (uint32_t)aligned(im->e.row);
	(void)ks_buf_zeroed(&im->data, (size_t)im->e.row * shards);
	if (shards > 1) {
		im->e.owners = (uint32_t)im->data.len;
		(void)ks_buf_zeroed(&im->data, shards * sizeof(ks_word));
	}
	return im->data.failed ? NULL : im->data.data;
}

/* A string of n bytes with its NUL; NULL is "". */
static int
add_fixed_text(struct ks_seg_image *im, const struct ks_provider *p, const char *name, const char *s, size_t n)
{
	size_t room = (n + TEXT_STEP) / TEXT_STEP * TEXT_STEP, at = im->data.len;
	char *to = ks_buf_zeroed(&im->data, room);

	if (to != NULL && n > 0)
		memcpy(to, s, n);
	add_field(im, p, name, KSTAT_DATA_STRING, KS_STORE_TEXT, at, room);
	return 0;
}

static int
lay_out_text(struct ks_seg_image *im, const struct ks_provider *p, const kstat_named_t *kn)
{
	const char *ptr = kn->value.string.addr.ptr;
	uint32_t len = ptr == NULL ? 0 : kn->value.string.len;
	uint32_t room = len < LEAST_TEXT ? LEAST_TEXT : (len + 7) & ~7u;
	struct ks_seg_text *text;

	if (len > KS_SEG_MOST_STRINGS)
		return ks_fail(EINVAL, "%s: %u bytes are too many", kn->name, len);
	if (p->published->is_dense && kn->data_type == KSTAT_DATA_STRING)
		return add_fixed_text(im, p, kn->name, ptr, len);
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
lay_out_named(struct ks_seg_image *im, const struct ks_provider *p)
{
	const kstat_named_t *kn = p->ks.ks_data;
	uint32_t ncells = 0, cell = 0;
	char *row;

	for (uint_t i = 0; i < p->ks.ks_ndata; i++)
		ncells += is_number(kn[i].data_type);
	row = add_rows(im, p, ncells);
	if (row == NULL && ncells > 0)
		return ks_fail(ENOMEM, "out of memory");
	for (uint_t i = 0; i < p->ks.ks_ndata; i++) {
		uint64_t bits = is_number(kn[i].data_type) ? ks_seg_cell_of(&kn[i]) : 0;

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
lay_out_intr(struct ks_seg_image *im, const struct ks_provider *p)
{
	const kstat_intr_t *intr = p->ks.ks_data;
	char *row = add_rows(im, p, KSTAT_NUM_INTRS);

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
lay_out_timers(struct ks_seg_image *im, const struct ks_provider *p)
{
	const kstat_timer_t *kt = p->ks.ks_data;

	for (uint_t i = 0; i < p->ks.ks_ndata; i++) {
		uint32_t at = add_record(im, ks_seg_timer_values(&kt[i]), KS_SEG_TIMER_SIZE);

		add_field(im, p, kt[i].name, 0, KS_STORE_RECORD, at, KS_SEG_TIMER_SIZE);
	}
	return 0;
}

static void
add_measure(struct ks_seg_image *im, const struct ks_meta *m)
{
	im->e.measure = (struct ks_seg_measure){ .kind = m->kind, .md_type = m->type, .md_flags = m->flags,
		.scale = m->scale, .unit = add_string(im, m->unit), .desc = add_string(im, m->desc) };
}

static int
lay_out_data(struct ks_seg_image *im, const struct ks_provider *p)
{
	const struct ks_hist_layout *l = p->histogram != NULL ? &p->histogram->layout : NULL;
	struct ks_hist *hist;

	im->e.shards = 1;
	if (l != NULL) {
		im->e.form = KS_FORM_COUNTS;
		im->e.hist_type = l->type;
		im->e.range_min = l->range_min;
		im->e.range_max = l->range_max;
		im->e.stepping = l->stepping;
		im->e.log = p->published->is_dense ? KS_HIST_LEAST_LOG : KS_HIST_LOG;
		hist = ks_buf_zeroed(&im->data, ks_hist_size(im->e.log, l->n));
		if (hist != NULL)
			ks_hist_init(hist);
		add_measure(im, ks_provider_meta(p, "buckets"));
		for (size_t i = 0; i < p->histogram->nlabels; i++) {
			const struct ks_label *label = &p->histogram->labels[i];

			(void)add_fixed_text(im, p, label->name, label->value, strlen(label->value));
		}
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

void
ks_seg_image_free(struct ks_seg_image *im)
{
	ks_buf_free(&im->fields);
	ks_buf_free(&im->strings);
	ks_buf_free(&im->data);
}

/* Readers show no other names, so nobody publishes them. */
static int
check_names(const struct ks_seg_image *im)
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

int
ks_seg_image_make(struct ks_seg_image *im, const struct ks_provider *p)
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
	fields = (e->data + im->data.len + 7) & ~(size_t)7;
	strings = fields + im->fields.len;
	e->fields = (uint32_t)fields;
	e->strings = (uint32_t)strings;
	e->strings_size = (uint32_t)im->strings.len;
	e->size = aligned(strings + im->strings.len);
	e->crtime = p->ks.ks_crtime;
	e->check = ks_seg_entry_check(e, im->fields.data, im->strings.data);
	return check_names(im) == 0 ? ks_provider_check_names(p) : -1;
}
