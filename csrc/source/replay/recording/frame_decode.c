/* frame_decode.c - the bytes of a recording as a sample. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "model/meta.h"
#include "source/replay/recording/codec.h"

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

/* Adds a text of up to `most` bytes to the text of the sample. */
static int
get_text(struct input *in, struct ks_rec_state *s, uint64_t most, uint32_t *at)
{
	uint64_t n;

	if (get_up_to(in, most, &n) != 0)
		return -1;
	if (n > left(in) || memchr(in->p, '\0', n) != NULL)
		return damaged();
	*at = ks_store_add_text(s->sample, (const char *)in->p, n);
	in->p += n;
	return *at == KS_STORE_NULL ? ks_rec_fail(s) : 0;
}

static int
get_name(struct input *in, struct ks_rec_state *s, uint32_t *at)
{
	return get_text(in, s, KSTAT_STRLEN - 1, at);
}

/* Reads the names and types of the data records. */
static int
get_records(struct input *in, struct ks_store_kstat *k, struct ks_rec_state *s)
{
	for (uint_t i = 0; i < k->ndata; i++) {
		uint64_t type;
		uint32_t name;

		if (get_up_to(in, UINT8_MAX, &type) != 0 || get_name(in, s, &name) != 0 ||
		    ks_rec_add_record(s, k, name, (uint8_t)type) != 0)
			return -1;
	}
	return 0;
}

/* Reads what the statistics of a kstat mean, or where that was said before. */
static int
get_meanings(struct input *in, struct ks_store_kstat *k, struct ks_rec_state *s)
{
	struct ks_store *store = s->sample;
	uint64_t where, count, kind, type, flags;
	size_t first = store->nmetas;

	if (get(in, &where) != 0)
		return -1;
	if (where > 1) {
		if (where - 2 >= first || store->meta[where - 2].count == 0)
			return damaged();
		k->meta = (uint32_t)where - 1;
	}
	if (where != 1)
		return 0;
	if (get_up_to(in, left(in), &count) != 0)
		return -1;
	k->meta = count > 0 ? (uint32_t)first + 1 : 0;
	for (uint64_t i = 0; i < count; i++) {
		struct ks_store_meta m = { .count = i == 0 ? (uint32_t)count : 0 };

		if (get_name(in, s, &m.stat) != 0 || get_up_to(in, KS_KIND_TIME, &kind) != 0 ||
		    get_up_to(in, UINT8_MAX, &type) != 0 || get_up_to(in, UINT32_MAX, &flags) != 0 ||
		    get(in, &m.scale) != 0 || get_text(in, s, left(in), &m.unit) != 0 ||
		    get_text(in, s, left(in), &m.desc) != 0)
			return -1;
		m.kind = (uint8_t)kind;
		m.type = (uint8_t)type;
		m.flags = (uint32_t)flags;
		if (!ks_store_add_meta(store, &m))
			return ks_rec_fail(s);
	}
	return 0;
}

#define LONGEST_PUBLISHER 255 /* bytes */
#define LONGEST_HOST 64       /* the same */

static int
get_publisher(struct input *in, struct ks_store_kstat *k, struct ks_rec_state *s)
{
	uint64_t uid, pid;

	if (get_text(in, s, LONGEST_PUBLISHER, &k->publisher) != 0)
		return -1;
	if (*ks_store_text(s->sample, k->publisher) == '\0')
		return 0;
	if (get_up_to(in, UINT32_MAX, &uid) != 0 || get_up_to(in, UINT32_MAX, &pid) != 0)
		return -1;
	k->published = true;
	k->uid = (uint32_t)uid;
	k->pid = (uint32_t)pid;
	return 0;
}

/* Reads which fields of a RAW structure are hidden. */
static int
get_marks(struct input *in, struct ks_store_kstat *k, struct ks_rec_state *s)
{
	bool has = k->type == KSTAT_TYPE_RAW && ks_store_layout(s->sample, k) != NULL;
	uint64_t bits;

	for (size_t from = 0; has && from < KS_REC_MARKED; from += 64) {
		if (get(in, &bits) != 0)
			return -1;
		ks_rec_set_marks(s, k, from, bits);
	}
	return 0;
}

