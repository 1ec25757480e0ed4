/* histogram.c - see histogram.h. SPDX-License-Identifier: MIT */
#include "model/histogram.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "model/exponential.h"

#define MAX_POWER 19 /* 10^19 is the greatest power of ten below 2^64 */

static const uint64_t pow10_of[MAX_POWER + 1] = {
	1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
	10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u,
	1000000000000000u, 10000000000000000u, 100000000000000000u, 1000000000000000000u,
	10000000000000000000u
};

static const char *const type_names[] = { "linear", "log2", "log10", "log10_lin", "exponential" };

const char *
ks_hist_type_name(int type)
{
	return type >= 0 && type <= KSTAT2_NVHIST_EXPONENTIAL ? type_names[type] : NULL;
}

int
ks_hist_type_parse(const char *name, size_t n)
{
	for (int i = 0; i <= KSTAT2_NVHIST_EXPONENTIAL; i++) {
		if (strlen(type_names[i]) == n && memcmp(type_names[i], name, n) == 0)
			return i;
	}
	return -1;
}

static int
too_many(uint64_t n)
{
	return ks_fail(EINVAL, "histogram: %" PRIu64 " buckets are too many, at most %d", n,
	    KSTAT2_HIST_MAX_BUCKETS);
}

static int
init_linear(struct ks_hist_layout *l, uint64_t min, uint64_t max, uint64_t step)
{
	uint64_t steps;

	if (step == 0)
		return ks_fail(EINVAL, "linear histogram: stepping is zero");
	/* A first bucket of exactly 0 and a second one from 1 on are the same as range_min 1. */
	l->first = min == 0 && step == 1 ? 1 : min;
	l->grows = true;
	l->stepping = step;
	l->range_min = min;
	l->range_max = max;
	if (max == 0) {
		steps = (UINT64_MAX - l->first) / step;
		l->n = steps < KSTAT2_HIST_OPEN_BUCKETS - 2 ? (uint32_t)steps + 2 :
		    KSTAT2_HIST_OPEN_BUCKETS;
		return 0;
	}
	if (min > max)
		return ks_fail(EINVAL, "linear histogram: range_min %" PRIu64 " is above range_max %"
		    PRIu64, min, max);
	if ((max - min) % step != 0)
		return ks_fail(EINVAL, "linear histogram: steps of %" PRIu64
		    " do not divide the range from %" PRIu64 " to %" PRIu64, step, min, max);
	l->least = min;
	l->greatest = max;
	steps = (max - l->first) / step;
	if (steps > KSTAT2_HIST_MAX_BUCKETS - 2)
		return too_many(steps > UINT64_MAX - 2 ? steps : steps + 2);
	l->n = (uint32_t)steps + 2;
	return 0;
}

static int
init_log10_linear(struct ks_hist_layout *l, uint64_t min, uint64_t max, uint64_t step)
{
	uint64_t levels, n;

	if (step == 0)
		return ks_fail(EINVAL, "log10-linear histogram: stepping is zero");
	if (min > max)
		return ks_fail(EINVAL, "log10-linear histogram: range_min %" PRIu64
		    " is above range_max %" PRIu64, min, max);
	if (max > MAX_POWER - 1)
		return ks_fail(EINVAL, "log10-linear histogram: range_max is a power of ten, at most %d, "
		    "not %" PRIu64, MAX_POWER - 1, max);
	if (pow10_of[min + 1] % step != 0)
		return ks_fail(EINVAL, "log10-linear histogram: %" PRIu64 " steps do not divide %" PRIu64
		    " into whole numbers", step, pow10_of[min + 1]);
	levels = max - min + 1;
	if (__builtin_mul_overflow(levels, step - step / 10, &n) ||
	    n > KSTAT2_HIST_MAX_BUCKETS - 2)
		return too_many(n > UINT64_MAX - 2 ? n : n + 2);
	l->range_min = min;
	l->range_max = max;
	l->stepping = step;
	l->per_level = (uint32_t)(step - step / 10);
	l->skipped = (uint32_t)(step / 10);
	l->n = (uint32_t)n + 2;
	l->least = pow10_of[min];
	l->greatest = pow10_of[max + 1] - 1;
	return 0;
}

static int
init_exponential(struct ks_hist_layout *l, uint64_t min, uint64_t max, uint64_t scale)
{
	if (scale > KS_EXPONENTIAL_MOST_SCALE)
		return ks_fail(EINVAL, "exponential histogram: the scale is 0 to %u, not %" PRIu64,
		    KS_EXPONENTIAL_MOST_SCALE, scale);
	if (max == 0)
		return ks_fail(EINVAL, "exponential histogram: range_max, the highest value, is zero");
	if (min > max)
		return ks_fail(EINVAL, "exponential histogram: range_min %" PRIu64 " is above range_max %"
		    PRIu64, min, max);
	l->range_min = min;
	l->range_max = max;
	l->stepping = scale;
	l->offset = ks_exponential_index(min > 0 ? min : 1, (uint32_t)scale);
	l->n = (uint32_t)(ks_exponential_index(max, (uint32_t)scale) - l->offset) + 2;
	l->least = ks_exponential_floor(l->offset, (uint32_t)scale) + 1;
	l->greatest = ks_exponential_floor(l->offset + (int32_t)l->n - 1, (uint32_t)scale);
	return 0;
}

