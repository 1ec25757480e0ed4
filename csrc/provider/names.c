/* names.c - the names of a kstat's statistics. See provider.h. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/meta.h"
#include "provider/provider.h"

static int
compare(const void *a, const void *b)
{
	return strncmp(*(const char *const *)a, *(const char *const *)b, KSTAT_STRLEN);
}

/* The names that records of `size` bytes begin with, but for empty ones; how many there are. */
static size_t
collect(const char **name, const char *data, size_t size, uint_t n)
{
	size_t found = 0;

	for (uint_t i = 0; i < n; i++) {
		if (data[i * size] != '\0')
			name[found++] = data + i * size;
	}
	return found;
}

int
ks_provider_check_names(const struct ks_provider *p)
{
	const kstat_t *k = &p->ks;
	size_t size = k->ks_type == KSTAT_TYPE_NAMED ? sizeof(kstat_named_t) : sizeof(kstat_timer_t);
	const char **name, *twice = NULL, *taken = NULL;
	size_t n;

	_Static_assert(offsetof(kstat_named_t, name) == 0 && offsetof(kstat_timer_t, name) == 0,
	    "records begin with their names");
	/*
	 * Where a snapshot function fills the copy, or an update function changes the size, ks_data need not hold
	 * records before the first read.
	 */
	if ((k->ks_type != KSTAT_TYPE_NAMED && k->ks_type != KSTAT_TYPE_TIMER) || k->ks_data == NULL ||
	    k->ks_ndata == 0 || k->ks_snapshot != NULL || (k->ks_flags & KSTAT_FLAG_VAR_SIZE))
		return 0;
	name = malloc(k->ks_ndata * sizeof(*name));
	if (name == NULL)
		return ks_fail(ENOMEM, "out of memory for the names of %u statistics", k->ks_ndata);
	n = collect(name, k->ks_data, size, k->ks_ndata);
	qsort(name, n, sizeof(*name), compare);
	for (size_t i = 1; i < n && twice == NULL; i++)
		twice = compare(&name[i - 1], &name[i]) == 0 ? name[i] : NULL;
	for (size_t i = 0; i < n && k->ks_type == KSTAT_TYPE_NAMED && taken == NULL; i++)
		taken = name[i][KSTAT_STRLEN - 1] == '\0' && ks_meta_is_header(name[i]) ? name[i] : NULL;
	free(name);
	if (taken != NULL)
		return ks_fail(EINVAL, "%s:%d:%s: no statistic can be named '%s', which each kstat has", k->ks_module,
		    k->ks_instance, k->ks_name, taken);
	if (twice != NULL)
		return ks_fail(EINVAL, "%s:%d:%s: more than one statistic is named '%.*s'", k->ks_module,
		    k->ks_instance, k->ks_name, KSTAT_STRLEN, twice);
	return 0;
}
