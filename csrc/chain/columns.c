/* columns.c - see layout.h. SPDX-License-Identifier: MIT */
#include "chain/columns.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

int
ks_text_columns(const char *text, size_t len)
{
	int columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

struct ks_line
ks_line_begin(const struct ks_layout *layout, struct ks_buf *to)
{
	return (struct ks_line){ .layout = layout, .to = to };
}

/* Adds spaces, if there are any, and a text. */
static void
add_text(struct ks_buf *to, int spaces, const char *text, size_t len)
{
	size_t before = spaces > 0 ? (size_t)spaces : 0;
	char *room = ks_buf_room(to, before + len);

	if (room == NULL)
		return;
	memset(room, ' ', before);
	memcpy(room + before, text, len);
	to->len += before + len;
}

/* columns: the width of the text. */
static void
add_cell(struct ks_line *line, const char *text, size_t len, int columns)
{
	const struct ks_layout *l = line->layout;
	const struct ks_column *c = &l->column[line->i++];
	int width = l->squeeze ? c->width - line->over : c->width;
	int space = width > columns ? width - columns : 0;

	if (l->squeeze)
		line->over += columns + space - c->width;
	if (!c->left)
		line->pending += space;
	if (len > 0) {
		add_text(line->to, line->pending, text, len);
		line->pending = 0;
	}
	if (c->left)
		line->pending += space;
	if (line->i < l->n)
		line->pending += l->gap;
}

void
ks_line_text(struct ks_line *line, const char *text, size_t len)
{
	add_cell(line, text, len, ks_text_columns(text, len));
}

/* The text of a whole number, as %.0f prints it. */
static const char *
whole_text(double v, bool negative, char *to, size_t size, size_t *len)
{
	uint64_t n = (uint64_t)fabs(v);
	char *p = to + size;

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n != 0);
	if (negative)
		*--p = '-';
	*len = (size_t)(to + size - p);
	return p;
}

void
ks_line_number(struct ks_line *line, double v)
{
	const struct ks_column *c = &line->layout->column[line->i];
	int n, precision = c->precision;
	const char *text;
	char room[400];
	size_t len;

	if (!isfinite(v)) {
		add_cell(line, "-", 1, 1);
		return;
	}
	if (c->conversion == 'd') {
		v = floor(v + 0.5);
		precision = 0;
	}
	if (c->least == 0 && precision == 0 && fabs(v) < 1e15) {
		text = whole_text(rint(v), signbit(v), room, sizeof(room), &len);
	} else {
		n = snprintf(room, sizeof(room), "%*.*f", c->least, precision, v);
		text = room;
		len = n < 0 ? 0 : (size_t)n < sizeof(room) ? (size_t)n : sizeof(room) - 1;
	}
	add_cell(line, text, len, (int)len);
}

void
ks_line_end(struct ks_line *line)
{
	ks_buf_addc(line->to, '\n');
}
