/*
 * writer.h - metrics in the formats of format.h. All metrics are written here, be they kstats, rows of a
 * report or those of nginx.
 *
 * A text is a sequence of families. ks_metric_family() begins one, and ks_metric_line() adds a sample to it. The head
 * of a family is written with its first sample, so that one without samples leaves nothing. Each family may occur once
 * in a text, and the caller sees to that. In protocol buffers a family is one message, which has its length before it,
 * and a histogram one metric: so the writer keeps a family until it ends, and the samples of a histogram follow one
 * another, that of the part KS_PART_COUNT last.
 * SPDX-License-Identifier: MIT
 */
#ifndef METRICS_WRITER_H
#define METRICS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "metrics/format.h"
#include "metrics/value.h"

enum ks_metric_type {
	KS_METRIC_UNKNOWN,
	KS_METRIC_GAUGE,
	KS_METRIC_COUNTER,
	KS_METRIC_HISTOGRAM,
	KS_METRIC_SUMMARY,
	KS_METRIC_INFO,
	KS_METRIC_RESERVED /* a name that servers give a metric of their own; no family is written with it */
};

/*
 * What a sample is of its family, which says what its name ends with. KS_PART_NATIVE is for protocol buffers alone: the
 * fields of a native histogram, as ks_metric_pb_native() makes them; its value is how many bytes they are.
 */
enum ks_metric_part { KS_PART_VALUE, KS_PART_BUCKET, KS_PART_COUNT, KS_PART_SUM, KS_PART_NATIVE };

/* Where a text goes, and its family. What is not said to be owned is borrowed. */
struct ks_metric_writer {
	struct ks_buf *out;
	enum ks_metric_format format;
	const char *name; /* of the family, without _total or _info */
	size_t name_len;
	enum ks_metric_type type;
	const char *head; /* of the family */
	size_t head_len;  /* 0: it was written */
	/* The members below are those of protocol buffers. */
	int64_t created;  /* ns since 1970: when the next samples began to count; 0: nobody knows */
	struct ks_buf message; /* owned; the family */
	size_t metric, histogram; /* where these began in it; 0: there is none that is not complete */
	bool has_sum;     /* the histogram has one */
};

/*
 * Appends the head of a family. name: without _total or _info. unit: "", or the end of the name, which OpenMetrics has in
 * a line of its own. help: "": none.
 */
void ks_metric_add_head(struct ks_buf *b, enum ks_metric_format format, const char *name, enum ks_metric_type type,
    const char *unit, const char *help);

/* Begins a family. Its name and head are borrowed until the next one begins. */
void ks_metric_family(struct ks_metric_writer *w, const char *name, size_t name_len, enum ks_metric_type type,
    const char *head, size_t head_len);

/*
 * Adds a sample. labels: those of its row, as ks_metric_add_label() makes them, or "". own: labels of this sample alone,
 * such as that of a bucket (ks_metric_add_le()), or "". time: NULL, or seconds since 1970.
 */
void ks_metric_line(struct ks_metric_writer *w, enum ks_metric_part part, const char *labels, size_t labels_len,
    const char *own, const struct ks_metric_value *v, const double *time);

/* Ends the family, so that all of it is in the text. */
void ks_metric_flush(struct ks_metric_writer *w);

/* Ends the whole text. */
void ks_metric_end(struct ks_metric_writer *w);

/* Forgets a family that is not complete. */
void ks_metric_drop(struct ks_metric_writer *w);

void ks_metric_writer_free(struct ks_metric_writer *w);

/* --- what samples consist of ---------------------------------------------------------------------------- */

/*
 * Appends a label to those that begin at offset `start` of the buffer. What is not UTF-8 in the value, and control
 * characters, become the replacement character.
 */
void ks_metric_add_label(struct ks_buf *b, size_t start, const char *name, const char *value, size_t n);

/*
 * Appends the label of a bucket with this greatest value, which is scaled first, see ks_metric_scale(); NULL: +Inf. For
 * protocol buffers it is the bytes of a double.
 */
void ks_metric_add_le(struct ks_buf *b, enum ks_metric_format format, const struct ks_value *high, uint64_t times,
    uint64_t per);

#endif