static int
get_definition(struct input *in, struct ks_store_kstat *k, struct ks_rec_state *s)
{
	uint64_t instance, type, flags, crtime, ndata, most;

	*k = (struct ks_store_kstat){ 0 };
	if (get_name(in, s, &k->module) != 0 || get_signed(in, &instance) != 0 ||
	    get_name(in, s, &k->name) != 0 || get_name(in, s, &k->class_) != 0 ||
	    get_up_to(in, KSTAT_NUM_TYPES - 1, &type) != 0 ||
	    get_up_to(in, UINT8_MAX, &flags) != 0 || get_signed(in, &crtime) != 0)
		return -1;
	ks_rec_start_snaptime(s, k);
	k->instance = (int)(int64_t)instance;
	k->type = (uint8_t)type;
	k->flags = (uint8_t)flags;
	k->crtime = (hrtime_t)crtime;
	/* A record with a name takes two bytes at least: a file cannot ask for more than it holds. */
	most = ks_rec_has_names(k->type) ? left(in) / 2 : type == KSTAT_TYPE_RAW ? UINT32_MAX : 1;
	if ((int64_t)instance != k->instance || get_up_to(in, most, &ndata) != 0)
		return damaged();
	k->ndata = type == KSTAT_TYPE_RAW ? 1 : (uint_t)ndata;
	if (ks_rec_start_values(s, k) != 0 || (ks_rec_has_names(k->type) && get_records(in, k, s) != 0) ||
	    (s->version >= KS_REC_DESCRIBED && get_meanings(in, k, s) != 0) ||
	    (s->version >= KS_REC_ATTRIBUTED && get_publisher(in, k, s) != 0))
		return -1;
	if (s->version >= KS_REC_MARKED_SINCE && get_marks(in, k, s) != 0)
		return -1;
	if (s->version >= KS_REC_HOSTED && get_text(in, s, LONGEST_HOST, &k->host) != 0)
		return -1;
	k->has_host = s->version >= KS_REC_HOSTED && *ks_store_text(s->sample, k->host) != '\0';
	return 0;
}

/* Moves the kstats from *next up to `end` down, behind those that stay. */
static void
keep(struct ks_store *s, size_t *kept, uint64_t *next, uint64_t end)
{
	if (*next < end)
		memmove(s->kstat + *kept, s->kstat + *next, (end - *next) * sizeof(*s->kstat));
	*kept += end - *next;
	*next = end;
}

/* Reads the distance from one kstat of a list to the next, and moves *at there. */
static int
move_on(struct input *in, const struct ks_store *s, uint64_t *at)
{
	uint64_t distance;

	if (get_up_to(in, s->nkstats, &distance) != 0)
		return -1;
	*at += distance;
	return *at < s->nkstats ? 0 : damaged();
}

static int
decode_gone(struct ks_rec_state *state, struct input *in)
{
	struct ks_store *s = state->sample;
	uint64_t count, at = 0, next = 0; /* the first that was not looked at yet */
	size_t kept = 0;

	if (get_up_to(in, s->nkstats, &count) != 0)
		return -1;
	for (; count > 0; count--) {
		if (move_on(in, s, &at) != 0)
			return -1;
		if (at < next)
			return damaged();
		keep(s, &kept, &next, at);
		state->unused += s->kstat[at].nvalues;
		next = at + 1;
	}
	keep(s, &kept, &next, s->nkstats);
	s->nkstats = kept;
	return 0;
}

static int
decode_reshaped(struct ks_rec_state *state, struct input *in)
{
	struct ks_store *s = state->sample;
	uint64_t count, at = 0;

	if (get_up_to(in, s->nkstats, &count) != 0)
		return -1;
	for (; count > 0; count--) {
		if (move_on(in, s, &at) != 0)
			return -1;
		state->unused += s->kstat[at].nvalues;
		if (get_definition(in, &s->kstat[at], state) != 0)
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
		struct ks_store_kstat k;

		if (get_definition(in, &k, s) != 0)
			return -1;
		if (!ks_store_add_kstat(s->sample, &k))
			return ks_rec_fail(s);
	}
	return 0;
}

/* Passes the next field and returns true if it is as expected. */
static bool
is_expected(struct input *in)
{
	bool is = in->expected > 0;

	in->expected -= is;
	return is;
}

/* The difference of the next field, 0 if it is as expected. */
static int
get_difference(struct input *in, uint64_t *difference)
{
	*difference = 0;
	if (is_expected(in))
		return 0;
	return get_signed(in, difference) != 0 ? -1 : get(in, &in->expected);
}

/* Changes some numbers of an array. */
static int
decode_array(struct ks_rec_state *s, struct ks_store_value *v, struct input *in)
{
	size_t n = v->at != KS_STORE_NULL ? v->len / sizeof(uint64_t) : 0;
	uint64_t count, distance, difference, at = 0;

	if (get_up_to(in, n, &count) != 0)
		return -1;
	for (; count > 0; count--) {
		char *number;

		if (get_up_to(in, n, &distance) != 0 || get_signed(in, &difference) != 0)
			return -1;
		at += distance;
		if (at >= n)
			return damaged();
		number = s->sample->text.data + v->at + at * sizeof(difference);
		ks_store_put(number, ks_store_load(number, sizeof(difference)) + difference, sizeof(difference));
	}
	return get(in, &in->expected);
}

