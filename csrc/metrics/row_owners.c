/* row_owners.c - see row_owners.h. SPDX-License-Identifier: MIT */
#include "metrics/row_owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* What follows the name of a row in those of its distributions. */
static const char *const endings[] = { ",time", ",le", ",in", ",out" };

static bool
has_name(const void *owners, uint32_t slot, const void *name)
{
	return strcmp(((const struct ks_metric_owner *)owners)[slot].name, name) == 0;
}

int
ks_metric_owners_add(struct ks_metric_owners *o, const char *name, uint32_t labels, bool is_other)
{
	struct ks_metric_owner *owner;

	if (!KS_RESERVE(o->owner, o->cap, o->n + 1))
		return -1;
	owner = &o->owner[o->n];
	*owner = (struct ks_metric_owner){ .labels = labels, .is_other = is_other };
	memcpy(owner->name, name, strnlen(name, KSTAT_STRLEN - 1));
	return ks_table_add(&o->by_name, ks_hash_string(KS_HASH_INIT, owner->name), (uint32_t)o->n++) ? 0 : -1;
}

const struct ks_metric_owner *
ks_metric_owners_find(const struct ks_metric_owners *o, const char *name)
{
	static const struct ks_metric_owner nobody = { .labels = 0 }; /* "" */
	size_t n = strnlen(name, KSTAT_STRLEN - 1);
	char row[KSTAT_STRLEN] = "";
	uint32_t slot;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i]);

		if (n <= end || memcmp(name + n - end, endings[i], end) != 0)
			continue;
		memcpy(row, name, n - end);
		slot = ks_table_find(&o->by_name, ks_hash_string(KS_HASH_INIT, row), has_name, o->owner, row);
		return slot != KS_NO_SLOT ? &o->owner[slot] : NULL;
	}
	return &nobody;
}

void
ks_metric_owners_free(struct ks_metric_owners *o)
{
	free(o->owner);
	ks_table_free(&o->by_name);
	*o = (struct ks_metric_owners){ .n = 0 };
}
