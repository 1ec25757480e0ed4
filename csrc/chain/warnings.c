/* warnings.c - see warnings.h. SPDX-License-Identifier: MIT */
#include "chain/warnings.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WARNINGS 1000

void
ks_warnings_free(struct ks_warnings *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->line[i]);
	free(w->line);
	*w = (struct ks_warnings){ NULL, 0, 0 };
}

void
ks_warnings_add(struct ks_warnings *w, const char *line)
{
	char **grown;

	for (size_t i = 0; i < w->n; i++) {
		if (strcmp(w->line[i], line) == 0)
			return;
	}
	if (w->n >= MOST_WARNINGS)
		return;
	grown = realloc(w->line, (w->n + 1) * sizeof(*grown));
	if (grown == NULL)
		return; /* a warning is not worth a failure */
	w->line = grown;
	w->line[w->n] = strdup(line);
	if (w->line[w->n] != NULL)
		w->n++;
}

const char *
ks_warnings_take(struct ks_warnings *w)
{
	return w->told < w->n ? w->line[w->told++] : NULL;
}
