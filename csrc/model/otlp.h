/*
 * otlp.h - distributions as OpenTelemetry sends them. SPDX-License-Identifier: MIT
 */
#ifndef MODEL_OTLP_H
#define MODEL_OTLP_H

#include "base/buf.h"
#include "model/distribution.h"

/*
 * Appends the fields of a message opentelemetry.proto.metrics.v1.ExponentialHistogramDataPoint: scale, count and buckets
 * as they are, and the sum and the extremes that were counted. start, end: the times between which it was counted, ns
 * since 1970. -1 with errno EINVAL: it is no exponential histogram.
 */
int ks_otlp_add(struct ks_buf *b, const struct kstat_hist *d, uint64_t start, uint64_t end);

#endif
