/*
 * selection.h - the kstats of a chain or of a sample that selectors match, in the order of kstat(8).
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_SELECTION_H
#define CHAIN_SELECTION_H

#include "kstat.h"
#include "select/selector.h"

struct ks_selection {
	kstat_t **ksp; /* in the order of kstat(8); owned */
	size_t n;
};

/*
 * The shown kstats (ks_is_shown) of the chain whose headers match, in the order of kstat(8): module
 * without case, instance, name without case; of equals the one later in the chain first.
 * The pointers are valid until the next update. 0, or -1 with errno ENOMEM.
 */
int ks_selector_select(const struct ks_selector *s, kstat_ctl_t *kc, struct ks_selection *out);

/*
 * The same for several selectors (none: everything): what any of them matches, each kstat once, in
 * one order.
 */
int ks_selector_select_any(const struct ks_selector *const *selectors, size_t n, kstat_ctl_t *kc,
    struct ks_selection *out);

/* The same among kstats in an array, in the order of which they came into the chain. */
int ks_selector_pick(const struct ks_selector *const *selectors, size_t n, kstat_t *const *ksp,
    size_t nksp, struct ks_selection *out);

void ks_selection_free(struct ks_selection *sel);

/* Compares two byte strings as the order above does: bytes, ASCII letters lower-cased. */
int ks_compare_nocase(const char *a, const char *b);

#endif
