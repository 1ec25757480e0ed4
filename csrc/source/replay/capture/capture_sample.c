/* capture_sample.c - see capture_sample.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture_sample.h"

#include <math.h>
#include <string.h>

#include "model/blobstat.h"
#include "source/replay/capture/restore.h"

static struct ks_capture_kstat *
kstats_of(const struct ks_capture_sample *s)
{
	return (struct ks_capture_kstat *)s->kstats.data;
}

static struct ks_capture_value *
values_of(const struct ks_capture_sample *s)
{
	return (struct ks_capture_value *)s->values.data;
}

void
ks_capture_sample_free(struct ks_capture_sample *s)
{
	ks_buf_free(&s->text);
	ks_buf_free(&s->values);
	ks_buf_free(&s->kstats);
}

size_t
ks_capture_sample_count(const struct ks_capture_sample *s)
{
	return s->kstats.len / sizeof(struct ks_capture_kstat);
}

const struct ks_capture_kstat *
ks_capture_sample_kstat(const struct ks_capture_sample *s, size_t i)
{
	return &kstats_of(s)[i];
}

const char *
ks_capture_sample_text(const struct ks_capture_sample *s, size_t at)
{
	return s->text.data + at;
}

bool
ks_capture_sample_failed(const struct ks_capture_sample *s)
{
	return s->text.failed || s->values.failed || s->kstats.failed;
}

static unsigned char
lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

int
ks_capture_compare(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return (int)lower(*a) - (int)lower(*b);
}

/* --- building ---------------------------------------------------------------- */

void
ks_capture_sample_start(struct ks_capture_sample *s)
{
	ks_capture_sample_align(s);
	s->old_text = s->text.len;
	s->old_values = s->values.len;
	s->old_kstats = s->kstats.len;
	s->ordered = true;
	s->ties = false;
}

void
ks_capture_sample_begin(struct ks_capture_sample *s, struct ks_capture_kstat *k)
{
	ks_capture_sample_align(s);
	*k = (struct ks_capture_kstat){
		.module = KS_CAPTURE_NULL, .name = KS_CAPTURE_NULL, .class_ = KS_CAPTURE_NULL,
		.first = s->values.len / sizeof(struct ks_capture_value), .data = s->text.len,
		.type = KSTAT_TYPE_NAMED, .ordered = true
	};
}

size_t
ks_capture_sample_add_text(struct ks_capture_sample *s, const char *p, size_t n)
{
	size_t at = s->text.len;
	char *to = ks_buf_room(&s->text, n + 1);

	if (to == NULL)
		return KS_CAPTURE_NULL;
	if (n > 0)
		memcpy(to, p, n);
	to[n] = '\0';
	s->text.len += n + 1;
	return at;
}

void
ks_capture_sample_align(struct ks_capture_sample *s)
{
	(void)ks_buf_zeroed(&s->text, -s->text.len & 7);
}

void
ks_capture_sample_add_value(struct ks_capture_sample *s, struct ks_capture_kstat *k,
    const struct ks_capture_value *v)
{
	ks_buf_add(&s->values, v, sizeof(*v));
	k->nvalues++;
}

void
ks_capture_sample_drop(struct ks_capture_sample *s, const struct ks_capture_kstat *k)
{
	s->text.len = k->data;
	s->values.len = k->first * sizeof(struct ks_capture_value);
}

/*
 * The command prints of equal names the later one first. Turns each run of equal names of n
 * items round.
 */
static void
unreverse_values(const struct ks_capture_sample *s, struct ks_capture_value *v, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		const char *name = ks_capture_sample_text(s, v[from].name);

		for (to = from + 1; to < n; to++) {
			if (ks_capture_compare(name, ks_capture_sample_text(s, v[to].name)) != 0)
				break;
		}
		for (size_t i = from, j = to - 1; i < j; i++, j--) {
			struct ks_capture_value t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
	}
}

