/* writer.c - see writer.h. SPDX-License-Identifier: MIT */
#include "metrics/writer.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "metrics/protobuf.h"

/* What types are called in both text formats, and what the names of their values end with: at most 7 bytes. */
static const struct {
	const char *classic, *open;
	char ending[8];
} types[] = {
	[KS_METRIC_UNKNOWN] = { "untyped", "unknown", "" },
	[KS_METRIC_GAUGE] = { "gauge", "gauge", "" },
	[KS_METRIC_COUNTER] = { "counter", "counter", "_total" },
	[KS_METRIC_HISTOGRAM] = { "histogram", "histogram", "" },
	[KS_METRIC_SUMMARY] = { "summary", "summary", "" },
	[KS_METRIC_INFO] = { "gauge", "info", "_info" }
};

/* --- labels -------------------------------------------------------------------------------------------- */

void
ks_metric_add_label(struct ks_buf *b, size_t start, const char *name, const char *value, size_t n)
{
	if (b->len > start)
		ks_buf_addc(b, ',');
	ks_buf_adds(b, name);
	ks_buf_adds(b, "=\"");
	ks_metric_add_text(b, value, n, KS_METRIC_QUOTED);
	ks_buf_addc(b, '"');
}

void
ks_metric_add_le(struct ks_buf *b, enum ks_metric_format format, const struct ks_value *high, uint64_t times,
    uint64_t per)
{
	struct ks_metric_value v;
	char number[KS_METRIC_NUMBER_MAX];
	size_t at;
	double d;

	if (high != NULL)
		ks_metric_scale(high, times, per, &v);
	if (format == KS_METRIC_PROTOBUF) {
		d = high != NULL ? ks_metric_double(&v) : (double)INFINITY;
		ks_buf_add(b, &d, sizeof(d));
		return;
	}
	ks_buf_adds(b, "le=\"");
	at = b->len;
	if (high == NULL) {
		ks_buf_adds(b, "+Inf");
	} else {
		ks_buf_add(b, number, (size_t)(ks_metric_put_number(number, &v) - number));
		if (format == KS_METRIC_OPENMETRICS && !b->failed && memchr(b->data + at, '.', b->len - at) == NULL &&
		    memchr(b->data + at, 'e', b->len - at) == NULL)
			ks_buf_adds(b, ".0");
	}
	ks_buf_addc(b, '"');
}

/* --- families ------------------------------------------------------------------------------------------ */

static void
add_head_line(struct ks_buf *b, const char *what, const char *name, const char *ending)
{
	ks_buf_adds(b, what);
	ks_buf_adds(b, name);
	ks_buf_adds(b, ending);
	ks_buf_addc(b, ' ');
}

void
ks_metric_add_head(struct ks_buf *b, enum ks_metric_format format, const char *name, enum ks_metric_type type,
    const char *unit, const char *help)
{
	bool is_open = format == KS_METRIC_OPENMETRICS;
	const char *ending = is_open ? "" : types[type].ending;

	if (format == KS_METRIC_PROTOBUF) {
		ks_metric_pb_head(b, name, ending, type, unit, help);
		return;
	}
	add_head_line(b, "# TYPE ", name, ending);
	ks_buf_adds(b, is_open ? types[type].open : types[type].classic);
	ks_buf_addc(b, '\n');
	if (is_open && unit[0] != '\0') {
		add_head_line(b, "# UNIT ", name, "");
		ks_buf_adds(b, unit);
		ks_buf_addc(b, '\n');
	}
	if (help[0] != '\0') {
		add_head_line(b, "# HELP ", name, ending);
		ks_metric_add_text(b, help, strlen(help), is_open ? KS_METRIC_QUOTED : KS_METRIC_ONE_LINE);
		ks_buf_addc(b, '\n');
	}
}

void
ks_metric_family(struct ks_metric_writer *w, const char *name, size_t name_len, enum ks_metric_type type,
    const char *head, size_t head_len)
{
	ks_metric_flush(w);
	w->name = name;
	w->name_len = name_len;
	w->type = type;
	w->head = head;
	w->head_len = head_len;
}

/* Copies n bytes and returns where they end. */
static inline char *
put(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

void
ks_metric_line(struct ks_metric_writer *w, enum ks_metric_part part, const char *labels, size_t labels_len,
    const char *own, const struct ks_metric_value *v, const double *time)
{
	static const char endings[][8] = { [KS_PART_BUCKET] = "_bucket", [KS_PART_COUNT] = "_count",
		[KS_PART_SUM] = "_sum" };
	const char *ending;
	size_t ending_len, own_len;
	char *to;

	if (w->format == KS_METRIC_PROTOBUF) {
		ks_metric_pb_sample(w, part, labels, labels_len, own, v, time);
		return;
	}
	ending = part == KS_PART_VALUE ? types[w->type].ending : endings[part];
	ending_len = strlen(ending);
	own_len = own[0] != '\0' ? strlen(own) : 0;
	to = ks_buf_room(w->out, w->head_len + w->name_len + ending_len + labels_len + own_len +
	    KS_METRIC_NUMBER_MAX + KS_NUMBER_MAX + 8);
	if (to == NULL)
		return;
	if (w->head_len > 0)
		to = put(to, w->head, w->head_len);
	w->head_len = 0;
	to = put(to, w->name, w->name_len);
	memcpy(to, ending, 8); /* one move, however short it is */
	to += ending_len;
	if (labels_len + own_len > 0) {
		*to++ = '{';
		to = put(to, labels, labels_len);
		if (labels_len > 0 && own_len > 0)
			*to++ = ',';
		to = put(to, own, own_len);
		*to++ = '}';
	}
	*to++ = ' ';
	to = ks_metric_put_number(to, v);
	if (time != NULL) {
		*to++ = ' ';
		to += ks_format_number(to, *time);
	}
	*to++ = '\n';
	w->out->len = (size_t)(to - w->out->data);
}

void
ks_metric_flush(struct ks_metric_writer *w)
{
	if (w->format == KS_METRIC_PROTOBUF)
		ks_metric_pb_end(w);
}

void
ks_metric_end(struct ks_metric_writer *w)
{
	ks_metric_flush(w);
	if (w->format == KS_METRIC_OPENMETRICS)
		ks_buf_adds(w->out, "# EOF\n");
}

void
ks_metric_drop(struct ks_metric_writer *w)
{
	ks_buf_reset(&w->message);
	w->metric = 0;
}

void
ks_metric_writer_free(struct ks_metric_writer *w)
{
	ks_buf_free(&w->message);
}