/* get_difference() does not fit, because the text is between the difference and the next count. */
static int
decode_text(struct ks_rec_state *s, struct ks_store_value *v, struct input *in)
{
	uint64_t difference, n;
	uint32_t len;

	if (is_expected(in))
		return 0;
	if (get_signed(in, &difference) != 0)
		return -1;
	if (difference == KS_REC_SOME_CHANGED && v->type == KSTAT_DATA_INTS)
		return decode_array(s, v, in);
	if (get(in, &n) != 0)
		return -1;
	len = n == 0 ? 0 : (uint32_t)(n - 1);
	if (n > 0 && (n - 1 > left(in) || n - 1 > UINT32_MAX))
		return damaged();
	if (ks_rec_set_text(s, v, n == 0 ? NULL : (const char *)in->p, len) != 0)
		return -1;
	if (v->type == KSTAT_DATA_INTS && len > 0)
		ks_rec_order(s->sample->text.data + v->at, len);
	in->p += len;
	return get(in, &in->expected);
}

static int
decode_number(struct ks_store_value *v, struct ks_rec_trend *t, struct input *in, unsigned version)
{
	uint64_t difference = 0;

	if (!is_expected(in)) {
		if (get_signed(in, &difference) != 0)
			return -1;
		if (t->unit > 1 && difference == KS_REC_NOT_IN_UNITS) {
			if (get_signed(in, &difference) != 0)
				return -1;
		} else if (t->unit > 1) {
			difference = (uint64_t)((int64_t)difference / 2) * (uint64_t)t->unit;
		}
		if (get(in, &in->expected) != 0)
			return -1;
	}
	ks_rec_set_number(v, t, ks_rec_cut(ks_rec_expected(v, t) + difference, v->width), version);
	return 0;
}

static int
decode_snaptime(struct ks_store_kstat *k, struct input *in, struct ks_rec_times *t)
{
	uint64_t difference;

	if (get_difference(in, &difference) != 0)
		return -1;
	ks_rec_set_snaptime(k, t, difference);
	return 0;
}

static int
decode_data(struct ks_rec_state *s, struct ks_store_kstat *k, struct input *in)
{
	struct ks_store_value *v = ks_store_values(s->sample, k);

	k->still = true;
	for (size_t i = 0; i < k->nvalues; i++) {
		struct ks_rec_trend *t = &s->trend[k->first + i];
		int rc = 0;

		if (v[i].width > 0) {
			if ((t->step | t->last) == 0 && is_expected(in))
				continue; /* most numbers stay what they are */
			rc = decode_number(&v[i], t, in, s->version);
			k->still &= (t->step | t->last) == 0;
		} else if (v[i].type != KS_STORE_EVENT) {
			rc = decode_text(s, &v[i], in);
		}
		if (rc != 0)
			return -1;
	}
	return 0;
}

static int
decode_values(struct ks_rec_state *s, struct ks_store_kstat *k, struct input *in, struct ks_rec_times *t)
{
	uint64_t difference, fields = k->nvalues - (k->type == KSTAT_TYPE_TIMER ? k->ndata : 0);
	bool is_last = s->version >= KS_REC_ROUGH_SINCE;

	if (k->still && k->readable && in->expected >= 2 + fields) {
		in->expected -= 2 + fields; /* nothing moves, as with most processes */
		ks_rec_set_snaptime(k, t, 0);
		return 0;
	}
	if (get_difference(in, &difference) != 0)
		return -1;
	difference += k->readable;
	if (difference > 1)
		return damaged();
	k->readable = difference == 1;
	if (!k->readable) {
		if (in->expected < 1 + fields)
			return damaged();
		in->expected -= 1 + fields;
		k->fresh = true;
		return 0;
	}
	if (!is_last && decode_snaptime(k, in, t) != 0)
		return -1;
	if (decode_data(s, k, in) != 0)
		return -1;
	return is_last ? decode_snaptime(k, in, t) : 0;
}

int
ks_rec_decode(struct ks_rec_state *s, const void *bytes, size_t n)
{
	struct input in = { bytes, (const unsigned char *)bytes + n, 0 };
	uint64_t time_step, exact = 1;
	struct ks_rec_times t = { .step = 0 };

	if (get_signed(&in, &time_step) != 0 || get_signed(&in, &t.step) != 0 ||
	    (s->version >= KS_REC_ROUGH_SINCE && get_up_to(&in, 1, &exact) != 0) || decode_gone(s, &in) != 0 || decode_reshaped(s, &in) != 0 || ks_rec_compact(s) != 0 ||
	    decode_new(s, &in) != 0 || get(&in, &in.expected) != 0)
		return -1;
	t.exact = exact != 0;
	for (size_t i = 0; i < s->sample->nkstats; i++) {
		if (decode_values(s, &s->sample->kstat[i], &in, &t) != 0)
			return -1;
	}
	if (in.p != in.end || in.expected != 0)
		return damaged();
	s->time_of_day += time_step;
	s->taken += t.step;
	return 0;
}
