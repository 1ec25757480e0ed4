/* warnings.c - see warnings.h. SPDX-License-Identifier: MIT */
#include "chain/warnings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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
	/* A warning is not worth a failure. */
	if (w->n >= MOST_WARNINGS || !KS_RESERVE(w->line, w->cap, w->n + 1))
		return;
	w->line[w->n] = strdup(line);
	if (w->line[w->n] != NULL)
		w->n++;
}

const char *
ks_warnings_take(struct ks_warnings *w)
{
	return w->returned < w->n ? w->line[w->returned++] : NULL;
}
