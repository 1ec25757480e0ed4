/* sample_store.c - see sample_store.h. SPDX-License-Identifier: MIT */
#include "source/replay/sample_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/blobstat.h"
#include "model/shape.h"

#define VALUE_SIZE 40 /* bytes: a value, and what a recording expects of it */

/* --- filling --------------------------------------------------------------------- */

void
ks_store_free(struct ks_store *s)
{
	ks_buf_free(&s->text);
	free(s->kstat);
	free(s->value);
	free(s->meta);
	*s = (struct ks_store){ .text = KS_BUF_INIT, .most = s->most };
}

void
ks_store_reset(struct ks_store *s)
{
	ks_buf_reset(&s->text);
	s->nkstats = s->nvalues = s->nmetas = 0;
	s->failed = s->too_large = false;
}

void
ks_store_copy(struct ks_store *to, const struct ks_store *from)
{
	ks_store_reset(to);
	ks_buf_add(&to->text, from->text.data, from->text.len);
	if (to->text.failed || !KS_RESERVE(to->value, to->value_cap, from->nvalues) ||
	    !KS_RESERVE(to->kstat, to->kstat_cap, from->nkstats) || !KS_RESERVE(to->meta, to->meta_cap, from->nmetas)) {
		to->failed = true;
		return;
	}
	if (from->nvalues > 0)
		memcpy(to->value, from->value, from->nvalues * sizeof(*to->value));
	if (from->nkstats > 0)
		memcpy(to->kstat, from->kstat, from->nkstats * sizeof(*to->kstat));
	if (from->nmetas > 0)
		memcpy(to->meta, from->meta, from->nmetas * sizeof(*to->meta));
	to->nvalues = from->nvalues;
	to->nkstats = from->nkstats;
	to->nmetas = from->nmetas;
}

void
ks_store_align(struct ks_store *s)
{
	(void)ks_buf_zeroed(&s->text, -s->text.len & 7);
}

/* Whether `text` more bytes, and a value or a kstat, are allowed. */
static bool
is_allowed(struct ks_store *s, size_t text)
{
	size_t size = s->text.len + s->nvalues * VALUE_SIZE + s->nkstats * sizeof(*s->kstat) +
	    s->nmetas * sizeof(*s->meta);

	if (text < UINT32_MAX - s->text.len && (s->most == 0 || (size < s->most && text < s->most - size)))
		return true;
	s->failed = s->too_large = true;
	return false;
}

bool
ks_store_add_number(struct ks_store *s, uint64_t u)
{
	if (is_allowed(s, sizeof(u)))
		ks_buf_add(&s->text, &u, sizeof(u));
	return !ks_store_failed(s);
}

uint32_t
ks_store_add_text(struct ks_store *s, const char *p, size_t n)
{
	size_t at = s->text.len;
	char *to = is_allowed(s, n + 1) ? ks_buf_room(&s->text, n + 1) : NULL;

	if (to == NULL) {
		s->failed = true;
		return KS_STORE_NULL;
	}
	if (n > 0)
		memcpy(to, p, n);
	to[n] = '\0';
	s->text.len += n + 1;
	return (uint32_t)at;
}

/* Notes a failure; true if there is none. */
static bool
succeed(struct ks_store *s, bool did)
{
	s->failed |= !did;
	return did;
}

bool
ks_store_add_kstat(struct ks_store *s, const struct ks_store_kstat *k)
{
	if (!succeed(s, is_allowed(s, 0) && KS_RESERVE(s->kstat, s->kstat_cap, s->nkstats + 1)))
		return false;
	s->kstat[s->nkstats++] = *k;
	return true;
}

bool
ks_store_add_value(struct ks_store *s, const struct ks_store_value *v)
{
	if (!succeed(s, s->nvalues < UINT32_MAX && is_allowed(s, 0) &&
	    KS_RESERVE(s->value, s->value_cap, s->nvalues + 1)))
		return false;
	s->value[s->nvalues++] = *v;
	return true;
}