static int
compare_kstats(const struct ks_capture_sample *s, const struct ks_capture_kstat *a,
    const struct ks_capture_kstat *b)
{
	int c = ks_capture_compare(ks_capture_sample_text(s, a->module),
	    ks_capture_sample_text(s, b->module));

	if (c == 0)
		c = a->instance < b->instance ? -1 : a->instance > b->instance;
	if (c == 0)
		c = ks_capture_compare(ks_capture_sample_text(s, a->name),
		    ks_capture_sample_text(s, b->name));
	return c;
}

static void
unreverse_kstats(const struct ks_capture_sample *s, struct ks_capture_kstat *k, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && compare_kstats(s, &k[from], &k[to]) == 0; to++)
			;
		for (size_t i = from, j = to - 1; i < j; i++, j--) {
			struct ks_capture_kstat t = k[i];

			k[i] = k[j];
			k[j] = t;
		}
	}
}

/* Watches whether the kstats come in the command's order; k is not yet among them. */
static void
note_order(struct ks_capture_sample *s, const struct ks_capture_kstat *k)
{
	size_t n = ks_capture_sample_count(s);
	int c;

	if (!s->ordered || s->kstats.len <= s->old_kstats)
		return;
	c = compare_kstats(s, &kstats_of(s)[n - 1], k);
	if (c > 0)
		s->ordered = false;
	else if (c == 0)
		s->ties = true;
}

static void
take_front(struct ks_buf *b, size_t n)
{
	if (n > 0) {
		memmove(b->data, b->data + n, b->len - n);
		b->len -= n;
	}
}

/* The sample before makes room: what was built so far, k included, moves to its place. */
static void
forget_old(struct ks_capture_sample *s, struct ks_capture_kstat *k)
{
	size_t values = s->old_values / sizeof(struct ks_capture_value);

	take_front(&s->text, s->old_text);
	take_front(&s->values, s->old_values);
	take_front(&s->kstats, s->old_kstats);
	if (k != NULL) {
		k->module -= s->old_text;
		k->name -= s->old_text;
		k->class_ -= s->old_text;
		k->data -= s->old_text;
		k->first -= values;
		for (size_t i = 0; i < k->nvalues; i++) {
			struct ks_capture_value *v = &values_of(s)[k->first + i];
			bool refers = v->kind == KS_VALUE_STRING || v->kind == KS_VALUE_INTS ||
			    v->kind == KS_VALUE_STRS;

			v->name -= s->old_text;
			if (refers && v->at != KS_CAPTURE_NULL)
				v->at -= s->old_text;
		}
	}
	s->old_text = s->old_values = s->old_kstats = 0;
}

/*
 * In captures of -pj, class is among the statistics though it is none. One that differs from
 * the kstat's class is the kstat's own.
 */
static void
drop_class(struct ks_capture_sample *s, struct ks_capture_kstat *k)
{
	const char *class_ = ks_capture_sample_text(s, k->class_);
	struct ks_capture_value *v;

	if (k->nvalues == 0)
		return;
	v = values_of(s) + k->first;
	for (size_t i = 0; i < k->nvalues; i++) {
		if (v[i].kind != KS_VALUE_STRING || v[i].at == KS_CAPTURE_NULL ||
		    strcmp(ks_capture_sample_text(s, v[i].name), "class") != 0 ||
		    strcmp(ks_capture_sample_text(s, v[i].at), class_) != 0)
			continue;
		memmove(v + i, v + i + 1, (k->nvalues - i - 1) * sizeof(*v));
		k->nvalues--;
		s->values.len -= sizeof(*v);
		return;
	}
}

