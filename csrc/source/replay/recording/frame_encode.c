/* frame_encode.c - a sample as the bytes of a recording. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "source/replay/recording/state.h"

static void
put_text(struct ks_buf *out, const char *s, size_t n)
{
	ks_varint_put(out, n);
	ks_buf_add(out, s, n);
}

static void
put_signed(struct ks_buf *out, uint64_t v)
{
	ks_varint_put(out, ks_zigzag(v));
}

static void
put_definition(struct ks_buf *out, const struct ks_rec_kstat *rk)
{
	const kstat_t *k = &rk->k;

	put_text(out, k->ks_module, strlen(k->ks_module));
	put_signed(out, (uint64_t)(int64_t)k->ks_instance);
	put_text(out, k->ks_name, strlen(k->ks_name));
	put_text(out, k->ks_class, strlen(k->ks_class));
	ks_varint_put(out, k->ks_type);
	ks_varint_put(out, k->ks_flags);
	put_signed(out, (uint64_t)k->ks_crtime);
	ks_varint_put(out, k->ks_ndata);
	for (uint_t i = 0; rk->named != NULL && i < k->ks_ndata; i++) {
		ks_varint_put(out, rk->named[i].data_type);
		put_text(out, rk->named[i].name, strlen(rk->named[i].name));
	}
}

/* Name and type of a data record of a NAMED or TIMER kstat; other types have neither. */
static const char *
record_name(const kstat_t *k, uint_t i, uchar_t *data_type)
{
	const kstat_named_t *kn = k->ks_data;
	const kstat_timer_t *kt = k->ks_data;

	*data_type = k->ks_type == KSTAT_TYPE_NAMED ? kn[i].data_type : 0;
	return k->ks_type == KSTAT_TYPE_NAMED ? kn[i].name : kt[i].name;
}

/* True if the data of k has the records that the definition says. */
static bool
same_shape(const struct ks_rec_kstat *rk, const kstat_t *k)
{
	uchar_t type;

	if (k->ks_data == NULL)
		return true;
	if (rk->k.ks_ndata != k->ks_ndata)
		return false;
	for (uint_t i = 0; ks_rec_has_names(k) && i < k->ks_ndata; i++) {
		const char *name = record_name(k, i, &type);

		if (type != rk->named[i].data_type ||
		    strncmp(name, rk->named[i].name, KSTAT_STRLEN - 1) != 0)
			return false;
	}
	return true;
}

/* Makes rk the definition of k; without data its records are not known yet. */
static int
define(struct ks_rec_kstat *rk, const kstat_t *k, const struct ks_rec_state *s)
{
	ks_rec_clear(rk);
	rk->k = *k;
	rk->k.ks_data = NULL;
	rk->k.ks_next = NULL;
	if (k->ks_data == NULL)
		rk->k.ks_ndata = 0;
	rk->readable = 0;
	rk->snaptime = s->taken;
	if (ks_rec_has_names(k) && rk->k.ks_ndata > 0) {
		rk->named = calloc(rk->k.ks_ndata, sizeof(*rk->named));
		if (rk->named == NULL)
			return ks_fail(ENOMEM, "out of memory for a recording");
		for (uint_t i = 0; i < rk->k.ks_ndata; i++) {
			const char *name = record_name(k, i, &rk->named[i].data_type);

			memcpy(rk->named[i].name, name, strnlen(name, KSTAT_STRLEN - 1));
		}
	}
	return ks_rec_make_fields(rk);
}

/* Fields that are as expected are counted, the count goes before the next that is not. */
struct differences {
	struct ks_buf *out;
	uint64_t expected;
};

static bool
put_difference(struct differences *d, uint64_t difference)
{
	if (difference == 0) {
		d->expected++;
		return false;
	}
	ks_varint_put(d->out, d->expected);
	d->expected = 0;
	put_signed(d->out, difference);
	return true;
}

/* The bytes of a text field in the data of k; NULL for a null string. */
static const char *
text_of(const struct ks_rec_field *f, const kstat_t *k, uint32_t *len)
{
	const char *at = (const char *)k->ks_data + f->offset;
	const kstat_named_t *kn;

	if (f->kind == KS_REC_DATA) {
		*len = (uint32_t)k->ks_data_size;
		return at;
	}
	if (f->kind == KS_REC_CHARS) {
		*len = (uint32_t)strnlen(at, f->width);
		return at;
	}
	kn = (const kstat_named_t *)(const void *)(at - offsetof(kstat_named_t, value));
	*len = kn->value.string.addr.ptr != NULL ? kn->value.string.len : 0;
	return kn->value.string.addr.ptr;
}

static int
encode_text(struct ks_rec_field *f, const kstat_t *k, struct differences *d)
{
	uint32_t len;
	const char *p = text_of(f, k, &len);
	bool same = f->len == len && (f->text == NULL) == (p == NULL) &&
	    (len == 0 || memcmp(f->text, p, len) == 0);

	if (!put_difference(d, !same))
		return 0;
	ks_varint_put(d->out, p == NULL ? 0 : (uint64_t)len + 1);
	ks_buf_add(d->out, p, len);
	return ks_rec_set_text(f, p, len);
}

