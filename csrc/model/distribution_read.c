/*
 * distribution_read.c - see distribution.h: distributions from what was read of a histogram kstat, or of a
 * VOI of a statsblob. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/blobstat.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "stats/abi.h"
#include "stats/static_histogram.h"

/* --- histogram kstats --------------------------------------------------------------------- */

/* Fills in what a reading says of all values since creation. */
static void
take_summary(struct kstat_hist *d, const struct ks_histstat *h)
{
	const struct ks_value zero = { .kind = KS_VALUE_U64, .bits = 64 };

	d->has_sum = d->has_min = d->has_max = h->has_sum;
	d->sum = d->min = d->max = zero;
	d->sum.u64 = h->sum;
	d->min.u64 = h->min;
	d->max.u64 = h->max;
	d->out_of_range = h->out_of_range;
}

int
ks_dist_view(struct kstat_hist *d, const kstat_t *now, const kstat_t *before)
{
	struct ks_histstat h;
	struct kstat_hist old;

	if (!ks_histstat_is(now))
		return ks_fail(EINVAL, "%s:%d:%s is no histogram", now->ks_module, now->ks_instance, now->ks_name);
	if (!ks_histstat_open(&h, now))
		return -1;
	memset(d, 0, sizeof(*d));
	d->layout = h.layout;
	d->now = h.buckets;
	d->n = h.n;
	d->created = now->ks_crtime;
	take_summary(d, &h);
	if (before == NULL || !ks_histstat_open(&h, before) || !ks_hist_same_layout(&h.layout, &d->layout)) {
		ks_dist_settle(d, NULL);
		return 0;
	}
	memset(&old, 0, sizeof(old));
	take_summary(&old, &h);
	for (uint32_t i = 0; i < h.n && old.count == 0; i++)
		old.count = ks_ints_at(h.buckets, i);
	d->before = h.buckets;
	d->nbefore = h.n;
	ks_dist_settle(d, &old);
	return 0;
}

static bool
has_name(const struct ks_record *r, const char *name)
{
	const kstat_named_t *kn = (const kstat_named_t *)(const void *)r->fixed.data;

	for (uint_t i = 0; i < r->ndata; i++) {
		if (strcmp(kn[i].name, name) == 0)
			return true;
	}
	return false;
}

void
ks_dist_reserve(struct ks_record *r)
{
	const kstat_named_t *kn = (const kstat_named_t *)(const void *)r->fixed.data;

	if (r->ndata < KS_HISTSTAT_LEAST_VALUES || kn->data_type != KSTAT_DATA_INTS || strcmp(kn->name, "buckets") != 0)
		return;
	for (unsigned i = 0; i < KS_DIST_STATISTICS; i++) {
		if (!has_name(r, ks_dist_names[i]))
			ks_named_double(r, ks_dist_names[i], NAN);
	}
}

void
ks_dist_fill(kstat_t *ksp)
{
	kstat_named_t *kn = ksp->ks_data;
	struct kstat_hist d;
	bool known = ks_dist_view(&d, ksp, NULL) == 0;
	uint_t n = 0;

	for (uint_t i = 0; i < ksp->ks_ndata; i++) {
		struct ks_value v;
		unsigned k = 0;

		while (k < KS_DIST_STATISTICS && strcmp(ks_dist_names[k], kn[i].name) != 0)
			k++;
		if (k < KS_DIST_STATISTICS && known && ks_dist_has(&d, k)) {
			ks_dist_statistic(&d, k, &v);
			kn[i].data_type = v.kind == KS_VALUE_DOUBLE ? KSTAT_DATA_DOUBLE : KSTAT_DATA_UINT64;
			kn[i].value.ui64 = v.u64;
		} else if (k < KS_DIST_STATISTICS && kn[i].data_type == KSTAT_DATA_DOUBLE) {
			continue;
		}
		kn[n++] = kn[i];
	}
	ksp->ks_ndata = n;
}

/* --- statsblobs --------------------------------------------------------------------------- */

struct bucket {
	double low, high; /* low is above high until a range is known */
	uint64_t count;
};

static int
by_low(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;

	return x->low != y->low ? (x->low < y->low ? -1 : 1) : (x->high > y->high) - (x->high < y->high);
}

