/* carry.c - see sample.h. SPDX-License-Identifier: MIT */
#include "chain/sample.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "chain/delta.h"
#include "model/blobstat.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "model/raw_layout.h"

static void
lower(uint64_t *number, uint64_t by, unsigned bits)
{
	*number = (*number - by) & (UINT64_MAX >> (64 - bits));
}

/* Writes a number into the place from which the decoder took it: `at` is where it stood before that, `c` where it is now. */
static void
put(const kstat_t *ksp, const struct ks_cursor *at, const struct ks_cursor *c, const struct ks_value *v)
{
	const struct ks_raw_layout *l = c->layout;

	if (ksp->ks_type == KSTAT_TYPE_NAMED) {
		kstat_named_t *kn = (kstat_named_t *)ksp->ks_data + (c->record - 1);

		if (v->kind != KS_VALUE_DOUBLE && v->bits == 32)
			kn->value.ui32 = (uint32_t)v->u64;
		else if (v->kind == KS_VALUE_DOUBLE && v->bits == 32)
			kn->value.f = (float)v->d;
		else
			kn->value.ui64 = v->u64;
	} else if (ksp->ks_type == KSTAT_TYPE_TIMER) {
		ks_raw_set((char *)ksp->ks_data + at->record * l->size, &l->fields[at->member], v);
	} else {
		ks_raw_set(ksp->ks_data, &l->fields[c->member - 1], v);
	}
}

/* Lowers what a histogram counted, which the decoder passes on as computed, by what it counted in a difference. */
static void
lower_histogram(kstat_t *copy, const struct ks_delta *d)
{
	kstat_named_t *kn = copy->ks_data;
	struct kstat_hist to, counted;
	struct ks_value sum;

	if (ks_dist_view(&to, copy, NULL) != 0 || ks_dist_view(&counted, d->now, d->reset ? NULL : d->prev) != 0)
		return;
	for (uint32_t i = 0; i < to.n && i < counted.layout.n; i++) {
		uint64_t n = ks_ints_at(to.now, i) - ks_dist_count(&counted, i);

		memcpy((char *)copy->ks_data + (to.now - (const char *)copy->ks_data) + i * sizeof(n), &n, sizeof(n));
	}
	for (uint_t i = 0; i < copy->ks_ndata; i++) {
		if (strcmp(kn[i].name, "sum") == 0 && counted.has_sum && ks_dist_sum(&counted, &sum))
			kn[i].value.ui64 -= sum.u64;
	}
}

/* Lowers the counters of a copy of the sample that the chain is at by what they counted in the differences d and last. */
static void
lower_counters(kstat_ctl_t *kc, kstat_t *copy, const struct ks_delta *d, const struct ks_delta *last)
{
	struct ks_delta_cursor sum, c;
	struct ks_cursor at;
	struct ks_delta_stat s;

	ks_delta_cursor_open(&sum, d, kc);
	ks_delta_cursor_open(&c, last, kc);
	for (at = c.now; ks_delta_cursor_next_change(&c, &s); at = c.now) {
		struct ks_value v = s.now, more;
		bool known = ks_delta_get(&sum, s.name, &more) && more.kind == v.kind;

		if (s.kind != KS_KIND_COUNTER || c.now.was_computed || v.kind > KS_VALUE_TIME || v.kind == KS_VALUE_STRING)
			continue;
		if (v.kind == KS_VALUE_DOUBLE)
			v.d -= s.change.d + (known ? more.d : 0);
		else
			lower(&v.u64, s.change.u64 + (known ? more.u64 : 0), v.bits == 32 ? 32 : 64);
		put(copy, &at, &c.now, &v);
	}
}

/* True if a counter fell from one reading to the next: it counts nothing in that interval, and counts on from there. */
static bool
fell(kstat_ctl_t *kc, const struct ks_delta *d)
{
	struct ks_delta_cursor c;
	struct ks_value prev, now;
	const char *name, *other;

	ks_delta_cursor_open(&c, d, NULL);
	while (ks_cursor_next(&c.now, &name, &now) && ks_cursor_next(&c.prev, &other, &prev) && !c.now.was_computed) {
		struct ks_value change;
		double before, behind;
		const struct ks_meta *m;

		if (strcmp(name, other) != 0)
			return false; /* its statistics changed */
		if (!ks_value_number(&prev, &before) || !ks_value_number(&now, &behind) || behind >= before ||
		    !ks_value_delta(&prev, &now, true, false, &change) || change.u64 != 0)
			continue;
		m = ks_chain_meta(kc, d->now, name);
		if (m != NULL ? m->kind == KS_KIND_COUNTER : now.kind != KS_VALUE_DOUBLE)
			return true;
	}
	return false;
}

