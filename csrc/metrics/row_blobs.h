/*
 * row_blobs.h - the distributions of rows (rows.h) that are statsblobs: histograms with buckets that
 * somebody chose. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_ROW_BLOBS_H
#define METRICS_ROW_BLOBS_H

#include "metrics/names.h"
#include "metrics/sample.h"
#include "source/segment/segment_walk.h"

/*
 * What is kept of the blobs from one exposition to the next: their numbers, as of the commit that the blob's
 * word named. While the word stays the same, the blob is not read. Both lists are in the order of the file,
 * as the blobs come.
 */
struct ks_metric_blobs {
	struct ks_metric_blob *now, *before; /* owned */
	size_t n, cap, nbefore, before_cap, at; /* `at`: the one of `before` that is likely to come next */
	struct ks_buf numbers, numbers_before; /* struct ks_value[] */
	bool is_taken;                       /* an exposition has it */
};

/* Takes it for an exposition that begins; false: another one has it. */
bool ks_metric_blobs_take(struct ks_metric_blobs *b);

/* Gives it back. is_whole: all blobs came; else all is forgotten. */
void ks_metric_blobs_give_back(struct ks_metric_blobs *b, bool is_whole);

void ks_metric_blobs_free(struct ks_metric_blobs *b);

struct ks_metric_blob_kind;

/*
 * Returns what blobs of the same template and descriptions as this one have in common, and their families;
 * NULL with errno. kept: as below.
 */
struct ks_metric_blob_kind *ks_metric_blob_kind_new(struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, const struct ks_metric_group *group, struct ks_metric_samples *s);

void ks_metric_blob_kind_free(struct ks_metric_blob_kind *kind);

/*
 * Adds the samples of the blob of an entry, with the labels that s has. kept may be NULL. is_other: only if
 * it counted something. 0, or -1 with errno ENOMEM; a blob that cannot be read is left out.
 */
int ks_metric_blob_add(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, struct ks_metric_samples *s, struct ks_metric_blobs *kept, bool is_other);

#endif
