/* frame_encode.c - a sample as the bytes of a recording. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "model/blobstat.h"
#include "model/decode.h"
#include "model/meta.h"
#include "model/shape.h"
#include "source/replay/recording/codec.h"

#define CHARS sizeof(((kstat_named_t *)0)->value.c) /* bytes of a KSTAT_DATA_CHAR */

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

/* The name of a data record of a NAMED or TIMER kstat, and stores its type as definitions have it. */
static const char *
record_name(const kstat_t *k, uint_t i, uchar_t *data_type)
{
	const kstat_named_t *kn = k->ks_data;
	const kstat_timer_t *kt = k->ks_data;

	*data_type = KS_STORE_EVENT;
	if (k->ks_type == KSTAT_TYPE_NAMED)
		*data_type = kn[i].data_type | (ks_named_is_hidden(&kn[i]) ? KS_STORE_HIDDEN : 0);
	return k->ks_type == KSTAT_TYPE_NAMED ? kn[i].name : kt[i].name;
}

/* Returns which of the 64 fields from the given one on are hidden in a RAW structure, one bit each. */
static uint64_t
hidden_fields(const struct ks_raw_layout *l, const kstat_t *k, size_t from)
{
	uint64_t bits = 0;

	for (size_t i = 0, n = ks_raw_layout_count(l); i < 64 && from + i < n; i++)
		bits |= (uint64_t)ks_raw_is_hidden(l, k->ks_data, k->ks_data_size, from + i) << i;
	return bits;
}

/* True if the definition says which fields of a RAW structure are hidden. */
static bool
same_marks(const struct ks_store *s, const struct ks_store_kstat *old, const kstat_t *k)
{
	const struct ks_raw_layout *l = old->type == KSTAT_TYPE_RAW ? ks_store_layout(s, old) : NULL;
	const struct ks_store_value *v = ks_store_values(s, old);

	for (size_t i = 0; l != NULL && i < old->nvalues; i++) {
		if (v[i].hidden != ks_raw_is_hidden(l, k->ks_data, k->ks_data_size, i))
			return false;
	}
	return true;
}

/* True if the data of k has the records that the definition says. */
static bool
same_shape(const struct ks_store *s, const struct ks_store_kstat *old, const struct ks_rec_kstat *in)
{
	const kstat_t *k = in->k;
	const struct ks_store_value *v = ks_store_values(s, old);
	uint32_t each = old->ndata > 0 ? old->nvalues / old->ndata : 0;
	uchar_t type;

	if (!in->was_read)
		return true;
	if (old->ndata != k->ks_ndata || !same_marks(s, old, k))
		return false;
	for (uint_t i = 0; ks_rec_has_names(old->type) && i < k->ks_ndata; i++) {
		const char *name = record_name(k, i, &type);

		if (type != (v[i * each].type | (v[i * each].hidden ? KS_STORE_HIDDEN : 0)) ||
		    strncmp(name, ks_store_text(s, v[i * each].name), KSTAT_STRLEN - 1) != 0)
			return false;
	}
	return true;
}

/* In state->meanings, before the bytes of a list of meanings. */
struct meanings {
	uint32_t first; /* how many the stream held before the list */
	uint32_t era;   /* of the state then: only readers of the frames since a light keyframe know it, unless it is 0 */
	uint32_t count; /* of the list; with what follows it, it tells any two lists apart */
};

/* Whether two lists are the same: one that readers know, and the one at the end, whose place is the key. */
static bool
same_meanings(const void *state, uint32_t slot, const void *key)
{
	const struct ks_rec_state *s = state;
	const struct ks_buf *b = &s->meanings;
	struct meanings m;
	size_t count = offsetof(struct meanings, count), at = *(const size_t *)key + count;

	memcpy(&m, b->data + slot, sizeof(m));
	return (m.era == 0 || m.era == s->era) && memcmp(b->data + slot + count, b->data + at, b->len - at) == 0;
}

