/* decode.c - see decode.h. SPDX-License-Identifier: MIT */
#include "model/decode.h"

#include <string.h>

#include "model/blobstat.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "model/raw_layout.h"
#include "model/shape.h"

static void
set_u64(struct ks_value *v, uint64_t u, uint8_t bits)
{
	v->kind = KS_VALUE_U64;
	v->bits = bits;
	v->u64 = u;
}

static void
set_i64(struct ks_value *v, int64_t i, uint8_t bits)
{
	v->kind = KS_VALUE_I64;
	v->bits = bits;
	v->i64 = i;
}

static void
set_nsec(struct ks_value *v, int64_t ns)
{
	v->kind = KS_VALUE_NSEC;
	v->bits = 64;
	v->i64 = ns;
}

static void
set_string(struct ks_value *v, const char *s, size_t len)
{
	v->kind = KS_VALUE_STRING;
	v->bits = 0;
	v->str = s;
	v->len = (uint32_t)len;
}

/* Sets a value that refers to bytes elsewhere, if they lie inside the data section. */
static void
set_reference(struct ks_value *v, const struct ks_cursor *c, const kstat_named_t *kn, uint8_t kind)
{
	const char *p = kn->value.string.addr.ptr;
	size_t len = kn->value.string.len;
	uintptr_t start = (uintptr_t)c->data;

	if (p == NULL || (uintptr_t)p < start || (uintptr_t)p - start > c->size ||
	    c->size - ((uintptr_t)p - start) < len) {
		p = "";
		len = 0;
	}
	set_string(v, p, kind == KS_VALUE_STRING ? strnlen(p, len) : len);
	v->kind = kind;
	if (kind == KS_VALUE_INTS)
		v->len /= (uint32_t)sizeof(uint64_t);
}

static void
set_named(struct ks_value *v, const struct ks_cursor *c, const kstat_named_t *kn)
{
	switch (kn->data_type) {
	case KSTAT_DATA_CHAR:
		set_string(v, kn->value.c, strnlen(kn->value.c, sizeof(kn->value.c)));
		break;
	case KSTAT_DATA_INT32:
		set_i64(v, kn->value.i32, 32);
		break;
	case KSTAT_DATA_UINT32:
		set_u64(v, kn->value.ui32, 32);
		break;
	case KSTAT_DATA_INT64:
		set_i64(v, kn->value.i64, 64);
		break;
	case KSTAT_DATA_UINT64:
		set_u64(v, kn->value.ui64, 64);
		break;
	case KSTAT_DATA_FLOAT:
		v->kind = KS_VALUE_DOUBLE;
		v->bits = 32;
		v->d = kn->value.f;
		break;
	case KSTAT_DATA_DOUBLE:
		v->kind = KS_VALUE_DOUBLE;
		v->bits = 64;
		v->d = kn->value.d;
		break;
	case KSTAT_DATA_STRING:
		set_reference(v, c, kn, KS_VALUE_STRING);
		break;
	case KSTAT_DATA_INTS:
		set_reference(v, c, kn, KS_VALUE_INTS);
		break;
	case KSTAT_DATA_STRS:
		set_reference(v, c, kn, KS_VALUE_STRS);
		break;
	default: /* a type that is not known yet: its bits */
		set_u64(v, kn->value.ui64, 64);
		break;
	}
}

/*
 * Moves on to a data record that is no gap, and if stat is not NULL has that name; NULL at the end. Those
 * that are computed for a histogram are passed over.
 */
static const kstat_named_t *
seek_named(struct ks_cursor *c, const char *stat)
{
	const kstat_named_t *kn = (const kstat_named_t *)(const void *)c->data + c->record;

	for (; c->record < c->ksp->ks_ndata && (c->record + (size_t)1) * sizeof(*kn) <= c->size; c->record++, kn++) {
		if (kn->name[0] != '\0' && !ks_named_is_hidden(kn) && !(c->is_histogram && ks_dist_is_name(kn->name)) &&
		    (stat == NULL || (kn->name[0] == stat[0] && strcmp(kn->name, stat) == 0)))
			return kn;
	}
	return NULL;
}

/*
 * Moves on to a statistic that is computed for a histogram and is there, the one of that name if stat is not
 * NULL; false behind the last. *d is what it is computed of.
 */
static bool
seek_computed(struct ks_cursor *c, const char *stat, struct kstat_hist *d)
{
	if (!c->is_histogram || c->computed >= KS_DIST_STATISTICS || ks_dist_view(d, c->ksp, c->since) != 0)
		return false;
	for (; c->computed < KS_DIST_STATISTICS; c->computed++) {
		if (ks_dist_has(d, c->computed) && (stat == NULL || strcmp(ks_dist_names[c->computed], stat) == 0))
			return true;
	}
	return false;
}

static bool
next_computed(struct ks_cursor *c, const char **name, struct ks_value *v)
{
	struct kstat_hist d;

	c->was_computed = seek_computed(c, NULL, &d);
	if (!c->was_computed)
		return false;
	*name = ks_dist_names[c->computed];
	ks_dist_statistic(&d, c->computed++, v);
	return true;
}

