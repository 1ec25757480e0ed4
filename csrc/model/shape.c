/* shape.c - see shape.h. SPDX-License-Identifier: MIT */
#include "model/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MARK (KSTAT_STRLEN - 1) /* where the mark of a hidden record is; the names are compared without it */

static kstat_named_t *
named(struct ks_record *r)
{
	return (kstat_named_t *)(void *)r->fixed.data;
}

void
ks_record_hide(struct ks_record *r, uint_t first)
{
	for (uint_t i = first; i < r->ndata; i++)
		ks_named_hide(&named(r)[i]);
}

void
ks_record_drop_hidden(struct ks_record *r)
{
	kstat_named_t *kn = named(r);
	uint_t n = 0;

	for (uint_t i = 0; i < r->ndata; i++) {
		if (ks_named_is_hidden(&kn[i]))
			continue;
		if (n < i)
			kn[n] = kn[i];
		n++;
	}
	r->ndata = n;
	r->fixed.len = n * sizeof(*kn);
}

const kstat_named_t *
ks_named_find_hidden(const kstat_t *ksp, const char *stat)
{
	const kstat_named_t *kn = ksp->ks_data;

	if (ksp->ks_type != KSTAT_TYPE_NAMED || kn == NULL)
		return NULL;
	for (uint_t i = 0; i < ksp->ks_ndata; i++) {
		if (ks_named_is_hidden(&kn[i]) && strcmp(kn[i].name, stat) == 0)
			return &kn[i];
	}
	return NULL;
}

/* --- building ----------------------------------------------------------------------- */

void
ks_shape_free(struct ks_shape *s)
{
	free(s->v);
	*s = (struct ks_shape)KS_SHAPE_INIT;
}

/* Finds the data record of a name, which is filled up with zeros. The search begins at *next, which it moves on. */
static kstat_named_t *
find(kstat_named_t *v, size_t n, const char *name, size_t *next)
{
	uint64_t start, other; /* most names differ in their first bytes */

	memcpy(&start, name, sizeof(start));
	for (size_t k = 0, i = *next; k < n; k++, i++) {
		if (i == n)
			i = 0;
		memcpy(&other, v[i].name, sizeof(other));
		if (other == start && memcmp(v[i].name, name, MARK) == 0) {
			*next = i + 1 < n ? i + 1 : 0;
			return &v[i];
		}
	}
	return NULL;
}

/* Appends a data record. False without memory. */
static bool
append(struct ks_shape *s, const char *name, size_t len, uchar_t data_type)
{
	kstat_named_t *kn;

	if (!KS_RESERVE(s->v, s->cap, s->n + 1))
		return false;
	kn = &s->v[s->n++];
	memset(kn, 0, sizeof(*kn));
	memcpy(kn->name, name, len);
	kn->data_type = data_type;
	ks_named_hide(kn);
	s->nstrings += data_type == KSTAT_DATA_STRING;
	s->has_texts |= data_type == KSTAT_DATA_STRING || data_type == KSTAT_DATA_CHAR;
	return true;
}

bool
ks_shape_add(struct ks_shape *s, size_t listed, const char *name, size_t len, uchar_t data_type)
{
	char padded[KSTAT_STRLEN] = "";
	const kstat_named_t *there;
	size_t next = 0;

	if (len >= MARK)
		return true;
	memcpy(padded, name, len);
	there = find(s->v, listed, padded, &next);
	if (there == NULL)
		return append(s, name, len, data_type);
	s->nstrings += data_type == KSTAT_DATA_STRING && there->data_type != KSTAT_DATA_STRING;
	s->has_texts |= data_type == KSTAT_DATA_STRING || data_type == KSTAT_DATA_CHAR;
	s->retypes |= data_type != there->data_type;
	return true;
}

bool
ks_shape_add_list(struct ks_shape *s, const char *list)
{
	static const uchar_t types[128] = { ['c'] = KSTAT_DATA_CHAR, ['s'] = KSTAT_DATA_STRING,
		['i'] = KSTAT_DATA_INT32, ['u'] = KSTAT_DATA_UINT32, ['I'] = KSTAT_DATA_INT64,
		['U'] = KSTAT_DATA_UINT64 };
	uchar_t type = 0;

	for (char before = '|'; before != '\0'; before = *list++) {
		size_t n;

		if (before == '|') {
			type = types[*list & 127];
			list += 2;
		}
		n = strcspn(list, ",|");
		if (!append(s, list, n, type)) /* there is no name twice, except that of unused places */
			return false;
		list += n;
	}
	return true;
}

bool
ks_shape_has(const struct ks_shape *s, const char *stat)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->v[i].name, stat) == 0)
			return true;
	}
	return false;
}

/* --- applying ----------------------------------------------------------------------- */

/* True for integers; stores the value, sign-extended. */
static bool
integer_of(const kstat_named_t *kn, uint64_t *v)
{
	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
		*v = (uint64_t)(int64_t)kn->value.i32;
		return true;
	case KSTAT_DATA_UINT32:
		*v = kn->value.ui32;
		return true;
	case KSTAT_DATA_INT64:
	case KSTAT_DATA_UINT64:
		*v = kn->value.ui64;
		return true;
	default:
		return false;
	}
}

