/* window.c - see window.h. SPDX-License-Identifier: MIT */
#include "stats/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROOM 16u
#define SLACK 0.1 /* of a gap */

void
ks_window_init(struct ks_window *w, enum ks_window_kind kind, double seconds)
{
	memset(w, 0, sizeof(*w));
	w->kind = kind;
	w->seconds = seconds;
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

double
ks_window_at(const struct ks_window *w, uint32_t i)
{
	return w->value[slot_of(w, i)];
}

/* A time in ms; it wraps after 49 days, but differences do not. */
static uint32_t
ms_of(const struct ks_window *w, double time)
{
	return (uint32_t)(uint64_t)((time - w->start) * 1000 + 0.5);
}

static double
time_at(const struct ks_window *w, uint32_t i)
{
	uint32_t slot = slot_of(w, i);

	return w->time != NULL ? w->time[slot] : w->last - (uint32_t)(ms_of(w, w->last) - w->ms[slot]) / 1000.0;
}

/* --- room ----------------------------------------------------------------------------------- */

/* One block has the values and behind them what belongs to each, so that a value takes 16 bytes. */
static void
place(struct ks_window *w, double *block, uint32_t cap)
{
	w->value = block;
	w->cap = cap;
	if (w->kind == KS_WINDOW_RANKED) {
		w->ms = (uint32_t *)(void *)(block + cap);
		w->order = w->ms + cap;
	} else {
		w->time = block + cap;
	}
}

/* Makes room for one more, an eighth more than there is; the ring begins at 0 afterwards. */
static int
grow(struct ks_window *w)
{
	struct ks_window old = *w;
	uint32_t cap = w->cap + w->cap / 8 + LEAST_ROOM;
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
			w->ms[i] = old.ms[from];
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

static void
count(struct ks_window_sums *s, double time, double value, double sign)
{
	double t = time - s->time, v = value - s->value;

	s->t += sign * t;
	s->v += sign * v;
	s->tt += sign * t * t;
	s->tv += sign * t * v;
}

/* Makes the sums anew: what was added and taken away again left its error in them. */
static void
sum_anew(struct ks_window *w)
{
	w->sums = (struct ks_window_sums){ .time = time_at(w, 0), .value = ks_window_at(w, 0) };
	for (uint32_t i = 0; i < w->n; i++)
		count(&w->sums, time_at(w, i), ks_window_at(w, i), 1);
	w->removed = 0;
}

/* --- adding --------------------------------------------------------------------------------------- */

static bool
sums_up(const struct ks_window *w)
{
	return w->kind == KS_WINDOW_ALL || w->kind == KS_WINDOW_SPAN;
}

static void
remove_oldest(struct ks_window *w)
{
	if (w->kind == KS_WINDOW_RANKED)
		leave(w, w->head);
	else if (sums_up(w))
		count(&w->sums, time_at(w, 0), ks_window_at(w, 0), -1);
	w->head = slot_of(w, 1);
	w->n--;
	w->removed++;
}

/* Removes what is too old; a span keeps the last value of those. */
static void
expire(struct ks_window *w, double time)
{
	uint32_t keep = w->kind == KS_WINDOW_SPAN ? 1 : 0;

	while (w->n > keep && time - time_at(w, keep) >= w->seconds - SLACK * w->gap)
		remove_oldest(w);
	if (w->n > 0 && w->removed > w->n && sums_up(w))
		sum_anew(w);
}

int
ks_window_add(struct ks_window *w, double time, double value)
{
	uint32_t slot;

	if (w->n > 0 && time > w->last)
		w->gap = time - w->last;
	w->last = time;
	expire(w, time);
	while (w->n > 0 && ((w->kind == KS_WINDOW_LEAST && ks_window_at(w, w->n - 1) >= value) ||
	    (w->kind == KS_WINDOW_GREATEST && ks_window_at(w, w->n - 1) <= value)))
		w->n--;
	if (w->n == w->cap && grow(w) != 0)
		return -1;
	slot = slot_of(w, w->n);
	w->value[slot] = value;
	if (w->kind == KS_WINDOW_RANKED) {
		if (w->n == 0)
			w->start = time;
		w->ms[slot] = ms_of(w, time);
		enter(w, slot);
	} else {
		w->time[slot] = time;
	}
	w->n++;
	if (sums_up(w)) {
		if (w->n == 1)
			w->sums = (struct ks_window_sums){ .time = time, .value = value };
		count(&w->sums, time, value, 1);
	}
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------------- */

bool
ks_window_sum(const struct ks_window *w, double *sum)
{
	*sum = w->sums.value * w->n + w->sums.v;
	return w->n > 0;
}

bool
ks_window_rate(const struct ks_window *w, double *per_second)
{
	double elapsed = w->n > 1 ? time_at(w, w->n - 1) - time_at(w, 0) : 0;

	if (elapsed <= 0)
		return false;
	*per_second = (ks_window_at(w, w->n - 1) - ks_window_at(w, 0)) / elapsed;
	return true;
}

bool
ks_window_ago(const struct ks_window *w, double *value)
{
	if (w->n == 0 || w->last - time_at(w, 0) < w->seconds - SLACK * w->gap)
		return false;
	*value = ks_window_at(w, 0);
	return true;
}

bool
ks_window_trend(const struct ks_window *w, double *slope, double *now)
{
	const struct ks_window_sums *s = &w->sums;
	double n = w->n, spread = n * s->tt - s->t * s->t;

	if (w->n < 2 || spread <= 0)
		return false;
	*slope = (n * s->tv - s->t * s->v) / spread;
	*now = s->value + s->v / n + *slope * (w->last - s->time - s->t / n);
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
