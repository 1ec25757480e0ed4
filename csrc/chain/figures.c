/* figures.c - see figures.h. SPDX-License-Identifier: MIT */
#include "chain/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"

#define MOST_KSTATS 4096 /* that places are remembered of */
#define UPDATES "updates"  /* what counts the additions to sums */

struct term {
	char stat[KSTAT_STRLEN];
	size_t figure;
	enum ks_how how;
};

/* Where a cursor finds a statistic. */
struct place {
	uint_t record, member;
	enum ks_kind kind;
	bool known; /* false: the kstat has no such statistic */
};

/* The places of all terms in one kstat, good while what identifies it stays the same. */
struct places {
	uint64_t chain; /* its serial number */
	kid_t kid;
	hrtime_t crtime;
	uint_t ndata;
	size_t size;
	struct place *at; /* owned */
};

struct ks_figures {
	size_t n;
	struct term *term; /* owned; the figure of UPDATES, which means are divided by, is n */
	size_t nterm;
	bool *mean; /* owned; whether each figure is one */
	bool means; /* whether any is */
	struct places *kstat; /* owned */
	size_t nkstat;
	size_t next; /* who is likely to come: reports ask in the same order at every tick */
};

struct ks_figures *
ks_figures_new(size_t n)
{
	struct ks_figures *f = calloc(1, sizeof(*f));

	if (f != NULL)
		f->mean = calloc(n > 0 ? n : 1, sizeof(*f->mean));
	if (f == NULL || f->mean == NULL) {
		free(f);
		return ks_fail_null(ENOMEM, "out of memory");
	}
	f->n = n;
	return f;
}

size_t
ks_figures_count(const struct ks_figures *f)
{
	return f->n;
}

static void
forget(struct ks_figures *f)
{
	for (size_t i = 0; i < f->nkstat; i++)
		free(f->kstat[i].at);
	f->nkstat = f->next = 0;
}

void
ks_figures_free(struct ks_figures *f)
{
	if (f == NULL)
		return;
	forget(f);
	free(f->kstat);
	free(f->term);
	free(f->mean);
	free(f);
}

static int
add_term(struct ks_figures *f, size_t i, enum ks_how how, const char *stat)
{
	struct term *term = realloc(f->term, (f->nterm + 1) * sizeof(*term));

	if (term == NULL)
		return ks_fail(ENOMEM, "out of memory");
	f->term = term;
	term += f->nterm++;
	*term = (struct term){ .figure = i, .how = how };
	memcpy(term->stat, stat, strlen(stat));
	return 0;
}

int
ks_figures_add(struct ks_figures *f, size_t i, enum ks_how how, const char *stat)
{
	if (strlen(stat) >= KSTAT_STRLEN)
		return ks_fail(EINVAL, "statistic '%.40s': longer than %d bytes", stat, KSTAT_STRLEN - 1);
	forget(f);
	if (how == KS_HOW_MEAN && !f->means) {
		if (add_term(f, f->n, KS_HOW_DELTA, UPDATES) != 0)
			return -1;
		f->means = true;
	}
	f->mean[i] = how == KS_HOW_MEAN;
	return add_term(f, i, how, stat);
}

static bool
is_of(const struct places *p, uint64_t chain, const kstat_t *ksp)
{
	return p->kid == ksp->ks_kid && p->chain == chain && p->crtime == ksp->ks_crtime &&
	    p->ndata == ksp->ks_ndata && p->size == ksp->ks_data_size;
}

/* Walks to a statistic and stores where it stands. */
static bool
locate(const struct ks_cursor *start, const char *stat, struct place *at, struct ks_value *v)
{
	struct ks_cursor c = *start;
	const char *name;

	for (;;) {
		at->record = c.record;
		at->member = c.member;
		if (!ks_cursor_next(&c, &name, v))
			return false;
		if (strcmp(name, stat) == 0)
			return true;
	}
}

/* The statistic at a place, or wherever else it is. */
static bool
value_at(const struct ks_cursor *start, const char *stat, const struct place *at, struct ks_value *v)
{
	struct ks_cursor c = *start;
	struct place elsewhere;
	const char *name;

	c.record = at->record;
	c.member = at->member;
	return (ks_cursor_next(&c, &name, v) && strcmp(name, stat) == 0) ||
	    locate(start, stat, &elsewhere, v);
}

