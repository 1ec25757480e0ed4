/* exposition.c - see exposition.h. SPDX-License-Identifier: MIT */
#include "metrics/exposition.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"
#include "chain/selection.h"
#include "chain/values.h"
#include "metrics/rows.h"
#include "metrics/sample.h"

#define STEP_SORTED 32768 /* samples that one step puts into order */
#define STEP_SAMPLES 1024 /* that one step reads, or writes, about */
#define STEP_BYTES (256u << 10) /* of families that are complete which one step gives away */

/*
 * An exposition goes through four states, a step at a time: kstats are read, group by group, and become
 * samples (`read` counts them); all samples are put in the order of their families (`placed`, `sorted`); the text is
 * appended family by family (`written` counts the samples); it has `ended`. Families in protocol buffers, which are
 * complete all at once, wait in `waiting`, of which `sent` bytes are gone. What the chain has is fixed at
 * the beginning by chain_id: an update in between ends the exposition with EAGAIN. Families, names and labels
 * outlive ks_exposition_again(), since most kstats are the same in the next one.
 */
struct ks_exposition {
	kstat_ctl_t *kc;
	const struct ks_selector *const *selectors; /* not with names */
	const struct ks_metric_group *groups;       /* the table of names; NULL: names are our own */
	struct ks_metric_rows *rows;                /* owned; the rows of a file, in place of a chain; or NULL */
	size_t n;                /* selectors, or groups */
	kid_t chain_id;
	struct ks_selection *sel; /* owned; the kstats of each group, or of all selectors together */
	size_t nsel;
	struct ks_group_cost *cost; /* owned; of each group */
	size_t group, read;      /* which of these is being read, and how many kstats of it were */
	struct turn *turn;       /* owned; one for each kstat of each selection */
	size_t nturns, group_at; /* the first one of the group */
	bool by_kid;             /* published kstats are read in the order in which they came: the text is the same */
	bool has_namesakes;      /* kstats have the same name: their labels depend on the order in which they are read */
	size_t most, left_out;   /* samples of published kstats, 0: any number; kstats that were left out */
	size_t of_machine;       /* samples of others */
	bool published;          /* of the two passes, the second: published kstats are added */
	struct ks_buf kstat;     /* memory of the kstat that is being read */
	struct ks_values values; /* of it */
	struct ks_metric_samples s;
	struct ks_metric_writer w;
	int64_t epoch;           /* ns since 1970 at which gethrtime() was 0 */
	struct ks_buf waiting;
	size_t sent;
	struct ks_buf heads;     /* of families; made once, as the families stay from one exposition to the next */
	size_t known;            /* statistics, after the first time */
	uint32_t *order;         /* owned; the samples by family, once all are read */
	size_t order_cap, written;
	size_t placed, turns;    /* samples in `order`, and of how many kstats */
	bool is_read, sorted, is_written, ended;
};

/*
 * One for each kstat of a selection. Number i says which place of the selection is read in turn i, and where the samples
 * are of the kstat that has place i. What is selected is sorted by names; what is published is read in large pieces where
 * it is read in the order in which it was created.
 */
struct turn {
	kid_t kid;
	uint32_t place;        /* of the kstat that is read in this turn */
	uint32_t first, count; /* samples of the kstat whose place has this number */
};

static void
free_selections(struct ks_exposition *x)
{
	for (size_t i = 0; i < x->nsel; i++)
		ks_selection_free(&x->sel[i]);
	free(x->sel);
	free(x->turn);
	x->sel = NULL;
	x->turn = NULL;
	x->nsel = 0;
}

/* Selects the kstats of a group that its labels let be in it. */
static int
select_group(const struct ks_exposition *x, const struct ks_metric_group *group, struct ks_selection *sel)
{
	size_t n = 0;

	if (group->also)
		return 0;
	if (ks_selector_select(group->selector, x->kc, sel) != 0)
		return -1;
	for (size_t i = 0; i < sel->n; i++) {
		if (ks_metric_group_wants(group, sel->ksp[i]))
			sel->ksp[n++] = sel->ksp[i];
	}
	sel->n = n;
	return 0;
}

static int
compare_kids(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->kid < y->kid ? -1 : x->kid > y->kid;
}

