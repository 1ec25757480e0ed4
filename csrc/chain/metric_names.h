/*
 * metric_names.h - tables of names: kstats as metrics of another program's names, such as node_exporter's. A table is
 * data. Its groups say which kstats have such names, which labels these have, and what each of their statistics is
 * called. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_METRIC_NAMES_H
#define CHAIN_METRIC_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "chain/metric_sample.h"
#include "chain/selector.h"

struct ks_metric_label {
	const char *name;
	/*
	 * Where its value is from: "instance", "name", "name,ENDING" (the name of the kstat without this ending), or the
	 * name of a statistic.
	 */
	const char *from;
};

struct ks_metric_name {
	const char *family; /* without _total */
	/*
	 * A statistic, or "*": each number of the kstat, in its base unit; its name and that go behind `family`. Of rows
	 * (metric_rows.h) "*" are those that the group does not name, which name themselves; "?STATISTIC" is left out
	 * where it is 0; and a value of interest may stand for its histogram.
	 */
	const char *stat;
	const char *labels; /* beside those of the kstat, as ks_metric_add_label() makes them; "": none */
	uint64_t per;       /* the divisor of its values */
	enum ks_metric_type type;
};

struct ks_metric_group {
	const struct ks_selector *selector;
	const struct ks_metric_label *label;
	size_t nlabels;
	const struct ks_metric_name *name;
	size_t n;
	uint32_t first; /* the number of its first name among those of the table */
};

/* Whether a name of the group is this statistic's own. */
bool ks_metric_group_names(const struct ks_metric_group *group, const char *stat);

/* As ks_metric_samples_add(), by the names of a group that the kstat is in. */
int ks_metric_samples_add_named(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values, const struct ks_metric_group *group);

#endif
