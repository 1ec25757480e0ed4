/* ranking.c - see ranking.h. SPDX-License-Identifier: MIT */
#include "chain/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "chain/selection.h"

#define NO_NAME "out of memory for the name of a statistic"

void
ks_ranking_start(struct ks_ranking *r, const struct ks_ranking_query *query)
{
	*r = (struct ks_ranking){ .query = *query };
}

void
ks_ranking_free(struct ks_ranking *r)
{
	free(r->row);
	ks_buf_free(&r->name);
	*r = (struct ks_ranking){ .n = 0 };
}

void
ks_ranked_name(const struct ks_ranked *row, struct ks_buf *out)
{
	char instance[KS_NUMBER_MAX];

	ks_buf_adds(out, row->ksp->ks_module);
	ks_buf_addc(out, ':');
	ks_buf_add(out, instance, ks_format_i64(instance, row->ksp->ks_instance));
	ks_buf_addc(out, ':');
	ks_buf_adds(out, row->ksp->ks_name);
	ks_buf_addc(out, ':');
	if (row->timer != NULL) {
		ks_buf_add(out, row->timer, row->ntimer);
		ks_buf_addc(out, ':');
	}
	ks_buf_adds(out, row->stat);
}

/* --- order ---------------------------------------------------------------------------------- */

/* Returns whether a comes before b in the order of kstat(8); timers are as they are stored. */
static bool
is_earlier(const struct ks_ranked *a, const struct ks_ranked *b)
{
	int order;

	if (a->kstat != b->kstat)
		return a->kstat < b->kstat;
	if (a->timer != NULL)
		return a->position < b->position;
	order = ks_compare_nocase(a->stat, b->stat);
	return order != 0 ? order < 0 : a->position > b->position;
}

static bool
comes_before(const struct ks_ranking_query *q, const struct ks_ranked *a, const struct ks_ranked *b)
{
	double x = q->by == KS_RANKING_RATE ? a->rate : a->number;
	double y = q->by == KS_RANKING_RATE ? b->rate : b->number;

	if (q->by == KS_RANKING_NAME)
		return is_earlier(a, b) != q->reverse;
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y) ? is_earlier(a, b) : isnan(y);
	if (x != y)
		return (x > y) != q->reverse;
	return is_earlier(a, b);
}

/* Lets the row at `at` sink in the heap of the first n rows, in which none comes before those below it. */
static void
sink(struct ks_ranking *r, size_t at, size_t n)
{
	struct ks_ranked row = r->row[at];
	size_t below;

	for (; (below = 2 * at + 1) < n; at = below) {
		if (below + 1 < n && comes_before(&r->query, &r->row[below], &r->row[below + 1]))
			below++;
		if (!comes_before(&r->query, &row, &r->row[below]))
			break;
		r->row[at] = r->row[below];
	}
	r->row[at] = row;
}

static void
make_heap(struct ks_ranking *r)
{
	for (size_t at = r->n / 2; at-- > 0;)
		sink(r, at, r->n);
}

/* Keeps a row if it is among the first ones. 0, or -1 with errno ENOMEM. */
static int
keep(struct ks_ranking *r, const struct ks_ranked *row)
{
	if (r->n < r->query.most) {
		if (!KS_RESERVE(r->row, r->cap, r->n + 1))
			return ks_fail(ENOMEM, "out of memory for a ranking of statistics");
		r->row[r->n++] = *row;
		if (r->n == r->query.most)
			make_heap(r);
	} else if (r->n > 0 && comes_before(&r->query, row, &r->row[0])) {
		r->row[0] = *row;
		sink(r, 0, r->n);
	}
	return 0;
}