/* Whether two kstats that are beside one another in a selection, which is sorted, have the same name, by any case. */
static bool
are_namesakes(const kstat_t *a, const kstat_t *b)
{
	return a->ks_instance == b->ks_instance && ks_compare_nocase(a->ks_name, b->ks_name) == 0 &&
	    ks_compare_nocase(a->ks_module, b->ks_module) == 0;
}

static int
order_turns(struct ks_exposition *x)
{
	size_t at = 0;

	x->nturns = 0;
	x->has_namesakes = false;
	for (size_t i = 0; i < x->nsel; i++)
		x->nturns += x->sel[i].n;
	x->turn = calloc(x->nturns + 1, sizeof(*x->turn));
	if (x->turn == NULL)
		return ks_fail(ENOMEM, "out of memory for an exposition");
	for (size_t i = 0; i < x->nsel; at += x->sel[i++].n) {
		for (size_t k = 0; k < x->sel[i].n; k++) {
			x->turn[at + k] = (struct turn){ .kid = x->sel[i].ksp[k]->ks_kid, .place = (uint32_t)k };
			x->has_namesakes |= k > 0 && are_namesakes(x->sel[i].ksp[k - 1], x->sel[i].ksp[k]);
		}
		qsort(x->turn + at, x->sel[i].n, sizeof(*x->turn), compare_kids);
	}
	return 0;
}

/* Finds the kstats in the chain as it is now. */
static int
select_kstats(struct ks_exposition *x)
{
	size_t n = x->groups != NULL ? x->n : 1;
	int rc = 0;

	free_selections(x);
	x->sel = calloc(n, sizeof(*x->sel));
	if (x->sel == NULL)
		return ks_fail(ENOMEM, "out of memory for an exposition");
	for (; rc == 0 && x->nsel < n; x->nsel++)
		rc = x->groups == NULL ? ks_selector_select_any(x->selectors, x->n, x->kc, x->sel) :
		    select_group(x, &x->groups[x->nsel], &x->sel[x->nsel]);
	if (rc == 0)
		rc = order_turns(x);
	x->chain_id = rc == 0 ? x->kc->kc_chain_id : -1;
	return rc;
}

static void
set_format(struct ks_exposition *x, enum ks_metric_format format)
{
	x->w.format = x->s.format = format;
	x->epoch = ks_time_of_day() - gethrtime();
}

static struct ks_exposition *
open_exposition(const struct ks_exposition *as, enum ks_metric_format format)
{
	struct ks_exposition *x = malloc(sizeof(*x));

	if (x == NULL)
		return ks_fail_null(ENOMEM, "out of memory for an exposition");
	*x = *as;
	x->cost = calloc(x->n + 1, sizeof(*x->cost));
	set_format(x, format);
	if (x->cost == NULL || select_kstats(x) != 0) {
		ks_exposition_free(x);
		return ks_fail_null(ENOMEM, "out of memory for an exposition");
	}
	return x;
}

struct ks_exposition *
ks_exposition_open(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n,
    enum ks_metric_format format)
{
	return open_exposition(&(struct ks_exposition){ .kc = kc, .selectors = selectors, .n = n }, format);
}

struct ks_exposition *
ks_exposition_open_named(kstat_ctl_t *kc, const struct ks_metric_group *groups, size_t n,
    enum ks_metric_format format)
{
	return open_exposition(&(struct ks_exposition){ .kc = kc, .groups = groups, .n = n }, format);
}

struct ks_exposition *
ks_exposition_open_rows(const char *path, const char *module, const struct ks_metric_group *groups, size_t n,
    size_t counted, enum ks_metric_format format)
{
	struct ks_exposition *x = calloc(1, sizeof(*x));
	struct ks_metric_rows *rows = calloc(1, sizeof(*rows));
	int error;

	if (x == NULL || rows == NULL) {
		free(x);
		free(rows);
		return ks_fail_null(ENOMEM, "out of memory for an exposition");
	}
	x->rows = rows;
	set_format(x, format);
	if (ks_metric_rows_open(rows, path, module, groups, n, counted) == 0)
		return x;
	error = errno;
	ks_exposition_free(x);
	errno = error;
	return NULL;
}

#define LARGE (1u << 20) /* bytes that are worth the time to return them to the system */

