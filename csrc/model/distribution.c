/* distribution.c - see distribution.h: what can be asked of a distribution. SPDX-License-Identifier: MIT */
#include "model/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/record.h"
#include "stats/abi.h"

uint64_t
ks_dist_count(const struct kstat_hist *d, uint32_t i)
{
	uint64_t now = i < d->n ? ks_ints_at(d->now, i) : 0, before = i < d->nbefore ? ks_ints_at(d->before, i) : 0;

	/* What a step of the past begins with (chain/sample.h) may be less than nothing. */
	return now - before < (uint64_t)1 << 63 ? now - before : 0;
}

/* Returns how many values a block of buckets from i on holds: its length is fixed, which compilers make the most of. */
#define BLOCK 16u
static uint64_t
count_block(const struct kstat_hist *d, uint32_t i)
{
	const char *now = d->now + i * sizeof(uint64_t);
	uint64_t even = 0, odd = 0;

	if (d->before == NULL && i + BLOCK <= d->n) {
		for (uint32_t k = 0; k < BLOCK; k += 2) {
			even += ks_ints_at(now, k);
			odd += ks_ints_at(now, k + 1);
		}
		return even + odd;
	}
	for (uint32_t end = i + BLOCK; i < end; i++)
		even += ks_dist_count(d, i);
	return even;
}

void
ks_dist_bounds(const struct kstat_hist *d, uint32_t i, double *low, double *high)
{
	uint64_t least, greatest;

	if (d->bounds != NULL) {
		*low = d->bounds[i];
		*high = d->bounds[d->layout.n + i];
		return;
	}
	ks_hist_bounds(&d->layout, i, &least, &greatest);
	*low = (double)least;
	*high = (double)greatest;
}

static bool
is_exponential(const struct kstat_hist *d)
{
	return d->bounds == NULL && d->digest == NULL && d->layout.type == KSTAT2_NVHIST_EXPONENTIAL;
}

static double
number_of(const struct ks_value *v)
{
	return v->kind == KS_VALUE_DOUBLE ? v->d : v->kind == KS_VALUE_U64 ? (double)v->u64 : (double)v->i64;
}

/*
 * The ends between which the values of a bucket with values lie: its bounds, as far as the least and the
 * greatest value of all allow. A value outside of the range is in an end bucket, which reaches to it.
 */
static void
ends_of(const struct kstat_hist *d, uint32_t i, double *low, double *high)
{
	double min = number_of(&d->min), max = number_of(&d->max);
	bool outside = d->out_of_range > 0 && d->bounds == NULL;

	ks_dist_bounds(d, i, low, high);
	*low = min > *high ? min : fmax(*low, min);
	*high = max < *low ? *low : fmin(*high, max);
	if (outside && i == d->layout.n - 1)
		*high = fmax(*high, max);
	else if (outside && i <= 1)
		*low = fmin(*low, min);
}

/*
 * Returns the value with a part of a bucket's values below it. They count as spread evenly, but in an
 * exponential bucket: there the answer is the value from which no other of the bucket is further away,
 * relative to itself, than the scale allows: 2lh / (l + h), which is wrong by at most (h - l) / (h + l).
 */
static double
value_within(const struct kstat_hist *d, uint32_t i, double part)
{
	double low, high;

	ends_of(d, i, &low, &high);
	if (isinf(low))
		return isinf(high) ? 0 : high;
	if (isinf(high) || high <= low)
		return low;
	if (is_exponential(d) && low > 0)
		return 2 * low * (high / (low + high));
	return low + (high - low) * fmin(part, 1);
}

