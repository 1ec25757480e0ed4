/* delta.c - see delta.h. SPDX-License-Identifier: MIT */
#include "chain/delta.h"

#include <string.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "model/blobstat.h"
#include "model/distribution.h"

#define CREATION_STEP 10000000 /* ns: Linux rounds the times at which processes begin down to hundredths of a second */

/* The time from one moment to a later one; 0 for moments of a capture that are too far apart for a number. */
static hrtime_t
between(hrtime_t from, hrtime_t to)
{
	hrtime_t time;

	return __builtin_sub_overflow(to, from, &time) ? 0 : time;
}

/* Returns the time over which the counts of a kstat are spread that was created after the earlier sample. */
static hrtime_t
age_of(const kstat_t *now, hrtime_t earlier)
{
	hrtime_t age = between(now->ks_crtime, now->ks_snaptime), interval = between(earlier, now->ks_snaptime);

	return age < interval / 10 ? interval : age;
}

/* True if a kstat was created while the earlier sample was being read, behind the list that this has. */
static bool
came_meanwhile(const struct ks_sample *before, const kstat_t *now)
{
	hrtime_t end = ks_sample_time(before, now), began = end;

	if (now->ks_kid < before->next_kid || between(now->ks_crtime, end) >= between(end, now->ks_snaptime))
		return false;
	for (size_t i = 0; i < before->n; i++) {
		const kstat_t *k = before->ksp[i];

		if (k->ks_data != NULL && k->ks_snaptime < began && strcmp(k->ks_module, now->ks_module) == 0)
			began = k->ks_snaptime;
	}
	return between(began, now->ks_crtime) > -CREATION_STEP;
}

bool
ks_delta_open(struct ks_delta *d, const struct ks_sample *before, const kstat_t *now)
{
	const kstat_t *prev = before != NULL ? ks_sample_counterpart(before, now) : NULL;

	if (before != NULL && prev == NULL && now->ks_crtime <= ks_sample_time(before, now) &&
	    !came_meanwhile(before, now))
		return false;
	if (prev != NULL && before->carried && prev->ks_snaptime == now->ks_snaptime)
		return false; /* It came again with this sample: no interval of it is over. */
	if (!ks_delta_between(d, prev, now))
		return false;
	if (before != NULL && prev == NULL)
		d->elapsed = age_of(now, ks_sample_time(before, now));
	return true;
}

bool
ks_delta_alone(struct ks_delta *d, const kstat_t *now)
{
	*d = (struct ks_delta){ .now = now, .alone = true };
	return now->ks_data != NULL;
}

bool
ks_delta_between(struct ks_delta *d, const kstat_t *prev, const kstat_t *now)
{
	*d = (struct ks_delta){ .now = now, .prev = prev };
	if (now->ks_data == NULL || (prev != NULL && prev->ks_data == NULL))
		return false;
	d->reset = d->prev == NULL || d->prev->ks_crtime != now->ks_crtime ||
	    d->prev->ks_type != now->ks_type || ks_blobstat_is(d->prev) != ks_blobstat_is(now);
	if (prev == NULL)
		d->elapsed = between(now->ks_crtime, now->ks_snaptime);
	else if (d->reset)
		d->elapsed = age_of(now, prev->ks_snaptime);
	else
		d->elapsed = between(prev->ks_snaptime, now->ks_snaptime);
	return true;
}

void
ks_delta_cursor_open(struct ks_delta_cursor *c, const struct ks_delta *d, kstat_ctl_t *kc)
{
	c->d = d;
	c->kc = kc;
	ks_cursor_open_since(&c->now, d->now, d->reset ? NULL : d->prev);
	if (d->prev == NULL || d->reset)
		return;
	ks_cursor_open_like(&c->prev, c->now.layout, d->prev);
	c->prev.is_histogram = c->now.is_histogram; /* so that both walk over the same statistics */
}

/*
 * What a statistic of ksp with the value v is: by its metadata, or by its type. kc may be NULL. *unit is set
 * to what a number of it is multiplied by for its rate: 1e-9 for nanoseconds, so that the rate of a time is
 * in seconds per second whatever it is stored in; else 1.
 */