/* A server that lives for months should not keep what a hundred thousand rows took: the C library would. */
static void
return_memory(size_t samples)
{
#ifdef __GLIBC__
	if (samples * sizeof(struct ks_metric_sample) > LARGE)
		(void)malloc_trim(0);
#else
	(void)samples;
#endif
}

void
ks_exposition_free(struct ks_exposition *x)
{
	size_t samples;

	if (x == NULL)
		return;
	samples = x->rows != NULL ? x->s.n : 0;
	if (x->rows != NULL)
		ks_metric_rows_close(x->rows);
	free(x->rows);
	free_selections(x);
	free(x->cost);
	ks_buf_free(&x->kstat);
	ks_values_free(&x->values);
	ks_metric_samples_free(&x->s);
	ks_metric_writer_free(&x->w);
	ks_buf_free(&x->waiting);
	ks_buf_free(&x->heads);
	free(x->order);
	free(x);
	return_memory(samples);
}

/* Statistics that come and go in one chain, as a file of /proc may have them, are forgotten when they are many. */
#define MOST_NEW 1000

int
ks_exposition_again(struct ks_exposition *x)
{
	bool same = x->kc->kc_chain_id == x->chain_id;

	x->by_kid = same && x->ended && x->groups == NULL && x->left_out == 0 && !ks_chain_is_replay(x->kc) &&
	    !x->has_namesakes && !ks_metric_families_moved(&x->s.families);
	if (same && x->ended && x->s.families.nstats <= 2 * x->known + MOST_NEW) {
		ks_metric_samples_again(&x->s);
		x->s.keeps_labels = !x->has_namesakes && !ks_chain_is_replay(x->kc);
	} else {
		x->by_kid = false;
		ks_metric_samples_free(&x->s);
		x->s.format = x->w.format;
		ks_buf_reset(&x->heads);
		x->known = 0;
	}
	x->group = x->read = x->group_at = x->written = x->left_out = 0;
	memset(x->cost, 0, x->n * sizeof(*x->cost));
	x->published = false;
	x->placed = x->turns = x->sent = 0;
	ks_metric_drop(&x->w);
	ks_buf_reset(&x->waiting);
	x->is_read = x->sorted = x->is_written = x->ended = false;
	return same ? 0 : select_kstats(x);
}

void
ks_exposition_bound(struct ks_exposition *x, size_t most)
{
	x->most = most;
}

size_t
ks_exposition_left_out(const struct ks_exposition *x)
{
	return x->left_out;
}

size_t
ks_exposition_rows(const struct ks_exposition *x)
{
	return x->rows != NULL ? x->rows->rows : 0;
}

size_t
ks_exposition_samples(const struct ks_exposition *x)
{
	return x->s.n;
}

const struct ks_group_cost *
ks_exposition_costs(const struct ks_exposition *x)
{
	return x->cost;
}

/* --- reading ------------------------------------------------------------------------------------------- */

static bool
is_wanted(const struct ks_exposition *x, const kstat_t *ksp, const char *stat)
{
	for (size_t s = 0; s < x->n; s++) {
		if (ks_selector_matches_stat(x->selectors[s], stat) &&
		    (x->n == 1 || ks_selector_matches(x->selectors[s], ksp)))
			return true;
	}
	return false;
}

/* Adds the samples of a kstat by the names of its group, and of those that are also of it. */
static int
add_named(struct ks_exposition *x, const kstat_t *ksp)
{
	size_t g = x->group;
	int rc;

	do {
		size_t before = x->s.n;

		rc = ks_metric_samples_add_named(&x->s, x->kc, ksp, &x->values, &x->groups[g]);
		x->cost[g].samples += x->s.n - before;
	} while (rc == 0 && ++g < x->n && x->groups[g].also);
	return rc;
}

/* Reads the values that a selector of the kstat wants, and all texts, which are labels. */
static int
add_kstat(struct ks_exposition *x, const kstat_t *ksp)
{
	struct ks_values *v = &x->values;
	size_t n = 0;

	if (ks_values_collect_stored(v, ksp) != 0)
		return -1;
	if (x->groups != NULL)
		return add_named(x, ksp);
	for (size_t i = 0; i < v->n; i++) {
		if (v->pair[i].value.kind == KS_VALUE_STRING || is_wanted(x, ksp, v->pair[i].name))
			v->pair[n++] = v->pair[i];
	}
	v->n = n;
	return ks_metric_samples_add(&x->s, x->kc, ksp, v);
}

