/* recording_codec.c - see recording_codec.h. SPDX-License-Identifier: MIT */
#include "source/recording_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "model/raw_layout.h"

/* Where the search for a number's unit starts; see set_number(). */
#define MOST_UNIT 1000000000

/*
 * Differences of a number with a unit are written in units, doubled; this odd one says that the exact
 * difference follows.
 */
#define NOT_IN_UNITS 1

/* --- the state ---------------------------------------------------------------- */

static void
free_fields(struct ks_rec_kstat *rk)
{
	for (size_t i = 0; i < rk->nfields; i++)
		free(rk->field[i].text);
	free(rk->field);
	free(rk->named);
	rk->field = NULL;
	rk->named = NULL;
	rk->nfields = 0;
}

void
ks_rec_state_reset(struct ks_rec_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		free_fields(&s->kstat[i]);
	s->n = 0;
	s->time_of_day = 0;
	s->taken = 0;
}

void
ks_rec_state_free(struct ks_rec_state *s)
{
	ks_rec_state_reset(s);
	free(s->kstat);
	*s = (struct ks_rec_state){ NULL, 0, 0, 0, 0 };
}

static struct ks_rec_kstat *
add_kstat(struct ks_rec_state *s)
{
	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? 64 : 2 * s->cap;
		struct ks_rec_kstat *grown = realloc(s->kstat, cap * sizeof(*grown));

		if (grown == NULL)
			return ks_fail_null(ENOMEM, "out of memory for a recording");
		s->kstat = grown;
		s->cap = cap;
	}
	memset(&s->kstat[s->n], 0, sizeof(s->kstat[0]));
	return &s->kstat[s->n++];
}

/* --- fields ---------------------------------------------------------------------- */

static void
add_field(struct ks_rec_kstat *rk, uint8_t kind, size_t offset, size_t width)
{
	rk->field[rk->nfields++] = (struct ks_rec_field){
		.offset = (uint32_t)offset, .width = (uint16_t)width, .kind = kind, .unit = MOST_UNIT
	};
}

static void
add_named_fields(struct ks_rec_kstat *rk)
{
	for (uint_t i = 0; i < rk->k.ks_ndata; i++) {
		size_t at = i * sizeof(kstat_named_t) + offsetof(kstat_named_t, value);

		switch (rk->named[i].data_type) {
		case KSTAT_DATA_CHAR:
			add_field(rk, KS_REC_CHARS, at, sizeof(rk->named[i].value.c));
			break;
		case KSTAT_DATA_STRING:
		case KSTAT_DATA_INTS:
		case KSTAT_DATA_STRS:
			add_field(rk, KS_REC_HEAP, at, 0);
			break;
		case KSTAT_DATA_INT32:
		case KSTAT_DATA_UINT32:
		case KSTAT_DATA_FLOAT:
			add_field(rk, KS_REC_INT, at, 4);
			break;
		default:
			add_field(rk, KS_REC_INT, at, 8);
			break;
		}
	}
}

static void
add_io_fields(struct ks_rec_kstat *rk)
{
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, nread), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, nwritten), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, reads), 4);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, writes), 4);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, wtime), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, wlentime), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, wlastupdate), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, rtime), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, rlentime), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, rlastupdate), 8);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, wcnt), 4);
	add_field(rk, KS_REC_INT, offsetof(kstat_io_t, rcnt), 4);
}

static void
add_timer_fields(struct ks_rec_kstat *rk)
{
	for (size_t i = 0; i < rk->k.ks_ndata; i++) {
		size_t at = i * sizeof(kstat_timer_t);

		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, num_events), 8);
		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, elapsed_time), 8);
		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, min_time), 8);
		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, max_time), 8);
		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, start_time), 8);
		add_field(rk, KS_REC_INT, at + offsetof(kstat_timer_t, stop_time), 8);
	}
}

static void
add_raw_fields(struct ks_rec_kstat *rk, const struct ks_raw_layout *l)
{
	for (const struct ks_raw_field *f = l->fields; f->name != NULL; f++) {
		if (f->type == KS_RAW_CHARS)
			add_field(rk, KS_REC_CHARS, f->offset, f->count);
		else
			add_field(rk, KS_REC_INT, f->offset, f->type == KS_RAW_U64 ? 8 : 4);
	}
}

