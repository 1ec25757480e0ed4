/* histogram.c - see histogram.h. SPDX-License-Identifier: MIT */
#include "metrics/histogram.h"

#include <string.h>

#include "metrics/protobuf.h"

/* --- borders ------------------------------------------------------------------------------------------- */

/* Returns in which doubling a whole number is: 2^(d - 2) < high <= 2^(d - 1). */
static uint32_t
doubling(uint64_t high)
{
	return high < 2 ? (uint32_t)high : 65 - (uint32_t)__builtin_clzll(high - 1);
}

static uint64_t
high_of(const struct ks_hist_layout *l, uint32_t i)
{
	uint64_t low, high;

	ks_hist_bounds(l, i, &low, &high);
	return high;
}

/*
 * Whether the end of bucket i can be a border. Of an exponential histogram the last one of each doubling can, but for the
 * zeros alone; of others, too, unless there are few, or they lie side by side in a range that is known. Above the last
 * bucket there is nothing.
 */
static bool
can_be_border(const struct ks_hist_layout *l, uint32_t i)
{
	bool is_exponential = l->type == KSTAT2_NVHIST_EXPONENTIAL;

	if (i + 1 >= l->n || (i == 0 && is_exponential))
		return false;
	if (!is_exponential && (l->n <= KS_METRIC_BORDERS + 1 ||
	    (l->type == KSTAT2_NVHIST_LINEAR && l->range_max != 0)))
		return true;
	return doubling(high_of(l, i)) != doubling(high_of(l, i + 1));
}

/*
 * Whether number i of n possible borders is one. Of too many every second, fourth, ... is, and as many between these as
 * there is room for, around the middle, where most values lie.
 */
static bool
is_chosen(uint32_t i, uint32_t n)
{
	uint32_t step = 1, between, room;

	while ((n + step - 1) / step > KS_METRIC_BORDERS)
		step *= 2;
	if (i % step == 0)
		return true;
	between = (n + step / 2 - 1) / step;
	room = KS_METRIC_BORDERS - (n + step - 1) / step;
	return i % step == step / 2 && i / step >= (between - room) / 2 && i / step < (between - room) / 2 + room;
}

static bool
is_same(const struct ks_hist_layout *a, const struct ks_hist_layout *b)
{
	return a->type == b->type && a->n == b->n && a->range_min == b->range_min && a->range_max == b->range_max &&
	    a->stepping == b->stepping;
}

static uint32_t
add_le(struct ks_metric_samples *s, const struct ks_value *high, uint64_t times, uint64_t per)
{
	uint32_t own = (uint32_t)s->labels.len;

	ks_metric_add_le(&s->labels, s->format, high, times, per);
	ks_buf_addc(&s->labels, '\0');
	return own;
}

/* Returns the borders of a layout, with their labels. */
static const struct ks_metric_borders *
borders_of(struct ks_metric_samples *s, const struct ks_hist_layout *l, uint64_t times, uint64_t per)
{
	struct ks_metric_borders *b = &s->borders;
	uint32_t possible = 0, number = 0;

	if (is_same(&b->layout, l) && b->times == times && b->per == per)
		return b;
	*b = (struct ks_metric_borders){ .layout = *l, .times = times, .per = per };
	for (uint32_t i = 0; i < l->n; i++)
		possible += can_be_border(l, i);
	for (uint32_t i = 0; i < l->n; i++) {
		struct ks_value high = { .kind = KS_VALUE_U64, .bits = 64 };

		if (!can_be_border(l, i) || !is_chosen(number++, possible))
			continue;
		high.u64 = high_of(l, i);
		b->bucket[b->n] = i;
		b->le[b->n++] = add_le(s, &high, times, per);
	}
	return b;
}

/* --- samples ------------------------------------------------------------------------------------------- */

static int
add_count(struct ks_metric_samples *s, uint32_t family, enum ks_metric_part part, uint32_t own, uint64_t count)
{
	struct ks_value v = { .kind = KS_VALUE_U64, .bits = 64 };

	v.u64 = count;
	return ks_metric_add_sample(s, family, 1, 1, part, own, &v);
}

int
ks_metric_add_bucket(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    const struct ks_value *high, uint64_t total)
{
	return add_count(s, family, KS_PART_BUCKET, add_le(s, high, times, per), total);
}

int
ks_metric_add_total(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per, uint64_t total,
    const struct ks_value *sum)
{
	if (ks_metric_add_bucket(s, family, times, per, NULL, total) != 0 ||
	    (sum != NULL && ks_metric_add_sample(s, family, times, per, KS_PART_SUM, 0, sum) != 0))
		return -1;
	return sum == NULL && s->format == KS_METRIC_OPENMETRICS ? 0 :
	    add_count(s, family, KS_PART_COUNT, 0, total);
}

static int
add_native(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per, const struct ks_histstat *h)
{
	uint32_t own = (uint32_t)s->labels.len;

	ks_metric_pb_native(&s->labels, &h->layout, h->buckets, h->n, times, per);
	return add_count(s, family, KS_PART_NATIVE, own, s->labels.len - own);
}

int
ks_metric_add_histogram(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    const struct ks_histstat *h)
{
	const struct ks_metric_borders *b = borders_of(s, &h->layout, times, per);
	struct ks_value sum = { .kind = KS_VALUE_U64, .bits = 64 };
	uint64_t total = 0, count;
	uint32_t next = 0;

	if (s->format == KS_METRIC_PROTOBUF && h->layout.type == KSTAT2_NVHIST_EXPONENTIAL &&
	    add_native(s, family, times, per, h) != 0)
		return -1;
	for (uint32_t i = 0; i < h->layout.n; i++) {
		if (i < h->n) {
			memcpy(&count, h->buckets + i * sizeof(count), sizeof(count));
			total += count;
		}
		if (next < b->n && b->bucket[next] == i &&
		    add_count(s, family, KS_PART_BUCKET, b->le[next++], total) != 0)
			return -1;
	}
	sum.u64 = h->sum;
	if (s->labels.failed)
		return -1;
	return ks_metric_add_total(s, family, times, per, total, h->has_sum ? &sum : NULL);
}