double
kstat_hist_quantile(const kstat_hist_t *d, double q)
{
	double rank, value;
	uint64_t wanted, below = 0, count;
	uint32_t i = 0;

	errno = EINVAL;
	if (d == NULL || !(q >= 0 && q <= 1))
		return NAN;
	errno = ENOENT;
	if (d->digest != NULL)
		return stats_voi_quantile(d->digest, d->voi, q, &value, NULL) == 0 ? value : NAN;
	/* 0.07 of 100 values is the seventh, although 0.07 * 100 is a little above 7. */
	rank = q * (double)d->count;
	rank = fmin(rank, 0x1p63); /* counts that damaged data has may be larger */
	wanted = (uint64_t)ceil(rank * (1 - 1e-15));
	wanted = wanted > 0 ? wanted : 1;
	while (i < d->n && below + (count = count_block(d, i)) < wanted) {
		below += count;
		i += BLOCK;
	}
	for (; i < d->n; i++, below += count) {
		count = ks_dist_count(d, i);
		if (below + count >= wanted)
			return value_within(d, i, (rank - (double)below) / (double)count);
	}
	return NAN;
}

double
kstat_hist_share(const kstat_hist_t *d, double value)
{
	double below = 0, low, high, share;

	errno = EINVAL;
	if (d == NULL || isnan(value))
		return NAN;
	errno = ENOENT;
	if (d->digest != NULL)
		return stats_voi_cdf(d->digest, d->voi, value, &share) == 0 ? share : NAN;
	for (uint32_t i = 0; i < d->layout.n; i++) {
		uint64_t count = ks_dist_count(d, i);

		if (count == 0)
			continue;
		ends_of(d, i, &low, &high);
		if (value >= high)
			below += (double)count;
		else if (value > low && !isinf(low) && !isinf(high))
			below += (double)count * (value - low) / (high - low);
	}
	return d->count > 0 ? below / (double)d->count : NAN;
}

/* Returns the sum if each value were in the middle of its bucket. */
static double
estimated_sum(const struct kstat_hist *d)
{
	double sum = 0, low, high;

	for (uint32_t i = 0; i < d->layout.n; i++) {
		uint64_t count = ks_dist_count(d, i);

		if (count == 0)
			continue;
		ends_of(d, i, &low, &high);
		sum += (double)count * (isinf(low) ? high : isinf(high) ? low : low + (high - low) / 2);
	}
	return sum;
}

bool
ks_dist_sum(const struct kstat_hist *d, struct ks_value *v)
{
	*v = d->sum;
	if (d->has_sum)
		return true;
	*v = (struct ks_value){ .kind = KS_VALUE_DOUBLE, .bits = 64 };
	v->d = d->digest == NULL ? estimated_sum(d) : NAN;
	return isfinite(v->d);
}

static struct ks_value
lesser(const struct ks_value *a, const struct ks_value *b)
{
	return number_of(b) < number_of(a) ? *b : *a;
}

static struct ks_value
greater(const struct ks_value *a, const struct ks_value *b)
{
	return number_of(b) > number_of(a) ? *b : *a;
}

/* The ends of the buckets in use, as values; an open bucket ends where it starts. */
static void
ends_in_use(struct kstat_hist *d, uint32_t first, uint32_t last, struct ks_value *low, struct ks_value *high)
{
	uint64_t end;

	*low = *high = (struct ks_value){ .kind = d->bounds != NULL ? KS_VALUE_DOUBLE : KS_VALUE_U64, .bits = 64 };
	if (d->bounds != NULL) {
		low->d = d->bounds[first];
		high->d = d->bounds[d->layout.n + last];
		return;
	}
	ks_hist_bounds(&d->layout, first, &low->u64, &end);
	ks_hist_bounds(&d->layout, last, &end, &high->u64);
	if (high->u64 == UINT64_MAX)
		high->u64 = end;
}

/*
 * Corrects the least value: it is the one that was counted, unless the earlier reading has it, too. Then it
 * may be older, and the start of the first bucket is the least, but not less than what was counted. `least`
 * is false for the greatest value.
 */
static void
settle_end(struct kstat_hist *d, const struct kstat_hist *before, struct ks_value end, bool outside, bool least)
{
	struct ks_value *v = least ? &d->min : &d->max;
	bool *counted = least ? &d->has_min : &d->has_max;
	const struct ks_value *old = before != NULL && before->count > 0 ? least ? &before->min : &before->max : NULL;

	if (*counted && (old == NULL || number_of(old) != number_of(v)))
		return;
	if (!*counted)
		*v = end;
	else if (!outside)
		*v = least ? greater(v, &end) : lesser(v, &end);
	*counted = false;
}

