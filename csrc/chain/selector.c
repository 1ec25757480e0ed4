/* selector.c - see selector.h. SPDX-License-Identifier: MIT */
#include "chain/selector.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "chain/chain.h"
#include "model/decode.h"

void
ks_selector_free(struct ks_selector *s)
{
	ks_pattern_free(&s->module);
	ks_pattern_free(&s->instance);
	ks_pattern_free(&s->name);
	ks_pattern_free(&s->stat);
	ks_pattern_free(&s->class_);
}

bool
ks_selector_is_one(const struct ks_selector *s)
{
	return s->module.kind == KS_PATTERN_LITERAL && s->instance.kind == KS_PATTERN_LITERAL &&
	    s->name.kind == KS_PATTERN_LITERAL;
}

static bool
matches_instance(const struct ks_pattern *p, int instance)
{
	char text[KS_NUMBER_MAX];

	return p->kind == KS_PATTERN_ANY ||
	    ks_pattern_match(p, text, ks_format_i64(text, instance));
}

bool
ks_selector_matches(const struct ks_selector *s, const kstat_t *ksp)
{
	return ks_pattern_match(&s->module, ksp->ks_module, strlen(ksp->ks_module)) &&
	    ks_pattern_match(&s->name, ksp->ks_name, strlen(ksp->ks_name)) &&
	    matches_instance(&s->instance, ksp->ks_instance) &&
	    ks_pattern_match(&s->class_, ksp->ks_class, strlen(ksp->ks_class));
}

bool
ks_selector_matches_stat(const struct ks_selector *s, const char *stat)
{
	return ks_pattern_match(&s->stat, stat, strlen(stat));
}

enum { FIELDS = 5 };

/* The patterns in the order in which their groups count. */
static void
fields_of(const struct ks_selector *s, const struct ks_pattern *field[FIELDS])
{
	field[0] = &s->module;
	field[1] = &s->instance;
	field[2] = &s->name;
	field[3] = &s->stat;
	field[4] = &s->class_;
}

const char *
ks_selector_trouble(const struct ks_selector *s)
{
	const struct ks_pattern *field[FIELDS];
	const char *line = NULL;

	fields_of(s, field);
	for (int i = 0; line == NULL && i < FIELDS; i++)
		line = ks_pattern_trouble(field[i]);
	return line;
}

size_t
ks_selector_groups(const struct ks_selector *s)
{
	const struct ks_pattern *field[FIELDS];
	size_t n = 0;

	fields_of(s, field);
	for (int i = 0; i < FIELDS; i++)
		n += ks_pattern_groups(field[i]);
	return n;
}

size_t
ks_selector_group(const struct ks_selector *s, const char *name)
{
	const struct ks_pattern *field[FIELDS];
	size_t before = 0;

	fields_of(s, field);
	for (int i = 0; i < FIELDS; i++) {
		size_t group = ks_pattern_group(field[i], name);

		if (group > 0)
			return before + group;
		before += ks_pattern_groups(field[i]);
	}
	return 0;
}

bool
ks_selector_capture(const struct ks_selector *s, size_t group, const kstat_t *ksp,
    const char *stat, struct ks_buf *out)
{
	char instance[KS_NUMBER_MAX];
	const struct ks_pattern *field[FIELDS];
	const char *const text[FIELDS] = { ksp->ks_module, instance, ksp->ks_name,
		stat != NULL ? stat : "", ksp->ks_class };
	const char *found;
	size_t n, i;

	instance[ks_format_i64(instance, ksp->ks_instance)] = '\0';
	fields_of(s, field);
	for (i = 0; i < FIELDS && group > ks_pattern_groups(field[i]); i++)
		group -= ks_pattern_groups(field[i]);
	if (i == FIELDS || !ks_pattern_capture(field[i], group, text[i], strlen(text[i]), &found, &n))
		return false;
	ks_buf_add(out, found, n);
	return true;
}

static inline int
lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

int
ks_compare_nocase(const char *a, const char *b)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

	while (*x != '\0' && lower(*x) == lower(*y)) {
		x++;
		y++;
	}
	return lower(*x) - lower(*y);
}

/*
 * A kstat on its way into order; of equals the one later in the chain goes first. IDs grow along the
 * chain, and copies of kstats keep them.
 */
struct placed {
	kstat_t *ksp;
	kid_t position;
};

