/* warnings.c - see handle.h. SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "chain/handle.h"
#include "select/selector.h"

#define MOST_WARNINGS 1000

void
ks_warnings_free(struct ks_warnings *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->line[i]);
	free(w->line);
	*w = (struct ks_warnings){ 0 };
}

void
ks_warnings_add(struct ks_warnings *w, const char *line)
{
	for (size_t i = 0; i < w->n; i++) {
		if (strcmp(w->line[i], line) == 0)
			return;
	}
	if (w->n >= MOST_WARNINGS)
		return;
	if (w->n == MOST_WARNINGS - 1)
		line = "further lines about what cannot be read are left out";
	if (!KS_RESERVE(w->line, w->cap, w->n + 1) || (w->line[w->n] = strdup(line)) == NULL)
		w->lost = true;
	else
		w->n++;
}

const char *
ks_warnings_take(struct ks_warnings *w)
{
	bool lost = w->lost;

	if (w->returned < w->n)
		return w->line[w->returned++];
	w->lost = false;
	return lost ? "something could not be read, and there is no memory to say what" : NULL;
}

void
ks_chain_warn_of_selectors(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n)
{
	for (size_t i = 0; kc != NULL && i < n; i++) {
		const char *line;

		while (!selectors[i]->is_strangers && (line = ks_selector_trouble(selectors[i])) != NULL) {
			ks_warnings_add(&ks_chain_of(kc)->warnings, line);
			ks_chain_of(kc)->damaged |= ks_replay_source(ks_chain_of(kc)) != NULL;
		}
	}
}
