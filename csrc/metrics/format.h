/*
 * format.h - the formats of metrics, and which of them a client wants. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_FORMAT_H
#define METRICS_FORMAT_H

enum ks_metric_format {
	KS_METRIC_CLASSIC,     /* the classic text format of Prometheus */
	KS_METRIC_OPENMETRICS, /* OpenMetrics 1.0, as text */
	KS_METRIC_PROTOBUF     /* messages io.prometheus.client.MetricFamily, each after its length: with native histograms */
};

/*
 * Returns the format that a client wants, by the header Accept of its request; NULL: it has none. Of those with the
 * greatest weight, the first counts that says more than the classic one. What is not understood is no wish.
 */
enum ks_metric_format ks_metric_negotiate(const char *accept);

/* Returns the media type of a format, for the header Content-Type of an answer. */
const char *ks_metric_media_type(enum ks_metric_format format);

#endif