static void
find_places(const struct ks_figures *f, const kstat_t *ksp, kstat_ctl_t *kc, struct place *at)
{
	struct ks_cursor c;
	struct ks_value v;

	ks_cursor_open(&c, ksp);
	for (size_t i = 0; i < f->nterm; i++) {
		at[i].known = locate(&c, f->term[i].stat, &at[i], &v);
		if (at[i].known)
			at[i].kind = ks_delta_kind(kc, ksp, f->term[i].stat, &v);
	}
}

/* The places of a kstat, found or made; NULL without memory. */
static const struct place *
places_of(struct ks_figures *f, const kstat_t *ksp, kstat_ctl_t *kc)
{
	uint64_t chain = ks_chain_serial(kc);
	struct places *p;

	for (size_t i = 0; i < f->nkstat; i++) {
		size_t at = f->next + i < f->nkstat ? f->next + i : f->next + i - f->nkstat;

		if (is_of(&f->kstat[at], chain, ksp)) {
			f->next = at + 1 < f->nkstat ? at + 1 : 0;
			return f->kstat[at].at;
		}
	}
	if (f->nkstat == MOST_KSTATS)
		forget(f);
	p = realloc(f->kstat, (f->nkstat + 1) * sizeof(*p));
	if (p == NULL)
		return NULL;
	f->kstat = p;
	p += f->nkstat;
	*p = (struct places){ chain, ksp->ks_kid, ksp->ks_crtime, ksp->ks_ndata, ksp->ks_data_size,
		calloc(f->nterm > 0 ? f->nterm : 1, sizeof(*p->at)) };
	if (p->at == NULL)
		return NULL;
	f->nkstat++;
	f->next = 0;
	find_places(f, ksp, kc, p->at);
	return p->at;
}

/* What one term adds; false if nothing. */
static bool
read_term(const struct term *t, const struct place *at, const struct ks_delta *d,
    const struct ks_cursor *now, const struct ks_cursor *prev, double *number)
{
	struct ks_value v, before, change;
	bool counter = at->kind == KS_KIND_COUNTER;

	if (!at->known || !value_at(now, t->stat, at, &v))
		return false;
	if (t->how == KS_HOW_RATE &&
	    (d->elapsed <= 0 || at->kind == KS_KIND_TEXT || at->kind == KS_KIND_TIME))
		return false;
	if (t->how == KS_HOW_RATE || (t->how != KS_HOW_NOW && counter && !d->reset)) {
		if (d->reset)
			before = v;
		else if (!value_at(prev, t->stat, at, &before))
			return false;
		if (!ks_value_delta(&before, &v, counter, d->reset, &change))
			return false;
		v = change;
	}
	if (!ks_value_number(&v, number))
		return false;
	if (t->how == KS_HOW_RATE)
		*number /= (double)d->elapsed / (double)KS_NANOSEC;
	return true;
}

/* Makes means of sums. */
static void
divide(const struct ks_figures *f, const struct ks_figure *updates, struct ks_figure *out)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!f->mean[i])
			continue;
		out[i].known &= updates->known && updates->sum > 0;
		if (out[i].known)
			out[i].sum = floor(out[i].sum / updates->sum);
	}
}

void
ks_figures_read(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *out)
{
	/* In a capture a kstat may have other statistics in each sample. */
	bool remember = kc != NULL && !ks_chain_is_replay(kc);
	const struct place *at = remember ? places_of(f, d->now, kc) : NULL;
	struct ks_figure updates = { 0, false };
	struct ks_cursor now, prev;

	for (size_t i = 0; i < f->n; i++)
		out[i] = (struct ks_figure){ 0, false };
	ks_cursor_open(&now, d->now);
	if (!d->reset)
		ks_cursor_open(&prev, d->prev);
	for (size_t i = 0; i < f->nterm; i++) {
		const struct term *t = &f->term[i];
		struct ks_figure *figure = t->figure < f->n ? &out[t->figure] : &updates;
		struct place here = { .known = false };
		struct ks_value v;
		double number;

		if (at == NULL && locate(&now, t->stat, &here, &v)) {
			here.known = true;
			here.kind = ks_delta_kind(kc, d->now, t->stat, &v);
		}
		if (read_term(t, at != NULL ? &at[i] : &here, d, &now, &prev, &number)) {
			figure->sum += number;
			figure->known = true;
		}
	}
	if (f->means)
		divide(f, &updates, out);
}