bool
ks_store_add_meta(struct ks_store *s, const struct ks_store_meta *m)
{
	if (!succeed(s, is_allowed(s, 0) && KS_RESERVE(s->meta, s->meta_cap, s->nmetas + 1)))
		return false;
	s->meta[s->nmetas++] = *m;
	return true;
}

/* --- reading ------------------------------------------------------------------------ */

/* The bytes of a text or an array; NULL for a null string. */
static const char *
text_of(const struct ks_store *s, const struct ks_store_value *v)
{
	return v->at == KS_STORE_NULL ? NULL : ks_store_text(s, v->at);
}

/* Appends the numbers that n values begin with, which are most of all; returns how many. */
static size_t
read_numbers(const struct ks_store *s, const struct ks_store_value *v, size_t n, struct ks_record *r)
{
	kstat_named_t *kn = (kstat_named_t *)(void *)ks_buf_room(&r->fixed, n * sizeof(*kn));
	size_t i;

	for (i = 0; kn != NULL && i < n && v[i].width > 0; i++) {
		const char *name = ks_store_text(s, v[i].name);

		kn[i] = (kstat_named_t){ .data_type = v[i].type };
		memcpy(kn[i].name, name, strnlen(name, KSTAT_STRLEN - 1));
		ks_store_put(&kn[i].value, v[i].u64, v[i].width);
		if (v[i].hidden)
			ks_named_hide(&kn[i]);
	}
	r->fixed.len += i * sizeof(*kn);
	r->ndata += (uint_t)i;
	return i;
}

/* Appends a text or an array. */
static void
read_text(const struct ks_store *s, const struct ks_store_value *v, struct ks_record *r)
{
	const char *name = ks_store_text(s, v->name);
	const char *text = text_of(s, v);
	uint_t n = r->ndata;

	switch (v->type) {
	case KSTAT_DATA_CHAR:
		ks_named_chars(r, name, text != NULL ? text : "", v->len);
		break;
	case KSTAT_DATA_STRING:
		ks_named_string(r, name, text, v->len);
		break;
	case KSTAT_DATA_INTS:
		ks_named_ints(r, name, (const uint64_t *)(const void *)text, v->len / sizeof(uint64_t));
		break;
	default:
		ks_named_strs(r, name, text, v->len);
		break;
	}
	if (v->hidden)
		ks_record_hide(r, n);
}

/* A value as the decoder has it, for structures and statistics of statsblobs. */
static struct ks_value
decoded(const struct ks_store *s, const struct ks_store_value *from)
{
	struct ks_value v = { .bits = 64, .u64 = from->u64 };

	switch (from->type) {
	case KSTAT_DATA_INT64:
		v.kind = KS_VALUE_I64;
		return v;
	case KSTAT_DATA_DOUBLE:
		v.kind = KS_VALUE_DOUBLE;
		return v;
	case KSTAT_DATA_INTS:
		v.kind = KS_VALUE_INTS;
		break;
	case KSTAT_DATA_STRS:
		v.kind = KS_VALUE_STRS;
		break;
	default:
		v.kind = from->width == 0 ? KS_VALUE_STRING : KS_VALUE_U64;
		break;
	}
	if (from->width == 0) {
		v.str = from->at == KS_STORE_NULL ? "" : ks_store_text(s, from->at);
		v.len = from->at == KS_STORE_NULL ? 0 : from->len;
		if (v.kind == KS_VALUE_INTS)
			v.len /= (uint32_t)sizeof(uint64_t);
	}
	return v;
}

static void
read_structures(const struct ks_store *s, const struct ks_store_kstat *k, const struct ks_raw_layout *l,
    struct ks_record *r)
{
	const struct ks_store_value *v = ks_store_values(s, k);

	for (size_t n = ks_raw_layout_count(l), i = 0; i + n <= k->nvalues; i += n) {
		char *to = ks_record_add(r, l->size);

		for (size_t f = 0; to != NULL && f < n; f++) {
			struct ks_value value = decoded(s, &v[i + f]);

			ks_raw_set(to, &l->fields[f], &value);
		}
	}
}