/* Takes n buckets, which may come in any order and may hold no values at all. 0, or -1 with errno ENOMEM. */
static int
take_buckets(struct kstat_hist *d, struct bucket *list, size_t n)
{
	d->counts = calloc(n + 1, sizeof(*d->counts));
	d->bounds = calloc(2 * n + 1, sizeof(*d->bounds));
	if (d->counts == NULL || d->bounds == NULL)
		return ks_fail(ENOMEM, "out of memory for a distribution");
	qsort(list, n, sizeof(*list), by_low);
	for (size_t i = 0; i < n; i++) {
		d->counts[i] = list[i].count;
		d->bounds[i] = list[i].low;
		d->bounds[n + i] = list[i].high;
	}
	d->layout.n = d->n = (uint32_t)n;
	d->now = (const char *)d->counts;
	return 0;
}

/*
 * From the blob itself, which knows exactly what its buckets hold. A bucket of several ranges counts as one.
 */
static int
take_histogram(struct kstat_hist *d, const struct ks_sb *sb, const struct ks_voi *voi, const struct ks_vs *vs)
{
	const unsigned char *hist = ks_sb_data(sb, vs);
	unsigned nbuckets = ks_hist_nbkts(vs->dtype, vs->dsz);
	struct bucket *list = calloc(nbuckets + 1, sizeof(*list));
	struct ks_extent *x = NULL;
	size_t n;
	bool exact;
	int rc = -1;

	if (list == NULL)
		return ks_fail(ENOMEM, "out of memory for a distribution");
	for (unsigned i = 0; i < nbuckets; i++)
		list[i] = (struct bucket){ INFINITY, -INFINITY, ks_hist_cnt(hist, vs->dtype, i) };
	if (ks_hist_extents(hist, vs->dsz, vs->dtype, voi->dtype, &x, &n, &exact) == 0) {
		for (size_t i = 0; i < n; i++) {
			list[x[i].bkt].low = fmin(list[x[i].bkt].low, x[i].lo);
			list[x[i].bkt].high = fmax(list[x[i].bkt].high, x[i].hi);
		}
		rc = take_buckets(d, list, nbuckets);
	} else {
		(void)ks_fail(ENOMEM, "out of memory for a distribution");
	}
	free(x);
	free(list);
	d->out_of_range = ks_hist_oob(hist, vs->dtype);
	return rc;
}

/* From the statistics of a blob, which is all that a capture has: a bucket ends where the next one starts. */
static int
take_statistics(struct kstat_hist *d, const kstat_t *ksp, const char *voi)
{
	struct ks_blob_histogram h;
	struct ks_value bound;
	struct bucket *list;
	int rc;

	if (!ks_blob_histogram_open(&h, ksp, voi, strlen(voi), 0))
		return ks_fail(ENOENT, "%s: there is no histogram %s", d->name, voi);
	list = calloc(h.n, sizeof(*list));
	if (list == NULL)
		return ks_fail(ENOMEM, "out of memory for a distribution");
	for (size_t i = 0; i < h.n; i++) {
		ks_blob_histogram_bound(&h, i, &bound);
		list[i].low = bound.kind == KS_VALUE_STRING ? strtod(bound.str, NULL) : (double)bound.u64;
		list[i].high = INFINITY;
		list[i].count = ks_blob_histogram_count(&h, i);
		if (i > 0)
			list[i - 1].high = list[i].low;
	}
	rc = take_buckets(d, list, h.n);
	free(list);
	return rc;
}

static int
take_digest(struct kstat_hist *d, const struct ks_sb *sb, int32_t id)
{
	d->digest = malloc(sb->cursz);
	if (d->digest == NULL)
		return ks_fail(ENOMEM, "out of memory for a distribution");
	memcpy(d->digest, sb, sb->cursz);
	d->voi = id;
	(void)stats_voi_count(d->digest, id, &d->count);
	return 0;
}

/* Returns the description of a VOI of a blob, or NULL: none, or in a capture. */
static const struct ks_blob_voi *
find_voi(const kstat_t *ksp, const char *voi)
{
	const void *table = ks_blobstat_find(ksp);
	const struct ks_blob_voi *v = NULL;
	size_t n = 0;

	if (table != NULL && ksp->ks_ndata > 0)
		v = ks_blobstat_vois(table, &n);
	for (; n > 0; n--, v++) {
		if (strcmp(v->name, voi) == 0)
			return v;
	}
	return NULL;
}