/* Adds a kstat, or leaves it out whole if it is published and there would be too many samples. */
static int
add_within_bound(struct ks_exposition *x, const kstat_t *ksp)
{
	size_t before = x->s.n, most = x->published && x->most > 0 ? x->of_machine + x->most : SIZE_MAX;

	if (before >= most) {
		x->left_out++;
		return 0;
	}
	if (add_kstat(x, ksp) != 0)
		return -1;
	if (x->s.n <= most)
		return 0;
	while (x->s.n > before)
		x->s.families.family[x->s.sample[--x->s.n].family].samples--;
	x->left_out++;
	return 0;
}

/* Whether a kstat belongs to this pass: first the machine's, so that none of these lacks, nor the name of its family. */
static bool
is_of_pass(const struct ks_exposition *x, const kstat_t *ksp)
{
	return ks_chain_publisher(x->kc, ksp, NULL) == x->published;
}

/* All is read: begins to put the samples into the order of their families. */
static int
begin_sort(struct ks_exposition *x)
{
	struct ks_metric_family *family = x->s.families.family;
	uint32_t at = 0;

	if (x->s.labels.failed || !KS_RESERVE(x->order, x->order_cap, x->s.n + 1))
		return -1;
	for (size_t i = 0; i < x->s.families.n; i++) {
		uint32_t count = family[i].samples;

		family[i].samples = at;
		at += count;
	}
	x->known = x->known > 0 ? x->known : x->s.families.nstats;
	x->is_read = true;
	return 0;
}

/* Goes on with that. */
static void
sort_some(struct ks_exposition *x)
{
	struct ks_metric_family *family = x->s.families.family;

	for (size_t end = x->placed + STEP_SORTED; x->placed < end && x->placed < x->s.n; ) {
		uint32_t i = (uint32_t)x->placed, count = 1;

		if (x->rows == NULL) {
			i = x->turn[x->turns].first;
			count = x->turn[x->turns++].count;
		}
		for (x->placed += count; count > 0; i++, count--)
			x->order[family[x->s.sample[i].family].samples++] = i;
	}
	x->sorted = x->placed == x->s.n;
}

/* Notes the time that went into a group since *mark, and begins anew. */
static void
note_time(struct ks_exposition *x, hrtime_t *mark)
{
	hrtime_t now;

	if (x->groups == NULL)
		return;
	now = gethrtime();
	x->cost[x->group].ns += now - *mark;
	*mark = now;
}

/* Reads the kstat whose turn it is, unless it is of the other pass. One that cannot be read has no samples. */
static int
read_one(struct ks_exposition *x, const struct ks_selection *sel, size_t i)
{
	size_t place = x->published && x->by_kid ? x->turn[x->group_at + i].place : i;
	const kstat_t *ksp = sel->ksp[place];
	struct turn *turn = &x->turn[x->group_at + place];
	int rc = 0;

	if (!is_of_pass(x, ksp))
		return 0;
	turn->first = (uint32_t)x->s.n;
	ksp = ks_chain_read_into(x->kc, ksp, &x->kstat);
	if (ksp != NULL)
		rc = add_within_bound(x, ksp);
	turn->count = (uint32_t)(x->s.n - turn->first);
	return rc;
}

static int
read_some(struct ks_exposition *x)
{
	int rc = 0;
	size_t end = x->s.n + STEP_SAMPLES;
	hrtime_t mark = x->groups != NULL ? gethrtime() : 0;

	ks_chain_begin_walk(x->kc);
	while (rc == 0 && x->group < x->nsel && x->s.n < end) {
		const struct ks_selection *sel = &x->sel[x->group];

		if (x->read == sel->n) {
			note_time(x, &mark);
			x->group++;
			x->group_at += x->read;
			x->read = 0;
			if (x->group == x->nsel && !x->published) {
				x->published = true;
				x->of_machine = x->s.n;
				x->group = x->group_at = 0;
			}
			continue;
		}
		rc = read_one(x, sel, x->read++);
		/* A kstat takes time even if it has no samples: so the step ends one sample earlier for each. */
		if (end > x->s.n)
			end--;
	}
	ks_chain_end_walk(x->kc);
	if (rc != 0)
		return rc;
	if (x->group < x->nsel)
		note_time(x, &mark);
	return x->group == x->nsel ? begin_sort(x) : 0;
}

