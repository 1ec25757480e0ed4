/*
 * row_owners.h - rows (rows.h) whose distributions may come, by their names.
 * SPDX-License-Identifier: MIT
 */
#ifndef METRICS_ROW_OWNERS_H
#define METRICS_ROW_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "kstat.h"

struct ks_metric_owner {
	char name[KSTAT_STRLEN];
	uint32_t labels; /* their offset */
	bool is_other;   /* each label is "other" */
};

/* Zeros are an empty collection. */
struct ks_metric_owners {
	struct ks_metric_owner *owner; /* owned */
	size_t n, cap;
	struct ks_table by_name;
};

/* Adds a row by its name, which may fill all of its place. 0, or -1 with errno ENOMEM. */
int ks_metric_owners_add(struct ks_metric_owners *o, const char *name, uint32_t labels, bool is_other);

/*
 * Returns the row of the distributions of this name, or NULL: it did not come yet. Those whose name is none of a
 * row's with an ending are all that there is of their row, which has no labels.
 */
const struct ks_metric_owner *ks_metric_owners_find(const struct ks_metric_owners *o, const char *name);

void ks_metric_owners_free(struct ks_metric_owners *o);

#endif
