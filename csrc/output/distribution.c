/* distribution.c - see distribution.h. SPDX-License-Identifier: MIT */
#include "output/distribution.h"

#include <string.h>

#include "base/number.h"
#include "base/printable.h"

#define BAR 40   /* DTrace's characters of a bar for all counts */
#define LABEL 20 /* DTrace's width of the label column: 2^64-1 fits */
#define HEAD " Distribution "
#define COUNT "count"

static size_t
columns(const char *s)
{
	return ks_text_columns(s, strlen(s));
}

static size_t
digits(uint64_t n)
{
	char text[KS_NUMBER_MAX];

	return ks_format_u64(text, n);
}

/* Widths of the labels and of a bar for all counts. */
struct shape {
	size_t label, bar;
};

static void
add_many(struct ks_buf *b, char c, size_t n)
{
	while (n-- > 0)
		ks_buf_addc(b, c);
}

static void
add_label(struct ks_buf *b, const struct shape *s, const char *label)
{
	size_t n = columns(label);

	add_many(b, ' ', s->label > n ? s->label - n : 0);
	ks_buf_adds(b, label);
}

static void
add_head(struct ks_buf *b, const struct shape *s, const char *title)
{
	size_t dashes = s->bar - (sizeof(HEAD) - 1);

	add_label(b, s, title);
	ks_buf_adds(b, "  ");
	add_many(b, '-', dashes / 2);
	ks_buf_adds(b, HEAD);
	add_many(b, '-', dashes - dashes / 2);
	ks_buf_adds(b, " " COUNT "\n");
}

static void
add_line(struct ks_buf *b, const struct shape *s, const char *label, uint64_t count, double total)
{
	/* As DTrace: the bar is the bucket's share of all, rounded. */
	size_t bar = (size_t)((double)count / total * (double)s->bar + 0.5);
	char text[KS_NUMBER_MAX];

	add_label(b, s, label);
	ks_buf_adds(b, " |");
	add_many(b, '@', bar);
	add_many(b, ' ', s->bar - bar + 1);
	ks_buf_add(b, text, ks_format_u64(text, count));
	ks_buf_addc(b, '\n');
}

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* DTrace's shape, or what fits into a narrower width, if anything does, for the buckets from first to before end. */
static struct shape
fit(const struct ks_distribution *d, size_t first, size_t end)
{
	size_t label = columns(d->title), count = sizeof(COUNT) - 1;
	struct shape s = { LABEL, BAR };

	for (size_t i = first; d->width > 0 && i < end; i++) {
		const char *text;

		count = larger(count, digits(d->bucket(d->arg, i, &text)));
		label = larger(label, columns(text));
	}
	if (d->width == 0 || larger(label, LABEL) + 2 + BAR + 1 + count <= d->width)
		return s;
	s.label = label < LABEL ? label : LABEL;
	s.bar = sizeof(HEAD) - 1;
	if (d->width > s.label + 2 + s.bar + 1 + count)
		s.bar = d->width - (s.label + 2 + 1 + count);
	if (s.bar > BAR) {
		s.label += s.bar - BAR;
		s.bar = BAR;
	}
	return s;
}

bool
ks_distribution(struct ks_buf *b, const struct ks_distribution *d)
{
	size_t first = d->n, end = 0;
	struct shape shape;
	double total = 0; /* the sum may exceed 64 bits */

	for (size_t i = 0; i < d->n; i++) {
		uint64_t count = d->bucket(d->arg, i, NULL);

		if (count > 0 && first == d->n)
			first = i;
		if (count > 0)
			end = i + 1;
		total += (double)count;
	}
	if (first == d->n)
		return false;
	first -= first > 0;
	end += end < d->n;
	shape = fit(d, first, end);
	ks_buf_adds(b, d->margin);
	add_head(b, &shape, d->title);
	for (size_t i = first; i < end; i++) {
		const char *label;
		uint64_t count = d->bucket(d->arg, i, &label);

		ks_buf_adds(b, d->margin);
		add_line(b, &shape, label, count, total);
	}
	return true;
}
