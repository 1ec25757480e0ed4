/* metric_writer.c - see metric_writer.h. SPDX-License-Identifier: MIT */
#include "chain/metric_writer.h"

#include <string.h>

#include "base/number.h"
#include "base/printable.h"

/* What types are called in both formats, and what the names of their values end with: at most 7 bytes. */
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

/* --- texts and numbers --------------------------------------------------------------------------------- */

/* Appends a text with its backslashes and line feeds escaped, and its quotes if they are to be. */
static void
add_escaped(struct ks_buf *b, const char *s, size_t n, bool quotes)
{
	if (ks_plain_length(s, n) == n && memchr(s, '\\', n) == NULL &&
	    (!quotes || memchr(s, '"', n) == NULL)) {
		ks_buf_add(b, s, n);
		return;
	}
	for (size_t i = 0, len; i < n; i += len) {
		bool printable;

		len = ks_character(s + i, n - i, &printable);
		if (s[i] == '\\' || (quotes && s[i] == '"')) {
			ks_buf_addc(b, '\\');
			ks_buf_addc(b, s[i]);
		} else if (s[i] == '\n') {
			ks_buf_adds(b, "\\n");
		} else if (!printable) {
			ks_buf_adds(b, "\xef\xbf\xbd"); /* the replacement character */
		} else {
			ks_buf_add(b, s + i, len);
		}
	}
}

void
ks_metric_add_label(struct ks_buf *b, size_t start, const char *name, const char *value, size_t n)
{
	if (b->len > start)
		ks_buf_addc(b, ',');
	ks_buf_adds(b, name);
	ks_buf_adds(b, "=\"");
	add_escaped(b, value, n, true);
	ks_buf_addc(b, '"');
}

void
ks_metric_scale(const struct ks_value *v, uint64_t times, uint64_t per, struct ks_metric_value *m)
{
	bool is_signed = v->kind != KS_VALUE_U64 && v->kind != KS_VALUE_DOUBLE;
	uint64_t amount = is_signed && v->i64 < 0 ? 0 - v->u64 : v->u64, product, rest = per;
	double d = v->kind == KS_VALUE_DOUBLE ? v->d : is_signed ? (double)v->i64 : (double)v->u64;

	m->decimals = 0;
	if (times == 1 && per == 1 && v->kind != KS_VALUE_DOUBLE) {
		m->kind = is_signed ? KS_VALUE_I64 : KS_VALUE_U64;
		m->bits = v->u64;
		return;
	}
	for (; rest % 10 == 0; rest /= 10)
		m->decimals++;
	if (v->kind != KS_VALUE_DOUBLE && rest == 1 && !__builtin_mul_overflow(amount, times, &product) &&
	    (!is_signed || product <= INT64_MAX)) {
		m->kind = is_signed ? KS_VALUE_I64 : KS_VALUE_U64;
		m->bits = is_signed && v->i64 < 0 ? 0 - product : product;
		return;
	}
	d = d * (double)times / (double)per;
	m->kind = KS_VALUE_DOUBLE;
	memcpy(&m->bits, &d, sizeof(d));
}

static size_t
format_double(char *to, double d)
{
	if (d - d == 0)
		return ks_format_number(to, d);
	memcpy(to, d != d ? "NaN" : d > 0 ? "+Inf" : "-Inf", 4);
	return d != d ? 3 : 4;
}

#define NUMBER_MAX (2 * KS_NUMBER_MAX) /* bytes that a value takes at most */

/* Writes the digits of a whole number, or the shortest ones that make the double; NaN, +Inf, -Inf. Returns their end. */
static char *
put_number(char *to, const struct ks_metric_value *m)
{
	bool negative = m->kind == KS_VALUE_I64 && (int64_t)m->bits < 0;
	uint64_t amount = negative ? 0 - m->bits : m->bits, per = 1, rest;
	double d;

	if (m->kind == KS_VALUE_DOUBLE) {
		memcpy(&d, &m->bits, sizeof(d));
		return to + format_double(to, d);
	}
	if (negative)
		*to++ = '-';
	if (m->decimals == 0)
		return to + ks_format_u64(to, amount);
	for (unsigned i = 0; i < m->decimals; i++)
		per *= 10;
	to += ks_format_u64(to, amount / per);
	rest = amount % per;
	if (rest != 0)
		*to++ = '.';
	while (rest != 0) {
		per /= 10;
		*to++ = (char)('0' + rest / per);
		rest %= per;
	}
	return to;
}

void
ks_metric_add_le(struct ks_buf *b, bool is_open, const struct ks_value *high, uint64_t times, uint64_t per)
{
	struct ks_metric_value v;
	char number[NUMBER_MAX];
	size_t at;

	ks_buf_adds(b, "le=\"");
	at = b->len;
	if (high == NULL) {
		ks_buf_adds(b, "+Inf");
	} else {
		ks_metric_scale(high, times, per, &v);
		ks_buf_add(b, number, (size_t)(put_number(number, &v) - number));
		if (is_open && !b->failed && memchr(b->data + at, '.', b->len - at) == NULL &&
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
ks_metric_add_head(struct ks_buf *b, bool is_open, const char *name, enum ks_metric_type type, const char *unit,
    const char *help)
{
	const char *ending = is_open ? "" : types[type].ending;

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
		add_escaped(b, help, strlen(help), is_open);
		ks_buf_addc(b, '\n');
	}
}

void
ks_metric_family(struct ks_metric_writer *w, const char *name, size_t name_len, enum ks_metric_type type,
    const char *head, size_t head_len)
{
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
	const char *ending = part == KS_PART_VALUE ? types[w->type].ending : endings[part];
	size_t ending_len = strlen(ending), own_len = own[0] != '\0' ? strlen(own) : 0;
	char *to = ks_buf_room(w->out, w->head_len + w->name_len + ending_len + labels_len + own_len +
	    NUMBER_MAX + KS_NUMBER_MAX + 8);

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
	to = put_number(to, v);
	if (time != NULL) {
		*to++ = ' ';
		to += ks_format_number(to, *time);
	}
	*to++ = '\n';
	w->out->len = (size_t)(to - w->out->data);
}

void
ks_metric_end(struct ks_metric_writer *w)
{
	if (w->is_open)
		ks_buf_adds(w->out, "# EOF\n");
}