static enum ks_kind
kind_of(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat, const struct ks_value *v,
    double *unit)
{
	const struct ks_meta *m;

	*unit = 1;
	if (v->kind == KS_VALUE_STRING || v->kind == KS_VALUE_STRS || v->kind == KS_VALUE_INTS)
		return KS_KIND_TEXT;
	m = ks_chain_meta(kc, ksp, stat);
	/* ks_value_number() makes seconds of those that are times by their type. */
	if (m != NULL && v->kind != KS_VALUE_NSEC && v->kind != KS_VALUE_TIME && strcmp(m->unit, "ns") == 0)
		*unit = 1.0 / (double)KS_NANOSEC;
	if (m != NULL)
		return m->kind;
	return v->kind == KS_VALUE_DOUBLE ? KS_KIND_GAUGE : KS_KIND_COUNTER;
}

/*
 * Finds the earlier value. Both cursors are usually at the same statistic; if the kstat's statistics changed,
 * this searches the earlier ones, and the walk goes on after the one that it found.
 */
static bool
earlier(struct ks_delta_cursor *c, const char *stat, struct ks_value *v)
{
	struct ks_cursor from = c->prev;
	const char *name;

	if (c->d->prev == NULL)
		return false;
	if (ks_cursor_next(&c->prev, &name, v) && strcmp(name, stat) == 0)
		return true;
	ks_cursor_open(&c->prev, c->d->prev);
	if (ks_cursor_seek(&c->prev, stat))
		return ks_cursor_next(&c->prev, &name, v);
	c->prev = from;
	return false;
}

/*
 * Returns 1 if the value that came last says what happened in the interval, and is no end of a difference:
 * what the decoder computed, and percentiles of statsblobs, which become such; -1 if there was no value in
 * the interval; else 0.
 */
static int
of_interval(const struct ks_delta_cursor *c, const char *stat, struct ks_value *v)
{
	if (c->now.was_computed)
		return c->d->alone ? -1 : 1;
	if (c->d->reset || !ks_blobstat_is(c->d->now) || !ks_dist_percentile(c->d->now, c->d->prev, stat, v))
		return 0;
	return c->d->alone || v->kind == KS_VALUE_STRS ? -1 : 1;
}

bool
ks_delta_cursor_next_change(struct ks_delta_cursor *c, struct ks_delta_stat *s)
{
	while (ks_cursor_next(&c->now, &s->name, &s->now)) {
		struct ks_value before;
		bool known = c->d->reset || c->now.was_computed || earlier(c, s->name, &before);
		int whole = of_interval(c, s->name, &s->now);

		s->kind = kind_of(c->kc, c->d->now, s->name, &s->now, &s->unit);
		s->change = s->now;
		if (whole > 0 || (whole == 0 && (c->d->reset || s->kind != KS_KIND_COUNTER)))
			return true;
		if (!known || whole < 0)
			continue;
		(void)ks_value_delta(&before, &s->now, true, false, &s->change);
		return true;
	}
	return false;
}

void
ks_delta_cursor_total(const struct ks_delta_cursor *c, struct ks_value *v)
{
	struct ks_cursor at = c->now;
	const char *name;

	if (!at.was_computed)
		return;
	at.since = NULL;
	at.computed--;
	(void)ks_cursor_next(&at, &name, v);
}

bool
ks_delta_cursor_next(struct ks_delta_cursor *c, const char **name, struct ks_value *v)
{
	struct ks_delta_stat s;

	if (!ks_delta_cursor_next_change(c, &s))
		return false;
	*name = s.name;
	*v = s.change;
	return true;
}

