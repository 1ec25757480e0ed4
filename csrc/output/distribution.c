/* distribution.c - see distribution.h. SPDX-License-Identifier: MIT */
#include "output/distribution.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/protobuf.h"
#include "model/blobstat.h"
#include "model/histstat.h"
#include "model/record.h"

/* --- bars -------------------------------------------------------------------------------------- */

#define BAR 40   /* DTrace's characters of a bar for all counts */
#define LABEL 20 /* DTrace's width of the label column: 2^64-1 fits */
#define HEAD " Distribution "
#define COUNT "count"

static size_t
columns(const char *s)
{
	return ks_text_columns(s, strlen(s));
}

static size_t
digits(uint64_t n)
{
	char text[KS_NUMBER_MAX];

	return ks_format_u64(text, n);
}

/* Widths of the labels and of a bar for all counts. */
struct shape {
	size_t label, bar;
};

static void
add_many(struct ks_buf *b, char c, size_t n)
{
	while (n-- > 0)
		ks_buf_addc(b, c);
}

static void
add_label(struct ks_buf *b, const struct shape *s, const char *label)
{
	size_t n = columns(label);

	add_many(b, ' ', s->label > n ? s->label - n : 0);
	ks_buf_adds(b, label);
}

static void
add_head(struct ks_buf *b, const struct shape *s, const char *title)
{
	size_t dashes = s->bar - (sizeof(HEAD) - 1);

	add_label(b, s, title);
	ks_buf_adds(b, "  ");
	add_many(b, '-', dashes / 2);
	ks_buf_adds(b, HEAD);
	add_many(b, '-', dashes - dashes / 2);
	ks_buf_adds(b, " " COUNT "\n");
}

static void
add_line(struct ks_buf *b, const struct shape *s, const char *label, uint64_t count, double total)
{
	/* As DTrace: the bar is the bucket's share of all, rounded. */
	size_t bar = (size_t)((double)count / total * (double)s->bar + 0.5);
	char text[KS_NUMBER_MAX];

	add_label(b, s, label);
	ks_buf_adds(b, " |");
	add_many(b, '@', bar);
	add_many(b, ' ', s->bar - bar + 1);
	ks_buf_add(b, text, ks_format_u64(text, count));
	ks_buf_addc(b, '\n');
}

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* DTrace's shape, or what fits into a narrower width, if anything does, for the buckets from first to before end. */
static struct shape
fit(const struct ks_distribution *d, size_t first, size_t end)
{
	size_t label = columns(d->title), count = sizeof(COUNT) - 1;
	struct shape s = { LABEL, BAR };

	for (size_t i = first; d->width > 0 && i < end; i++) {
		const char *text;

		count = larger(count, digits(d->bucket(d->arg, i, &text)));
		label = larger(label, columns(text));
	}
	if (d->width == 0 || larger(label, LABEL) + 2 + BAR + 1 + count <= d->width)
		return s;
	s.label = label < LABEL ? label : LABEL;
	s.bar = sizeof(HEAD) - 1;
	if (d->width > s.label + 2 + s.bar + 1 + count)
		s.bar = d->width - (s.label + 2 + 1 + count);
	if (s.bar > BAR) {
		s.label += s.bar - BAR;
		s.bar = BAR;
	}
	return s;
}

bool
ks_distribution(struct ks_buf *b, const struct ks_distribution *d)
{
	size_t first = d->n, end = 0;
	struct shape shape;
	double total = 0; /* the sum may exceed 64 bits */

	for (size_t i = 0; i < d->n; i++) {
		uint64_t count = d->bucket(d->arg, i, NULL);

		if (count > 0 && first == d->n)
			first = i;
		if (count > 0)
			end = i + 1;
		total += (double)count;
	}
	if (first == d->n)
		return false;
	first -= first > 0;
	end += end < d->n;
	shape = fit(d, first, end);
	ks_buf_adds(b, d->margin);
	add_head(b, &shape, d->title);
	for (size_t i = first; i < end; i++) {
		const char *label;
		uint64_t count = d->bucket(d->arg, i, &label);

		ks_buf_adds(b, d->margin);
		add_line(b, &shape, label, count, total);
	}
	return true;
}

#define BUCKETS "_buckets"

/* Stores what the labels are in title, with its unit if that is a short one. */
static void
make_title(char title[64], const char *name, size_t n, const struct ks_meta *meta)
{
	const char *unit = meta != NULL && meta->unit != NULL ? meta->unit : "";

	if (*unit != '\0' && strlen(unit) < 12)
		(void)snprintf(title, 64, "%.*s (%s)", (int)n, name, unit);
	else
		(void)snprintf(title, 64, "%.*s", (int)n, name);
}

/* --- histogram kstats ----------------------------------------------------------------------- */

struct histogram {
	struct ks_histstat h;
	char label[KS_NUMBER_MAX + 4];
};

static uint64_t
histogram_bucket(void *arg, size_t i, const char **label)
{
	struct histogram *u = arg;
	const struct ks_hist_layout *l = &u->h.layout;
	const char *sign = "";
	uint64_t low, high;
	size_t n;

	if (label != NULL) {
		ks_hist_bounds(l, (uint32_t)i, &low, &high);
		if (i == 0 && high > 0) {
			sign = "< ";
			low = high + 1;
		} else if (i == l->n - 1 && l->type != KSTAT2_NVHIST_LOG2 && l->type != KSTAT2_NVHIST_LOG10) {
			sign = ">= ";
		}
		n = strlen(sign);
		memcpy(u->label, sign, n);
		n += ks_format_u64(u->label + n, low);
		u->label[n] = '\0';
		*label = u->label;
	}
	return i < u->h.n ? ks_ints_at(u->h.buckets, i) : 0;
}