/* --- writing ------------------------------------------------------------------------------------------- */

/* Begins with the samples of a family. */
static void
begin_family(struct ks_exposition *x, struct ks_metric_family *m)
{
	const struct ks_metric_families *f = &x->s.families;
	const char *name = ks_metric_text(f, m->name);

	if (m->head_len == 0) {
		m->head = (uint32_t)x->heads.len;
		ks_metric_add_head(&x->heads, x->w.format, name, (enum ks_metric_type)m->type,
		    ks_metric_text(f, m->unit), ks_metric_text(f, m->help));
		m->head_len = (uint32_t)(x->heads.len - m->head);
	}
	if (x->heads.failed || x->heads.len > UINT32_MAX)
		x->w.out->failed = true;
	else
		ks_metric_family(&x->w, name, m->name_len, (enum ks_metric_type)m->type, x->heads.data + m->head,
		    m->head_len);
}

/* Returns when the kstat or row of a sample was created: ns since 1970; 0: nobody knows. */
static int64_t
created(const struct ks_exposition *x, const struct ks_metric_sample *s)
{
	hrtime_t crtime = ks_metric_crtime(&x->s, s->labels);

	return crtime > 0 ? x->epoch + crtime : 0;
}

/* Writes some samples. Returns true if these were the last ones. */
static bool
write_some(struct ks_exposition *x)
{
	const struct ks_metric_sample *sample = x->s.sample;
	const char *labels = x->s.labels.data;

	for (size_t n = 0; n < STEP_SAMPLES && x->written < x->s.n; n++, x->written++) {
		const struct ks_metric_sample *s = &sample[x->order[x->written]];

		if (x->written == 0 || sample[x->order[x->written - 1]].family != s->family)
			begin_family(x, &x->s.families.family[s->family]);
		if (x->w.format == KS_METRIC_PROTOBUF)
			x->w.created = created(x, s);
		ks_metric_line(&x->w, (enum ks_metric_part)s->part, labels + s->labels, strlen(labels + s->labels),
		    labels + s->own, &s->value, NULL);
	}
	return x->written == x->s.n;
}

static void
end_text(struct ks_exposition *x)
{
	if (x->rows == NULL)
		ks_metric_end(&x->w);
	else
		ks_metric_flush(&x->w);
}

/* Gives away some of the families that wait. */
static void
send_some(struct ks_exposition *x, struct ks_buf *out)
{
	size_t n = x->waiting.len - x->sent;

	n = n < STEP_BYTES ? n : STEP_BYTES;
	if (n > 0)
		ks_buf_add(out, x->waiting.data + x->sent, n);
	out->failed |= x->waiting.failed;
	x->sent += n;
	if (x->sent == x->waiting.len) {
		ks_buf_reset(&x->waiting);
		x->sent = 0;
	}
}

/* Appends some text. */
static void
add_text(struct ks_exposition *x, struct ks_buf *out)
{
	x->w.out = x->w.format == KS_METRIC_PROTOBUF ? &x->waiting : out;
	if (!x->is_written) {
		x->is_written = write_some(x);
		if (x->is_written)
			end_text(x);
	}
	if (x->w.out != out)
		send_some(x, out);
	x->ended = x->is_written && x->waiting.len == 0;
}

int
ks_exposition_step(struct ks_exposition *x, struct ks_buf *out)
{
	if (x->ended)
		return 0;
	if (x->is_read && !x->sorted) {
		sort_some(x);
		return 1;
	}
	if (!x->sorted && x->rows != NULL) {
		int rc = ks_metric_rows_read(x->rows, &x->s);

		return rc != 0 ? rc : begin_sort(x) == 0 ? 1 : ks_fail(ENOMEM, "out of memory for metrics");
	}
	if (!x->sorted) {
		if (x->kc->kc_chain_id != x->chain_id)
			return ks_fail(EAGAIN, "the chain was updated while its metrics were read");
		if (read_some(x) != 0)
			return ks_fail(ENOMEM, "out of memory for metrics");
		return 1;
	}
	add_text(x, out);
	if (out->failed)
		return ks_fail(ENOMEM, "out of memory for metrics");
	return x->ended ? 0 : 1;
}
