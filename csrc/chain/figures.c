/*
 * figures.c - see figures.h. A tick of a report comes after a second of other work on the CPU, when each line of
 * memory is as dear as a hundred instructions: so what it reads is kept small. SPDX-License-Identifier: MIT
 */
#include "chain/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"
#include "model/blobstat.h"

#define MOST_KSTATS 4096 /* that places are remembered of */
#define UPDATES "updates"  /* what counts the additions to sums */

/* A statistic that is read, once for all sums that it is added to. */
struct term {
	char stat[KSTAT_STRLEN];
	uint8_t how; /* KS_HOW_RATE, KS_HOW_NOW, or KS_HOW_DELTA for all others */
};

struct addend {
	uint32_t term, sum;
};

/* Where a cursor finds a statistic. */
struct place {
	uint_t record, member;
	uint8_t kind; /* enum ks_kind */
	double unit;  /* of its rate, see ks_delta_kind() */
	bool known; /* false: the kstat has no such statistic */
};

/* The places of all terms in one kstat, good while what identifies it stays the same. */
struct places {
	uint64_t chain; /* its serial number */
	kid_t kid;
	hrtime_t crtime;
	uint_t ndata;
	size_t size;
	const void *layout; /* see ks_cursor_open_like(); NULL for a blob, whose data has it */
	struct place *at; /* owned; one for each term */
	struct ks_figure *mean; /* owned; those last known, one for each figure; NULL: it has no means */
};

/* What becomes of a sum over terms. */
struct making {
	double factor;
	uint32_t whole; /* the sum that it is a percentage of; 0: it is none */
	bool mean, count;
};

/*
 * Sums: the n figures; then that of UPDATES, which means are divided by; then those that figures are percentages
 * of.
 */
struct ks_figures {
	size_t n, nsum, mine_cap;
	struct making *making;  /* owned; n */
	struct ks_figure *mine; /* owned; nsum: those of one kstat, used where there are means */
	struct term *term;      /* owned */
	size_t nterm, term_cap;
	struct addend *addend;  /* owned; in the order of their terms */
	size_t naddend, addend_cap;
	bool means; /* whether any figure is one */
	struct places *kstat; /* owned */
	size_t nkstat, kstat_cap;
	size_t next; /* who is likely to come: reports ask in the same order at every tick */
};

