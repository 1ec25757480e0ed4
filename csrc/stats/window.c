/* window.c - see window.h. SPDX-License-Identifier: MIT */
#include "stats/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROOM 16u
#define TICKS 1073741824.0 /* of the longest time, where times are ticks */

void
ks_window_init(struct ks_window *w, enum ks_window_kind kind, double seconds)
{
	memset(w, 0, sizeof(*w));
	w->kind = kind;
	w->unit = seconds / TICKS;
}

void
ks_window_free(struct ks_window *w)
{
	free(w->value);
	w->value = NULL;
	w->n = w->cap = 0;
}

static uint32_t
slot_of(const struct ks_window *w, uint32_t i)
{
	uint32_t slot = w->head + i;

	return slot < w->cap ? slot : slot - w->cap;
}

uint32_t
ks_window_count(const struct ks_window *w)
{
	return w->n - w->old;
}

double
ks_window_at(const struct ks_window *w, uint32_t i)
{
	return w->value[slot_of(w, w->old + i)];
}

/* A time in ticks; it wraps, but differences of times that a window holds do not. */
static uint32_t
tick_of(const struct ks_window *w, double time)
{
	return (uint32_t)(uint64_t)(time / w->unit + 0.5);
}

static double
time_at(const struct ks_window *w, uint32_t i)
{
	uint32_t slot = slot_of(w, i);

	return w->time != NULL ? w->time[slot] : w->last - (uint32_t)(tick_of(w, w->last) - w->tick[slot]) * w->unit;
}

static double
value_at(const struct ks_window *w, uint32_t i)
{
	return w->value[slot_of(w, i)];
}

/* --- room ----------------------------------------------------------------------------------- */

/* One block has the values and behind them what belongs to each, so that a value takes 16 bytes. */
static void
place(struct ks_window *w, double *block, uint32_t cap)
{
	w->value = block;
	w->cap = cap;
	if (w->kind == KS_WINDOW_RANKED) {
		w->tick = (uint32_t *)(void *)(block + cap);
		w->order = w->tick + cap;
	} else {
		w->time = block + cap;
	}
}

/* Makes room for one more, and a thirty-second of what there is; the ring begins at 0 afterwards. */
static int
grow(struct ks_window *w)
{
	struct ks_window old = *w;
	uint32_t cap = w->cap + w->cap / 32 + LEAST_ROOM;
	double *block;

	if (cap > KS_WINDOW_MOST) {
		errno = EFBIG;
		return -1;
	}
	if ((block = malloc(cap * (sizeof(double) + sizeof(double)))) == NULL)
		return -1;
	place(w, block, cap);
	w->head = 0;
	for (uint32_t i = 0; i < old.n; i++) {
		uint32_t from = slot_of(&old, i);

		w->value[i] = old.value[from];
		if (w->time != NULL) {
			w->time[i] = old.time[from];
		} else {
			w->tick[i] = old.tick[from];
			w->order[i] = old.order[i] >= old.head ? old.order[i] - old.head :
			    old.order[i] + old.cap - old.head;
		}
	}
	free(old.value);
	return 0;
}

/* --- the order of ranked values --------------------------------------------------------------- */

/*
 * The place in the order of a value: in front of all that are not less, or behind all that are not greater. Equal ones
 * stand by age, so that the oldest value is the first of them.
 */
