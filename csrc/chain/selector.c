/* selector.c - see selector.h. SPDX-License-Identifier: MIT */
#include "chain/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
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

/* A kstat on its way into order; of equals the one later in the chain goes first. */
struct placed {
	kstat_t *ksp;
	size_t position;
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

int
ks_selector_select(const struct ks_selector *s, kstat_ctl_t *kc, struct ks_selection *out)
{
	struct placed *found = NULL;
	size_t n = 0, cap = 0;

	*out = (struct ks_selection){ NULL, 0 };
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (!ks_selector_matches(s, ksp) || !ks_is_shown(ksp))
			continue;
		if (n == cap) {
			struct placed *grown = realloc(found, (cap = cap == 0 ? 64 : 2 * cap) * sizeof(*found));

			if (grown == NULL) {
				free(found);
				return ks_fail(ENOMEM, "out of memory for a selection of kstats");
			}
			found = grown;
		}
		found[n] = (struct placed){ ksp, n };
		n++;
	}
	if (n > 1)
		qsort(found, n, sizeof(*found), compare_placed);
	/* The pointers, closed up at the start of the same memory. */
	out->ksp = (kstat_t **)(void *)found;
	for (size_t i = 0; i < n; i++) {
		kstat_t *ksp = found[i].ksp;

		memcpy(&out->ksp[i], &ksp, sizeof(ksp));
	}
	out->n = n;
	return 0;
}

void
ks_selection_free(struct ks_selection *sel)
{
	free(sel->ksp);
	*sel = (struct ks_selection){ NULL, 0 };
}