/* Writes what a statistic means. (m->stat may be another name: some share their meaning.) */
static void
put_meaning(struct ks_buf *out, const char *stat, const struct ks_meta *m)
{
	const char *unit = m->unit != NULL ? m->unit : "", *desc = m->desc != NULL ? m->desc : "";

	put_text(out, stat, strnlen(stat, KSTAT_STRLEN - 1));
	ks_varint_put(out, m->kind);
	ks_varint_put(out, m->type);
	ks_varint_put(out, m->flags);
	ks_varint_put(out, m->scale);
	put_text(out, unit, strlen(unit));
	put_text(out, desc, strlen(desc));
}

/* Adds what the statistics of a kstat mean to a list. Readers know what follows from the model alone. */
static uint32_t
list_meanings(const struct ks_rec_kstat *in, struct ks_buf *list)
{
	uint32_t count = 0;
	const char *name;
	struct ks_cursor c;
	struct ks_value v;

	if (!in->was_read || in->source == NULL || in->source->ops->meta == NULL || ks_blobstat_is(in->k))
		return 0;
	ks_cursor_open(&c, in->k);
	while (ks_cursor_next(&c, &name, &v)) {
		const struct ks_meta *m = in->source->ops->meta(in->source, in->k, in->cookie, name);

		if (m == NULL || m == ks_meta_of_model(in->k, name))
			continue;
		put_meaning(list, name, m);
		count++;
	}
	return count;
}

/* Writes what the statistics of a kstat mean, or whose mean the same. */
static void
put_meanings(struct ks_rec_state *s, const struct ks_rec_kstat *in, struct ks_buf *out)
{
	struct ks_buf *b = &s->meanings;
	size_t at = b->len, bytes = at + sizeof(struct meanings);
	struct meanings m = { .first = s->nmeanings, .era = s->era };
	uint32_t other = KS_NO_SLOT;
	uint64_t hash = 0;

	(void)ks_buf_zeroed(b, sizeof(m));
	m.count = list_meanings(in, b);
	out->failed |= b->failed || b->len >= KS_NO_SLOT;
	if (out->failed)
		return;
	if (m.count > 0) {
		memcpy(b->data + at, &m, sizeof(m));
		hash = ks_hash_bytes(KS_HASH_INIT, b->data + bytes, b->len - bytes);
		other = ks_table_find(&s->known, hash, same_meanings, s, &at);
	}
	if (m.count > 0 && other == KS_NO_SLOT) {
		ks_varint_put(out, 1);
		ks_varint_put(out, m.count);
		ks_buf_add(out, b->data + bytes, b->len - bytes);
		out->failed |= !ks_table_add(&s->known, hash, (uint32_t)at);
		s->nmeanings += m.count;
		return;
	}
	if (m.count > 0)
		memcpy(&m, b->data + other, sizeof(m));
	ks_varint_put(out, m.count > 0 ? (uint64_t)m.first + 2 : 0);
	b->len = at;
}

/* Writes who publishes a kstat. */
static void
put_publisher(const struct ks_rec_kstat *in, struct ks_buf *out)
{
	const struct ks_source_ops *ops = in->source != NULL ? in->source->ops : NULL;
	struct ks_origin o;

	if (ops == NULL || ops->publisher == NULL || !ops->publisher(in->source, in->k, in->cookie, &o))
		o.name = "";
	put_text(out, o.name, strlen(o.name));
	if (*o.name != '\0') {
		ks_varint_put(out, o.uid);
		ks_varint_put(out, o.pid);
	}
}

/* Writes which fields of a RAW structure are hidden, and notes it in the sample. */
static void
put_marks(struct ks_rec_state *s, const struct ks_store_kstat *to, const struct ks_rec_kstat *in, struct ks_buf *out)
{
	const struct ks_raw_layout *l = to->type == KSTAT_TYPE_RAW ? ks_store_layout(s->sample, to) : NULL;

	for (size_t from = 0; l != NULL && from < KS_REC_MARKED; from += 64) {
		uint64_t bits = in->was_read ? hidden_fields(l, in->k, from) : 0;

		ks_varint_put(out, bits);
		ks_rec_set_marks(s, to, from, bits);
	}
}