void
ks_dist_settle(struct kstat_hist *d, const struct kstat_hist *before)
{
	uint32_t first = 0, last = d->n;
	struct ks_value low, high;
	bool outside;

	d->count = 0;
	for (uint32_t i = 0; i < d->n; i += BLOCK)
		d->count += count_block(d, i);
	d->has_sum &= before == NULL || before->has_sum;
	if (before != NULL && d->sum.kind == KS_VALUE_DOUBLE)
		d->sum.d -= number_of(&before->sum);
	else if (before != NULL)
		d->sum.u64 -= before->sum.u64;
	if (before != NULL)
		d->out_of_range -= before->out_of_range < d->out_of_range ? before->out_of_range : d->out_of_range;
	while (first < d->n && count_block(d, first) == 0)
		first += BLOCK;
	while (first < d->n && ks_dist_count(d, first) == 0)
		first++;
	while (last > first && ks_dist_count(d, last - 1) == 0)
		last--;
	if (d->count == 0 || first == last)
		return;
	outside = d->out_of_range > 0 && d->bounds == NULL;
	ends_in_use(d, first, last - 1, &low, &high);
	settle_end(d, before, low, outside && first <= 1, true);
	settle_end(d, before, high, outside && last == d->layout.n, false);
}

/* --- statistics of a histogram kstat ------------------------------------------------------ */

const char *const ks_dist_names[KS_DIST_STATISTICS] = {
	"count", "sum", "min", "max", "mean", "p50", "p90", "p99", "p999"
};

static const double quantiles[] = { 0.5, 0.9, 0.99, 0.999 }; /* of the last ones of these names */

bool
ks_dist_is_name(const char *stat)
{
	for (unsigned i = 0; i < KS_DIST_STATISTICS; i++) {
		if (strcmp(ks_dist_names[i], stat) == 0)
			return true;
	}
	return false;
}

bool
ks_dist_has(const struct kstat_hist *d, unsigned i)
{
	return i < 2 || (i < KS_DIST_STATISTICS && d->count > 0);
}

void
ks_dist_statistic(const struct kstat_hist *d, unsigned i, struct ks_value *v)
{
	*v = (struct ks_value){ .kind = i == 0 ? KS_VALUE_U64 : KS_VALUE_DOUBLE, .bits = 64 };
	if (i == 0)
		v->u64 = d->count;
	else if (i == 1)
		(void)ks_dist_sum(d, v);
	else if (i == 2 || i == 3)
		*v = i == 2 ? d->min : d->max;
	else
		v->d = i == 4 ? kstat_hist_mean(d) : kstat_hist_quantile(d, quantiles[i - 5]);
}

/* --- changing ----------------------------------------------------------------------------- */

void
kstat_hist_free(kstat_hist_t *d)
{
	if (d == NULL)
		return;
	free(d->counts);
	free(d->bounds);
	free(d->digest);
	free(d);
}

static void *
duplicate(const void *p, size_t n)
{
	void *copy = malloc(n);

	return copy != NULL ? memcpy(copy, p, n) : NULL;
}

/* Points `now` to the counts. */
static void
use_counts(struct kstat_hist *d)
{
	d->now = (const char *)d->counts;
	d->n = d->layout.n;
	d->before = NULL;
	d->nbefore = 0;
}

