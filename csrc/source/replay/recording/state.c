/* state.c - what writer and reader of a recording both know; see codec.h. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "model/blobstat.h"
#include "model/raw_layout.h"
#include "source/replay/recording/codec.h"

#define MOST_UNIT 1000000000 /* where the search for the unit of a number starts */

int
ks_rec_fail(const struct ks_rec_state *s)
{
	if (s->sample->too_large)
		return ks_fail(EFBIG, KS_STORE_TOO_LARGE);
	return ks_fail(ENOMEM, "out of memory for a recording");
}

void
ks_rec_state_reset(struct ks_rec_state *s)
{
	ks_store_reset(s->sample);
	ks_buf_reset(&s->meanings);
	ks_table_clear(&s->known);
	s->nmeanings = s->era = 0;
	s->unused = s->unused_text = 0;
	s->time_of_day = 0;
	s->taken = 0;
}

int
ks_rec_state_copy(struct ks_rec_state *to, const struct ks_rec_state *from)
{
	size_t n = from->sample->nvalues;

	ks_store_copy(to->sample, from->sample);
	if (ks_store_failed(to->sample) || !KS_RESERVE(to->trend, to->cap, n))
		return ks_fail(ENOMEM, "out of memory for a recording");
	if (n > 0)
		memcpy(to->trend, from->trend, n * sizeof(*to->trend));
	to->nmeanings = from->nmeanings;
	to->era++;
	to->version = from->version;
	to->unused = from->unused;
	to->unused_text = from->unused_text;
	to->time_of_day = from->time_of_day;
	to->taken = from->taken;
	return 0;
}

void
ks_rec_state_free(struct ks_rec_state *s)
{
	ks_buf_free(&s->meanings);
	ks_table_free(&s->known);
	free(s->trend);
	s->trend = NULL;
	s->cap = 0;
}

/* --- values -------------------------------------------------------------------------- */

/* The bytes of a number; 0 for texts and arrays. */
static unsigned
width_of(uchar_t type)
{
	size_t width = ks_named_width(type);

	return type == KS_STORE_EVENT || type == KS_STORE_BYTES || width > sizeof(uint64_t) ? 0 : (unsigned)width;
}

static bool
add_value(struct ks_rec_state *s, struct ks_store_kstat *k, uint32_t name, uint8_t type)
{
	struct ks_store *store = s->sample;
	struct ks_store_value v = { .name = name, .type = type };

	v.hidden = (type & KS_STORE_HIDDEN) != 0 && type != KS_STORE_EVENT && type != KS_STORE_BYTES;
	if (v.hidden)
		v.type &= (uint8_t)~KS_STORE_HIDDEN;
	v.width = (uint8_t)width_of(v.type);
	if (v.width == 0)
		v.at = KS_STORE_NULL;
	if (type == KS_STORE_EVENT) {
		v.at = name;
		v.len = (uint32_t)strlen(ks_store_text(store, name));
	}
	if (!KS_RESERVE(s->trend, s->cap, store->nvalues + 1) || !ks_store_add_value(store, &v))
		return false;
	s->trend[store->nvalues - 1] = (struct ks_rec_trend){ .unit = MOST_UNIT };
	k->nvalues++;
	return true;
}

/* The fields of one data record; of a TIMER the first one is its name. */
static bool
add_fields(struct ks_rec_state *s, struct ks_store_kstat *k, const struct ks_raw_layout *l, uint32_t name)
{
	static const uint8_t types[] = {
		[KS_RAW_U32] = KSTAT_DATA_UINT32, [KS_RAW_I32] = KSTAT_DATA_INT32,
		[KS_RAW_U64] = KSTAT_DATA_UINT64, [KS_RAW_NSEC] = KSTAT_DATA_INT64,
		[KS_RAW_CHARS] = KSTAT_DATA_CHAR
	};
	bool added = true;

	for (const struct ks_raw_field *f = l->fields; added && f->name != NULL; f++) {
		bool is_event = k->type == KSTAT_TYPE_TIMER && f == l->fields;

		added = add_value(s, k, name, is_event ? KS_STORE_EVENT : types[f->type]);
	}
	return added;
}

int
ks_rec_start_values(struct ks_rec_state *s, struct ks_store_kstat *k)
{
	const struct ks_raw_layout *l = ks_store_layout(s->sample, k);
	bool added = true;

	k->first = (uint32_t)s->sample->nvalues;
	k->nvalues = 0;
	if (ks_store_is_statsblob(k))
		added = add_value(s, k, 0, KS_STORE_BYTES);
	else if (!ks_rec_has_names(k->type) && l != NULL)
		added = add_fields(s, k, l, 0);
	return added ? 0 : ks_rec_fail(s);
}

int
ks_rec_add_record(struct ks_rec_state *s, struct ks_store_kstat *k, uint32_t name, uint8_t data_type)
{
	const struct ks_raw_layout *l = ks_store_layout(s->sample, k); /* NULL: NAMED */
	bool added = l != NULL ? add_fields(s, k, l, name) : add_value(s, k, name, data_type);

	return added ? 0 : ks_rec_fail(s);
}