/* Writes a name and adds it to the sample. Returns where it is there, or KS_STORE_NULL after a failure. */
static uint32_t
put_name(struct ks_rec_state *s, const char *name, struct ks_buf *out)
{
	size_t n = strnlen(name, KSTAT_STRLEN - 1);

	put_text(out, name, n);
	return ks_store_add_text(s->sample, name, n);
}

/* Makes *to the definition of a kstat and writes it; without data its records are not known yet. */
static int
define(struct ks_rec_state *s, struct ks_store_kstat *to, const struct ks_rec_kstat *in, struct ks_buf *out)
{
	const kstat_t *k = in->k;
	uchar_t type;

	*to = (struct ks_store_kstat){
		.instance = k->ks_instance, .type = k->ks_type, .flags = k->ks_flags, .kid = k->ks_kid,
		.crtime = k->ks_crtime,
		.ndata = in->was_read ? k->ks_ndata : 0
	};
	to->module = put_name(s, k->ks_module, out);
	put_signed(out, (uint64_t)(int64_t)k->ks_instance);
	to->name = put_name(s, k->ks_name, out);
	to->class_ = put_name(s, k->ks_class, out);
	ks_varint_put(out, k->ks_type);
	ks_varint_put(out, k->ks_flags);
	put_signed(out, (uint64_t)k->ks_crtime);
	ks_varint_put(out, to->ndata);
	if (ks_store_failed(s->sample))
		return ks_rec_fail(s);
	ks_rec_start_snaptime(s, to);
	if (ks_rec_start_values(s, to) != 0)
		return -1;
	for (uint_t i = 0; ks_rec_has_names(to->type) && i < to->ndata; i++) {
		const char *name = record_name(k, i, &type);
		uint32_t at;

		ks_varint_put(out, type == KS_STORE_EVENT ? 0 : type);
		at = put_name(s, name, out);
		if (at == KS_STORE_NULL)
			return ks_rec_fail(s);
		if (ks_rec_add_record(s, to, at, type) != 0)
			return -1;
	}
	put_meanings(s, in, out);
	put_publisher(in, out);
	put_marks(s, to, in, out);
	put_text(out, in->host, strlen(in->host));
	return 0;
}

/* Kstats of the sample, or numbers of an array: how many, and of each the distance from the last and what is said. */
struct list {
	struct ks_buf bytes;
	size_t count, last;
};

static void
add_to_list(struct list *l, size_t i)
{
	ks_varint_put(&l->bytes, i - l->last);
	l->last = i;
	l->count++;
}

static void
put_list(struct ks_buf *out, struct list *l)
{
	ks_varint_put(out, l->count);
	ks_buf_add(out, l->bytes.data, l->bytes.len);
	out->failed |= l->bytes.failed;
	ks_buf_free(&l->bytes);
}

/* Fields that are as expected are counted; the count is written before the next one that is not. */
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

/* Where the value number i of a kstat is in its data. */
static const char *
place_of(const struct ks_store_kstat *old, const struct ks_raw_layout *l, size_t nfields, size_t i,
    const kstat_t *k)
{
	const char *data = k->ks_data;

	if (old->type == KSTAT_TYPE_NAMED)
		return data + i * sizeof(kstat_named_t) + offsetof(kstat_named_t, value);
	if (l == NULL)
		return data; /* a statsblob */
	return data + i / nfields * l->size + l->fields[i % nfields].offset;
}

/* The bytes of a text in the data of k, at a place; NULL for a null string. `room`: of KSTAT_DATA_CHAR. */
static const char *
text_at(const struct ks_store_value *v, const char *at, size_t room, const kstat_t *k, uint32_t *len)
{
	const kstat_named_t *kn;

	if (v->type == KS_STORE_BYTES) {
		*len = (uint32_t)k->ks_data_size;
		return at;
	}
	if (v->type == KSTAT_DATA_CHAR) {
		*len = (uint32_t)strnlen(at, room);
		return at;
	}
	kn = (const kstat_named_t *)(const void *)(at - offsetof(kstat_named_t, value));
	*len = kn->value.string.addr.ptr != NULL ? kn->value.string.len : 0;
	return kn->value.string.addr.ptr;
}

