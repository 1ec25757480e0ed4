/* plot.c - see plot.h. SPDX-License-Identifier: MIT */
#include "chain/plot.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/distribution.h"
#include "model/blobstat.h"
#include "model/histstat.h"

#define BUCKETS "_buckets"
#define BOUNDS "_bounds"

/* Stores what the labels are in title, with its unit if that is a short one. */
static void
make_title(char title[64], const char *name, size_t n, const struct ks_meta *meta)
{
	const char *unit = meta != NULL && meta->unit != NULL ? meta->unit : "";

	if (*unit != '\0' && strlen(unit) < 12)
		(void)snprintf(title, 64, "%.*s (%s)", (int)n, name, unit);
	else
		(void)snprintf(title, 64, "%.*s", (int)n, name);
}

/* The i-th of numbers that may be unaligned. */
static uint64_t
number_at(const char *numbers, size_t i)
{
	uint64_t n;

	memcpy(&n, numbers + i * sizeof(n), sizeof(n));
	return n;
}

/* --- histogram kstats ----------------------------------------------------------------------- */

struct histogram {
	struct ks_histstat h;
	char label[KS_NUMBER_MAX + 4];
};

static uint64_t
histogram_bucket(void *arg, size_t i, const char **label)
{
	struct histogram *u = arg;
	const struct ks_hist_layout *l = &u->h.layout;
	const char *sign = "";
	uint64_t low, high;
	size_t n;

	if (label != NULL) {
		ks_hist_bounds(l, (uint32_t)i, &low, &high);
		if (i == 0 && high > 0) {
			sign = "< ";
			low = high + 1;
		} else if (i == l->n - 1 && l->type != KSTAT2_NVHIST_LOG2 && l->type != KSTAT2_NVHIST_LOG10) {
			sign = ">= ";
		}
		n = strlen(sign);
		memcpy(u->label, sign, n);
		n += ks_format_u64(u->label + n, low);
		u->label[n] = '\0';
		*label = u->label;
	}
	return i < u->h.n ? number_at(u->h.buckets, i) : 0;
}

void
ks_histogram_plot(struct ks_buf *b, const kstat_t *ksp, const struct ks_meta *meta)
{
	struct histogram u;
	char title[64];
	struct ks_distribution d = { .title = title, .margin = "\t", .bucket = histogram_bucket, .arg = &u };

	if (!ks_histstat_open(&u.h, ksp))
		return;
	make_title(title, "value", strlen("value"), meta);
	d.n = u.h.layout.n;
	if (!ks_distribution(b, &d))
		ks_buf_adds(b, "\t(no values)\n");
}

/* --- histograms of statsblobs --------------------------------------------------------------- */

struct blob_histogram {
	const char *voi; /* not terminated */
	size_t voi_len;
	const struct ks_meta *meta; /* of the bounds */
	struct ks_value buckets, bounds;
	const char *text; /* of bucket `at`, where the bounds are texts */
	size_t at;
	char number[KS_NUMBER_MAX + 1];
};

static const char *
find(const void *table, const struct blob_histogram *h, const char *suffix, struct ks_value *v)
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

/* Fills *h; false if the statistic is no histogram with bounds. */
static bool
open_blob_histogram(const kstat_t *ksp, const char *stat, struct blob_histogram *h)
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
	h->text = h->bounds.str;
	h->at = 0;
	return h->bounds.kind == KS_VALUE_INTS ? h->bounds.len == h->buckets.len :
	    h->bounds.kind == KS_VALUE_STRS && count_texts(&h->bounds) == h->buckets.len;
}

bool
ks_is_blob_histogram(const kstat_t *ksp, const char *stat)
{
	struct blob_histogram h;

	return open_blob_histogram(ksp, stat, &h);
}

static uint64_t
blob_bucket(void *arg, size_t i, const char **label)
{
	struct blob_histogram *h = arg;

	if (label != NULL && h->bounds.kind == KS_VALUE_INTS) {
		h->number[ks_format_u64(h->number, number_at(h->bounds.str, i))] = '\0';
		*label = h->number;
	} else if (label != NULL) {
		if (i < h->at) {
			h->text = h->bounds.str;
			h->at = 0;
		}
		for (; h->at < i; h->at++)
			h->text += strlen(h->text) + 1;
		*label = h->text;
	}
	return number_at(h->buckets.str, i);
}

void
ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat)
{
	struct blob_histogram h;
	char title[64];
	struct ks_distribution d = { .title = title, .margin = "\t", .bucket = blob_bucket, .arg = &h };

	if (!open_blob_histogram(ksp, stat, &h))
		return;
	make_title(title, h.voi, h.voi_len, h.meta);
	d.n = h.buckets.len;
	if (!ks_distribution(b, &d))
		ks_buf_addf(b, "\t%.*s: (no values)\n", (int)h.voi_len, h.voi);
}
