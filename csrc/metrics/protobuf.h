/*
 * protobuf.h - metrics as protocol buffers: the messages MetricFamily of Prometheus's client_model, for
 * writer.c. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_PROTOBUF_H
#define METRICS_PROTOBUF_H

#include "metrics/writer.h"
#include "model/histogram.h"

/* Appends name, with its ending, help, type and unit of a family: as ks_metric_add_head(). */
void ks_metric_pb_head(struct ks_buf *b, const char *name, const char *ending, enum ks_metric_type type,
    const char *unit, const char *help);

/* Adds a sample: as ks_metric_line(). */
void ks_metric_pb_sample(struct ks_metric_writer *w, enum ks_metric_part part, const char *labels, size_t labels_len,
    const char *own, const struct ks_metric_value *v, const double *time);

/* Ends the family, and moves its message to the others. */
void ks_metric_pb_end(struct ks_metric_writer *w);

/*
 * Appends the buckets of an exponential histogram as fields of a native one, for a sample KS_PART_NATIVE. buckets: n
 * counts, maybe unaligned. Values of the kstat are multiplied by times and divided by per. Where that is a power of two,
 * the scale and all buckets stay what they are. Else, as for nanoseconds, which become seconds, no bounds can stay: then
 * each bucket becomes the one of the scale 8 that has its middle, so that a value is still wrong by no more than half the
 * width of its bucket and the half of one of that scale (0.14 %). It is the same one in all processes: merging stays exact.
 */
void ks_metric_pb_native(struct ks_buf *b, const struct ks_hist_layout *l, const char *buckets, uint32_t n,
    uint64_t times, uint64_t per);

#endif