void
ks_ranking_finish(struct ks_ranking *r)
{
	if (r->n < r->query.most)
		make_heap(r);
	for (size_t n = r->n; n > 1; n--) {
		struct ks_ranked last = r->row[0];

		r->row[0] = r->row[n - 1];
		r->row[n - 1] = last;
		sink(r, 0, n - 1);
	}
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Whether any of the selectors names all statistics of a kstat. */
static bool
wants_all(const struct ks_ranking_query *q, const kstat_t *ksp)
{
	for (size_t i = 0; i < q->nselectors; i++) {
		if (q->selectors[i]->stat.kind == KS_PATTERN_ANY && ks_selector_matches(q->selectors[i], ksp))
			return true;
	}
	return q->nselectors == 0;
}

/* Makes a row of the statistic of a cursor that came last. False if it is none. */
static bool
make_row(const struct ks_delta_cursor *c, const struct ks_delta_stat *s, struct ks_ranked *row)
{
	double change;

	row->value = s->now;
	row->counter = s->kind == KS_KIND_COUNTER;
	if (row->counter)
		ks_delta_cursor_total(c, &row->value);
	if ((!row->counter && s->kind != KS_KIND_GAUGE) || !ks_value_number(&s->change, &change) ||
	    !ks_value_number(&row->value, &row->number) || isnan(change) || isnan(row->number))
		return false;
	row->stat = s->name;
	row->unit = s->unit;
	row->number *= s->unit;
	row->rate = row->counter && c->d->elapsed > 0 ?
	    change * s->unit / ((double)c->d->elapsed / (double)KS_NANOSEC) : (double)NAN;
	return true;
}

/* Whether the kstat of a cursor that is at its first statistic has the statistic NAME64. */
static bool
has_twin(struct ks_cursor first, const char *stat)
{
	char twin[KSTAT_STRLEN + sizeof("64")];
	size_t n = strnlen(stat, KSTAT_STRLEN);

	memcpy(twin, stat, n);
	memcpy(twin + n, "64", sizeof("64"));
	return ks_cursor_seek(&first, twin);
}

static bool
is_idle(const struct ks_ranked *row)
{
	return (isnan(row->rate) ? row->number : row->rate) == 0;
}

/* Stores the name of a row, with a NUL, in r->name. False: memory is short. */
static bool
spell(struct ks_ranking *r, const struct ks_ranked *row)
{
	ks_buf_reset(&r->name);
	ks_ranked_name(row, &r->name);
	ks_buf_addc(&r->name, '\0');
	return !r->name.failed;
}

/* Whether the query wants a row whose statistic is selected. */
static bool
passes(struct ks_ranking *r, const struct ks_ranked *row)
{
	const struct ks_ranking_query *q = &r->query;

	if ((row->counter ? q->no_counters : q->no_gauges) || (q->no_idle && is_idle(row)))
		return false;
	if (q->text == NULL && q->pattern == NULL && q->name == NULL)
		return true;
	return spell(r, row) && (q->text == NULL || strcasestr(r->name.data, q->text) != NULL) &&
	    (q->name == NULL || strcmp(r->name.data, q->name) == 0) &&
	    (q->pattern == NULL || ks_pattern_match(q->pattern, r->name.data, r->name.len - 1));
}

/* Whether the one row that is wanted may be of a kstat. */
static bool
may_be_of(struct ks_ranking *r, const kstat_t *ksp)
{
	const struct ks_ranked any = { .ksp = ksp, .stat = "" };

	if (r->query.name == NULL)
		return true;
	return spell(r, &any) && strncmp(r->query.name, r->name.data, r->name.len - 1) == 0;
}

int
ks_ranking_add(struct ks_ranking *r, const struct ks_delta *d, kstat_ctl_t *kc)
{
	const struct ks_ranking_query *q = &r->query;
	struct ks_ranked row = { .ksp = d->now, .kstat = r->kstats++ };
	bool all = wants_all(q, d->now), are_timers = d->now->ks_type == KSTAT_TYPE_TIMER;
	struct ks_delta_cursor c;
	struct ks_cursor first;
	struct ks_delta_stat s;

	if (!may_be_of(r, d->now))
		return r->name.failed ? ks_fail(ENOMEM, NO_NAME) : 0;
	ks_delta_cursor_open(&c, d, kc);
	for (first = c.now; ks_delta_cursor_next_change(&c, &s); row.position++) {
		if (are_timers && strcmp(s.name, "name") == 0) {
			row.timer = s.now.str;
			row.ntimer = s.now.len;
		}
		if (!(all || ks_selector_any_matches_stat(q->selectors, q->nselectors, d->now, s.name)) ||
		    !make_row(&c, &s, &row) || (q->no_twins && has_twin(first, s.name)))
			continue;
		r->total++;
		if (!passes(r, &row))
			continue;
		r->passed++;
		r->ahead += q->behind != NULL && comes_before(q, &row, q->behind);
		if (keep(r, &row) != 0)
			return -1;
	}
	return r->name.failed ? ks_fail(ENOMEM, NO_NAME) : 0;
}