bool
ks_delta_cursor_next_rate(struct ks_delta_cursor *c, bool counters, const char **name, struct ks_value *v)
{
	struct ks_delta_stat s;

	while (ks_delta_cursor_next_change(c, &s)) {
		double change;

		*name = s.name;
		*v = s.change;
		if (s.kind != KS_KIND_COUNTER && counters)
			continue;
		if (s.kind != KS_KIND_COUNTER || !ks_value_number(v, &change))
			return true;
		if (c->d->elapsed <= 0 && change != 0)
			continue;
		if (change != 0)
			change = change * s.unit / ((double)c->d->elapsed / (double)KS_NANOSEC);
		*v = (struct ks_value){ .kind = KS_VALUE_DOUBLE, .bits = 64, .d = change };
		return true;
	}
	return false;
}

/* One statistic of a delta. */
struct found {
	struct ks_value now, before; /* before: if known */
	bool known; /* the earlier sample has it, too, or everything since creation counts */
	bool whole; /* `now` is of the interval already */
	enum ks_kind kind;
	double unit; /* of its rate */
};

static bool
find(const struct ks_delta_cursor *start, const char *stat, struct found *f)
{
	struct ks_delta_cursor c = *start;
	const char *name;
	int whole;

	if (!ks_cursor_seek(&c.now, stat))
		return false;
	c.prev.record = c.now.record;
	c.prev.member = c.now.member;
	(void)ks_cursor_next(&c.now, &name, &f->now);
	f->kind = kind_of(c.kc, c.d->now, stat, &f->now, &f->unit);
	whole = of_interval(&c, stat, &f->now);
	f->whole = whole > 0;
	f->before = f->now;
	f->known = c.d->reset || f->whole || earlier(&c, stat, &f->before);
	return whole >= 0;
}

bool
ks_delta_get(const struct ks_delta_cursor *c, const char *stat, struct ks_value *v)
{
	struct found f;

	if (!find(c, stat, &f) || (f.kind == KS_KIND_COUNTER && !f.known))
		return false;
	if (f.whole || f.kind != KS_KIND_COUNTER || !ks_value_delta(&f.before, &f.now, true, c->d->reset, v))
		*v = f.now;
	return true;
}

bool
ks_delta_rate(const struct ks_delta_cursor *c, const char *stat, double *rate)
{
	const struct ks_delta *d = c->d;
	struct ks_value change;
	struct found f;

	if (d->elapsed <= 0 || !find(c, stat, &f) || !f.known || f.kind == KS_KIND_TEXT ||
	    f.kind == KS_KIND_TIME || (f.whole && f.kind != KS_KIND_COUNTER))
		return false;
	if (!ks_value_delta(&f.before, &f.now, f.kind == KS_KIND_COUNTER, d->reset || f.whole, &change) ||
	    !ks_value_number(&change, rate))
		return false;
	*rate = *rate * f.unit / ((double)d->elapsed / (double)KS_NANOSEC);
	return true;
}

/* --- I/O kstats ---------------------------------------------------------------- */

bool
ks_delta_io(const struct ks_delta *d, struct ks_delta_io *out)
{
	kstat_io_t now, prev;

	if (d->alone || d->now->ks_type != KSTAT_TYPE_IO || d->now->ks_data_size < sizeof(now))
		return false;
	memcpy(&now, d->now->ks_data, sizeof(now));
	memset(&prev, 0, sizeof(prev));
	if (!d->reset && d->prev->ks_data_size >= sizeof(prev))
		memcpy(&prev, d->prev->ks_data, sizeof(prev));
	out->nread = ks_counted(prev.nread, now.nread, 64);
	out->nwritten = ks_counted(prev.nwritten, now.nwritten, 64);
	out->reads = ks_counted(prev.reads, now.reads, 32);
	out->writes = ks_counted(prev.writes, now.writes, 32);
	out->wtime = ks_counted_signed(prev.wtime, now.wtime, 64);
	out->wlentime = ks_counted_signed(prev.wlentime, now.wlentime, 64);
	out->rtime = ks_counted_signed(prev.rtime, now.rtime, 64);
	out->rlentime = ks_counted_signed(prev.rlentime, now.rlentime, 64);
	out->has_waitq = now.rlastupdate == 0 || now.wlastupdate != 0 || now.wtime != 0 ||
	    now.wlentime != 0;
	return true;
}
