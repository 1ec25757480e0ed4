/* frame_decode.c - the bytes of a recording as a sample. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "model/blobstat.h"
#include "source/replay/recording/state.h"

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

	ks_rec_clear(rk);
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
	most = ks_rec_has_names(k) ? left(in) / 2 : type == KSTAT_TYPE_RAW ? UINT32_MAX : 1;
	if ((int64_t)instance != k->ks_instance || get_up_to(in, most, &ndata) != 0)
		return damaged();
	k->ks_ndata = (uint_t)ndata;
	if (ks_rec_has_names(k) && get_names(in, rk) != 0)
		return -1;
	if (type == KSTAT_TYPE_RAW)
		k->ks_ndata = 1;
	return ks_rec_make_fields(rk);
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
		ks_rec_clear(&s->kstat[--s->n]);
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
		struct ks_rec_kstat *rk = ks_rec_add(s);

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
	if (ks_rec_set_text(f, n == 0 ? NULL : (const char *)in->p, len) != 0)
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
		if (f->unit > 1 && difference == KS_REC_NOT_IN_UNITS) {
			if (get_signed(in, &difference) != 0)
				return -1;
		} else if (f->unit > 1) {
			difference = (uint64_t)((int64_t)difference / 2) * (uint64_t)f->unit;
		}
		if (get(in, &in->expected) != 0)
			return -1;
	}
	ks_rec_set_number(f, ks_rec_cut(ks_rec_expected(f) + difference, f->width));
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

int
ks_rec_build(const struct ks_rec_kstat *rk, struct ks_record *r)
{
	char *data;

	if (rk->k.ks_type == KSTAT_TYPE_NAMED) {
		build_named(rk, r);
		return 0;
	}
	if (ks_blobstat_is(&rk->k))
		return ks_blobstat_rebuild(r, rk->field[0].text, rk->field[0].len);
	data = ks_record_add(r, ks_rec_fixed_size(&rk->k));
	if (data == NULL)
		return 0; /* the record says so itself */
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
	return 0;
}