static bool
next_named(struct ks_cursor *c, const char **name, struct ks_value *v)
{
	const kstat_named_t *kn = seek_named(c, NULL);

	c->was_computed = false;
	if (kn == NULL)
		return next_computed(c, name, v);
	*name = kn->name;
	set_named(v, c, kn);
	c->record++;
	return true;
}

/* The next field of a structure, one of perhaps several (TIMER). */
static bool
next_field(struct ks_cursor *c, const char **name, struct ks_value *v)
{
	const struct ks_raw_layout *l = c->layout;
	const struct ks_raw_field *f;
	const char *at;
	int32_t i32;
	uint32_t u32;
	uint64_t u64;

	if (l != NULL && ks_blobstat_is(c->ksp))
		return ks_blobstat_stat(c->layout, c->member++, name, v);
	if (l == NULL || (c->record + 1) * l->size > c->size ||
	    (c->ksp->ks_type == KSTAT_TYPE_TIMER && c->record >= c->ksp->ks_ndata))
		return false;
	while (c->ksp->ks_type == KSTAT_TYPE_RAW && ks_raw_is_hidden(l, c->data, c->size, c->member) &&
	    l->fields[c->member].name != NULL)
		c->member++;
	f = &l->fields[c->member];
	if (f->name == NULL)
		return false;
	at = c->data + c->record * l->size + f->offset;
	c->member++;
	if (f[1].name == NULL && c->ksp->ks_type == KSTAT_TYPE_TIMER) {
		c->member = 0;
		c->record++;
	}
	*name = f->name;
	switch (f->type) {
	case KS_RAW_U32:
		memcpy(&u32, at, sizeof(u32));
		set_u64(v, u32, 32);
		break;
	case KS_RAW_I32:
		memcpy(&i32, at, sizeof(i32));
		set_i64(v, i32, 32);
		break;
	case KS_RAW_U64:
		memcpy(&u64, at, sizeof(u64));
		set_u64(v, u64, 64);
		break;
	case KS_RAW_NSEC:
		memcpy(&u64, at, sizeof(u64));
		set_nsec(v, (int64_t)u64);
		break;
	default:
		set_string(v, at, strnlen(at, f->count));
		break;
	}
	return true;
}

void
ks_cursor_open(struct ks_cursor *c, const kstat_t *ksp)
{
	struct ks_histstat h;

	*c = (struct ks_cursor){ .ksp = ksp, .data = ksp->ks_data, .size = ksp->ks_data_size };
	if (ksp->ks_data == NULL)
		c->size = 0;
	c->is_histogram = ks_histstat_is(ksp) && ks_histstat_open(&h, ksp);
	if (ks_blobstat_is(ksp))
		c->layout = ks_blobstat_find(ksp);
	else
		c->layout = ks_structure_find(ksp->ks_type, ksp->ks_module, ksp->ks_name);
}

void
ks_cursor_open_since(struct ks_cursor *c, const kstat_t *ksp, const kstat_t *since)
{
	ks_cursor_open(c, ksp);
	c->since = since;
}

void
ks_cursor_open_like(struct ks_cursor *c, const void *layout, const kstat_t *ksp)
{
	if (ks_blobstat_is(ksp)) {
		ks_cursor_open(c, ksp);
		return;
	}
	*c = (struct ks_cursor){ .ksp = ksp, .layout = layout, .data = ksp->ks_data,
		.size = ksp->ks_data != NULL ? ksp->ks_data_size : 0 };
}

bool
ks_cursor_next(struct ks_cursor *c, const char **name, struct ks_value *v)
{
	if (c->size == 0)
		return false;
	v->len = 0;
	return c->ksp->ks_type == KSTAT_TYPE_NAMED ? next_named(c, name, v) : next_field(c, name, v);
}

bool
ks_cursor_seek(struct ks_cursor *c, const char *stat)
{
	struct kstat_hist d;
	struct ks_value v;
	const char *name;

	if (c->is_histogram && ks_dist_is_name(stat)) {
		c->record = c->ksp->ks_ndata;
		return seek_computed(c, stat, &d);
	}
	if (c->ksp->ks_type == KSTAT_TYPE_NAMED)
		return c->size > 0 && seek_named(c, stat) != NULL;
	for (;;) {
		struct ks_cursor at = *c;

		if (!ks_cursor_next(c, &name, &v))
			return false;
		if (strcmp(name, stat) == 0) {
			*c = at;
			return true;
		}
	}
}

bool
ks_is_shown(const kstat_t *ksp)
{
	if (strncmp(ksp->ks_name, "kstat_", 6) == 0)
		return false;
	return ksp->ks_type != KSTAT_TYPE_RAW || ks_blobstat_is(ksp) ||
	    ks_raw_layout_find(ksp->ks_module, ksp->ks_name) != NULL;
}