/* How a kstat came to where it is: whether a new begin has to be made for it. */
struct way {
	struct ks_delta until, last; /* from the begin to the sample before, and from that on */
	bool is_known;               /* there is the former */
};

static bool
is_broken(struct way *w, kstat_ctl_t *kc, const struct ks_sample *begin, const struct ks_sample *before,
    const kstat_t *now, bool is_cut)
{
	const kstat_t *was = ks_sample_counterpart(before, now);
	const kstat_t *last = was == NULL && begin->left != NULL ? ks_sample_counterpart(begin->left, now) : was;

	w->is_known = last != NULL && ks_delta_open(&w->until, begin, last);
	if (is_cut)
		return ks_delta_between(&w->last, now, now);
	if (was == NULL) /* it came: what it counted before is known if it was there, nothing if it is not new */
		return ks_delta_open(&w->last, before, now) ? w->is_known : ks_delta_between(&w->last, now, now);
	if (!w->is_known || !ks_delta_between(&w->last, was, now))
		return false;
	/* In the first interval nothing was counted before: it counts from its creation. */
	return w->last.reset ? begin != before && !ks_blobstat_is(now) : fell(kc, &w->last);
}

/* Makes the copy of a kstat that the step begins with; 0, or -1 with errno. */
static int
carry(struct ks_sample *to, kstat_ctl_t *kc, const struct way *w, const kstat_t *now)
{
	kstat_t *ksp = ks_chain_find(kc, now->ks_kid), *copy;

	if (ksp == NULL)
		return 0;
	copy = (kstat_t *)(uintptr_t)ks_sample_add(to, kc, ksp);
	if (copy == NULL)
		return -1;
	if (copy->ks_data == NULL || !w->is_known || ks_blobstat_is(copy))
		return 0;
	copy->ks_snaptime -= w->until.elapsed + (w->last.prev == NULL ? w->last.elapsed :
	    ks_time_between(w->last.prev->ks_snaptime, now->ks_snaptime));
	lower_counters(kc, copy, &w->until, &w->last);
	if (ks_histstat_is(copy)) {
		lower_histogram(copy, &w->until);
		lower_histogram(copy, &w->last);
	}
	return 0;
}

/*
 * Notes how the kstats that the step began with were when they left between two samples: they may come again. 0, or -1
 * with errno ENOMEM.
 */
static int
note_left(struct ks_sample *begin, kstat_ctl_t *kc, const struct ks_sample *before, const struct ks_sample *now)
{
	for (size_t i = 0, at = 0; i < before->n; i++) {
		kstat_t *k = before->ksp[i];

		if (at < now->n && now->ksp[at]->ks_kid == k->ks_kid)
			at++; /* samples have the same order */
		else if (ks_sample_counterpart(now, k) == NULL && ks_sample_counterpart(begin, k) != NULL &&
		    ((begin->left == NULL && (begin->left = ks_sample_new(kc)) == NULL) ||
		    ks_sample_replace(begin->left, k) != 0))
			return -1;
	}
	return 0;
}

struct ks_sample *
ks_sample_carry(kstat_ctl_t *kc, struct ks_sample *begin, const struct ks_sample *before, const struct ks_sample *now,
    bool is_cut)
{
	struct ks_sample *to = NULL;
	struct way w;
	hrtime_t passed = ks_time_between(begin->taken, before->taken);

	if (note_left(begin, kc, before, now) != 0)
		return NULL;
	for (size_t i = 0; i < now->n; i++) {
		if (!is_broken(&w, kc, begin, before, now->ksp[i], is_cut))
			continue;
		if (to == NULL && (to = ks_sample_new(kc)) == NULL)
			return NULL;
		if (carry(to, kc, &w, now->ksp[i]) != 0) {
			ks_sample_free(to);
			return NULL;
		}
	}
	if (to == NULL && !is_cut)
		return begin;
	if (to == NULL && (to = ks_sample_new(kc)) == NULL)
		return NULL;
	if (!is_cut) {
		passed = ks_time_between(begin->taken, now->taken);
		to->next_kid = begin->next_kid;
	}
	to->taken -= passed;
	to->time_of_day -= passed;
	to->seconds -= passed / KS_NANOSEC;
	to->carried = true;
	to->left = begin->left;
	begin->left = NULL;
	if (!is_cut && ks_sample_share(to, begin) != 0) {
		ks_sample_free(to);
		return NULL;
	}
	return to;
}