static int
take_voi(struct kstat_hist *d, const kstat_t *ksp, const char *name)
{
	const struct ks_blob_voi *about = find_voi(ksp, name);
	const struct ks_sb *sb = ksp->ks_data;
	const struct ks_voi *voi = about != NULL ? ks_sb_find(sb, about->id) : NULL;
	const struct ks_vs *vs;

	if (voi == NULL)
		return take_statistics(d, ksp, name);
	(void)snprintf(d->unit, sizeof(d->unit), "%s", about->unit);
	vs = ks_sb_find_vs(sb, voi, VS_STYPE_HIST);
	if (vs != NULL)
		return take_histogram(d, sb, voi, vs);
	if (ks_sb_find_vs(sb, voi, VS_STYPE_TDGST) != NULL)
		return take_digest(d, sb, about->id);
	return ks_fail(ENOENT, "%s: %s has neither a histogram nor a digest", d->name, name);
}

static bool
take_number(const kstat_t *ksp, const char *voi, const char *ending, struct ks_value *v)
{
	return ks_blob_find(ksp, voi, strlen(voi), ending, 0, v) != NULL &&
	    (v->kind == KS_VALUE_U64 || v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_DOUBLE);
}

/* A VOI since creation. NULL with errno. */
static struct kstat_hist *
read_voi(const kstat_t *ksp, const char *voi)
{
	struct kstat_hist *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a distribution");
	(void)snprintf(d->name, sizeof(d->name), "%s:%d:%s:%.30s", ksp->ks_module, ksp->ks_instance, ksp->ks_name,
	    voi);
	d->created = ksp->ks_crtime;
	d->has_sum = take_number(ksp, voi, "_sum", &d->sum);
	d->has_min = take_number(ksp, voi, "_min", &d->min);
	d->has_max = take_number(ksp, voi, "_max", &d->max);
	if (take_voi(d, ksp, voi) != 0) {
		kstat_hist_free(d);
		return NULL;
	}
	if (d->digest == NULL)
		ks_dist_settle(d, NULL);
	return d;
}

static struct kstat_hist *
read_voi_between(const kstat_t *now, const kstat_t *before, const char *voi)
{
	struct kstat_hist *d = read_voi(now, voi), *old;

	if (d == NULL || d->digest != NULL || before == NULL)
		return d;
	old = read_voi(before, voi);
	if (old != NULL)
		(void)kstat_hist_subtract(d, old); /* where that has other buckets everything is new */
	kstat_hist_free(old);
	return d;
}

struct kstat_hist *
ks_dist_read(const kstat_t *now, const kstat_t *before, const char *voi, const char *unit)
{
	struct kstat_hist view;

	if (ks_blobstat_is(now) && voi != NULL)
		return read_voi_between(now, before, voi);
	if (ks_blobstat_is(now))
		return ks_fail_null(EINVAL, "%s:%d:%s is a statsblob: which VOI?", now->ks_module, now->ks_instance,
		    now->ks_name);
	if (ks_dist_view(&view, now, before) != 0)
		return NULL;
	(void)snprintf(view.unit, sizeof(view.unit), "%s", unit != NULL ? unit : "");
	(void)snprintf(view.name, sizeof(view.name), "%s:%d:%s", now->ks_module, now->ks_instance, now->ks_name);
	return kstat_hist_copy(&view);
}

bool
ks_dist_percentile(const kstat_t *now, const kstat_t *before, const char *stat, struct ks_value *v)
{
	const char *ending = strrchr(stat, '_');
	struct kstat_hist *d;
	char voi[KSTAT_STRLEN] = "";
	unsigned i = 5;

	while (ending != NULL && i < KS_DIST_STATISTICS && strcmp(ks_dist_names[i], ending + 1) != 0)
		i++;
	if (ending == NULL || i == KS_DIST_STATISTICS || (size_t)(ending - stat) >= sizeof(voi))
		return false;
	memcpy(voi, stat, (size_t)(ending - stat));
	d = ks_dist_read(now, before, voi, NULL);
	if (d == NULL || d->digest != NULL) {
		kstat_hist_free(d);
		return false;
	}
	v->kind = KS_VALUE_STRS;
	if (ks_dist_has(d, i))
		ks_dist_statistic(d, i, v);
	kstat_hist_free(d);
	return true;
}
