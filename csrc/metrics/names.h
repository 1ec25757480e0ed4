/*
 * names.h - tables of names: kstats as metrics of another program's names, such as node_exporter's. A table is
 * data. Its groups say which kstats have such names, which labels these have, and what each of their statistics is
 * called. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_NAMES_H
#define METRICS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/sample.h"
#include "select/pattern.h"
#include "select/selector.h"

struct ks_metric_label {
	const char *name; /* "": none is written, and the value is there to be kept or dropped */
	/* Where its value is from: "module", "instance", "name", or the name of a statistic, which may be absent. */
	const char *from;
	const char *part; /* a text with one '*': the value is what that stands for; NULL, or it does not match: all */
	/* Kstats whose values match `drop`, or do not match `keep`, have no metrics. NULL: none is left out. */
	const struct ks_pattern *keep, *drop;
};

enum ks_metric_name_kind {
	KS_METRIC_STAT,     /* the value of the statistic `stat` */
	KS_METRIC_ROUNDED,  /* the same, divided and then rounded to hundredths */
	KS_METRIC_ONE_MORE, /* the same, plus 1 behind the division */
	KS_METRIC_IF,       /* the same, where the statistic `other` is there and not 0 */
	KS_METRIC_NOT,      /* 1 where the statistic is 0, else 0 */
	KS_METRIC_IS,       /* 1 where the statistic is the text `other`, 0 where it is another text */
	KS_METRIC_ALWAYS,   /* 1, for what is in the labels */
	/*
	 * The values of all statistics that match `stat`, which has one '*', or '#' for digits. In `family` and in `labels`
	 * a '*' is what that stands for; a family that ends in '%' has the base unit there, and its values are in it.
	 * '^' is the same with a capital.
	 */
	KS_METRIC_MATCHING,
	KS_METRIC_TEXTS     /* 1 for each text that matches in this way; the text is the label `other` */
};

struct ks_metric_name {
	const char *family; /* without _total */
	/*
	 * Of rows (rows.h), whose names are all KS_METRIC_STAT, "*" are the statistics that the group does not
	 * name, which name themselves; "?STATISTIC" is left out where it is 0; and a value of interest may stand for its
	 * histogram.
	 */
	const char *stat, *other;
	const char *labels; /* beside those of the kstat, as ks_metric_add_label() makes them; "": none */
	uint64_t times, per;
	enum ks_metric_type type;
	enum ks_metric_name_kind kind;
};

struct ks_metric_group {
	const struct ks_selector *selector;
	bool also; /* of the same kstats as the group before, which are read once for both */
	bool once; /* kstats that have the same labels are the same thing: the first counts */
	const struct ks_metric_label *label;
	size_t nlabels;
	const struct ks_metric_name *name;
	size_t n;
	/* Of names that match statistics, the families that are wanted, by what is behind `fields_at` bytes; NULL: all. */
	const struct ks_pattern *fields;
	size_t fields_at;
	uint32_t first; /* the number of its first name among those of the table */
};

/* Whether a name of the group is this statistic's own. */
bool ks_metric_group_names(const struct ks_metric_group *group, const char *stat);
/* Whether the labels that are from the header of a kstat let it be in the group. */
bool ks_metric_group_wants(const struct ks_metric_group *group, const kstat_t *ksp);

/* As ks_metric_samples_add() of sample.h, by the names of a group that the kstat is in. */
int ks_metric_samples_add_named(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values, const struct ks_metric_group *group);

#endif
