/*
 * rows.h - the rows of one file of published kstats as samples of metrics, without a chain: for a
 * publisher that has a hundred thousand of them, such as nginx. A row is a kstat of numbers, whose texts are
 * the labels, and kstats "NAME,time", "NAME,le", "NAME,in" and "NAME,out" with distributions, histograms or
 * statsblobs, which have the labels of the row NAME; it has them if there are names for the class "CLASS_time". A
 * table of names (names.h) says what they are called; of its labels nothing is used.
 * SPDX-License-Identifier: MIT
 */
#ifndef METRICS_ROWS_H
#define METRICS_ROWS_H

#include "metrics/names.h"
#include "metrics/sample.h"
#include "source/segment/segment_walk.h"

/*
 * What rows of the same form have in common: so each of them is compared with one that was checked, and no
 * more.
 */
struct ks_metric_kind {
	struct ks_seg_shape shape;           /* its fields and strings are owned */
	const struct ks_metric_group *group; /* NULL: it has no names */
	struct ks_metric_column *column;   /* owned */
	size_t ncolumns, columns_cap;
	bool has_times;                    /* rows of this kind may have distributions */
	struct ks_metric_blob_kind *blob;  /* owned; NULL: it has no distributions */
};

/* A name of a statistic, or of a value of interest. */
struct ks_metric_column {
	uint32_t field;  /* of the statistic */
	uint32_t family;
	uint32_t own;    /* offset of the labels of its samples */
	uint64_t per;
	bool is_optional; /* it is left out where it is 0 */
};

struct ks_metric_rows {
	struct ks_seg_walk walk;
	const char *module;
	const struct ks_metric_group *groups; /* borrowed, as the table of names */
	size_t n, counted;                    /* groups; the first `counted` of them are those whose rows are counted */
	size_t rows;                          /* how many there are, less those in which every label is "other" */
	struct ks_metric_kind *kind;          /* owned */
	size_t nkinds, kinds_cap, last;       /* `last`: the kind of the row before */
	struct ks_metric_kind spare;          /* of the last row whose form has no room among them */
	size_t forms, blob_forms;             /* about how many bytes of them rows take, and distributions */
	struct ks_table by_form;              /* kinds */
	struct ks_metric_owner *owner;        /* owned; rows whose distributions may come */
	size_t nowners, owners_cap;
	struct ks_table by_name;              /* of these */
	uint64_t *late;                       /* owned: where distributions are that came before their rows */
	size_t nlate, late_cap, late_at;
	bool is_over;                         /* only those are left */
};

/* Begins to read the kstats of a module in a file. The groups of names are borrowed. -1 with errno and a message. */
int ks_metric_rows_open(struct ks_metric_rows *x, const char *path, const char *module,
    const struct ks_metric_group *groups, size_t n, size_t counted);

/* Reads some rows, for less than a millisecond. 1: there are more; 0: that was all; -1 with errno. */
int ks_metric_rows_read(struct ks_metric_rows *x, struct ks_metric_samples *s);

void ks_metric_rows_close(struct ks_metric_rows *x);

/* --- statsblobs of rows, histograms with buckets that somebody chose: row_blobs.c ------------------------ */

struct ks_metric_blob_kind;

/*
 * Returns what blobs of the same template and descriptions as this one have in common, and their families;
 * NULL with errno.
 */
struct ks_metric_blob_kind *ks_metric_blob_kind_new(struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, const struct ks_metric_group *group, struct ks_metric_samples *s);

void ks_metric_blob_kind_free(struct ks_metric_blob_kind *kind);

/*
 * Adds the samples of the blob of an entry, with the labels that s has. is_other: only if it counted something. 0, or -1
 * with errno ENOMEM; a blob that cannot be read is left out.
 */
int ks_metric_blob_add(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, struct ks_metric_samples *s, bool is_other);

#endif