static void
encode_number(struct ks_rec_field *f, const kstat_t *k, struct differences *d)
{
	uint64_t now = 0, difference;

	memcpy(&now, (const char *)k->ks_data + f->offset, f->width);
	difference = ks_rec_extend(now - ks_rec_expected(f), f->width);
	if (f->unit == 1 || (int64_t)difference % f->unit == 0) {
		(void)put_difference(d, (uint64_t)((int64_t)difference / f->unit * (f->unit > 1 ? 2 : 1)));
	} else {
		(void)put_difference(d, KS_REC_NOT_IN_UNITS);
		put_signed(d->out, difference);
	}
	ks_rec_set_number(f, now);
}

/* `late` is by how much the snaptimes of this sample run behind the expected ones so far. */
static int
encode_values(struct ks_rec_kstat *rk, const kstat_t *k, struct differences *d, uint64_t step,
    uint64_t *late)
{
	uint64_t readable = k->ks_data != NULL && k->ks_data_size >= ks_rec_fixed_size(&rk->k);
	uint64_t difference;

	(void)put_difference(d, readable - rk->readable);
	rk->readable = readable;
	if (!readable) {
		d->expected += 1 + rk->nfields;
		return 0;
	}
	difference = (uint64_t)k->ks_snaptime - (rk->snaptime + step + *late);
	(void)put_difference(d, difference);
	*late += difference;
	rk->snaptime = (uint64_t)k->ks_snaptime;
	for (size_t i = 0; i < rk->nfields; i++) {
		if (rk->field[i].kind == KS_REC_INT)
			encode_number(&rk->field[i], k, d);
		else if (encode_text(&rk->field[i], k, d) != 0)
			return -1;
	}
	return 0;
}

/* Writes which kstats left, and drops them. */
static void
encode_gone(struct ks_rec_state *s, const kstat_t *const *k, size_t n, struct ks_buf *out)
{
	struct ks_buf gone = KS_BUF_INIT;
	size_t count = 0, kept = 0, last = 0;

	for (size_t i = 0, j = 0; i < s->n; i++) {
		while (j < n && k[j]->ks_kid < s->kstat[i].k.ks_kid)
			j++;
		if (j < n && k[j]->ks_kid == s->kstat[i].k.ks_kid) {
			s->kstat[kept++] = s->kstat[i];
			continue;
		}
		ks_varint_put(&gone, i - last);
		last = i;
		count++;
		ks_rec_clear(&s->kstat[i]);
	}
	s->n = kept;
	ks_varint_put(out, count);
	ks_buf_add(out, gone.data, gone.len);
	out->failed |= gone.failed;
	ks_buf_free(&gone);
}

/* Those that are left are the first of k. Writes the new definition of each that changed shape. */
static int
encode_reshaped(struct ks_rec_state *s, const kstat_t *const *k, struct ks_buf *out)
{
	struct ks_buf reshaped = KS_BUF_INIT;
	size_t count = 0, last = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		if (same_shape(&s->kstat[i], k[i]))
			continue;
		ks_varint_put(&reshaped, i - last);
		last = i;
		count++;
		rc = define(&s->kstat[i], k[i], s);
		put_definition(&reshaped, &s->kstat[i]);
	}
	ks_varint_put(out, count);
	ks_buf_add(out, reshaped.data, reshaped.len);
	out->failed |= reshaped.failed;
	ks_buf_free(&reshaped);
	return rc;
}

static int
encode_new(struct ks_rec_state *s, const kstat_t *const *k, size_t n, struct ks_buf *out)
{
	size_t old = s->n;

	ks_varint_put(out, n - old);
	for (size_t i = old; i < n; i++) {
		struct ks_rec_kstat *rk = ks_rec_add(s);

		if (rk == NULL || define(rk, k[i], s) != 0)
			return -1;
		put_definition(out, rk);
	}
	return 0;
}

int
ks_rec_encode(struct ks_rec_state *s, const kstat_t *const *k, size_t n, int64_t time_of_day,
    int64_t taken, struct ks_buf *out)
{
	uint64_t step = (uint64_t)taken - s->taken, late = 0;
	struct differences d = { out, 0 };

	put_signed(out, (uint64_t)time_of_day - s->time_of_day);
	put_signed(out, step);
	encode_gone(s, k, n, out);
	if (encode_reshaped(s, k, out) != 0 || encode_new(s, k, n, out) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (encode_values(&s->kstat[i], k[i], &d, step, &late) != 0)
			return -1;
	}
	ks_varint_put(out, d.expected);
	s->time_of_day = (uint64_t)time_of_day;
	s->taken = (uint64_t)taken;
	return out->failed ? ks_fail(ENOMEM, "out of memory for a recording") : 0;
}