/* Writes which numbers of an array of that many bytes changed, and by how much. */
static void
encode_array(const char *old, const char *now, size_t size, struct differences *d)
{
	struct list changed = { .bytes = KS_BUF_INIT };

	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t difference = ks_store_load(now + at, sizeof(difference)) -
		    ks_store_load(old + at, sizeof(difference));

		if (difference != 0) {
			add_to_list(&changed, at / sizeof(difference));
			put_signed(&changed.bytes, difference);
		}
	}
	(void)put_difference(d, KS_REC_SOME_CHANGED);
	put_list(d->out, &changed);
}

static int
encode_text(struct ks_rec_state *s, struct ks_store_value *v, const char *p, uint32_t len,
    struct differences *d)
{
	bool same = v->len == len && (v->at == KS_STORE_NULL) == (p == NULL) &&
	    (len == 0 || memcmp(ks_store_text(s->sample, v->at), p, len) == 0);
	size_t at;

	if (!same && v->type == KSTAT_DATA_INTS && v->len == len && p != NULL && v->at != KS_STORE_NULL) {
		encode_array(ks_store_text(s->sample, v->at), p, len, d);
		return ks_rec_set_text(s, v, p, len);
	}
	if (!put_difference(d, !same))
		return 0;
	ks_varint_put(d->out, p == NULL ? 0 : (uint64_t)len + 1);
	at = d->out->len;
	ks_buf_add(d->out, p, len);
	if (v->type == KSTAT_DATA_INTS && d->out->len == at + len)
		ks_rec_order(d->out->data + at, len);
	return ks_rec_set_text(s, v, p, len);
}

static void
encode_number(struct ks_store_value *v, struct ks_rec_trend *t, const char *at, struct differences *d)
{
	uint64_t now = ks_store_load(at, v->width), difference;

	if (now == v->u64 && (t->step | t->last) == 0) {
		d->expected++; /* most numbers stay what they are */
		return;
	}
	difference = ks_rec_extend(now - ks_rec_expected(v, t), v->width);
	if (t->unit == 1 || (int64_t)difference % t->unit == 0) {
		(void)put_difference(d, (uint64_t)((int64_t)difference / t->unit * (t->unit > 1 ? 2 : 1)));
	} else {
		(void)put_difference(d, KS_REC_NOT_IN_UNITS);
		put_signed(d->out, difference);
	}
	ks_rec_set_number(v, t, now, KS_REC_ROUGH_SINCE);
}

static int
encode_data(struct ks_rec_state *s, struct ks_store_kstat *old, const kstat_t *k, struct differences *d)
{
	const struct ks_raw_layout *l = ks_store_layout(s->sample, old);
	size_t nfields = l != NULL ? ks_raw_layout_count(l) : 0;

	for (size_t i = 0; i < old->nvalues; i++) {
		struct ks_store_value *v = &s->sample->value[old->first + i];
		const char *at = place_of(old, l, nfields, i, k), *text;
		size_t room = l != NULL ? l->fields[i % nfields].count : CHARS;
		uint32_t len;

		if (v->width > 0) {
			encode_number(v, &s->trend[old->first + i], at, d);
		} else if (v->type != KS_STORE_EVENT) {
			text = text_at(v, at, room, k, &len);
			if (encode_text(s, v, text, len, d) != 0)
				return -1;
		}
	}
	return 0;
}

/* The least size of the data of a kstat that has these values. */
static size_t
least_size(const struct ks_store *s, const struct ks_store_kstat *old)
{
	const struct ks_raw_layout *l = ks_store_layout(s, old);

	if (old->type == KSTAT_TYPE_NAMED)
		return old->ndata * sizeof(kstat_named_t);
	return l != NULL ? l->size * (old->type == KSTAT_TYPE_TIMER ? old->ndata : 1) : 0;
}

/* Writes the snaptime of a kstat as far as it is not what is expected, exactly or to a 1024th of the interval. */
static void
encode_snaptime(struct ks_store_kstat *old, hrtime_t snaptime, struct differences *d, struct ks_rec_times *t)
{
	int64_t difference = (int64_t)((uint64_t)snaptime - ks_rec_expected_snaptime(old, t)), most = t->interval >> 10;

	if (difference >= -most && difference <= most)
		difference = 0;
	(void)put_difference(d, (uint64_t)difference);
	ks_rec_set_snaptime(old, t, (uint64_t)difference);
}