struct ks_figures *
ks_figures_new(size_t n)
{
	struct ks_figures *f = calloc(1, sizeof(*f));

	if (f != NULL) {
		f->n = n;
		f->nsum = n + 1;
		f->making = calloc(n > 0 ? n : 1, sizeof(*f->making));
	}
	if (f == NULL || f->making == NULL || !KS_RESERVE(f->mine, f->mine_cap, f->nsum)) {
		ks_figures_free(f);
		return ks_fail_null(ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		f->making[i].factor = 1;
	return f;
}

size_t
ks_figures_room(const struct ks_figures *f)
{
	return f->nsum;
}

size_t
ks_figures_count(const struct ks_figures *f)
{
	return f->n;
}

static void
forget(struct ks_figures *f)
{
	for (size_t i = 0; i < f->nkstat; i++) {
		free(f->kstat[i].at);
		free(f->kstat[i].mean);
	}
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
	free(f->addend);
	free(f->making);
	free(f->mine);
	free(f);
}

/* The number of the term that reads a statistic, found or made; f->nterm without memory. */
static size_t
term_of(struct ks_figures *f, enum ks_how how, const char *stat)
{
	struct term *term;

	if (how != KS_HOW_RATE && how != KS_HOW_NOW)
		how = KS_HOW_DELTA;
	for (size_t i = 0; i < f->nterm; i++) {
		if (f->term[i].how == how && strcmp(f->term[i].stat, stat) == 0)
			return i;
	}
	if (!KS_RESERVE(f->term, f->term_cap, f->nterm + 1))
		return f->nterm;
	term = &f->term[f->nterm];
	*term = (struct term){ .how = (uint8_t)how };
	memcpy(term->stat, stat, strlen(stat));
	forget(f);
	return f->nterm++;
}

/* Adds a statistic to sum i. */
static int
add_term(struct ks_figures *f, size_t i, enum ks_how how, const char *stat)
{
	struct addend *addend;
	size_t term, at;

	if (strlen(stat) >= KSTAT_STRLEN)
		return ks_fail(EINVAL, "statistic '%.40s': longer than %d bytes", stat, KSTAT_STRLEN - 1);
	if (!KS_RESERVE(f->addend, f->addend_cap, f->naddend + 1) ||
	    (term = term_of(f, how, stat)) == f->nterm)
		return ks_fail(ENOMEM, "out of memory");
	addend = f->addend;
	for (at = f->naddend++; at > 0 && addend[at - 1].term > term; at--)
		addend[at] = addend[at - 1];
	addend[at] = (struct addend){ (uint32_t)term, (uint32_t)i };
	return 0;
}

int
ks_figures_add(struct ks_figures *f, size_t i, enum ks_how how, const char *stat)
{
	if (how == KS_HOW_MEAN && !f->means) {
		if (add_term(f, f->n, KS_HOW_DELTA, UPDATES) != 0)
			return -1;
		f->means = true;
	}
	f->making[i].mean = how == KS_HOW_MEAN;
	return add_term(f, i, how, stat);
}

void
ks_figures_count_kstats(struct ks_figures *f, size_t i)
{
	f->making[i].count = true;
}

int
ks_figures_add_whole(struct ks_figures *f, size_t i, const char *stat)
{
	if (f->making[i].whole == 0) {
		if (!KS_RESERVE(f->mine, f->mine_cap, f->nsum + 1))
			return ks_fail(ENOMEM, "out of memory");
		f->making[i].whole = (uint32_t)f->nsum++;
	}
	return add_term(f, f->making[i].whole, KS_HOW_DELTA, stat);
}

void
ks_figures_scale(struct ks_figures *f, size_t i, double factor)
{
	f->making[i].factor = factor;
}

static bool
is_of(const struct places *p, uint64_t chain, const kstat_t *ksp)
{
	return p->kid == ksp->ks_kid && p->chain == chain && p->crtime == ksp->ks_crtime &&
	    p->ndata == ksp->ks_ndata && p->size == ksp->ks_data_size;
}

/* Walks to a statistic and stores its place. */
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
value_at(const struct ks_cursor *start, const char stat[KSTAT_STRLEN], const struct place *at,
    struct ks_value *v)
{
	struct ks_cursor c;
	struct place elsewhere;
	const char *name;

	if (ks_cursor_named(start, at->record, stat, v))
		return true;
	c = *start;
	c.record = at->record;
	c.member = at->member;
	return (ks_cursor_next(&c, &name, v) && strcmp(name, stat) == 0) ||
	    locate(start, stat, &elsewhere, v);
}

/* The statistic wherever it is. */
static struct place
place_of(const struct ks_cursor *start, const char *stat, kstat_ctl_t *kc)
{
	struct place at = { .known = false };
	struct ks_value v;

	at.known = locate(start, stat, &at, &v);
	at.record = at.known ? at.record : ks_cursor_record(start, stat);
	if (at.known)
		at.kind = (uint8_t)ks_delta_kind(kc, start->ksp, stat, &v, &at.unit);
	return at;
}

static void
find_places(const struct ks_figures *f, const kstat_t *ksp, kstat_ctl_t *kc, struct places *p)
{
	struct ks_cursor c;

	ks_cursor_open(&c, ksp);
	p->layout = ks_blobstat_is(ksp) ? NULL : c.layout;
	for (size_t i = 0; i < f->nterm; i++)
		p->at[i] = place_of(&c, f->term[i].stat, kc);
}

/* What is remembered of a kstat, found or made; NULL without memory. */
static struct places *
places_of(struct ks_figures *f, const kstat_t *ksp, kstat_ctl_t *kc)
{
	uint64_t chain = ks_chain_serial(kc);
	struct places *p;

	for (size_t i = 0; i < f->nkstat; i++) {
		size_t at = f->next + i < f->nkstat ? f->next + i : f->next + i - f->nkstat;

		if (is_of(&f->kstat[at], chain, ksp)) {
			f->next = at + 1 < f->nkstat ? at + 1 : 0;
			return &f->kstat[at];
		}
	}
	if (f->nkstat == MOST_KSTATS)
		forget(f);
	if (!KS_RESERVE(f->kstat, f->kstat_cap, f->nkstat + 1))
		return NULL;
	p = &f->kstat[f->nkstat];
	*p = (struct places){ .chain = chain, .kid = ksp->ks_kid, .crtime = ksp->ks_crtime,
		.ndata = ksp->ks_ndata, .size = ksp->ks_data_size,
		.at = calloc(f->nterm > 0 ? f->nterm : 1, sizeof(*p->at)),
		.mean = f->means ? calloc(f->n, sizeof(*p->mean)) : NULL };
	if (p->at == NULL || (f->means && p->mean == NULL)) {
		free(p->at);
		free(p->mean);
		return NULL;
	}
	f->nkstat++;
	f->next = 0;
	find_places(f, ksp, kc, p);
	return p;
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
		*number = *number * at->unit / ((double)d->elapsed / (double)KS_NANOSEC);
	return true;
}

/* Makes means of the sums of one kstat. If no second ended in the interval, they stay what they were last. */
static void
divide(struct ks_figures *f, struct ks_figure *last)
{
	const struct ks_figure *updates = &f->mine[f->n];
	bool any = updates->known && updates->sum > 0;

	for (size_t i = 0; i < f->n; i++) {
		struct ks_figure *mean = &f->mine[i];

		if (!f->making[i].mean)
			continue;
		if (any && mean->known)
			mean->sum = floor(mean->sum / updates->sum);
		else
			*mean = !any && last != NULL ? last[i] : (struct ks_figure){ 0, false };
		if (last != NULL)
			last[i] = *mean;
	}
}

/* Adds the terms of one kstat to the sums. p: its places, or NULL. */
static void
add_terms(const struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct places *p, struct ks_figure *sum)
{
	const struct addend *a = f->addend, *end = a + f->naddend;
	struct ks_cursor now, prev;

	if (p != NULL)
		ks_cursor_open_like(&now, p->layout, d->now);
	else
		ks_cursor_open(&now, d->now);
	if (!d->reset)
		ks_cursor_open_like(&prev, now.layout, d->prev);
	for (size_t i = 0; i < f->nterm; i++) {
		const struct term *t = &f->term[i];
		struct place elsewhere;
		const struct place *at = p != NULL ? &p->at[i] : &elsewhere;
		struct ks_value value;
		double number = 0;
		bool known;

		if (p == NULL)
			elsewhere = place_of(&now, t->stat, kc);
		else if (!at->known && ks_cursor_named(&now, at->record, t->stat, &value))
			p->at[i] = place_of(&now, t->stat, kc); /* it was hidden, and has a value now */
		known = read_term(t, at, d, &now, &prev, &number);
		for (; a < end && a->term == i; a++) {
			if (known) {
				sum[a->sum].sum += number;
				sum[a->sum].known = true;
			}
		}
	}
}

void
ks_figures_add_up(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *sum)
{
	struct places *p = kc != NULL ? places_of(f, d->now, kc) : NULL;

	/* In a capture a kstat may have other statistics in each sample. */
	if (p != NULL && ks_chain_is_replay(kc))
		find_places(f, d->now, kc, p);
	for (size_t i = 0; i < f->n; i++) {
		if (f->making[i].count) {
			sum[i].sum++;
			sum[i].known = true;
		}
	}
	if (!f->means) {
		add_terms(f, d, kc, p, sum);
		return;
	}
	memset(f->mine, 0, f->nsum * sizeof(*f->mine));
	add_terms(f, d, kc, p, f->mine);
	divide(f, p != NULL ? p->mean : NULL);
	for (size_t i = 0; i < f->nsum; i++) {
		if (f->mine[i].known) {
			sum[i].sum += f->mine[i].sum;
			sum[i].known = true;
		}
	}
}

void
ks_figures_finish(const struct ks_figures *f, struct ks_figure *sum)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct making *making = &f->making[i];

		if (making->whole > 0) {
			const struct ks_figure *whole = &sum[making->whole];

			sum[i].known &= whole->known && whole->sum > 0;
			if (sum[i].known)
				sum[i].sum = 100 * sum[i].sum / whole->sum;
		}
		sum[i].sum *= making->factor;
	}
}

void
ks_figures_read(struct ks_figures *f, const struct ks_delta *d, kstat_ctl_t *kc,
    struct ks_figure *out)
{
	memset(out, 0, f->nsum * sizeof(*out));
	ks_figures_add_up(f, d, kc, out);
	ks_figures_finish(f, out);
}
