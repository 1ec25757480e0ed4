/* frame_encode.c - a sample as the bytes of a recording. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "model/blobstat.h"
#include "model/decode.h"
#include "model/known_meta.h"
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

static void
put_string(struct ks_buf *out, const struct ks_store *s, uint32_t at)
{
	put_text(out, ks_store_text(s, at), strlen(ks_store_text(s, at)));
}

static void
put_meanings(struct ks_buf *out, const struct ks_rec_state *state, const struct ks_store_kstat *k)
{
	const struct ks_store *s = state->sample;
	const struct ks_store_meta *first = k->meta > 0 ? &s->meta[k->meta - 1] : NULL;

	if (first == NULL || k->meta != state->newest) {
		ks_varint_put(out, first == NULL ? 0 : (uint64_t)k->meta + 1);
		return;
	}
	ks_varint_put(out, 1);
	ks_varint_put(out, first->count);
	for (const struct ks_store_meta *m = first; m < first + first->count; m++) {
		put_string(out, s, m->stat);
		ks_varint_put(out, m->kind);
		ks_varint_put(out, m->type);
		ks_varint_put(out, m->flags);
		ks_varint_put(out, m->scale);
		put_string(out, s, m->unit);
		put_string(out, s, m->desc);
	}
}

static void
put_definition(struct ks_buf *out, const struct ks_rec_state *state, const struct ks_store_kstat *k)
{
	const struct ks_store *s = state->sample;

	put_string(out, s, k->module);
	put_signed(out, (uint64_t)(int64_t)k->instance);
	put_string(out, s, k->name);
	put_string(out, s, k->class_);
	ks_varint_put(out, k->type);
	ks_varint_put(out, k->flags);
	put_signed(out, (uint64_t)k->crtime);
	ks_varint_put(out, k->ndata);
	for (uint32_t i = 0; ks_rec_has_names(k->type) && i < k->nvalues; i++) {
		const struct ks_store_value *v = &s->value[k->first + i];

		if (k->type == KSTAT_TYPE_TIMER && v->type != KS_STORE_EVENT)
			continue;
		ks_varint_put(out, v->type == KS_STORE_EVENT ? 0 : v->type | (v->hidden ? KS_STORE_HIDDEN : 0));
		put_string(out, s, v->name);
	}
	put_meanings(out, state, k);
	if (!k->published) {
		put_text(out, "", 0);
		return;
	}
	put_string(out, s, k->publisher);
	ks_varint_put(out, k->uid);
	ks_varint_put(out, k->pid);
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
	if (old->ndata != k->ks_ndata)
		return false;
	for (uint_t i = 0; ks_rec_has_names(old->type) && i < k->ks_ndata; i++) {
		const char *name = record_name(k, i, &type);

		if (type != (v[i * each].type | (v[i * each].hidden ? KS_STORE_HIDDEN : 0)) ||
		    strncmp(name, ks_store_text(s, v[i * each].name), KSTAT_STRLEN - 1) != 0)
			return false;
	}
	return true;
}

/* Adds what one statistic means to the sample. (m->stat may be another name: some share their meaning.) */
static bool
add_meaning(struct ks_store *s, const char *stat, const struct ks_meta *m)
{
	const char *unit = m->unit != NULL ? m->unit : "", *desc = m->desc != NULL ? m->desc : "";
	struct ks_store_meta to = { .scale = m->scale, .flags = m->flags, .kind = m->kind, .type = m->type };

	to.stat = ks_store_add_text(s, stat, strnlen(stat, KSTAT_STRLEN - 1));
	to.unit = ks_store_add_text(s, unit, strlen(unit));
	to.desc = ks_store_add_text(s, desc, strlen(desc));
	return !ks_store_failed(s) && ks_store_add_meta(s, &to);
}

static uint64_t
hash_meanings(const struct ks_store *s, size_t first)
{
	uint64_t hash = KS_HASH_INIT;

	for (size_t i = first; i < s->nmetas; i++) {
		hash = ks_hash_string(hash, ks_store_text(s, s->meta[i].stat));
		hash = ks_hash_string(hash, ks_store_text(s, s->meta[i].desc));
	}
	return hash;
}

/* Whether two kstats mean the same: those whose first meanings have these numbers. */
static bool
same_meanings(const void *store, uint32_t slot, const void *key)
{
	const struct ks_store *s = store;
	const struct ks_store_meta *a = &s->meta[slot], *b = &s->meta[*(const size_t *)key];
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < b->count; i++) {
		same = a[i].kind == b[i].kind && a[i].type == b[i].type && a[i].flags == b[i].flags &&
		    a[i].scale == b[i].scale &&
		    strcmp(ks_store_text(s, a[i].stat), ks_store_text(s, b[i].stat)) == 0 &&
		    strcmp(ks_store_text(s, a[i].unit), ks_store_text(s, b[i].unit)) == 0 &&
		    strcmp(ks_store_text(s, a[i].desc), ks_store_text(s, b[i].desc)) == 0;
	}
	return same;
}