void
ks_capture_sample_end(struct ks_capture_sample *s, struct ks_capture_kstat *k)
{
	if (ks_capture_sample_failed(s))
		return;
	drop_class(s, k);
	if (k->ordered && k->ties && k->nvalues > 1)
		unreverse_values(s, values_of(s) + k->first, k->nvalues);
	if (k->type != KSTAT_TYPE_NAMED && k->readable && ks_capture_encode(s, k)) {
		s->values.len = k->first * sizeof(struct ks_capture_value);
		k->nvalues = 0;
	}
	if (k->type == KSTAT_TYPE_NAMED)
		k->ndata = (uint_t)k->nvalues;
	if (s->old_kstats > 0)
		forget_old(s, k);
	note_order(s, k);
	ks_buf_add(&s->kstats, k, sizeof(*k));
}

bool
ks_capture_sample_finish(struct ks_capture_sample *s, bool only_if_any)
{
	if (s->kstats.len == s->old_kstats && only_if_any) {
		s->text.len = s->old_text;
		s->values.len = s->old_values;
		return false;
	}
	forget_old(s, NULL);
	if (s->ordered && s->ties)
		unreverse_kstats(s, kstats_of(s), ks_capture_sample_count(s));
	return true;
}

/* --- reading ------------------------------------------------------------------ */

static void
read_value(const struct ks_capture_sample *s, const struct ks_capture_value *v,
    struct ks_record *r)
{
	const char *name = ks_capture_sample_text(s, v->name);

	switch (v->kind) {
	case KS_VALUE_I64:
		ks_named_i64(r, name, v->i64);
		break;
	case KS_VALUE_U64:
		ks_named_u64(r, name, v->u64);
		break;
	case KS_VALUE_DOUBLE:
		ks_named_double(r, name, v->d);
		break;
	case KS_VALUE_INTS:
		ks_named_ints(r, name, (const uint64_t *)ks_capture_sample_text(s, v->at), v->len);
		break;
	case KS_VALUE_STRS:
		ks_named_strs(r, name, ks_capture_sample_text(s, v->at), v->len);
		break;
	default:
		ks_named_string(r, name,
		    v->at == KS_CAPTURE_NULL ? NULL : ks_capture_sample_text(s, v->at), v->len);
		break;
	}
}

/* Statistics of a statsblob that is not in the capture. */
static void
read_table(const struct ks_capture_sample *s, const struct ks_capture_kstat *k, struct ks_record *r)
{
	struct ks_blobstat_table t = KS_BLOBSTAT_TABLE_INIT;

	for (size_t j = 0; j < k->nvalues; j++) {
		const struct ks_capture_value *from = &values_of(s)[k->first + j];
		struct ks_value v = { .kind = from->kind, .bits = 64, .len = from->len };

		v.u64 = from->u64;
		if (v.kind == KS_VALUE_STRING || v.kind == KS_VALUE_INTS || v.kind == KS_VALUE_STRS) {
			v.str = from->at == KS_CAPTURE_NULL ? "" : ks_capture_sample_text(s, from->at);
			v.len = from->at == KS_CAPTURE_NULL ? 0 : from->len;
		}
		ks_blobstat_table_add(&t, ks_capture_sample_text(s, from->name), &v);
	}
	(void)ks_blobstat_table_finish(&t, r);
}

void
ks_capture_sample_read(const struct ks_capture_sample *s, size_t i, struct ks_record *r)
{
	const struct ks_capture_kstat *k = ks_capture_sample_kstat(s, i);
	const char *data = ks_capture_sample_text(s, k->data);

	if (k->type == KSTAT_TYPE_NAMED) {
		for (size_t j = 0; j < k->nvalues; j++)
			read_value(s, &values_of(s)[k->first + j], r);
	} else if (k->type == KSTAT_TYPE_RAW && (k->flags & KSTAT_FLAG_STATSBLOB) != 0) {
		read_table(s, k, r);
	} else {
		for (uint_t j = 0; j < k->ndata; j++) {
			size_t size = k->size / k->ndata;
			char *to = ks_record_add(r, size);

			if (to != NULL)
				memcpy(to, data + j * size, size);
		}
	}
	r->snaptime = k->snaptime;
}