static const struct ks_raw_layout *
layout_of(const kstat_t *k)
{
	return k->ks_type == KSTAT_TYPE_RAW ? ks_raw_layout_find(k->ks_module, k->ks_name) : NULL;
}

/* Bytes of the data records. */
static size_t
fixed_size(const kstat_t *k)
{
	switch (k->ks_type) {
	case KSTAT_TYPE_NAMED: return k->ks_ndata * sizeof(kstat_named_t);
	case KSTAT_TYPE_INTR: return sizeof(kstat_intr_t);
	case KSTAT_TYPE_IO: return sizeof(kstat_io_t);
	case KSTAT_TYPE_TIMER: return k->ks_ndata * sizeof(kstat_timer_t);
	default: return layout_of(k) != NULL ? layout_of(k)->size : 0;
	}
}

/* Derives the fields from the header and, of a NAMED kstat, its names and types. */
static int
make_fields(struct ks_rec_kstat *rk)
{
	const struct ks_raw_layout *l = layout_of(&rk->k);
	size_t most = rk->k.ks_ndata * (size_t)6;

	if (rk->k.ks_type == KSTAT_TYPE_IO || rk->k.ks_type == KSTAT_TYPE_INTR)
		most = 12;
	for (size_t i = 0; l != NULL && (i == 0 || l->fields[i - 1].name != NULL); i++)
		most = i;
	rk->field = calloc(most + 1, sizeof(rk->field[0]));
	if (rk->field == NULL)
		return ks_fail(ENOMEM, "out of memory for a recording");
	rk->nfields = 0;
	switch (rk->k.ks_type) {
	case KSTAT_TYPE_NAMED:
		add_named_fields(rk);
		break;
	case KSTAT_TYPE_INTR:
		for (size_t i = 0; i < KSTAT_NUM_INTRS; i++)
			add_field(rk, KS_REC_INT, i * sizeof(uint_t), 4);
		break;
	case KSTAT_TYPE_IO:
		add_io_fields(rk);
		break;
	case KSTAT_TYPE_TIMER:
		add_timer_fields(rk);
		break;
	default:
		if (l != NULL)
			add_raw_fields(rk, l);
		break;
	}
	return 0;
}

/* Sign-extends a difference of numbers of that width. */
static uint64_t
extend(uint64_t difference, unsigned width)
{
	return width == 4 ? (uint64_t)(int64_t)(int32_t)difference : difference;
}

static uint64_t
cut(uint64_t value, unsigned width)
{
	return width == 4 ? (uint32_t)value : value;
}

/* What a number is expected to be. */
static uint64_t
expected(const struct ks_rec_field *f)
{
	return cut(f->value + f->step, f->width);
}

/*
 * A number that moves by the same step twice goes on so; one that is noisy, by the mean of its steps.
 * Times of a kernel's clocks are multiples of milliseconds or ticks, and so is what is expected of
 * them: `unit` is the largest power of ten that divided all values so far.
 */
static void
set_number(struct ks_rec_field *f, uint64_t now)
{
	uint64_t step = extend(now - f->value, f->width);
	int64_t unit = f->unit;

	while (unit > 1 && (int64_t)now % unit != 0)
		unit /= 10;
	if (step == f->last) {
		f->step = step;
	} else {
		int64_t was = (int64_t)f->step / unit;

		f->step = (uint64_t)((was - was / 4 + (int64_t)step / unit / 4) * unit);
	}
	f->last = step;
	f->unit = unit;
	f->value = now;
}

/* Keeps a copy of n bytes, NULL for none. */
static int
set_text(struct ks_rec_field *f, const char *p, uint32_t n)
{
	char *copy = NULL;

	if (p != NULL) {
		copy = malloc(n == 0 ? 1 : n);
		if (copy == NULL)
			return ks_fail(ENOMEM, "out of memory for a recording");
		if (n > 0)
			memcpy(copy, p, n);
	}
	free(f->text);
	f->text = copy;
	f->len = n;
	return 0;
}

/* --- writing ----------------------------------------------------------------------- */

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

