/* state.c - see state.h. SPDX-License-Identifier: MIT */
#include "source/replay/recording/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/blobstat.h"
#include "model/raw_layout.h"

/* Where the search for a number's unit starts; see ks_rec_set_number(). */
#define MOST_UNIT 1000000000

/* --- the state ---------------------------------------------------------------- */

void
ks_rec_clear(struct ks_rec_kstat *rk)
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
		ks_rec_clear(&s->kstat[i]);
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

struct ks_rec_kstat *
ks_rec_add(struct ks_rec_state *s)
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
	return k->ks_type == KSTAT_TYPE_RAW && !ks_blobstat_is(k) ?
	    ks_raw_layout_find(k->ks_module, k->ks_name) : NULL;
}

/* Bytes of the data records. */
size_t
ks_rec_fixed_size(const kstat_t *k)
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
int
ks_rec_make_fields(struct ks_rec_kstat *rk)
{
	const struct ks_raw_layout *l = layout_of(&rk->k);
	size_t most = rk->k.ks_ndata * (size_t)6;

	if (rk->k.ks_type == KSTAT_TYPE_IO || rk->k.ks_type == KSTAT_TYPE_INTR ||
	    rk->k.ks_type == KSTAT_TYPE_RAW)
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
		if (ks_blobstat_is(&rk->k))
			add_field(rk, KS_REC_DATA, 0, 0);
		else if (l != NULL)
			add_raw_fields(rk, l);
		break;
	}
	return 0;
}

/* Sign-extends a difference of numbers of that width. */
uint64_t
ks_rec_extend(uint64_t difference, unsigned width)
{
	return width == 4 ? (uint64_t)(int64_t)(int32_t)difference : difference;
}

uint64_t
ks_rec_cut(uint64_t value, unsigned width)
{
	return width == 4 ? (uint32_t)value : value;
}

/* What a number is expected to be. */
uint64_t
ks_rec_expected(const struct ks_rec_field *f)
{
	return ks_rec_cut(f->value + f->step, f->width);
}

/*
 * A number that moves by the same step twice goes on so; one that is noisy, by the mean of its steps.
 * Times of a kernel's clocks are multiples of milliseconds or ticks, and so is what is expected of
 * them: `unit` is the largest power of ten that divided all values so far.
 */
void
ks_rec_set_number(struct ks_rec_field *f, uint64_t now)
{
	uint64_t step = ks_rec_extend(now - f->value, f->width);
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
int
ks_rec_set_text(struct ks_rec_field *f, const char *p, uint32_t n)
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

bool
ks_rec_has_names(const kstat_t *k)
{
	return k->ks_type == KSTAT_TYPE_NAMED || k->ks_type == KSTAT_TYPE_TIMER;
}