/* True if an integer, sign-extended to 64 bits, is the same in the other type. */
static bool
fits(uint64_t v, uchar_t from, uchar_t to)
{
	bool is_signed = from == KSTAT_DATA_INT32 || from == KSTAT_DATA_INT64, is_large = v > INT64_MAX;

	switch (to) {
	case KSTAT_DATA_INT32:
		return v <= INT32_MAX || (is_signed && is_large && (int64_t)v >= INT32_MIN);
	case KSTAT_DATA_UINT32:
		return v <= UINT32_MAX;
	case KSTAT_DATA_INT64:
		return is_signed || !is_large;
	default:
		return !is_signed || !is_large;
	}
}

/* Stores an integer in a data record whose type is set; false if this is no type for it. */
static bool
set_integer(kstat_named_t *kn, uint64_t v)
{
	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
	case KSTAT_DATA_UINT32:
		kn->value.ui32 = (uint32_t)v;
		return true;
	case KSTAT_DATA_INT64:
	case KSTAT_DATA_UINT64:
		kn->value.ui64 = v;
		return true;
	default:
		return false;
	}
}

/* Turns a text of one type into the other; false if it is none, or does not fit. Pointers are offsets plus one. */
static bool
set_text(kstat_named_t *to, const kstat_named_t *from, struct ks_record *r)
{
	uintptr_t at = (uintptr_t)from->value.string.addr.ptr;
	const char *text;
	size_t len;

	if (to->data_type == KSTAT_DATA_CHAR && from->data_type == KSTAT_DATA_STRING) {
		text = at != 0 ? r->heap.data + (at - 1) : "";
		len = at != 0 ? strnlen(text, from->value.string.len) : 0;
		if (len > sizeof(to->value.c))
			return false;
		memcpy(to->value.c, text, len);
		return true;
	}
	if (to->data_type == KSTAT_DATA_STRING && from->data_type == KSTAT_DATA_CHAR) {
		ks_record_set_string(r, to, from->value.c, strnlen(from->value.c, sizeof(from->value.c)));
		return true;
	}
	return false;
}

/* Gives the data record of the shape the value of the one that was read, and its type if there is no other way. */
static void
take_over(kstat_named_t *to, const kstat_named_t *from, struct ks_record *r, bool exact)
{
	uint64_t v;

	to->name[MARK] = from->name[MARK];
	if (to->data_type == from->data_type)
		to->value = from->value;
	else if (!integer_of(from, &v) ? !set_text(to, from, r) :
	    (exact && !fits(v, from->data_type, to->data_type)) || !set_integer(to, v))
		*to = *from;
}

void
ks_shape_retype(const struct ks_shape *s, struct ks_record *r)
{
	size_t next = 0;

	for (uint_t i = 0; i < r->ndata; i++) {
		const kstat_named_t *shape = find(s->v, s->n, named(r)[i].name, &next);

		if (shape != NULL && shape->data_type != named(r)[i].data_type) {
			kstat_named_t to = *shape, from = named(r)[i];

			take_over(&to, &from, r, false); /* a text may move what r has */
			named(r)[i] = to;
		}
	}
}

/* The text of a statistic that is not known: an empty one, but where illumos itself has a word for it. */
static const char *
unknown_text(const char *stat)
{
	return strcmp(stat, "socket_type") == 0 ? "Unknown" : "";
}

void
ks_shape_apply(const struct ks_shape *s, struct ks_record *r, bool exact)
{
	uint_t n = r->ndata, more = 0;
	size_t read_size = n * sizeof(*s->v), next = 0;

	if (s->n == 0)
		return;
	ks_buf_add(&r->fixed, s->v, s->n * sizeof(*s->v));
	for (uint_t i = 0; i < n && !r->fixed.failed; i++) {
		kstat_named_t *from = named(r) + i, *to = find(named(r) + n, s->n, from->name, &next);
		const kstat_named_t copy = *from;

		if (to != NULL && ks_named_is_hidden(to)) {
			take_over(to, from, r, exact);
		} else {
			ks_buf_add(&r->fixed, &copy, sizeof(copy));
			more++;
		}
	}
	if (r->fixed.failed)
		return;
	r->ndata = (uint_t)s->n + more;
	r->fixed.len -= read_size;
	if (n > 0)
		memmove(r->fixed.data, r->fixed.data + read_size, r->fixed.len);
	/* Programs read the text of a statistic without a look at the pointer. */
	for (size_t i = 0; s->nstrings > 0 && i < s->n; i++) {
		kstat_named_t *kn = named(r) + i;

		if (kn->data_type == KSTAT_DATA_STRING && ks_named_is_hidden(kn) &&
		    kn->value.string.addr.ptr == NULL)
			ks_record_set_string(r, kn, unknown_text(kn->name), strlen(unknown_text(kn->name)));
	}
}
