/*
 * row_blobs.h - the distributions of rows (rows.h) that are statsblobs: histograms with buckets that
 * somebody chose. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_ROW_BLOBS_H
#define METRICS_ROW_BLOBS_H

#include "metrics/names.h"
#include "metrics/sample.h"
#include "source/segment/segment_walk.h"

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
