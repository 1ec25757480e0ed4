/*
 * sample.h - samples of metrics: a family, labels and a value each. What becomes one is up to kstat_samples.c,
 * names.h and rows.h. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_SAMPLE_H
#define METRICS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "chain/values.h"
#include "metrics/family.h"
#include "model/histogram.h"

struct ks_metric_sample {
	uint32_t family;
	uint32_t labels; /* offset of the labels of its kstat */
	uint32_t own;    /* offset of its own labels; 0: none */
	uint8_t part;    /* enum ks_metric_part */
	struct ks_metric_value value;
};

/* A statistic of a kstat that had a value. */
struct ks_metric_use {
	kid_t kid;
	uint32_t stat;
};

struct ks_metric_uses {
	struct ks_metric_use *use; /* owned */
	size_t n, cap;
};

/* The labels of a kstat that somebody publishes, and what they were made of. */
struct ks_metric_labels {
	uint64_t hash;
	kid_t kid;
	uint32_t labels; /* their offset */
	uint32_t texts;
};

#define KS_METRIC_BORDERS 23 /* most buckets of a kstat2 histogram in the text formats, beside the last one */

/*
 * Which buckets those of the last histogram are. They follow from its layout alone: all kstats of a layout, on all
 * machines and at all times, have the same ones, so that rates of them can be added.
 */
struct ks_metric_borders {
	struct ks_hist_layout layout; /* n 0: there was none yet */
	uint64_t times, per;
	uint32_t n;
	uint32_t bucket[KS_METRIC_BORDERS]; /* its greatest value is the border */
	uint32_t le[KS_METRIC_BORDERS];     /* offsets of their labels */
};

/* All of them; zeros are an empty collection. */
struct ks_metric_samples {
	enum ks_metric_format format;
	struct ks_metric_families families;
	struct ks_buf labels;            /* NUL-terminated texts; the first one is "" */
	struct ks_metric_borders borders;
	struct ks_table by_kstat;        /* labels of kstats, by module, instance and name */
	struct ks_metric_sample *sample; /* owned; in the order of kstats */
	size_t n, cap;
	uint32_t kstats;
	bool is_again;                   /* it is worth while to note the uses, */
	bool keeps_labels;               /* and the labels of what is published: no two kstats have the same name */
	struct ks_metric_uses uses, last; /* now, and of the exposition before, which most likely had the same */
	size_t expected;                 /* number of the one of `last` that is likely to come next */
	struct ks_metric_labels *known;  /* owned; labels that are there from one exposition to the next */
	size_t nknown, known_cap, expected_known, not_known;
	size_t least_labels;             /* bytes of labels, when all of them were new; 0: they are */
	uint32_t *named;                 /* owned; families of the names of a table, see names.h */
	size_t nnamed, named_cap;
	/* The members below are about the kstat that is being added. */
	kid_t kid;
	kstat_ctl_t *kc;
	const kstat_t *ksp;
	const struct ks_values *values;
	uint32_t ksp_labels;
	struct ks_buf taken;             /* names of labels; scratch */
	struct ks_buf states;            /* labels of the texts that are states; scratch */
};

void ks_metric_samples_free(struct ks_metric_samples *s);

/* Removes all samples, and keeps the memory and what is known of families. */
void ks_metric_samples_again(struct ks_metric_samples *s);

/* Begins with the samples of a kstat, whose labels follow. */
void ks_metric_samples_begin(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values);

/* Whether labels that begin here are this text: for s->by_kstat. */
bool ks_metric_has_labels(const void *samples, uint32_t labels, const void *text);

/* Whether no kstat before had the labels that this one has, which end now. False without memory, too. */
bool ks_metric_labels_are_new(struct ks_metric_samples *s);

/*
 * Adds a sample of the kstat: its value is multiplied by times and divided by per. A counter below 0 is none. 0, or -1
 * with errno ENOMEM.
 */
int ks_metric_add_sample(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    enum ks_metric_part part, uint32_t own, const struct ks_value *v);

/*
 * Begins with the samples of a row whose labels follow: s->ksp_labels is where they begin. crtime: when it was created, by
 * gethrtime(); 0: nobody knows.
 */
void ks_metric_samples_row(struct ks_metric_samples *s, hrtime_t crtime);

/* Gives the row labels that are there already. */
void ks_metric_samples_keep_row(struct ks_metric_samples *s, uint32_t labels);

/* Returns that, by where the labels begin; 0, too, if the format has no use for it. */
hrtime_t ks_metric_crtime(const struct ks_metric_samples *s, uint32_t labels);

/* Appends labels that samples have beside those of their row, and returns their offset; "": 0. */
uint32_t ks_metric_own_labels(struct ks_metric_samples *s, const char *labels);

/*
 * Returns the family of a statistic of rows. family: its name without _total, or NULL: its publisher named it, by the
 * statistic, less _total if it is a counter, with its base unit at the end. Where that is not the unit of its values, as
 * for "us" and "0.001 jobs", *per becomes how many of them are one of it; a gauge has its own. Without a description its
 * name is one. KS_NO_SLOT: no metric can have that name, it belongs to another one, or errno is ENOMEM.
 */
uint32_t ks_metric_row_family(struct ks_metric_samples *s, const char *family, enum ks_metric_type type,
    const char *stat, const char *unit, const char *desc, uint64_t *per);

static inline bool
ks_metric_is_number(const struct ks_value *v)
{
	return v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_U64 || v->kind == KS_VALUE_DOUBLE ||
	    v->kind == KS_VALUE_NSEC;
}

static inline bool
ks_metric_is_negative(const struct ks_value *v)
{
	return v->kind == KS_VALUE_DOUBLE ? !(v->d >= 0) : v->kind != KS_VALUE_U64 && v->i64 < 0;
}

/* --- kstats by our own rules, kstat_samples.c ------------------------------------------------------------- */

/*
 * Adds the samples of a kstat of the chain, of these of its values. Texts are labels of all of them, and those that
 * are states of kstat_MODULE_info alone. 0, or -1 with errno
 * ENOMEM.
 */
int ks_metric_samples_add(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values);

#endif
