/* plot.c - see plot.h. SPDX-License-Identifier: MIT */
#include "output/plot.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "model/blobstat.h"
#include "model/histstat.h"
#include "model/record.h"
#include "output/distribution.h"

#define BUCKETS "_buckets"

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
	return i < u->h.n ? ks_ints_at(u->h.buckets, i) : 0;
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
	struct ks_blob_histogram h;
	char number[KS_NUMBER_MAX + 1];
};

/* Fills *h and returns the length of the VOI's name; 0 if the statistic is no histogram with bounds. */
static size_t
open_blob_histogram(const kstat_t *ksp, const char *stat, struct ks_blob_histogram *h)
{
	size_t n = strlen(stat), m = strlen(BUCKETS);

	return n > m && strcmp(stat + n - m, BUCKETS) == 0 && ks_blob_histogram_open(h, ksp, stat, n - m, 0) ? n - m : 0;
}

bool
ks_is_blob_histogram(const kstat_t *ksp, const char *stat)
{
	struct ks_blob_histogram h;

	return open_blob_histogram(ksp, stat, &h) > 0;
}

static uint64_t
blob_bucket(void *arg, size_t i, const char **label)
{
	struct blob_histogram *u = arg;
	struct ks_value bound;

	if (label != NULL) {
		ks_blob_histogram_bound(&u->h, i, &bound);
		*label = bound.kind == KS_VALUE_STRING ? bound.str : u->number;
		if (bound.kind == KS_VALUE_U64)
			u->number[ks_format_u64(u->number, bound.u64)] = '\0';
	}
	return ks_blob_histogram_count(&u->h, i);
}

void
ks_blob_plot(struct ks_buf *b, const kstat_t *ksp, const char *stat)
{
	struct blob_histogram u;
	size_t voi = open_blob_histogram(ksp, stat, &u.h);
	char title[64];
	struct ks_distribution d = { .title = title, .margin = "\t", .bucket = blob_bucket, .arg = &u };

	if (voi == 0)
		return;
	make_title(title, stat, voi, ks_blobstat_meta(ksp, u.h.bounds_name));
	d.n = u.h.n;
	if (!ks_distribution(b, &d))
		ks_buf_addf(b, "\t%.*s: (no values)\n", (int)voi, stat);
}
