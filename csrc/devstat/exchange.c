/*
 * exchange.c - frees and exchanges what the other functions allocate.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "devstat.h"

void
devstat_freedevs(struct devinfo *dinfo)
{
	if (dinfo == NULL)
		return;
	free(dinfo->mem_ptr);
	memset(dinfo, 0, sizeof(*dinfo));
}

void
devstat_free(void *p)
{
	free(p);
}

void
devstat_swap(struct statinfo *current, struct statinfo *previous)
{
	struct statinfo t;

	if (current == NULL || previous == NULL)
		return;
	t = *current;
	*current = *previous;
	*previous = t;
}
