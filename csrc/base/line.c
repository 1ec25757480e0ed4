/* line.c - see line.h. SPDX-License-Identifier: MIT */
#include "base/line.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/printable.h"

/* A number of at most two digits at *p, or `none` if there is none. */
static int
take_digits(const char **p, int none)
{
	int n = none;

	for (int i = 0; i < 2 && **p >= '0' && **p <= '9'; i++)
		n = (n == none ? 0 : n * 10) + *(*p)++ - '0';
	return n;
}

bool
ks_column_take_format(struct ks_column *c, const char *format)
{
	const char *p = format;

	if (*p++ != '%' || *p == '0')
		return false;
	c->least = take_digits(&p, 0);
	c->precision = -1;
	if (*p == '.') {
		p++;
		c->precision = take_digits(&p, 0);
	}
	c->conversion = *p;
	return *p != '\0' && strchr("fd", *p) != NULL && p[1] == '\0';
}

struct ks_line
ks_line_begin(const struct ks_layout *layout, struct ks_buf *to)
{
	return (struct ks_line){ .layout = layout, .to = to, .start = to->len };
}

void
ks_line_text(struct ks_line *line, const char *text, size_t len)
{
	const struct ks_layout *l = line->layout;
	const struct ks_column *c = &l->column[line->i];
	int space = c->width - line->over - (int)ks_text_columns(text, len);
	size_t gap = line->i++ > 0 ? l->gap_len : 0, pad = space > 0 ? (size_t)space : 0;
	char *to = ks_buf_room(line->to, gap + pad + len);

	line->over = l->squeeze && space < 0 ? -space : 0;
	if (to == NULL)
		return;
	memcpy(to, l->gap, gap);
	memset(to + gap, ' ', pad + len);
	memcpy(to + gap + (c->left ? 0 : pad), text, len);
	line->to->len += gap + pad + len;
}

void
ks_line_number(struct ks_line *line, double v)
{
	const struct ks_column *c = &line->layout->column[line->i];
	int n, precision = c->conversion == 'd' ? 0 : c->precision;
	char text[400] = "-";

	if (c->conversion == 'd')
		v = floor(v + 0.5);
	if (!isfinite(v))
		n = 1;
	else if (c->least == 0 && precision == 0 && fabs(v) < 1e15)
		n = (int)ks_format_i64(text, (int64_t)rint(v));
	else
		n = snprintf(text, sizeof(text), "%*.*f", c->least, precision, v);
	ks_line_text(line, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void
ks_line_end(struct ks_line *line)
{
	struct ks_buf *to = line->to;

	while (!line->layout->keep && to->len > line->start && to->data[to->len - 1] == ' ')
		to->len--;
	ks_buf_addc(to, '\n');
}