static bool
has_named_records(const kstat_t *k)
{
	return k->ks_type == KSTAT_TYPE_NAMED || k->ks_type == KSTAT_TYPE_TIMER;
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
	for (uint_t i = 0; has_named_records(k) && i < k->ks_ndata; i++) {
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
	free_fields(rk);
	rk->k = *k;
	rk->k.ks_data = NULL;
	rk->k.ks_next = NULL;
	if (k->ks_data == NULL)
		rk->k.ks_ndata = 0;
	rk->readable = 0;
	rk->snaptime = s->taken;
	if (has_named_records(k) && rk->k.ks_ndata > 0) {
		rk->named = calloc(rk->k.ks_ndata, sizeof(*rk->named));
		if (rk->named == NULL)
			return ks_fail(ENOMEM, "out of memory for a recording");
		for (uint_t i = 0; i < rk->k.ks_ndata; i++) {
			const char *name = record_name(k, i, &rk->named[i].data_type);

			memcpy(rk->named[i].name, name, strnlen(name, KSTAT_STRLEN - 1));
		}
	}
	return make_fields(rk);
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
	return set_text(f, p, len);
}

static void
encode_number(struct ks_rec_field *f, const kstat_t *k, struct differences *d)
{
	uint64_t now = 0, difference;

	memcpy(&now, (const char *)k->ks_data + f->offset, f->width);
	difference = extend(now - expected(f), f->width);
	if (f->unit == 1 || (int64_t)difference % f->unit == 0) {
		(void)put_difference(d, (uint64_t)((int64_t)difference / f->unit * (f->unit > 1 ? 2 : 1)));
	} else {
		(void)put_difference(d, NOT_IN_UNITS);
		put_signed(d->out, difference);
	}
	set_number(f, now);
}

/* `late` is by how much the snaptimes of this sample run behind the expected ones so far. */
static int
encode_values(struct ks_rec_kstat *rk, const kstat_t *k, struct differences *d, uint64_t step,
    uint64_t *late)
{
	uint64_t readable = k->ks_data != NULL && k->ks_data_size >= fixed_size(&rk->k);
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
		free_fields(&s->kstat[i]);
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
		struct ks_rec_kstat *rk = add_kstat(s);

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

/* --- reading -------------------------------------------------------------------------- */

struct input {
	const unsigned char *p, *end;
	uint64_t expected; /* fields still to come that are as expected */
};

static int
damaged(void)
{
	return ks_fail(EBADMSG, "damaged sample");
}

static int
get(struct input *in, uint64_t *v)
{
	return ks_varint_get(&in->p, in->end, v) == 0 ? 0 : damaged();
}

static int
get_signed(struct input *in, uint64_t *v)
{
	if (get(in, v) != 0)
		return -1;
	*v = ks_unzigzag(*v);
	return 0;
}

/* A number that may not exceed `most`. */
static int
get_up_to(struct input *in, uint64_t most, uint64_t *v)
{
	if (get(in, v) != 0)
		return -1;
	return *v <= most ? 0 : damaged();
}

static size_t
left(const struct input *in)
{
	return (size_t)(in->end - in->p);
}

static int
get_name(struct input *in, char name[KSTAT_STRLEN])
{
	uint64_t n;

	if (get_up_to(in, KSTAT_STRLEN - 1, &n) != 0)
		return -1;
	if (n > left(in) || memchr(in->p, '\0', n) != NULL)
		return damaged();
	memset(name, 0, KSTAT_STRLEN);
	memcpy(name, in->p, n);
	in->p += n;
	return 0;
}

static int
get_names(struct input *in, struct ks_rec_kstat *rk)
{
	if (rk->k.ks_ndata == 0)
		return 0;
	rk->named = calloc(rk->k.ks_ndata, sizeof(*rk->named));
	if (rk->named == NULL)
		return ks_fail(ENOMEM, "out of memory for a recording");
	for (uint_t i = 0; i < rk->k.ks_ndata; i++) {
		uint64_t type;

		if (get_up_to(in, UINT8_MAX, &type) != 0 || get_name(in, rk->named[i].name) != 0)
			return -1;
		rk->named[i].data_type = (uchar_t)type;
	}
	return 0;
}

static int
get_definition(struct input *in, struct ks_rec_kstat *rk, const struct ks_rec_state *s)
{
	kstat_t *k = &rk->k;
	uint64_t instance, type, flags, crtime, ndata, most;

	free_fields(rk);
	memset(rk, 0, sizeof(*rk));
	rk->snaptime = s->taken;
	if (get_name(in, k->ks_module) != 0 || get_signed(in, &instance) != 0 ||
	    get_name(in, k->ks_name) != 0 || get_name(in, k->ks_class) != 0 ||
	    get_up_to(in, KSTAT_NUM_TYPES - 1, &type) != 0 ||
	    get_up_to(in, UINT8_MAX, &flags) != 0 || get_signed(in, &crtime) != 0)
		return -1;
	k->ks_instance = (int)(int64_t)instance;
	k->ks_type = (uchar_t)type;
	k->ks_flags = (uchar_t)flags;
	k->ks_crtime = (hrtime_t)crtime;
	/* A record with a name takes two bytes at least: a file cannot ask for more than it holds. */
	most = has_named_records(k) ? left(in) / 2 : type == KSTAT_TYPE_RAW ? UINT32_MAX : 1;
	if ((int64_t)instance != k->ks_instance || get_up_to(in, most, &ndata) != 0)
		return damaged();
	k->ks_ndata = (uint_t)ndata;
	if (has_named_records(k) && get_names(in, rk) != 0)
		return -1;
	if (type == KSTAT_TYPE_RAW)
		k->ks_ndata = 1;
	return make_fields(rk);
}

static int
decode_gone(struct ks_rec_state *s, struct input *in)
{
	uint64_t count, distance, at = 0, next;
	size_t kept = 0;

	if (get_up_to(in, s->n, &count) != 0)
		return -1;
	/* Kept kstats move down as they are passed; `next` is the first that is not passed yet. */
	for (next = 0; count > 0; count--) {
		if (get_up_to(in, s->n, &distance) != 0)
			return -1;
		at += distance;
		if (at >= s->n || at < next)
			return damaged();
		while (next < at) {
			struct ks_rec_kstat moved = s->kstat[next];

			s->kstat[next++] = s->kstat[kept];
			s->kstat[kept++] = moved;
		}
		next = at + 1;
	}
	while (next < s->n) {
		struct ks_rec_kstat moved = s->kstat[next];

		s->kstat[next++] = s->kstat[kept];
		s->kstat[kept++] = moved;
	}
	while (s->n > kept)
		free_fields(&s->kstat[--s->n]);
	return 0;
}

static int
decode_reshaped(struct ks_rec_state *s, struct input *in)
{
	uint64_t count, distance, at = 0;

	if (get_up_to(in, s->n, &count) != 0)
		return -1;
	for (; count > 0; count--) {
		if (get_up_to(in, s->n, &distance) != 0)
			return -1;
		at += distance;
		if (at >= s->n)
			return damaged();
		if (get_definition(in, &s->kstat[at], s) != 0)
			return -1;
	}
	return 0;
}

static int
decode_new(struct ks_rec_state *s, struct input *in)
{
	uint64_t count;

	if (get_up_to(in, left(in), &count) != 0)
		return -1;
	for (; count > 0; count--) {
		struct ks_rec_kstat *rk = add_kstat(s);

		if (rk == NULL || get_definition(in, rk, s) != 0)
			return -1;
	}
	return 0;
}

/* The difference of the next field, 0 if it is as expected. */
static int
get_difference(struct input *in, uint64_t *difference)
{
	*difference = 0;
	if (in->expected > 0) {
		in->expected--;
		return 0;
	}
	if (get_signed(in, difference) != 0)
		return -1;
	return get(in, &in->expected);
}

/* The text follows the difference, before the next count: hence not by get_difference(). */
static int
decode_text(struct ks_rec_field *f, struct input *in)
{
	uint64_t difference, n;
	uint32_t len;

	if (in->expected > 0) {
		in->expected--;
		return 0;
	}
	if (get_signed(in, &difference) != 0 || get(in, &n) != 0)
		return -1;
	len = n == 0 ? 0 : (uint32_t)(n - 1);
	if (n > 0 && (n - 1 > left(in) || n - 1 > UINT32_MAX))
		return damaged();
	if (set_text(f, n == 0 ? NULL : (const char *)in->p, len) != 0)
		return -1;
	in->p += len;
	return get(in, &in->expected);
}

static int
decode_number(struct ks_rec_field *f, struct input *in)
{
	uint64_t difference = 0;

	if (in->expected > 0) {
		in->expected--;
	} else {
		if (get_signed(in, &difference) != 0)
			return -1;
		if (f->unit > 1 && difference == NOT_IN_UNITS) {
			if (get_signed(in, &difference) != 0)
				return -1;
		} else if (f->unit > 1) {
			difference = (uint64_t)((int64_t)difference / 2) * (uint64_t)f->unit;
		}
		if (get(in, &in->expected) != 0)
			return -1;
	}
	set_number(f, cut(expected(f) + difference, f->width));
	return 0;
}

static int
decode_values(struct ks_rec_kstat *rk, struct input *in, uint64_t step, uint64_t *late)
{
	uint64_t difference;

	if (get_difference(in, &difference) != 0)
		return -1;
	rk->readable += difference;
	if (rk->readable > 1)
		return damaged();
	if (rk->readable == 0) {
		if (in->expected < 1 + rk->nfields)
			return damaged();
		in->expected -= 1 + rk->nfields;
		return 0;
	}
	if (get_difference(in, &difference) != 0)
		return -1;
	*late += difference;
	rk->snaptime += step + *late;
	for (size_t i = 0; i < rk->nfields; i++) {
		struct ks_rec_field *f = &rk->field[i];

		if ((f->kind == KS_REC_INT ? decode_number(f, in) : decode_text(f, in)) != 0)
			return -1;
	}
	return 0;
}

int
ks_rec_decode(struct ks_rec_state *s, const void *bytes, size_t n)
{
	struct input in = { bytes, (const unsigned char *)bytes + n, 0 };
	uint64_t time_step, step, late = 0;

	if (get_signed(&in, &time_step) != 0 || get_signed(&in, &step) != 0 ||
	    decode_gone(s, &in) != 0 || decode_reshaped(s, &in) != 0 || decode_new(s, &in) != 0 ||
	    get(&in, &in.expected) != 0)
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		if (decode_values(&s->kstat[i], &in, step, &late) != 0)
			return -1;
	}
	if (in.p != in.end || in.expected != 0)
		return damaged();
	s->time_of_day += time_step;
	s->taken += step;
	return 0;
}

/* --- the data section ------------------------------------------------------------------- */

static void
build_named(const struct ks_rec_kstat *rk, struct ks_record *r)
{
	for (uint_t i = 0; i < rk->k.ks_ndata; i++) {
		const struct ks_rec_field *f = &rk->field[i];
		const char *name = rk->named[i].name;
		kstat_named_t *kn;

		switch (rk->named[i].data_type) {
		case KSTAT_DATA_CHAR:
			ks_named_chars(r, name, f->text != NULL ? f->text : "", f->len);
			break;
		case KSTAT_DATA_STRING:
			ks_named_string(r, name, f->text, f->len);
			break;
		case KSTAT_DATA_INTS:
			ks_named_ints(r, name, (const uint64_t *)(const void *)f->text, f->len / 8);
			break;
		case KSTAT_DATA_STRS:
			ks_named_strs(r, name, f->text, f->len);
			break;
		default:
			ks_named_u64(r, name, 0);
			if (r->fixed.failed)
				return;
			kn = (kstat_named_t *)(void *)(r->fixed.data + r->fixed.len) - 1;
			kn->data_type = rk->named[i].data_type;
			memcpy(&kn->value, &f->value, f->width);
			break;
		}
	}
}

void
ks_rec_build(const struct ks_rec_kstat *rk, struct ks_record *r)
{
	char *data;

	if (rk->k.ks_type == KSTAT_TYPE_NAMED) {
		build_named(rk, r);
		return;
	}
	data = ks_record_add(r, fixed_size(&rk->k));
	if (data == NULL)
		return;
	if (rk->k.ks_type == KSTAT_TYPE_TIMER) {
		r->ndata = rk->k.ks_ndata;
		for (uint_t i = 0; i < r->ndata; i++)
			memcpy(((kstat_timer_t *)(void *)data)[i].name, rk->named[i].name, KSTAT_STRLEN);
	}
	for (size_t i = 0; i < rk->nfields; i++) {
		const struct ks_rec_field *f = &rk->field[i];

		if (f->kind == KS_REC_INT)
			memcpy(data + f->offset, &f->value, f->width);
		else if (f->text != NULL)
			memcpy(data + f->offset, f->text, f->len < f->width ? f->len : f->width);
	}
}
