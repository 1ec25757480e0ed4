/* blob_plot.c - see blob_plot.h. SPDX-License-Identifier: MIT */
#include "chain/blob_plot.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/distribution.h"
#include "model/blobstat.h"

#define BUCKETS "_buckets"
#define BOUNDS "_bounds"

struct histogram {
	const char *voi; /* not terminated */
	size_t voi_len;
	const struct ks_meta *meta; /* of the bounds */
	struct ks_value buckets, bounds;
};

static const char *
find(const void *table, const struct histogram *h, const char *suffix, struct ks_value *v)
{
	const char *name;

	for (uint32_t i = 0; ks_blobstat_stat(table, i, &name, v); i++) {
		if (strncmp(name, h->voi, h->voi_len) == 0 && strcmp(name + h->voi_len, suffix) == 0)
			return name;
	}
	return NULL;
}

static size_t
count_texts(const struct ks_value *v)
{
	size_t n = 0;

	for (const char *s = v->str; s < v->str + v->len; s += strlen(s) + 1)
		n++;
	return n;
}

static bool
understand(const kstat_t *ksp, const char *stat, struct histogram *h)
{
	const void *table = ks_blobstat_is(ksp) ? ks_blobstat_find(ksp) : NULL;
	size_t n = strlen(stat), m = strlen(BUCKETS);
	const char *bounds;

	if (table == NULL || n <= m || strcmp(stat + n - m, BUCKETS) != 0)
		return false;
	h->voi = stat;
	h->voi_len = n - m;
	bounds = find(table, h, BOUNDS, &h->bounds);
	if (bounds == NULL || find(table, h, BUCKETS, &h->buckets) == NULL ||
	    h->buckets.kind != KS_VALUE_INTS || h->buckets.len == 0)
		return false;
	h->meta = ks_blobstat_meta(ksp, bounds);
	return h->bounds.kind == KS_VALUE_INTS ? h->bounds.len == h->buckets.len :
	    h->bounds.kind == KS_VALUE_STRS && count_texts(&h->bounds) == h->buckets.len;
}

bool
ks_is_blob_histogram(const kstat_t *ksp, const char *stat)
{
	struct histogram h;

	return understand(ksp, stat, &h);
}

/* The value of interest, and its unit if it is a short one. */
static void
add_head(struct ks_buf *b, const struct histogram *h)
{
	const char *unit = h->meta != NULL ? h->meta->unit : "";
	char title[64];

	if (*unit != '\0' && strlen(unit) < 12)
		(void)snprintf(title, sizeof(title), "%.*s (%s)", (int)h->voi_len, h->voi, unit);
	else
		(void)snprintf(title, sizeof(title), "%.*s", (int)h->voi_len, h->voi);
	ks_buf_addc(b, '\t');
	ks_distribution_head(b, title);
}

static uint64_t
number_at(const struct ks_value *v, size_t i)
{
	uint64_t n;

	memcpy(&n, v->str + i * sizeof(n), sizeof(n));
	return n;
}

/* The i-th bucket: text walks along the bounds, if they are texts. */
static void
add_line(struct ks_buf *b, const struct histogram *h, size_t i, const char *text, double total)
{
	char number[KS_NUMBER_MAX + 1];

	if (h->bounds.kind == KS_VALUE_INTS) {
		number[ks_format_u64(number, number_at(&h->bounds, i))] = '\0';
		text = number;
	}
	ks_buf_addc(b, '\t');
	ks_distribution_line(b, text, number_at(&h->buckets, i), total);
}

void
ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat)
{
	struct histogram h;
	const char *text;
	size_t first, last;
	double total = 0;

	if (!understand(ksp, stat, &h))
		return;
	for (size_t i = 0; i < h.buckets.len; i++)
		total += (double)number_at(&h.buckets, i);
	if (total == 0) {
		ks_buf_addf(b, "\t%.*s: (no values)\n", (int)h.voi_len, h.voi);
		return;
	}
	/* From the bucket before the first used one to that behind the last. */
	for (first = 0; number_at(&h.buckets, first) == 0; first++)
		continue;
	for (last = h.buckets.len - 1; number_at(&h.buckets, last) == 0; last--)
		continue;
	first -= first > 0;
	last += last + 1 < h.buckets.len;
	add_head(b, &h);
	text = h.bounds.str;
	for (size_t i = 0; i <= last; i++) {
		if (i >= first)
			add_line(b, &h, i, text, total);
		if (h.bounds.kind == KS_VALUE_STRS)
			text += strlen(text) + 1;
	}
}
