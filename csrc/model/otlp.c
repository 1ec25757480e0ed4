/* otlp.c - see otlp.h. SPDX-License-Identifier: MIT */
#include "model/otlp.h"

#include <errno.h>

#include "base/error.h"
#include "base/protobuf.h"

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
	ks_pb_add(b, BUCKETS_OFFSET, ks_pb_zigzag(d->layout.offset + (int32_t)first - 1));
	counts = ks_pb_begin(b, BUCKETS_COUNTS);
	for (uint32_t i = first; i < end; i++)
		ks_pb_varint(b, ks_dist_count(d, i));
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
	ks_pb_add(b, POINT_SCALE, ks_pb_zigzag((int64_t)d->layout.stepping));
	ks_pb_fixed64(b, POINT_ZEROS, ks_dist_count(d, 0));
	add_buckets(b, d);
	add_value(b, POINT_MIN, d->has_min && d->count > 0, &d->min);
	add_value(b, POINT_MAX, d->has_max && d->count > 0, &d->max);
	return b->failed ? ks_fail(ENOMEM, "out of memory for %s", d->name) : 0;
}
