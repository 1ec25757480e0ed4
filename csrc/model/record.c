/* record.c - see record.h. SPDX-License-Identifier: MIT */
#include "model/record.h"

#include <string.h>

#include "base/printable.h"

/*
 * Until the record is finished, a pointer inside a named value is its offset in the heap plus
 * one, so that 0 stays the null string.
 */

size_t
ks_named_width(uchar_t data_type)
{
	switch (data_type) {
	case KSTAT_DATA_INT32:
	case KSTAT_DATA_UINT32:
	case KSTAT_DATA_FLOAT:
		return 4;
	case KSTAT_DATA_CHAR:
	case KSTAT_DATA_STRING:
	case KSTAT_DATA_INTS:
	case KSTAT_DATA_STRS:
		return 16;
	default:
		return 8;
	}
}

void
ks_record_free(struct ks_record *r)
{
	ks_buf_free(&r->fixed);
	ks_buf_free(&r->heap);
}

void
ks_record_reset(struct ks_record *r)
{
	ks_buf_reset(&r->fixed);
	ks_buf_reset(&r->heap);
	r->ndata = 0;
	r->snaptime = 0;
	r->strings = false;
}

uchar_t
ks_named_flags(const kstat_named_t *kn, uint_t n)
{
	for (uint_t i = 0; i < n; i++) {
		if (kn[i].data_type == KSTAT_DATA_STRING || kn[i].data_type == KSTAT_DATA_STRS)
			return KSTAT_FLAG_LONGSTRINGS;
	}
	return 0;
}

bool
ks_record_failed(const struct ks_record *r)
{
	return r->fixed.failed || r->heap.failed;
}

void *
ks_record_add(struct ks_record *r, size_t size)
{
	void *p = ks_buf_zeroed(&r->fixed, size);

	if (p != NULL)
		r->ndata++;
	return p;
}

static kstat_named_t *
add_named(struct ks_record *r, const char *name, uchar_t data_type)
{
	kstat_named_t *kn = (kstat_named_t *)(void *)ks_buf_room(&r->fixed, sizeof(*kn));

	if (kn != NULL) {
		*kn = (kstat_named_t){ .data_type = data_type };
		memcpy(kn->name, name, strnlen(name, KSTAT_STRLEN - 1));
		r->fixed.len += sizeof(*kn);
		r->ndata++;
	}
	return kn;
}

/* Defines the function that adds a number of a type. */
#define ADD_NUMBER(function, ctype, data_type, member) \
	void function(struct ks_record *r, const char *name, ctype v) \
	{ \
		kstat_named_t *kn = add_named(r, name, data_type); \
\
		if (kn != NULL) \
			kn->value.member = v; \
	}

ADD_NUMBER(ks_named_i32, int32_t, KSTAT_DATA_INT32, i32)
ADD_NUMBER(ks_named_u32, uint32_t, KSTAT_DATA_UINT32, ui32)
ADD_NUMBER(ks_named_i64, int64_t, KSTAT_DATA_INT64, i64)
ADD_NUMBER(ks_named_u64, uint64_t, KSTAT_DATA_UINT64, ui64)
ADD_NUMBER(ks_named_double, double, KSTAT_DATA_DOUBLE, d)

void
ks_named_chars(struct ks_record *r, const char *name, const char *s, size_t n)
{
	kstat_named_t *kn = add_named(r, name, KSTAT_DATA_CHAR);

	if (kn != NULL)
		memcpy(kn->value.c, s, n < sizeof(kn->value.c) ? n : sizeof(kn->value.c));
}

/* Appends len bytes to the heap, aligned for any element, makes kn refer to them and returns them. */
static char *
add_to_heap(struct ks_record *r, kstat_named_t *kn, size_t len)
{
	size_t at = (r->heap.len + 7) & ~(size_t)7;
	char *p;

	if (kn == NULL || len > UINT32_MAX)
		return NULL;
	p = ks_buf_zeroed(&r->heap, at - r->heap.len + len);
	if (p == NULL)
		return NULL;
	kn->value.string.addr.ptr = (char *)(uintptr_t)(at + 1);
	kn->value.string.len = (uint32_t)len;
	return r->heap.data + at;
}

void
ks_named_string(struct ks_record *r, const char *name, const char *s, size_t n)
{
	kstat_named_t *kn = add_named(r, name, KSTAT_DATA_STRING);

	r->strings = true;
	if (s != NULL)
		ks_record_set_string(r, kn, s, n);
}