/* Writes the fields of a kstat as differences from what is expected. */
static int
encode_values(struct ks_rec_state *s, struct ks_store_kstat *old, const struct ks_rec_kstat *in,
    struct differences *d, struct ks_rec_times *t)
{
	const kstat_t *k = in->k;
	bool readable = in->was_read && k->ks_data_size >= least_size(s->sample, old);

	(void)put_difference(d, (uint64_t)readable - old->readable);
	old->readable = readable;
	if (!readable) {
		d->expected += 1 + old->nvalues - (old->type == KSTAT_TYPE_TIMER ? old->ndata : 0);
		old->fresh = true;
		return 0;
	}
	if (encode_data(s, old, k, d) != 0)
		return -1;
	encode_snaptime(old, k->ks_snaptime, d, t);
	return 0;
}

/*
 * Writes which kstats of the sample before left, and drops them; then the new definition of each that changed
 * shape. Those that stay are the first of `in`: one behind a kstat that is new has to leave and come again.
 */
static int
encode_old(struct ks_rec_state *state, const struct ks_rec_kstat *in, size_t n, struct ks_buf *out)
{
	struct list gone = { .bytes = KS_BUF_INIT }, reshaped = { .bytes = KS_BUF_INIT };
	struct ks_store *s = state->sample;
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->nkstats; i++) {
		struct ks_store_kstat *k = &s->kstat[kept];
		bool stays = kept < n && in[kept].k->ks_kid == s->kstat[i].kid;

		*k = s->kstat[i];
		if (!stays) {
			add_to_list(&gone, i);
			state->unused += k->nvalues;
		} else if (!same_shape(s, k, &in[kept])) {
			add_to_list(&reshaped, kept);
			state->unused += k->nvalues;
			rc = define(state, k, &in[kept], &reshaped.bytes);
		}
		kept += stays;
	}
	s->nkstats = kept;
	put_list(out, &gone);
	put_list(out, &reshaped);
	return rc;
}

static int
encode_new(struct ks_rec_state *state, const struct ks_rec_kstat *in, size_t n, struct ks_buf *out)
{
	struct ks_store *s = state->sample;

	ks_varint_put(out, n - s->nkstats);
	for (size_t i = s->nkstats; i < n; i++) {
		struct ks_store_kstat new;

		if (define(state, &new, &in[i], out) != 0)
			return -1;
		if (!ks_store_add_kstat(s, &new))
			return ks_rec_fail(state);
	}
	return 0;
}

/* The time of a sample: the newest snaptime; 0 if nothing could be read. */
static uint64_t
time_of(const struct ks_rec_kstat *in, size_t n)
{
	hrtime_t newest = 0;

	for (size_t i = 0; i < n; i++) {
		if (in[i].was_read && in[i].k->ks_snaptime > newest)
			newest = in[i].k->ks_snaptime;
	}
	return (uint64_t)newest;
}

int
ks_rec_encode(struct ks_rec_state *s, const struct ks_rec_kstat *in, size_t n, int64_t time_of_day,
    struct ks_buf *out)
{
	uint64_t taken = time_of(in, n);
	struct ks_rec_times t = { .step = taken - s->taken };
	struct differences d = { out, 0 };

	if (s->rough && s->before > 0 && taken > s->before)
		t.interval = (int64_t)(taken - s->before);
	t.exact = t.interval == 0;
	put_signed(out, (uint64_t)time_of_day - s->time_of_day);
	put_signed(out, t.step);
	ks_varint_put(out, t.exact);
	if (encode_old(s, in, n, out) != 0 || ks_rec_compact(s) != 0 || encode_new(s, in, n, out) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (encode_values(s, &s->sample->kstat[i], &in[i], &d, &t) != 0)
			return -1;
	}
	ks_varint_put(out, d.expected);
	s->time_of_day = (uint64_t)time_of_day;
	s->taken = s->before = taken;
	return out->failed ? ks_fail(ENOMEM, "out of memory for a recording") : 0;
}
