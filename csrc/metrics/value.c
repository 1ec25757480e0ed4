/* value.c - see value.h. SPDX-License-Identifier: MIT */
#include "metrics/value.h"

#include <stdbool.h>
#include <string.h>

#include "base/printable.h"

void
ks_metric_add_text(struct ks_buf *b, const char *s, size_t n, enum ks_metric_escapes escapes)
{
	bool quotes = escapes == KS_METRIC_QUOTED, as_it_is = escapes == KS_METRIC_AS_IT_IS;

	if (ks_plain_length(s, n) == n && (as_it_is || memchr(s, '\\', n) == NULL) &&
	    (!quotes || memchr(s, '"', n) == NULL)) {
		ks_buf_add(b, s, n);
		return;
	}
	for (size_t i = 0, len; i < n; i += len) {
		bool printable;

		len = ks_character(s + i, n - i, &printable);
		if ((s[i] == '\\' && !as_it_is) || (quotes && s[i] == '"')) {
			ks_buf_addc(b, '\\');
			ks_buf_addc(b, s[i]);
		} else if (s[i] == '\n') {
			ks_buf_adds(b, as_it_is ? "\n" : "\\n");
		} else if (!printable) {
			ks_buf_adds(b, "\xef\xbf\xbd"); /* the replacement character */
		} else {
			ks_buf_add(b, s + i, len);
		}
	}
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

char *
ks_metric_put_number(char *to, const struct ks_metric_value *m)
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

double
ks_metric_double(const struct ks_metric_value *m)
{
	double d, per = 1;

	if (m->kind == KS_VALUE_DOUBLE) {
		memcpy(&d, &m->bits, sizeof(d));
		return d;
	}
	for (unsigned i = 0; i < m->decimals; i++)
		per *= 10;
	return (m->kind == KS_VALUE_I64 ? (double)(int64_t)m->bits : (double)m->bits) / per;
}