void
ks_record_set_string(struct ks_record *r, kstat_named_t *kn, const char *s, size_t n)
{
	char *to;

	r->strings = true;
	n = strnlen(s, n);
	to = add_to_heap(r, kn, n + 1);
	if (to != NULL && n > 0)
		memcpy(to, s, n);
}

void
ks_named_ints(struct ks_record *r, const char *name, const uint64_t *v, size_t n)
{
	kstat_named_t *kn = add_named(r, name, KSTAT_DATA_INTS);
	char *to;

	if (n > UINT32_MAX / sizeof(*v)) {
		r->heap.failed = true;
		return;
	}
	to = add_to_heap(r, kn, n * sizeof(*v));
	if (to != NULL && n > 0)
		memcpy(to, v, n * sizeof(*v));
}

void
ks_named_strs(struct ks_record *r, const char *name, const char *s, size_t n)
{
	kstat_named_t *kn = add_named(r, name, KSTAT_DATA_STRS);
	char *to = add_to_heap(r, kn, n);

	r->strings = true;
	if (to != NULL && n > 0) {
		memcpy(to, s, n);
		to[n - 1] = '\0';
	}
}

void
ks_clean_text(char *s, size_t n)
{
	for (size_t i = ks_plain_length(s, n), len; i < n; i += len) {
		bool printable;

		len = ks_character(s + i, n - i, &printable);
		if (!printable && s[i] != '\0')
			memset(s + i, '?', len);
	}
}

/* The same of a text that may end in a NUL, which most do. */
static void
clean_texts(char *s, size_t n)
{
	ks_clean_text(s, n > 0 && s[n - 1] == '\0' ? n - 1 : n);
}

void
ks_record_clean_texts(struct ks_record *r, bool with_names)
{
	for (uint_t i = 0; i < r->ndata; i++) {
		kstat_named_t *kn = (kstat_named_t *)(void *)r->fixed.data + i;
		uintptr_t at = (uintptr_t)kn->value.string.addr.ptr;

		if (with_names)
			ks_clean_text(kn->name, strnlen(kn->name, sizeof(kn->name)));
		if (kn->data_type == KSTAT_DATA_CHAR)
			ks_clean_text(kn->value.c, strnlen(kn->value.c, sizeof(kn->value.c)));
		else if ((kn->data_type == KSTAT_DATA_STRING || kn->data_type == KSTAT_DATA_STRS) && at != 0)
			clean_texts(r->heap.data + (at - 1), kn->value.string.len);
	}
}

void
ks_record_make_plain(struct ks_record *r)
{
	kstat_named_t *kn = (kstat_named_t *)(void *)r->fixed.data;
	uint_t n = 0;

	for (uint_t i = 0; i < r->ndata; i++) {
		if (!ks_named_is_foreign(kn[i].data_type))
			kn[n++] = kn[i];
	}
	r->fixed.len = n * sizeof(*kn);
	r->ndata = n;
}

static size_t
heap_start(const struct ks_record *r)
{
	return (r->fixed.len + 7) & ~(size_t)7;
}

size_t
ks_record_size(const struct ks_record *r)
{
	return r->heap.len == 0 ? r->fixed.len : heap_start(r) + r->heap.len;
}

void
ks_record_finish(const struct ks_record *r, uchar_t type, void *to)
{
	kstat_named_t *kn = to;
	char *heap = (char *)to + heap_start(r);

	if (r->fixed.len > 0)
		memcpy(to, r->fixed.data, r->fixed.len);
	if (r->heap.len == 0)
		return;
	memset((char *)to + r->fixed.len, 0, heap_start(r) - r->fixed.len);
	memcpy(heap, r->heap.data, r->heap.len);
	if (type != KSTAT_TYPE_NAMED)
		return;
	for (uint_t i = 0; i < r->ndata; i++) {
		uintptr_t at = (uintptr_t)kn[i].value.string.addr.ptr;

		if (ks_named_is_reference(&kn[i]) && at != 0)
			kn[i].value.string.addr.ptr = heap + (at - 1);
	}
}

void
ks_named_relocate(kstat_named_t *to, uint_t ndata, const void *from, size_t size)
{
	uintptr_t base = (uintptr_t)from;

	if (size == ndata * sizeof(*to))
		return; /* without strings there are no pointers */
	for (uint_t i = 0; i < ndata; i++) {
		uintptr_t at = (uintptr_t)to[i].value.string.addr.ptr;

		if (ks_named_is_reference(&to[i]) && at >= base && at - base < size)
			to[i].value.string.addr.ptr = (char *)to + (at - base);
	}
}