/*
 * Adds what the statistics of a kstat mean to the sample, unless those of another one mean the same. What
 * follows from the model alone every reader knows.
 */
static int
add_meanings(struct ks_rec_state *state, struct ks_store_kstat *to, const struct ks_rec_kstat *in)
{
	bool has_meanings = in->was_read && in->source->ops->meta != NULL && !ks_blobstat_is(in->k);
	struct ks_store *s = state->sample;
	size_t first = s->nmetas, text = s->text.len;
	const char *name;
	struct ks_cursor c;
	struct ks_value v;
	uint64_t hash;
	uint32_t other;

	state->newest = 0;
	ks_cursor_open(&c, in->k);
	while (has_meanings && ks_cursor_next(&c, &name, &v)) {
		const struct ks_meta *m = in->source->ops->meta(in->source, in->k, in->cookie, name);

		if (m != NULL && m != ks_meta_of_model(in->k, name) && !add_meaning(s, name, m))
			return ks_rec_fail(state);
	}
	if (s->nmetas == first)
		return 0;
	s->meta[first].count = (uint32_t)(s->nmetas - first);
	hash = hash_meanings(s, first);
	other = ks_table_find(&state->meanings, hash, same_meanings, s, &first);
	if (other != KS_NO_SLOT) {
		s->nmetas = first;
		s->text.len = text;
	} else if (ks_table_add(&state->meanings, hash, (uint32_t)first)) {
		state->newest = (uint32_t)first + 1;
	} else {
		return ks_rec_fail(state);
	}
	to->meta = (other != KS_NO_SLOT ? other : (uint32_t)first) + 1;
	return 0;
}

/* Adds who publishes a kstat to its definition; false after a failure. */
static bool
add_publisher(struct ks_rec_state *s, struct ks_store_kstat *to, const struct ks_rec_kstat *in)
{
	const struct ks_source_ops *ops = in->source->ops;
	struct ks_origin o;

	if (ops->publisher == NULL || !ops->publisher(in->source, in->k, in->cookie, &o) || *o.name == '\0')
		return true;
	to->published = true;
	to->publisher = ks_store_add_text(s->sample, o.name, strlen(o.name));
	to->uid = o.uid;
	to->pid = o.pid;
	return !ks_store_failed(s->sample);
}

