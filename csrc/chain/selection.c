/* selection.c - see selection.h. SPDX-License-Identifier: MIT */
#include "chain/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/chain.h"
#include "chain/handle.h"
#include "model/decode.h"

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
	int order = 0;

	if (strcmp(x->ksp->ks_module, y->ksp->ks_module) != 0)
		order = ks_compare_nocase(x->ksp->ks_module, y->ksp->ks_module);
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

/* Sorts what was gathered if need be; processes come in order. Its memory becomes, in place, the array of pointers of `out`, which owns it. */
static void
finish(struct gathered *g, bool sort, struct ks_selection *out)
{
	for (size_t i = 1; sort && i < g->n; i++) {
		if (compare_placed(&g->found[i - 1], &g->found[i]) > 0) {
			qsort(g->found, g->n, sizeof(*g->found), compare_placed);
			break;
		}
	}
	out->ksp = (kstat_t **)(void *)g->found;
	for (size_t i = 0; i < g->n; i++) {
		kstat_t *ksp = g->found[i].ksp;

		memcpy(&out->ksp[i], &ksp, sizeof(ksp));
	}
	out->n = g->n;
}

/*
 * The kstat that one selector names in full, found without a walk over the chain, or NULL; *named false: the selectors
 * may mean several, as any does in a capture, where names may occur more than once.
 */
static kstat_t *
find_named(const struct ks_selector *const *selectors, size_t n, kstat_ctl_t *kc, bool *named)
{
	const struct ks_selector *s = n == 1 ? selectors[0] : NULL;
	kstat_t *ksp;
	int instance;

	*named = s != NULL && !ks_chain_is_replay(kc) && ks_selector_is_one(s, &instance);
	if (!*named)
		return NULL;
	ksp = kstat_lookup(kc, s->module.text, instance, s->name.text);
	return ksp != NULL && ks_selector_matches(s, ksp) && ks_is_shown(ksp) ? ksp : NULL;
}

/*
 * Sorting the whole chain takes a tenth of a sample of it. So a selection of all kstats that are shown is kept until
 * the chain changes, and later selections go over it in its order.
 */
static void
keep_sorted(struct ks_chain *chain, const struct ks_selection *all)
{
	size_t size = all->n * sizeof(*all->ksp);
	kstat_t **copy = size > 0 ? malloc(size) : NULL;

	if (copy == NULL)
		return;
	memcpy(copy, all->ksp, size);
	free(chain->sorted.ksp);
	chain->sorted.ksp = copy;
	chain->sorted.n = all->n;
	chain->sorted.chain_id = chain->kc.kc_chain_id;
}

/* Gathers what the selectors match from the sorted kstats. 0, or -1 with errno. */
static int
gather_sorted(const struct ks_chain *chain, const struct ks_selector *const *selectors, size_t n, struct gathered *g)
{
	for (size_t i = 0; i < chain->sorted.n; i++) {
		if (ks_selector_any_matches(selectors, n, chain->sorted.ksp[i]) && gather(g, chain->sorted.ksp[i]) != 0)
			return -1;
	}
	return 0;
}

/* The same from a chain that is not sorted yet; *all becomes false if one that is shown does not match. */
static int
gather_unsorted(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n, struct gathered *g, bool *all)
{
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (!ks_selector_any_matches(selectors, n, ksp))
			*all = *all && !ks_is_shown(ksp);
		else if (ks_is_shown(ksp) && gather(g, ksp) != 0)
			return -1;
	}
	return 0;
}

int
ks_selector_select_any(const struct ks_selector *const *selectors, size_t n, kstat_ctl_t *kc,
    struct ks_selection *out)
{
	struct ks_chain *chain = ks_chain_of(kc);
	struct gathered g = { NULL, 0, 0 };
	bool named, all = true, is_sorted = chain->sorted.chain_id == kc->kc_chain_id;
	kstat_t *one = find_named(selectors, n, kc, &named);
	int rc;

	*out = (struct ks_selection){ NULL, 0 };
	if (named)
		rc = one != NULL ? gather(&g, one) : 0;
	else
		rc = is_sorted ? gather_sorted(chain, selectors, n, &g) : gather_unsorted(kc, selectors, n, &g, &all);
	if (rc != 0)
		return -1;
	ks_chain_warn_of_selectors(kc, selectors, n);
	finish(&g, !is_sorted, out);
	if (all && !is_sorted && !named)
		keep_sorted(chain, out);
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
	finish(&g, true, out);
	return 0;
}

void
ks_selection_free(struct ks_selection *sel)
{
	free(sel->ksp);
	*sel = (struct ks_selection){ NULL, 0 };
}