static int
compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = ks_compare_nocase(x->ksp->ks_module, y->ksp->ks_module);

	if (order == 0)
		order = (x->ksp->ks_instance > y->ksp->ks_instance) -
		    (x->ksp->ks_instance < y->ksp->ks_instance);
	if (order == 0)
		order = ks_compare_nocase(x->ksp->ks_name, y->ksp->ks_name);
	if (order == 0)
		order = x->position < y->position ? 1 : -1;
	return order;
}

/* What was found so far, in the order of the chain. */
struct gathered {
	struct placed *found;
	size_t n, cap;
};

static int
gather(struct gathered *g, kstat_t *ksp)
{
	if (!KS_RESERVE(g->found, g->cap, g->n + 1)) {
		free(g->found);
		return ks_fail(ENOMEM, "out of memory for a selection of kstats");
	}
	g->found[g->n] = (struct placed){ ksp, ksp->ks_kid };
	g->n++;
	return 0;
}

/* Sorts; the pointers end up closed up at the start of the same memory, which goes to `out`. */
static void
finish(struct gathered *g, struct ks_selection *out)
{
	if (g->n > 1)
		qsort(g->found, g->n, sizeof(*g->found), compare_placed);
	out->ksp = (kstat_t **)(void *)g->found;
	for (size_t i = 0; i < g->n; i++) {
		kstat_t *ksp = g->found[i].ksp;

		memcpy(&out->ksp[i], &ksp, sizeof(ksp));
	}
	out->n = g->n;
}

bool
ks_selector_any_matches(const struct ks_selector *const *selectors, size_t n, const kstat_t *ksp)
{
	for (size_t i = 0; i < n; i++) {
		if (ks_selector_matches(selectors[i], ksp))
			return true;
	}
	return n == 0;
}

/*
 * The kstat that one selector names in full, found without a walk over the chain, or NULL; *named false: the selectors
 * may mean several, as any does in a capture, where names may occur more than once.
 */
static kstat_t *
find_named(const struct ks_selector *const *selectors, size_t n, kstat_ctl_t *kc, bool *named)
{
	const struct ks_selector *s = n == 1 ? selectors[0] : NULL;
	const char *digits;
	kstat_t *ksp;
	uint64_t instance;

	*named = s != NULL && ks_selector_is_one(s) && !ks_chain_is_replay(kc);
	if (!*named)
		return NULL;
	digits = s->instance.text;
	*named = ks_scan_u64(&digits, digits + s->instance.n, &instance) == 0 && instance <= INT_MAX;
	if (!*named)
		return NULL;
	ksp = kstat_lookup(kc, s->module.text, (int)instance, s->name.text);
	return ksp != NULL && ks_selector_matches(s, ksp) && ks_is_shown(ksp) ? ksp : NULL;
}

int
ks_selector_select_any(const struct ks_selector *const *selectors, size_t n, kstat_ctl_t *kc,
    struct ks_selection *out)
{
	struct gathered g = { NULL, 0, 0 };
	bool named;
	kstat_t *one = find_named(selectors, n, kc, &named);

	*out = (struct ks_selection){ NULL, 0 };
	if (one != NULL && gather(&g, one) != 0)
		return -1;
	for (kstat_t *ksp = named ? NULL : kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ks_selector_any_matches(selectors, n, ksp) && ks_is_shown(ksp) &&
		    gather(&g, ksp) != 0)
			return -1;
	}
	ks_chain_warn_of_selectors(kc, selectors, n);
	finish(&g, out);
	return 0;
}

int
ks_selector_select(const struct ks_selector *s, kstat_ctl_t *kc, struct ks_selection *out)
{
	return ks_selector_select_any(&s, 1, kc, out);
}

int
ks_selector_pick(const struct ks_selector *const *selectors, size_t n, kstat_t *const *ksp,
    size_t nksp, struct ks_selection *out)
{
	struct gathered g = { NULL, 0, 0 };

	*out = (struct ks_selection){ NULL, 0 };
	for (size_t i = 0; i < nksp; i++) {
		if (ks_selector_any_matches(selectors, n, ksp[i]) && ks_is_shown(ksp[i]) &&
		    gather(&g, ksp[i]) != 0)
			return -1;
	}
	finish(&g, out);
	return 0;
}

void
ks_selection_free(struct ks_selection *sel)
{
	free(sel->ksp);
	*sel = (struct ks_selection){ NULL, 0 };
}
