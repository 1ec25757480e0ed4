/* protobuf.c - see protobuf.h. SPDX-License-Identifier: MIT */
#include "metrics/protobuf.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/protobuf.h"
#include "model/exponential.h"

/* The numbers of the fields, as client_model's metrics.proto has them. */
enum { FAMILY_NAME = 1, FAMILY_HELP = 2, FAMILY_TYPE = 3, FAMILY_METRIC = 4, FAMILY_UNIT = 5 };
enum { METRIC_LABEL = 1, METRIC_TIME = 6, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { VALUE = 1 }; /* of Gauge, Counter and Untyped */
enum { COUNTER_CREATED = 3 };
enum { HISTOGRAM_COUNT = 1, HISTOGRAM_SUM = 2, HISTOGRAM_BUCKET = 3, HISTOGRAM_SCHEMA = 5, HISTOGRAM_THRESHOLD = 6,
	HISTOGRAM_ZEROS = 7, HISTOGRAM_SPAN = 12, HISTOGRAM_DELTA = 13, HISTOGRAM_CREATED = 15 };
enum { BUCKET_COUNT = 1, BUCKET_BOUND = 2 };
enum { SPAN_OFFSET = 1, SPAN_LENGTH = 2 };
enum { TIMESTAMP_SECONDS = 1, TIMESTAMP_NANOS = 2 };

/*
 * What types are called here, and in which field of a metric their values are. Readers add a sum and a count of 0 to a
 * summary that has none, so that quantiles alone are gauges.
 */
static const struct {
	uint8_t type, field;
} types[] = {
	[KS_METRIC_UNKNOWN] = { 3, 5 },
	[KS_METRIC_GAUGE] = { 1, 2 },
	[KS_METRIC_COUNTER] = { 0, 3 },
	[KS_METRIC_HISTOGRAM] = { 4, METRIC_HISTOGRAM },
	[KS_METRIC_SUMMARY] = { 1, 2 },
	[KS_METRIC_INFO] = { 1, 2 }
};

void
ks_metric_pb_head(struct ks_buf *b, const char *name, const char *ending, enum ks_metric_type type, const char *unit,
    const char *help)
{
	size_t start = ks_pb_begin(b, FAMILY_NAME);

	ks_buf_adds(b, name);
	ks_buf_adds(b, ending);
	ks_pb_end(b, start);
	if (help[0] != '\0') {
		start = ks_pb_begin(b, FAMILY_HELP);
		ks_metric_add_text(b, help, strlen(help), KS_METRIC_AS_IT_IS);
		ks_pb_end(b, start);
	}
	ks_pb_add(b, FAMILY_TYPE, types[type].type);
	if (unit[0] != '\0')
		ks_pb_bytes(b, FAMILY_UNIT, unit, strlen(unit));
}

/* --- labels -------------------------------------------------------------------------------------------- */

/* Appends the value of a label, which begins at `at` with a quote behind it. Returns where that quote is, or n. */
static size_t
add_label_value(struct ks_buf *b, const char *s, size_t at, size_t n)
{
	size_t start = ks_pb_begin(b, LABEL_VALUE);

	while (at < n && s[at] != '"') {
		size_t plain = at;

		while (at < n && s[at] != '"' && s[at] != '\\')
			at++;
		ks_buf_add(b, s + plain, at - plain);
		if (at + 1 < n && s[at] == '\\') {
			ks_buf_addc(b, s[at + 1] == 'n' ? '\n' : s[at + 1]);
			at += 2;
		} else if (at < n && s[at] == '\\') {
			at = n;
		}
	}
	ks_pb_end(b, start);
	return at;
}

/* Appends labels as ks_metric_add_label() makes them. */
static void
add_labels(struct ks_buf *b, const char *s, size_t n)
{
	for (size_t at = 0, name; at < n; at += 2) { /* behind a quote and a comma */
		size_t start;

		name = at;
		while (at < n && s[at] != '=')
			at++;
		start = ks_pb_begin(b, METRIC_LABEL);
		ks_pb_bytes(b, LABEL_NAME, s + name, at - name);
		at = add_label_value(b, s, at + 2 < n ? at + 2 : n, n);
		ks_pb_end(b, start);
	}
}

/* --- samples ------------------------------------------------------------------------------------------- */

static void
add_created(struct ks_buf *b, unsigned field, int64_t created)
{
	size_t start;

	if (created <= 0)
		return;
	start = ks_pb_begin(b, field);
	ks_pb_add(b, TIMESTAMP_SECONDS, (uint64_t)(created / KS_NANOSEC));
	ks_pb_add(b, TIMESTAMP_NANOS, (uint64_t)(created % KS_NANOSEC));
	ks_pb_end(b, start);
}

static void
begin_metric(struct ks_metric_writer *w, const char *labels, size_t labels_len, const char *own)
{
	w->metric = ks_pb_begin(&w->message, FAMILY_METRIC);
	add_labels(&w->message, labels, labels_len);
	add_labels(&w->message, own, strlen(own));
}

static void
end_metric(struct ks_metric_writer *w, const double *time)
{
	if (time != NULL)
		ks_pb_add(&w->message, METRIC_TIME, (uint64_t)(int64_t)(*time * 1000));
	ks_pb_end(&w->message, w->metric);
	w->metric = 0;
}

/* Ends a histogram. Readers take one without a sum for one whose sum is 0, so that an unknown one is no number. */
static void
end_histogram(struct ks_metric_writer *w, const double *time)
{
	if (!w->has_sum)
		ks_pb_double(&w->message, HISTOGRAM_SUM, (double)NAN);
	add_created(&w->message, HISTOGRAM_CREATED, w->created);
	ks_pb_end(&w->message, w->histogram);
	end_metric(w, time);
}

/* Adds what a histogram consists of: the count comes last. */
static void
add_part(struct ks_metric_writer *w, enum ks_metric_part part, const char *own, const struct ks_metric_value *v,
    const double *time)
{
	struct ks_buf *b = &w->message;
	size_t start;
	double bound;

	switch (part) {
	case KS_PART_NATIVE:
		ks_buf_add(b, own, v->bits);
		break;
	case KS_PART_BUCKET:
		memcpy(&bound, own, sizeof(bound));
		start = ks_pb_begin(b, HISTOGRAM_BUCKET);
		ks_pb_add(b, BUCKET_COUNT, v->bits);
		ks_pb_double(b, BUCKET_BOUND, bound);
		ks_pb_end(b, start);
		break;
	case KS_PART_SUM:
		w->has_sum = true;
		ks_pb_double(b, HISTOGRAM_SUM, ks_metric_double(v));
		break;
	default:
		ks_pb_add(b, HISTOGRAM_COUNT, v->bits);
		end_histogram(w, time);
	}
}

void
ks_metric_pb_sample(struct ks_metric_writer *w, enum ks_metric_part part, const char *labels, size_t labels_len,
    const char *own, const struct ks_metric_value *v, const double *time)
{
	struct ks_buf *b = &w->message;
	size_t start;

	if (b->len == 0)
		ks_buf_add(b, w->head, w->head_len);
	if (part == KS_PART_VALUE) {
		begin_metric(w, labels, labels_len, own);
		start = ks_pb_begin(b, types[w->type].field);
		ks_pb_double(b, VALUE, ks_metric_double(v));
		if (w->type == KS_METRIC_COUNTER)
			add_created(b, COUNTER_CREATED, w->created);
		ks_pb_end(b, start);
		end_metric(w, time);
		return;
	}
	if (w->metric == 0) {
		begin_metric(w, labels, labels_len, "");
		w->histogram = ks_pb_begin(b, METRIC_HISTOGRAM);
		w->has_sum = false;
	}
	add_part(w, part, own, v, time);
}

void
ks_metric_pb_end(struct ks_metric_writer *w)
{
	if (w->message.len > 0) {
		if (w->metric != 0)
			end_histogram(w, NULL);
		ks_varint_put(w->out, w->message.len);
		ks_buf_add(w->out, w->message.data, w->message.len);
	}
	w->out->failed |= w->message.failed;
	ks_buf_reset(&w->message);
}

/* --- native histograms --------------------------------------------------------------------------------- */

/* How the buckets of a layout become those of Prometheus: number i the one of index i * factor + shift. */
struct native {
	int32_t scale, factor, shift;
};

static struct native
native_of(const struct ks_hist_layout *l, uint64_t times, uint64_t per)
{
	int32_t scale = (int32_t)l->stepping, finer = KS_EXPONENTIAL_MOST_SCALE - scale;
	double doublings = log2((double)times / (double)per);
	/* Prometheus counts a bucket by its upper bound, where OTLP and ks_exponential_index() have the lower one. */
	struct native as_it_is = { scale, 1, (int32_t)(doublings * (1 << scale)) + l->offset };
	struct native by_middle = { KS_EXPONENTIAL_MOST_SCALE, 1 << finer, 0 };

	if (doublings * (1 << scale) == floor(doublings * (1 << scale)))
		return as_it_is;
	by_middle.shift = (int32_t)ceil((l->offset - 0.5) * by_middle.factor + doublings * (1 << by_middle.scale));
	return by_middle;
}

static uint64_t
count_of(const char *buckets, uint32_t i)
{
	uint64_t count;

	memcpy(&count, buckets + i * sizeof(count), sizeof(count));
	return count;
}

/* Appends where the buckets are that have counts. */
static void
add_spans(struct ks_buf *b, const struct native *to, const char *buckets, uint32_t n)
{
	uint32_t most = to->factor > 1 ? 1 : n; /* buckets that lie side by side */
	int32_t behind = 0;                     /* the index behind the span before */

	for (uint32_t i = 1, length; i < n; i += length > 0 ? length : 1) {
		int32_t at = (int32_t)i * to->factor + to->shift;
		size_t start;

		for (length = 0; length < most && i + length < n && count_of(buckets, i + length) != 0; length++)
			;
		if (length == 0)
			continue;
		start = ks_pb_begin(b, HISTOGRAM_SPAN);
		ks_pb_add(b, SPAN_OFFSET, ks_zigzag(at - behind));
		ks_pb_add(b, SPAN_LENGTH, length);
		ks_pb_end(b, start);
		behind = at + (int32_t)length;
	}
}

void
ks_metric_pb_native(struct ks_buf *b, const struct ks_hist_layout *l, const char *buckets, uint32_t n, uint64_t times,
    uint64_t per)
{
	/* That of Prometheus's own clients; no value that is not 0 comes near it. */
	static const double zero_threshold = 0x1p-128;
	struct native to = native_of(l, times, per);
	uint64_t before = 0;
	size_t start;

	ks_pb_add(b, HISTOGRAM_SCHEMA, ks_zigzag(to.scale));
	ks_pb_double(b, HISTOGRAM_THRESHOLD, zero_threshold);
	ks_pb_add(b, HISTOGRAM_ZEROS, n > 0 ? count_of(buckets, 0) : 0);
	add_spans(b, &to, buckets, n);
	start = ks_pb_begin(b, HISTOGRAM_DELTA);
	for (uint32_t i = 1; i < n; i++) {
		uint64_t count = count_of(buckets, i);

		if (count == 0)
			continue;
		ks_varint_put(b, ks_zigzag((int64_t)(count - before)));
		before = count;
	}
	ks_pb_end(b, start);
}