kstat_hist_t *
kstat_hist_copy(const kstat_hist_t *d)
{
	uint32_t n = d->layout.n;
	struct kstat_hist *copy = duplicate(d, sizeof(*d));

	if (copy == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a distribution");
	copy->counts = malloc((size_t)n * sizeof(*copy->counts) + 1);
	if (d->bounds != NULL)
		copy->bounds = duplicate(d->bounds, 2 * (size_t)n * sizeof(*d->bounds));
	if (d->digest != NULL)
		copy->digest = duplicate(d->digest, ks_sb(d->digest)->cursz);
	if (copy->counts == NULL || (d->bounds != NULL && copy->bounds == NULL) ||
	    (d->digest != NULL && copy->digest == NULL)) {
		kstat_hist_free(copy);
		return ks_fail_null(ENOMEM, "out of memory for a distribution");
	}
	if (d->before == NULL && d->n == n && n > 0) /* a digest has no counts */
		memcpy(copy->counts, d->now, (size_t)n * sizeof(*copy->counts));
	else
		for (uint32_t i = 0; i < n; i++)
			copy->counts[i] = ks_dist_count(d, i);
	use_counts(copy);
	return copy;
}

static bool
same_buckets(const struct kstat_hist *a, const struct kstat_hist *b)
{
	if ((a->bounds != NULL) != (b->bounds != NULL) || (a->digest != NULL) != (b->digest != NULL) ||
	    a->layout.n != b->layout.n)
		return false;
	if (a->bounds != NULL)
		return memcmp(a->bounds, b->bounds, 2 * (size_t)a->layout.n * sizeof(*a->bounds)) == 0;
	return a->digest != NULL || ks_hist_same_layout(&a->layout, &b->layout);
}

bool
ks_dist_equal(const struct kstat_hist *a, const struct kstat_hist *b)
{
	bool same = strcmp(a->unit, b->unit) == 0 && a->count == b->count && same_buckets(a, b);

	for (uint32_t i = 0; same && i < a->layout.n; i++)
		same = ks_dist_count(a, i) == ks_dist_count(b, i);
	return same && (a->digest == NULL || (ks_sb(a->digest)->cursz == ks_sb(b->digest)->cursz &&
	    memcmp(a->digest, b->digest, ks_sb(a->digest)->cursz) == 0));
}

/*
 * Checks that two distributions are of the same thing. `what` is done with them. 0, or -1 with errno EINVAL.
 */
static int
check_units(const struct kstat_hist *a, const struct kstat_hist *b, const char *what)
{
	if (strcmp(a->unit, b->unit) == 0)
		return 0;
	return ks_fail(EINVAL, "%s is in %s and %s in %s: distributions of different units do not %s", a->name,
	    a->unit[0] != '\0' ? a->unit : "no unit", b->name, b->unit[0] != '\0' ? b->unit : "no unit", what);
}

static void
add_sum(struct kstat_hist *d, const struct kstat_hist *from)
{
	d->has_sum &= from->has_sum;
	if (d->sum.kind == KS_VALUE_DOUBLE)
		d->sum.d += number_of(&from->sum);
	else
		d->sum.u64 += from->sum.u64;
}

static void
add_rest(struct kstat_hist *d, const struct kstat_hist *from)
{
	if (from->count > 0) {
		d->min = d->count > 0 ? lesser(&d->min, &from->min) : from->min;
		d->max = d->count > 0 ? greater(&d->max, &from->max) : from->max;
	}
	add_sum(d, from);
	d->count += from->count;
	d->out_of_range += from->out_of_range;
	d->created = 0;
}

/* Gives an exponential distribution the coarser scale and the wider range of the two. 0, or -1 with errno. */
static int
widen(struct kstat_hist *d, const struct ks_hist_layout *other)
{
	const struct ks_hist_layout *l = &d->layout;
	struct ks_hist_layout wide;
	uint64_t *counts, low, high;

	if (ks_hist_layout_init(&wide, KSTAT2_NVHIST_EXPONENTIAL,
	    l->range_min < other->range_min ? l->range_min : other->range_min,
	    l->range_max > other->range_max ? l->range_max : other->range_max,
	    l->stepping < other->stepping ? l->stepping : other->stepping) != 0)
		return -1;
	if (ks_hist_same_layout(l, &wide))
		return 0;
	counts = calloc(wide.n, sizeof(*counts));
	if (counts == NULL)
		return ks_fail(ENOMEM, "out of memory for a distribution");
	for (uint32_t i = 0; i < l->n; i++) {
		ks_hist_bounds(l, i, &low, &high);
		counts[ks_hist_index(&wide, high)] += d->counts[i];
	}
	free(d->counts);
	d->counts = counts;
	d->layout = wide;
	use_counts(d);
	return 0;
}

static int
merge_digest(struct kstat_hist *into, const struct kstat_hist *from)
{
	int error = stats_blob_merge(into->digest, from->digest);

	if (error == EINVAL)
		return ks_fail(EINVAL, "%s and %s are digests of different templates, which do not merge", into->name,
		    from->name);
	add_rest(into, from);
	return 0;
}

int
kstat_hist_merge(kstat_hist_t *into, const kstat_hist_t *from)
{
	uint64_t low, high;
	bool exponential;

	if (into == NULL || from == NULL)
		return ks_fail(EINVAL, "kstat_hist_merge: two distributions are needed");
	if (check_units(into, from, "merge") != 0)
		return -1;
	exponential = is_exponential(into) && is_exponential(from);
	if (!exponential && !same_buckets(into, from))
		return ks_fail(EINVAL, "%s and %s have different buckets, which do not merge", into->name, from->name);
	if (from->count > UINT64_MAX - into->count)
		return ks_fail(EINVAL, "%s and %s have more values together than can be counted", into->name,
		    from->name);
	if (into->digest != NULL)
		return merge_digest(into, from);
	if (exponential && widen(into, &from->layout) != 0)
		return -1;
	for (uint32_t i = 0; i < from->layout.n; i++) {
		uint64_t count = ks_dist_count(from, i);
		uint32_t to = i;

		if (count > 0 && exponential) {
			ks_hist_bounds(&from->layout, i, &low, &high);
			to = ks_hist_index(&into->layout, high);
		}
		into->counts[to] += count;
	}
	add_rest(into, from);
	return 0;
}

int
kstat_hist_subtract(kstat_hist_t *from, const kstat_hist_t *before)
{
	if (from == NULL || before == NULL)
		return ks_fail(EINVAL, "kstat_hist_subtract: two distributions are needed");
	if (check_units(from, before, "subtract") != 0)
		return -1;
	if (from->digest != NULL || before->digest != NULL)
		return ks_fail(EINVAL, "%s is a digest, which knows only what was since creation: it does not subtract",
		    from->digest != NULL ? from->name : before->name);
	if (from->created != 0 && before->created != 0 && from->created != before->created &&
	    strcmp(from->name, before->name) == 0)
		return 0; /* all of it was counted since */
	if (!same_buckets(from, before))
		return ks_fail(EINVAL, "%s and %s have different buckets, which do not subtract", from->name,
		    before->name);
	from->before = before->now;
	from->nbefore = before->n;
	for (uint32_t i = 0; i < from->layout.n; i++)
		from->counts[i] = ks_dist_count(from, i);
	use_counts(from);
	ks_dist_settle(from, before);
	return 0;
}

/* --- numbers for programs in C ------------------------------------------------------------ */

uint64_t
kstat_hist_count(const kstat_hist_t *d)
{
	return d != NULL ? d->count : 0;
}

double
kstat_hist_sum(const kstat_hist_t *d)
{
	struct ks_value sum;

	return d != NULL && ks_dist_sum(d, &sum) ? number_of(&sum) : NAN;
}

double
kstat_hist_mean(const kstat_hist_t *d)
{
	/* What no bucket of a statsblob holds is in its sum. */
	uint64_t n = d == NULL ? 0 : d->count + (d->bounds != NULL && d->has_sum ? d->out_of_range : 0);

	return n > 0 ? kstat_hist_sum(d) / (double)n : NAN;
}

double
kstat_hist_min(const kstat_hist_t *d)
{
	return d != NULL && d->count > 0 && (d->digest == NULL || d->has_min) ? number_of(&d->min) : NAN;
}

double
kstat_hist_max(const kstat_hist_t *d)
{
	return d != NULL && d->count > 0 && (d->digest == NULL || d->has_max) ? number_of(&d->max) : NAN;
}