/* The same for a RAW structure with hidden fields. */
static void
read_marked(const struct ks_store *s, const struct ks_store_kstat *k, const struct ks_raw_layout *l,
    struct ks_record *r)
{
	const struct ks_store_value *v = ks_store_values(s, k);

	if (!ks_raw_start(r, l, true))
		return;
	for (size_t f = 0; f < k->nvalues; f++) {
		struct ks_value value = decoded(s, &v[f]);

		if (!v[f].hidden)
			ks_raw_put(r, l, l->fields[f].name, &value);
	}
}

/* The statistics of a statsblob that a capture does not hold itself. */
static int
read_statistics(const struct ks_store *s, const struct ks_store_kstat *k, struct ks_record *r)
{
	struct ks_blobstat_table t = KS_BLOBSTAT_TABLE_INIT;

	for (size_t i = 0; i < k->nvalues; i++) {
		const struct ks_store_value *from = &s->value[k->first + i];
		struct ks_value v = decoded(s, from);

		ks_blobstat_table_add(&t, ks_store_text(s, from->name), &v);
	}
	return ks_blobstat_table_finish(&t, r);
}

const struct ks_raw_layout *
ks_store_layout(const struct ks_store *s, const struct ks_store_kstat *k)
{
	return ks_store_is_statsblob(k) ? NULL :
	    ks_structure_find(k->type, ks_store_text(s, k->module), ks_store_text(s, k->name));
}

/* True if fields of a RAW structure are hidden: marks follow it in its data. */
static bool
is_marked(const struct ks_store *s, const struct ks_store_kstat *k)
{
	const struct ks_store_value *v = ks_store_values(s, k);

	for (size_t i = 0; k->type == KSTAT_TYPE_RAW && i < k->nvalues; i++) {
		if (v[i].hidden)
			return true;
	}
	return false;
}

size_t
ks_store_data_size(const struct ks_store *s, const struct ks_store_kstat *k, uint_t *nforeign)
{
	const struct ks_store_value *v = ks_store_values(s, k);
	const struct ks_raw_layout *l;
	size_t size = k->nvalues * sizeof(kstat_named_t);

	if (k->type != KSTAT_TYPE_NAMED) {
		l = ks_store_layout(s, k);
		return l == NULL ? 0 : k->nvalues / ks_raw_layout_count(l) * l->size +
		    (is_marked(s, k) ? KS_RAW_MARKS : 0);
	}
	for (size_t i = 0; i < k->nvalues; i++) {
		*nforeign += ks_named_is_foreign(v[i].type);
		if (v[i].width == 0 && v[i].type != KSTAT_DATA_CHAR && v[i].at != KS_STORE_NULL)
			size += ks_named_room((size_t)v[i].len + 1);
	}
	return size;
}

int
ks_store_read(const struct ks_store *s, const struct ks_store_kstat *k, struct ks_record *r)
{
	const struct ks_store_value *v = ks_store_values(s, k);
	const struct ks_raw_layout *l;

	r->snaptime = k->snaptime;
	if (k->type == KSTAT_TYPE_NAMED) {
		for (size_t i = 0; i < k->nvalues && !ks_record_failed(r);) {
			if (v[i].width > 0)
				i += read_numbers(s, &v[i], k->nvalues - i, r);
			else
				read_text(s, &v[i++], r);
		}
		return 0;
	}
	if (ks_store_is_statsblob(k)) {
		if (k->nvalues == 1 && v->type == KS_STORE_BYTES)
			return ks_blobstat_rebuild(r, text_of(s, v), v->len);
		return read_statistics(s, k, r);
	}
	l = ks_store_layout(s, k);
	if (l != NULL && is_marked(s, k))
		read_marked(s, k, l, r);
	else if (l != NULL)
		read_structures(s, k, l, r);
	return 0;
}