int
ks_hist_layout_init(struct ks_hist_layout *l, kstat2_nv_hist_type_t type, uint64_t range_min,
    uint64_t range_max, uint64_t stepping)
{
	memset(l, 0, sizeof(*l));
	l->type = (uint8_t)type;
	l->greatest = UINT64_MAX;
	switch (type) {
	case KSTAT2_NVHIST_LINEAR:
		return init_linear(l, range_min, range_max, stepping);
	case KSTAT2_NVHIST_LOG2:
		l->n = 65;
		return 0;
	case KSTAT2_NVHIST_LOG10:
		l->n = MAX_POWER + 2;
		return 0;
	case KSTAT2_NVHIST_LOG10_LIN:
		return init_log10_linear(l, range_min, range_max, stepping);
	case KSTAT2_NVHIST_EXPONENTIAL:
		return init_exponential(l, range_min, range_max, stepping);
	}
	return ks_fail(EINVAL, "histogram: there is no type %d", (int)type);
}

/* Returns the number of decimal digits less one; v > 0. */
static uint32_t
log10_floor(uint64_t v)
{
	/* 1233/4096 is just above log10(2), so this is right or one too high. */
	uint32_t bits = 64 - (uint32_t)__builtin_clzll(v);
	uint32_t guess = bits * 1233 >> 12;

	return guess - (v < pow10_of[guess]);
}

static uint32_t
index_exponential(const struct ks_hist_layout *l, uint64_t v)
{
	int32_t i;

	if (v == 0)
		return 0;
	i = ks_exponential_index(v, (uint32_t)l->stepping) - l->offset;
	if (i < 0)
		return 1;
	return (uint32_t)i < l->n - 2 ? (uint32_t)i + 1 : l->n - 1;
}

uint32_t
ks_hist_index(const struct ks_hist_layout *l, uint64_t v)
{
	uint64_t i;
	uint32_t level;

	if (l->type == KSTAT2_NVHIST_EXPONENTIAL)
		return index_exponential(l, v);
	switch (l->type) {
	case KSTAT2_NVHIST_LINEAR:
		if (v < l->first || v == 0)
			return 0;
		i = (v - l->first) / l->stepping;
		return i < l->n - 2 ? (uint32_t)i + 1 : l->n - 1;
	case KSTAT2_NVHIST_LOG2:
		return v == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(v);
	case KSTAT2_NVHIST_LOG10:
		return v == 0 ? 0 : log10_floor(v) + 1;
	default:
		if (v < pow10_of[l->range_min])
			return 0;
		if (v >= pow10_of[l->range_max + 1])
			return l->n - 1;
		level = log10_floor(v);
		i = v / (pow10_of[level + 1] / l->stepping) - l->skipped;
		return 1 + (level - (uint32_t)l->range_min) * l->per_level + (uint32_t)i;
	}
}

static void
bounds_log10_linear(const struct ks_hist_layout *l, uint32_t i, uint64_t *low, uint64_t *high)
{
	uint32_t level = (i - 1) / l->per_level;
	uint32_t step = (i - 1) % l->per_level;
	uint64_t width = pow10_of[l->range_min + level + 1] / l->stepping;

	*low = step == 0 ? pow10_of[l->range_min + level] : (step + l->skipped) * width;
	*high = (step + l->skipped + 1) * width - 1;
}

static void
bounds_exponential(const struct ks_hist_layout *l, uint32_t i, uint64_t *low, uint64_t *high)
{
	int32_t n = l->offset + (int32_t)i;

	if (i == 0)
		return;
	*low = ks_exponential_floor(n - 1, (uint32_t)l->stepping) + 1;
	*high = ks_exponential_floor(n, (uint32_t)l->stepping);
	if (*low > *high)
		*low = *high;
}

void
ks_hist_bounds(const struct ks_hist_layout *l, uint32_t i, uint64_t *low, uint64_t *high)
{
	*low = 0;
	*high = 0;
	if (l->type == KSTAT2_NVHIST_EXPONENTIAL) {
		bounds_exponential(l, i, low, high);
		return;
	}
	switch (l->type) {
	case KSTAT2_NVHIST_LINEAR:
		if (i == 0) {
			*high = l->first > 0 ? l->first - 1 : 0;
			break;
		}
		*low = l->first + (i - 1) * l->stepping;
		*high = *low + (l->stepping - 1);
		if (*low == 0)
			*low = 1;
		break;
	case KSTAT2_NVHIST_LOG2:
		if (i > 0) {
			*low = 1ULL << (i - 1);
			*high = *low + (*low - 1);
		}
		break;
	case KSTAT2_NVHIST_LOG10:
		if (i > 0) {
			*low = pow10_of[i - 1];
			*high = i <= MAX_POWER ? pow10_of[i] - 1 : UINT64_MAX;
		}
		break;
	default:
		if (i == 0)
			*high = pow10_of[l->range_min] - 1;
		else if (i == l->n - 1)
			*low = pow10_of[l->range_max + 1];
		else
			bounds_log10_linear(l, i, low, high);
	}
	if (i == l->n - 1)
		*high = UINT64_MAX;
}

bool
ks_hist_sums_fit(const struct ks_hist_layout *l, const uint64_t *buckets, uint32_t n,
    const struct ks_hist_sums *sums)
{
	uint64_t count = 0, least, most;
	uint32_t first = l->n, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (buckets[i] == 0)
			continue;
		if (__builtin_add_overflow(count, buckets[i], &count))
			return false;
		first = first < i ? first : i;
		last = i;
	}
	if (count == 0)
		return sums->sum == 0 && sums->min == UINT64_MAX && sums->max == 0;
	if (sums->min > sums->max || ks_hist_index(l, sums->min) != first || ks_hist_index(l, sums->max) != last)
		return false;
	/* A sum that may have wrapped says nothing. */
	if (__builtin_mul_overflow(count, sums->max, &most))
		return true;
	least = count * sums->min;
	return sums->sum >= least && sums->sum <= most;
}