void
ks_histogram_plot(struct ks_buf *b, const kstat_t *ksp, const struct ks_meta *meta)
{
	struct histogram u;
	char title[64];
	struct ks_distribution d = { .title = title, .margin = "\t", .bucket = histogram_bucket, .arg = &u };

	if (!ks_histstat_open(&u.h, ksp))
		return;
	make_title(title, "value", strlen("value"), meta);
	d.n = u.h.layout.n;
	if (!ks_distribution(b, &d))
		ks_buf_adds(b, "\t(no values)\n");
}

/* --- histograms of statsblobs --------------------------------------------------------------- */

struct blob_histogram {
	struct ks_blob_histogram h;
	char number[KS_NUMBER_MAX + 1];
};

/* Fills *h and returns the length of the VOI's name; 0 if the statistic is no histogram with bounds. */
static size_t
open_blob_histogram(const kstat_t *ksp, const char *stat, struct ks_blob_histogram *h)
{
	size_t n = strlen(stat), m = strlen(BUCKETS);

	return n > m && strcmp(stat + n - m, BUCKETS) == 0 && ks_blob_histogram_open(h, ksp, stat, n - m, 0) ? n - m : 0;
}

bool
ks_is_blob_histogram(const kstat_t *ksp, const char *stat)
{
	struct ks_blob_histogram h;

	return open_blob_histogram(ksp, stat, &h) > 0;
}

static uint64_t
blob_bucket(void *arg, size_t i, const char **label)
{
	struct blob_histogram *u = arg;
	struct ks_value bound;

	if (label != NULL) {
		ks_blob_histogram_bound(&u->h, i, &bound);
		*label = bound.kind == KS_VALUE_STRING ? bound.str : u->number;
		if (bound.kind == KS_VALUE_U64)
			u->number[ks_format_u64(u->number, bound.u64)] = '\0';
	}
	return ks_blob_histogram_count(&u->h, i);
}

void
ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat)
{
	struct blob_histogram u;
	size_t voi = open_blob_histogram(ksp, stat, &u.h);
	char title[64];
	struct ks_distribution d = { .title = title, .margin = "\t", .bucket = blob_bucket, .arg = &u };

	if (voi == 0)
		return;
	make_title(title, stat, voi, ks_blobstat_meta(ksp, u.h.bounds_name));
	d.n = u.h.n;
	if (!ks_distribution(b, &d))
		ks_buf_addf(b, "\t%.*s: (no values)\n", (int)voi, stat);
}

/* --- points of OpenTelemetry ---------------------------------------------------------------- */

/* The numbers of the fields, as OpenTelemetry's metrics.proto has them. */
enum { POINT_START = 2, POINT_TIME = 3, POINT_COUNT = 4, POINT_SUM = 5, POINT_SCALE = 6, POINT_ZEROS = 7,
	POINT_POSITIVE = 8, POINT_MIN = 12, POINT_MAX = 13 };
enum { BUCKETS_OFFSET = 1, BUCKETS_COUNTS = 2 };

static void
add_value(struct ks_buf *b, unsigned field, bool is_known, const struct ks_value *v)
{
	if (is_known)
		ks_pb_double(b, field, v->kind == KS_VALUE_DOUBLE ? v->d : (double)v->u64);
}

/* Appends the buckets from the first to the last one that holds values. */
static void
add_buckets(struct ks_buf *b, const struct kstat_hist *d)
{
	uint32_t first = 1, end = d->layout.n;
	size_t buckets, counts;

	while (first < end && ks_dist_count(d, first) == 0)
		first++;
	while (end > first && ks_dist_count(d, end - 1) == 0)
		end--;
	buckets = ks_pb_begin(b, POINT_POSITIVE);
	ks_pb_add(b, BUCKETS_OFFSET, ks_zigzag(d->layout.offset + (int32_t)first - 1));
	counts = ks_pb_begin(b, BUCKETS_COUNTS);
	for (uint32_t i = first; i < end; i++)
		ks_varint_put(b, ks_dist_count(d, i));
	ks_pb_end(b, counts);
	ks_pb_end(b, buckets);
}

int
ks_otlp_add(struct ks_buf *b, const struct kstat_hist *d, uint64_t start, uint64_t end)
{
	if (d->digest != NULL || d->bounds != NULL || d->layout.type != KSTAT2_NVHIST_EXPONENTIAL)
		return ks_fail(EINVAL, "%s is no exponential histogram, which OTLP's is", d->name);
	ks_pb_fixed64(b, POINT_START, start);
	ks_pb_fixed64(b, POINT_TIME, end);
	ks_pb_fixed64(b, POINT_COUNT, d->count);
	add_value(b, POINT_SUM, d->has_sum, &d->sum);
	ks_pb_add(b, POINT_SCALE, ks_zigzag((int64_t)d->layout.stepping));
	ks_pb_fixed64(b, POINT_ZEROS, ks_dist_count(d, 0));
	add_buckets(b, d);
	add_value(b, POINT_MIN, d->has_min && d->count > 0, &d->min);
	add_value(b, POINT_MAX, d->has_max && d->count > 0, &d->max);
	return b->failed ? ks_fail(ENOMEM, "out of memory for %s", d->name) : 0;
}
