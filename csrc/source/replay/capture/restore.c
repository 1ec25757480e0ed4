/* restore.c - see restore.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/restore.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "model/raw_layout.h"

#define MOST_FIELDS 128

#define INTR(name, i) { name, (i) * sizeof(uint_t), KS_RAW_U32, 1 }
#define IO(member, type) { #member, offsetof(kstat_io_t, member), type, 1 }
#define TIMER(member) { #member, offsetof(kstat_timer_t, member), KS_RAW_U64, 1 }

static const struct ks_raw_field intr_fields[] = {
	INTR("hard", KSTAT_INTR_HARD), INTR("soft", KSTAT_INTR_SOFT),
	INTR("watchdog", KSTAT_INTR_WATCHDOG), INTR("spurious", KSTAT_INTR_SPURIOUS),
	INTR("multiple_service", KSTAT_INTR_MULTSVC), { NULL, 0, 0, 0 }
};
static const struct ks_raw_field io_fields[] = {
	IO(nread, KS_RAW_U64), IO(nwritten, KS_RAW_U64), IO(reads, KS_RAW_U32),
	IO(writes, KS_RAW_U32), IO(wtime, KS_RAW_U64), IO(wlentime, KS_RAW_U64),
	IO(wlastupdate, KS_RAW_U64), IO(rtime, KS_RAW_U64), IO(rlentime, KS_RAW_U64),
	IO(rlastupdate, KS_RAW_U64), IO(wcnt, KS_RAW_U32), IO(rcnt, KS_RAW_U32),
	{ NULL, 0, 0, 0 }
};
static const struct ks_raw_field timer_fields[] = {
	{ "name", offsetof(kstat_timer_t, name), KS_RAW_CHARS, KSTAT_STRLEN - 1 },
	TIMER(num_events), TIMER(elapsed_time), TIMER(min_time), TIMER(max_time),
	TIMER(start_time), TIMER(stop_time), { NULL, 0, 0, 0 }
};

static const struct ks_raw_layout intr_layout = { "intr", sizeof(kstat_intr_t), intr_fields };
static const struct ks_raw_layout io_layout = { "io", sizeof(kstat_io_t), io_fields };
static const struct ks_raw_layout timer_layout = { "timer", sizeof(kstat_timer_t), timer_fields };

static const struct ks_raw_layout *
layout_of(const struct ks_capture_sample *s, const struct ks_capture_kstat *k)
{
	switch (k->type) {
	case KSTAT_TYPE_INTR:
		return &intr_layout;
	case KSTAT_TYPE_IO:
		return &io_layout;
	case KSTAT_TYPE_TIMER:
		return &timer_layout;
	default:
		return ks_raw_layout_find(ks_capture_sample_text(s, k->module),
		    ks_capture_sample_text(s, k->name));
	}
}

/* The number of a field; `hint` is the one to try first. -1 if there is none of that name. */
static int
field_index(const struct ks_raw_layout *l, const char *name, int hint)
{
	if (l->fields[hint].name != NULL && strcmp(l->fields[hint].name, name) == 0)
		return hint;
	for (int i = 0; l->fields[i].name != NULL; i++) {
		if (strcmp(l->fields[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* True for the times of IO and TIMER structures, which are signed and in nanoseconds. */
static bool
is_time(const struct ks_raw_layout *l, const struct ks_raw_field *f)
{
	return (l == &io_layout || l == &timer_layout) &&
	    (strstr(f->name, "time") != NULL || strstr(f->name, "lastupdate") != NULL);
}

/* A value as the field can hold it; false if it cannot. */
static bool
convert(const struct ks_capture_sample *s, const struct ks_raw_layout *l,
    const struct ks_raw_field *f, const struct ks_capture_value *from, struct ks_value *to)
{
	bool fits = from->kind == KS_VALUE_U64;

	*to = (struct ks_value){ .kind = from->kind, .bits = 64, .len = from->len };
	to->u64 = from->u64;
	switch (f->type) {
	case KS_RAW_CHARS:
		if (from->kind != KS_VALUE_STRING || from->at == KS_CAPTURE_NULL)
			return false;
		to->str = ks_capture_sample_text(s, from->at);
		return from->len <= f->count;
	case KS_RAW_I32:
		return fits ? from->u64 <= INT32_MAX :
		    from->kind == KS_VALUE_I64 && from->i64 >= INT32_MIN;
	case KS_RAW_U32:
		return fits && from->u64 <= UINT32_MAX;
	default:
		break;
	}
	if (!is_time(l, f))
		return fits;
	if (from->kind == KS_VALUE_DOUBLE) { /* seconds, as the Perl module has them */
		double ns = from->d * (double)KS_NANOSEC;

		if (!(ns > -9.2e18 && ns < 9.2e18))
			return false;
		to->i64 = llround(ns);
		return true;
	}
	return fits ? from->u64 <= INT64_MAX : from->kind == KS_VALUE_I64;
}

static bool
encode(struct ks_capture_sample *s, struct ks_capture_kstat *k, const struct ks_raw_layout *l,
    size_t nfields)
{
	const struct ks_capture_value *v;
	size_t records = k->nvalues / nfields;
	uint_t times_set[MOST_FIELDS] = { 0 };
	size_t at, size;
	int hint = 0;

	if (records * nfields != k->nvalues || records == 0 || records > UINT32_MAX ||
	    (records > 1 && k->type != KSTAT_TYPE_TIMER) ||
	    __builtin_mul_overflow(records, l->size, &size))
		return false;
	v = (const struct ks_capture_value *)s->values.data + k->first;
	ks_capture_sample_align(s);
	at = s->text.len;
	if (ks_buf_zeroed(&s->text, size) == NULL)
		return false;
	for (size_t i = 0; i < k->nvalues; i++) {
		int f = field_index(l, ks_capture_sample_text(s, v[i].name), hint);
		struct ks_value value;

		/* The n-th event's members are the n-th of their names. */
		if (f < 0 || times_set[f] >= records ||
		    !convert(s, l, &l->fields[f], &v[i], &value)) {
			s->text.len = at;
			return false;
		}
		ks_raw_set(s->text.data + at + times_set[f]++ * l->size, &l->fields[f], &value);
		hint = f + 1;
	}
	k->data = at;
	k->size = size;
	k->ndata = (uint_t)records;
	return true;
}

bool
ks_capture_encode(struct ks_capture_sample *s, struct ks_capture_kstat *k)
{
	const struct ks_raw_layout *l = layout_of(s, k);
	size_t nfields = 0;

	k->size = 0;
	k->ndata = 0;
	if (k->type == KSTAT_TYPE_RAW && (k->flags & KSTAT_FLAG_STATSBLOB) != 0)
		return false;
	if (l == NULL)
		return true;
	while (l->fields[nfields].name != NULL)
		nfields++;
	if (nfields <= MOST_FIELDS && encode(s, k, l, nfields))
		return true;
	k->type = KSTAT_TYPE_NAMED;
	return false;
}