void
ks_rec_set_marks(struct ks_rec_state *s, const struct ks_store_kstat *k, size_t from, uint64_t bits)
{
	struct ks_store_value *v = ks_store_values(s->sample, k);

	for (size_t i = from; i < k->nvalues && i < from + 64; i++)
		v[i].hidden = (bits >> (i - from) & 1) != 0;
}

/* Copies a text of the sample to the end of `to`; false after a failure. */
static bool
move_text(const struct ks_store *from, struct ks_store *to, uint32_t *at, size_t n)
{
	if (*at != KS_STORE_NULL) {
		ks_store_align(to);
		*at = ks_store_add_text(to, ks_store_text(from, *at), n);
	}
	return !ks_store_failed(to);
}

static bool
move_string(const struct ks_store *from, struct ks_store *to, uint32_t *at)
{
	return move_text(from, to, at, strlen(ks_store_text(from, *at)));
}

static bool
move_kstat(struct ks_rec_state *s, struct ks_store_kstat *k, struct ks_store *to, struct ks_rec_trend *trend)
{
	const struct ks_store *from = s->sample;
	uint32_t first = (uint32_t)to->nvalues;
	bool moved = move_string(from, to, &k->module) && move_string(from, to, &k->name) &&
	    move_string(from, to, &k->class_) && (!k->published || move_string(from, to, &k->publisher)) &&
	    (!k->has_host || move_string(from, to, &k->host));

	for (size_t i = 0; moved && i < k->nvalues; i++) {
		struct ks_store_value v = from->value[k->first + i];

		if (v.width == 0 && v.type != KS_STORE_EVENT)
			moved = move_text(from, to, &v.at, v.len);
		if (moved && (k->type == KSTAT_TYPE_NAMED || v.type == KS_STORE_EVENT))
			moved = move_string(from, to, &v.name);
		if (v.type == KS_STORE_EVENT)
			v.at = v.name;
		trend[to->nvalues] = s->trend[k->first + i];
		moved = moved && ks_store_add_value(to, &v);
	}
	k->first = first;
	return moved && ks_store_add_kstat(to, k);
}

static bool
move_meta(const struct ks_store *from, struct ks_store *to, struct ks_store_meta m)
{
	return move_string(from, to, &m.stat) && move_string(from, to, &m.unit) &&
	    move_string(from, to, &m.desc) && ks_store_add_meta(to, &m);
}

int
ks_rec_compact(struct ks_rec_state *s)
{
	struct ks_store to = { .text = KS_BUF_INIT, .most = s->sample->most };
	struct ks_rec_trend *trend;
	size_t live = s->sample->nvalues - s->unused;
	bool moved;

	if (s->unused <= live / 4 + 1024 && s->unused_text <= s->sample->text.len / 2 + 65536)
		return 0;
	trend = malloc((live + 1) * sizeof(*trend));
	moved = trend != NULL;
	for (size_t i = 0; moved && i < s->sample->nmetas; i++)
		moved = move_meta(s->sample, &to, s->sample->meta[i]);
	for (size_t i = 0; moved && i < s->sample->nkstats; i++)
		moved = move_kstat(s, &s->sample->kstat[i], &to, trend);
	if (!moved) {
		free(trend);
		ks_store_free(&to);
		return ks_rec_fail(s);
	}
	free(s->trend);
	s->trend = trend;
	s->cap = live + 1;
	ks_store_free(s->sample);
	*s->sample = to;
	s->unused = s->unused_text = 0;
	return 0;
}

/*
 * A number that moves by the same step twice is expected to go on so; one that is noisy, by the mean of
 * its steps. One that moved once, or stood still once, is expected to stay, as from version 5 on all numbers of a
 * process that wakes up now and then do. Times of a kernel's clocks are multiples of milliseconds or ticks, and so is what is
 * expected of them: `unit` is the largest power of ten that divided all values so far.
 */
void
ks_rec_set_number(struct ks_store_value *v, struct ks_rec_trend *t, uint64_t now, unsigned version)
{
	uint64_t step = ks_rec_extend(now - v->u64, v->width);
	int64_t unit = t->unit;

	while (unit > 1 && (int64_t)now % unit != 0)
		unit /= 10;
	if (step == t->last) {
		t->step = step;
	} else if (version >= KS_REC_ROUGH_SINCE && (step == 0 || t->last == 0)) {
		t->step = 0;
	} else if (version >= KS_REC_ROUGH_SINCE && t->step == 0) {
		t->step = step;
	} else {
		int64_t was = (int64_t)t->step / unit;

		t->step = (uint64_t)((was - was / 4 + (int64_t)step / unit / 4) * unit);
	}
	t->last = step;
	t->unit = unit;
	v->u64 = now;
}

int
ks_rec_set_text(struct ks_rec_state *s, struct ks_store_value *v, const char *p, uint32_t n)
{
	if (p != NULL && v->at != KS_STORE_NULL && n <= v->len) {
		memcpy(s->sample->text.data + v->at, p, n);
		s->sample->text.data[v->at + n] = '\0';
	} else {
		if (v->at != KS_STORE_NULL)
			s->unused_text += v->len;
		v->at = KS_STORE_NULL;
		ks_store_align(s->sample);
		if (p != NULL)
			v->at = ks_store_add_text(s->sample, p, n);
	}
	v->len = n;
	return ks_store_failed(s->sample) ? ks_rec_fail(s) : 0;
}
