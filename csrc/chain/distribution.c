/* distribution.c - see distribution.h. SPDX-License-Identifier: MIT */
#include "chain/distribution.h"

#include <string.h>

#include "base/number.h"

#define BAR 40   /* characters of a bar for all counts */
#define LABEL 20 /* width of the label column: 2^64-1 fits */

/* Columns of UTF-8 text: bytes that continue a character take none. */
static size_t
columns(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
add_label(struct ks_buf *b, const char *label)
{
	for (size_t i = columns(label); i < LABEL; i++)
		ks_buf_addc(b, ' ');
	ks_buf_adds(b, label);
}

void
ks_distribution_head(struct ks_buf *b, const char *title)
{
	add_label(b, title);
	ks_buf_adds(b, "  ------------- Distribution ------------- count\n");
}

void
ks_distribution_line(struct ks_buf *b, const char *label, uint64_t count, double total)
{
	/* As DTrace: the bar is the bucket's share of all, rounded. */
	size_t bar = (size_t)((double)count / total * BAR + 0.5);
	char text[KS_NUMBER_MAX];

	add_label(b, label);
	ks_buf_adds(b, " |");
	for (size_t i = 0; i < BAR; i++)
		ks_buf_addc(b, i < bar ? '@' : ' ');
	ks_buf_addc(b, ' ');
	ks_buf_add(b, text, ks_format_u64(text, count));
	ks_buf_addc(b, '\n');
}

void
ks_distribution(struct ks_buf *b, const char *title, const struct ks_distribution_bucket *bucket,
    size_t n)
{
	size_t first = 0, end = n;
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
	ks_distribution_head(b, title);
	for (size_t i = first; i < end; i++)
		ks_distribution_line(b, bucket[i].label, bucket[i].count, total);
}