static uint32_t
rank_of(const struct ks_window *w, double value, bool behind)
{
	uint32_t low = 0, high = w->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		double other = w->value[w->order[middle]];

		if (other < value || (behind && other <= value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
enter(struct ks_window *w, uint32_t slot)
{
	uint32_t rank = rank_of(w, w->value[slot], true);

	memmove(w->order + rank + 1, w->order + rank, (w->n - rank) * sizeof(*w->order));
	w->order[rank] = slot;
}

static void
leave(struct ks_window *w, uint32_t slot)
{
	uint32_t rank = rank_of(w, w->value[slot], false);

	memmove(w->order + rank, w->order + rank + 1, (w->n - rank - 1) * sizeof(*w->order));
}

/* --- sums --------------------------------------------------------------------------------------- */

/* Neumaier's: the rounding of each step is summed up beside. */
static void
sum_add(struct ks_window_sum *s, double value)
{
	double sum = s->high + value;

	s->low += fabs(s->high) >= fabs(value) ? s->high - sum + value : value - sum + s->high;
	s->high = sum;
}

/* Adds value i to the sums, or with the sign -1 takes it away. */
static void
count(struct ks_window *w, uint32_t i, double sign)
{
	if (w->kind == KS_WINDOW_CHANGES && (i == 0 || isnan(value_at(w, i))))
		return;
	sum_add(&w->sum, sign * value_at(w, i));
	if (w->kind == KS_WINDOW_CHANGES)
		sum_add(&w->length, sign * (time_at(w, i) - time_at(w, i - 1)));
}

/* --- adding --------------------------------------------------------------------------------------- */

static bool
sums_up(const struct ks_window *w)
{
	return w->kind <= KS_WINDOW_CHANGES;
}

static void
remove_oldest(struct ks_window *w)
{
	if (w->kind == KS_WINDOW_RANKED)
		leave(w, w->head);
	w->head = slot_of(w, 1);
	w->n--;
}

void
ks_window_expire(struct ks_window *w, double from)
{
	while (w->n > w->old && time_at(w, w->old) <= from) {
		if (sums_up(w))
			count(w, w->old, -1);
		if (w->old > 0 || (w->kind != KS_WINDOW_SPAN && w->kind != KS_WINDOW_CHANGES))
			remove_oldest(w);
		else
			w->old = 1;
	}
	if (w->n == w->old)
		w->sum = w->length = (struct ks_window_sum){ 0 };
}

int
ks_window_add(struct ks_window *w, double time, double value)
{
	uint32_t slot;

	while (w->n > 0 && ((w->kind == KS_WINDOW_LEAST && value_at(w, w->n - 1) >= value) ||
	    (w->kind == KS_WINDOW_GREATEST && value_at(w, w->n - 1) <= value)))
		w->n--;
	if (w->n == w->cap && grow(w) != 0)
		return -1;
	slot = slot_of(w, w->n);
	w->value[slot] = value;
	w->last = time;
	if (w->kind == KS_WINDOW_RANKED) {
		w->tick[slot] = tick_of(w, time);
		enter(w, slot);
	} else {
		w->time[slot] = time;
	}
	w->n++;
	if (sums_up(w))
		count(w, w->n - 1, 1);
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------------- */

bool
ks_window_sum(const struct ks_window *w, double *sum)
{
	*sum = w->sum.high + w->sum.low;
	return w->n > w->old;
}

bool
ks_window_rate(const struct ks_window *w, double *per_second)
{
	double length = w->length.high + w->length.low;

	if (length <= 0)
		return false;
	*per_second = (w->sum.high + w->sum.low) / length;
	return true;
}

bool
ks_window_value(const struct ks_window *w, double time, double *value)
{
	uint32_t low = 0, high = w->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (time_at(w, middle) < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->n || time_at(w, low) > time)
		return false;
	*value = value_at(w, low);
	return true;
}

bool
ks_window_trend(const struct ks_window *w, double before, double now, double *slope, double *at_now)
{
	uint32_t first = w->old > 0 && time_at(w, 0) != before ? 1 : 0, n = w->n - first;
	double time = 0, value = 0, tt = 0, tv = 0;

	for (uint32_t i = first; i < w->n; i++) {
		time += (time_at(w, i) - now) / n;
		value += value_at(w, i) / n;
	}
	for (uint32_t i = first; i < w->n; i++) {
		double t = time_at(w, i) - now - time;

		tt += t * t;
		tv += t * (value_at(w, i) - value);
	}
	if (n < 2 || tt <= 0)
		return false;
	*slope = tv / tt;
	*at_now = value - *slope * time;
	return true;
}

bool
ks_window_quantile(const struct ks_window *w, double q, double *value)
{
	double at = q * (w->n > 0 ? w->n - 1 : 0), low;
	uint32_t below = (uint32_t)at;

	if (w->n == 0)
		return false;
	low = w->value[w->order[below]];
	*value = below + 1 < w->n ? low + (w->value[w->order[below + 1]] - low) * (at - below) : low;
	return true;
}