/* Makes *to the definition of a kstat; of one that was not read the records are not known yet. */
static int
define(struct ks_rec_state *s, struct ks_store_kstat *to, const struct ks_rec_kstat *in)
{
	const kstat_t *k = in->k;
	uchar_t type;

	*to = (struct ks_store_kstat){
		.module = ks_store_add_text(s->sample, k->ks_module, strlen(k->ks_module)),
		.name = ks_store_add_text(s->sample, k->ks_name, strlen(k->ks_name)),
		.class_ = ks_store_add_text(s->sample, k->ks_class, strlen(k->ks_class)),
		.instance = k->ks_instance, .type = k->ks_type, .flags = k->ks_flags, .kid = k->ks_kid,
		.crtime = k->ks_crtime, .snaptime = (hrtime_t)s->taken,
		.ndata = in->was_read ? k->ks_ndata : 0
	};
	if (ks_store_failed(s->sample) || !add_publisher(s, to, in))
		return ks_rec_fail(s);
	if (ks_rec_start_values(s, to) != 0)
		return -1;
	for (uint_t i = 0; ks_rec_has_names(to->type) && i < to->ndata; i++) {
		const char *name = record_name(k, i, &type);
		uint32_t at = ks_store_add_text(s->sample, name, strnlen(name, KSTAT_STRLEN - 1));

		if (at == KS_STORE_NULL)
			return ks_rec_fail(s);
		if (ks_rec_add_record(s, to, at, type) != 0)
			return -1;
	}
	return add_meanings(s, to, in);
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

/* The structure that a kstat's data records are; NULL for NAMED and statsblobs. */
static const struct ks_raw_layout *
layout_of(const kstat_t *k)
{
	return ks_blobstat_is(k) ? NULL : ks_structure_find(k->ks_type, k->ks_module, k->ks_name);
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

static int
encode_text(struct ks_rec_state *s, struct ks_store_value *v, const char *p, uint32_t len,
    struct differences *d)
{
	bool same = v->len == len && (v->at == KS_STORE_NULL) == (p == NULL) &&
	    (len == 0 || memcmp(ks_store_text(s->sample, v->at), p, len) == 0);
	size_t at;

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

	difference = ks_rec_extend(now - ks_rec_expected(v, t), v->width);
	if (t->unit == 1 || (int64_t)difference % t->unit == 0) {
		(void)put_difference(d, (uint64_t)((int64_t)difference / t->unit * (t->unit > 1 ? 2 : 1)));
	} else {
		(void)put_difference(d, KS_REC_NOT_IN_UNITS);
		put_signed(d->out, difference);
	}
	ks_rec_set_number(v, t, now);
}

static int
encode_data(struct ks_rec_state *s, struct ks_store_kstat *old, const kstat_t *k, struct differences *d)
{
	const struct ks_raw_layout *l = layout_of(k);
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
least_size(const struct ks_store_kstat *old, const kstat_t *k)
{
	const struct ks_raw_layout *l = layout_of(k);

	if (old->type == KSTAT_TYPE_NAMED)
		return old->ndata * sizeof(kstat_named_t);
	return l != NULL ? l->size * (old->type == KSTAT_TYPE_TIMER ? old->ndata : 1) : 0;
}

/*
 * Writes the fields of a kstat as differences from what is expected. *late is by how much the snaptimes of the
 * kstats before it were later than expected: those of one sample are mostly late together.
 */
static int
encode_values(struct ks_rec_state *s, struct ks_store_kstat *old, const struct ks_rec_kstat *in,
    struct differences *d, uint64_t step, uint64_t *late)
{
	const kstat_t *k = in->k;
	bool readable = in->was_read && k->ks_data_size >= least_size(old, k);
	uint64_t difference;

	(void)put_difference(d, (uint64_t)readable - old->readable);
	old->readable = readable;
	if (!readable) {
		d->expected += 1 + old->nvalues - (old->type == KSTAT_TYPE_TIMER ? old->ndata : 0);
		return 0;
	}
	difference = (uint64_t)k->ks_snaptime - ((uint64_t)old->snaptime + step + *late);
	(void)put_difference(d, difference);
	*late += difference;
	old->snaptime = k->ks_snaptime;
	return encode_data(s, old, k, d);
}

/* Writes which kstats left, and drops them. */
static void
encode_gone(struct ks_rec_state *state, const struct ks_rec_kstat *in, size_t n, struct ks_buf *out)
{
	struct ks_store *s = state->sample;
	struct ks_buf gone = KS_BUF_INIT;
	size_t count = 0, kept = 0, last = 0;

	for (size_t i = 0, j = 0; i < s->nkstats; i++) {
		while (j < n && in[j].k->ks_kid < s->kstat[i].kid)
			j++;
		if (j < n && in[j].k->ks_kid == s->kstat[i].kid) {
			s->kstat[kept++] = s->kstat[i];
			continue;
		}
		ks_varint_put(&gone, i - last);
		last = i;
		count++;
		ks_rec_drop_values(state, &s->kstat[i]);
	}
	s->nkstats = kept;
	ks_varint_put(out, count);
	ks_buf_add(out, gone.data, gone.len);
	out->failed |= gone.failed;
	ks_buf_free(&gone);
}

/* Those that are left are the first of k. Writes the new definition of each that changed shape. */
static int
encode_reshaped(struct ks_rec_state *state, const struct ks_rec_kstat *in, struct ks_buf *out)
{
	struct ks_store *s = state->sample;
	struct ks_buf reshaped = KS_BUF_INIT;
	size_t count = 0, last = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->nkstats; i++) {
		if (same_shape(s, &s->kstat[i], &in[i]))
			continue;
		ks_varint_put(&reshaped, i - last);
		last = i;
		count++;
		ks_rec_drop_values(state, &s->kstat[i]);
		rc = define(state, &s->kstat[i], &in[i]);
		if (rc == 0)
			put_definition(&reshaped, state, &s->kstat[i]);
	}
	ks_varint_put(out, count);
	ks_buf_add(out, reshaped.data, reshaped.len);
	out->failed |= reshaped.failed;
	ks_buf_free(&reshaped);
	return rc;
}

static int
encode_new(struct ks_rec_state *state, const struct ks_rec_kstat *in, size_t n, struct ks_buf *out)
{
	struct ks_store *s = state->sample;

	ks_varint_put(out, n - s->nkstats);
	for (size_t i = s->nkstats; i < n; i++) {
		struct ks_store_kstat new;

		if (define(state, &new, &in[i]) != 0)
			return -1;
		if (!ks_store_add_kstat(s, &new))
			return ks_rec_fail(state);
		put_definition(out, state, &new);
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
	uint64_t taken = time_of(in, n), step = taken - s->taken, late = 0;
	struct differences d = { out, 0 };

	put_signed(out, (uint64_t)time_of_day - s->time_of_day);
	put_signed(out, step);
	encode_gone(s, in, n, out);
	if (encode_reshaped(s, in, out) != 0 || ks_rec_compact(s) != 0 || encode_new(s, in, n, out) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (encode_values(s, &s->sample->kstat[i], &in[i], &d, step, &late) != 0)
			return -1;
	}
	ks_varint_put(out, d.expected);
	s->time_of_day = (uint64_t)time_of_day;
	s->taken = taken;
	return out->failed ? ks_fail(ENOMEM, "out of memory for a recording") : 0;
}
