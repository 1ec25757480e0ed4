/* distribution.c - see distribution.h. SPDX-License-Identifier: MIT */
#include "chain/distribution.h"

#include <string.h>

#include "base/number.h"
#include "chain/columns.h"

#define BAR 40   /* DTrace's characters of a bar for all counts */
#define LABEL 20 /* DTrace's width of the label column: 2^64-1 fits */
#define HEAD " Distribution "
#define COUNT "count"

static size_t
columns(const char *s)
{
	return (size_t)ks_text_columns(s, strlen(s));
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

static const struct shape dtrace = { LABEL, BAR };

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

void
ks_distribution_head(struct ks_buf *b, const char *title)
{
	add_head(b, &dtrace, title);
}

void
ks_distribution_line(struct ks_buf *b, const char *label, uint64_t count, double total)
{
	add_line(b, &dtrace, label, count, total);
}

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* DTrace's, or what fits into a narrower width, if anything does. */
static struct shape
fit(const char *title, const struct ks_distribution_bucket *bucket, size_t n, size_t width)
{
	size_t label = columns(title), count = sizeof(COUNT) - 1;
	struct shape s = dtrace;

	for (size_t i = 0; i < n; i++) {
		label = larger(label, columns(bucket[i].label));
		count = larger(count, digits(bucket[i].count));
	}
	if (width == 0 || larger(label, LABEL) + 2 + BAR + 1 + count <= width)
		return s;
	s.label = label < LABEL ? label : LABEL;
	s.bar = sizeof(HEAD) - 1;
	if (width > s.label + 2 + s.bar + 1 + count)
		s.bar = width - (s.label + 2 + 1 + count);
	if (s.bar > BAR) {
		s.label += s.bar - BAR;
		s.bar = BAR;
	}
	return s;
}

void
ks_distribution(struct ks_buf *b, const char *title, const struct ks_distribution_bucket *bucket,
    size_t n, size_t width)
{
	size_t first = 0, end = n;
	struct shape shape;
	double total = 0; /* the sum may exceed 64 bits */

	while (first < n && bucket[first].count == 0)
		first++;
	if (first == n)
		return;
	while (bucket[end - 1].count == 0)
		end--;
	first -= first > 0;
	end += end < n;
	for (size_t i = first; i < end; i++)
		total += (double)bucket[i].count;
	shape = fit(title, bucket + first, end - first, width);
	add_head(b, &shape, title);
	for (size_t i = first; i < end; i++)
		add_line(b, &shape, bucket[i].label, bucket[i].count, total);
}
