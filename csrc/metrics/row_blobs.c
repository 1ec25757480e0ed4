/* row_blobs.c - see rows.h. SPDX-License-Identifier: MIT */
#include "metrics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "model/blobstat.h"
#include "provider/blob_layout.h"
#include "stats/abi.h"
#include "stats/q.h"

#define TRIES 20       /* copies of a blob that keeps changing */
#define MOST_BUCKETS 4096u

/* A histogram of the blobs of a kind. */
struct part {
	int32_t voi;
	uint32_t family;
	uint32_t *le; /* owned: the offsets of the labels of its buckets */
	unsigned buckets;
	uint64_t per;
};

struct ks_metric_blob_kind {
	struct part *part; /* owned */
	size_t n, cap;
	struct ks_buf blob; /* the one that was read last */
};

/* The statistic of a VOI that has the histogram, and how many buckets that has; NULL: it has none. */
static const struct ks_vs *
find_histogram(const struct ks_sb *sb, int32_t id, const struct ks_voi **voi, unsigned *n)
{
	const struct ks_vs *vs = NULL;

	*voi = ks_sb_find(sb, id);
	if (*voi != NULL)
		vs = ks_sb_find_vs(sb, *voi, VS_STYPE_HIST);
	*n = vs != NULL ? ks_hist_nbkts(vs->dtype, vs->dsz) : 0;
	return vs;
}

/* Reads the blob of an entry. Returns its bytes in the file, as ks_seg_walk_bytes(); NULL with errno. */
static const char *
read_blob(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e, uint64_t offset)
{
	for (int i = 0; i < TRIES; i++) {
		const char *bytes = ks_seg_walk_bytes(w, offset + e->data, e->ndata);
		int rc = bytes != NULL ? ks_seg_blob_merge(bytes, e->ndata, &kind->blob) : -1;

		if (rc != 0)
			return rc > 0 ? bytes : NULL;
		w->piece.of = NULL; /* what changes is copied anew */
	}
	return ks_fail_null(EAGAIN, "a statsblob that changed all the time");
}

/* --- kinds ---------------------------------------------------------------------------------------------- */

/* Whether all bounds are whole, and none is negative. */
static bool
is_whole(const void *hist, unsigned dt, unsigned voi_dt, unsigned n)
{
	for (unsigned i = 0; i < n && ks_dtypes[voi_dt].is_signed; i++) {
		if ((int64_t)ks_ldval(ks_hist_bkt(hist, dt, i), voi_dt) < 0)
			return false;
	}
	return !ks_dtypes[voi_dt].is_q;
}

/* Makes the labels of buckets. A bucket does not hold the bound at which the next one begins. */
static void
add_bounds(struct part *p, const void *hist, unsigned dt, unsigned voi_dt, struct ks_metric_samples *s)
{
	for (unsigned i = 0; i < p->buckets; i++) {
		struct ks_value high = { .kind = KS_VALUE_U64, .bits = 64 };

		if (i + 1 < p->buckets)
			high.u64 = ks_ldval(ks_hist_bkt(hist, dt, i + 1), voi_dt) - 1;
		p->le[i] = (uint32_t)s->labels.len;
		ks_metric_add_le(&s->labels, s->format, i + 1 < p->buckets ? &high : NULL, 1, p->per);
		ks_buf_addc(&s->labels, '\0');
	}
}

/* Adds the histogram of a value of interest, if it has one with whole bounds. */
static void
add_part(struct ks_metric_blob_kind *kind, const struct ks_blob_voi *about, const struct ks_metric_name *name,
    struct ks_metric_samples *s)
{
	const struct ks_sb *sb = (const void *)kind->blob.data;
	const struct ks_voi *voi;
	struct part p = { .voi = about->id, .per = name->per };
	const struct ks_vs *vs = find_histogram(sb, p.voi, &voi, &p.buckets);

	if (vs == NULL || p.buckets == 0 || p.buckets > MOST_BUCKETS ||
	    !is_whole(ks_sb_data(sb, vs), vs->dtype, voi->dtype, p.buckets))
		return;
	p.family = ks_metric_row_family(s, name->stat[0] == '*' ? NULL : name->family, name->type, about->name,
	    about->unit, about->desc, &p.per);
	if (p.family == KS_NO_SLOT || !KS_RESERVE(kind->part, kind->cap, kind->n + 1) ||
	    (p.le = calloc(p.buckets, sizeof(*p.le))) == NULL)
		return;
	add_bounds(&p, ks_sb_data(sb, vs), vs->dtype, voi->dtype, s);
	kind->part[kind->n++] = p;
}

struct ks_metric_blob_kind *
ks_metric_blob_kind_new(struct ks_seg_walk *w, const struct ks_seg_entry *e, uint64_t offset,
    const struct ks_metric_group *group, struct ks_metric_samples *s)
{
	struct ks_metric_blob_kind *kind = calloc(1, sizeof(*kind));
	const struct ks_blob_head *head = kind != NULL ? (const void *)read_blob(kind, w, e, offset) : NULL;
	const struct ks_blob_voi *voi;

	if (kind == NULL)
		return ks_fail_null(ENOMEM, "out of memory for metrics");
	if (head == NULL) {
		ks_metric_blob_kind_free(kind);
		return NULL;
	}
	voi = (const void *)(head + 1);
	ks_metric_samples_row(s, 0);
	for (size_t i = 0; i < group->n; i++) {
		const struct ks_metric_name *name = &group->name[i];

		for (size_t v = 0; name->type == KS_METRIC_HISTOGRAM && v < head->nvois; v++) {
			if (name->stat[0] == '*' ? !ks_metric_group_names(group, voi[v].name) :
			    strcmp(name->stat, voi[v].name) == 0)
				add_part(kind, &voi[v], name, s);
		}
	}
	return kind;
}

void
ks_metric_blob_kind_free(struct ks_metric_blob_kind *kind)
{
	int error = errno;

	if (kind == NULL)
		return;
	for (size_t i = 0; i < kind->n; i++)
		free(kind->part[i].le);
	free(kind->part);
	ks_buf_free(&kind->blob);
	free(kind);
	errno = error;
}

/* --- samples --------------------------------------------------------------------------------------------- */

static struct ks_value
sum_of(const struct ks_sb *sb, const struct ks_voi *voi)
{
	const struct ks_vs *vs = ks_sb_find_vs(sb, voi, VS_STYPE_SUM);
	struct ks_value v = { .kind = ks_dtypes[voi->dtype].is_signed ? KS_VALUE_I64 : KS_VALUE_U64, .bits = 64 };

	if (vs != NULL)
		v.u64 = ks_ldval(ks_sb_data(sb, vs), voi->dtype);
	if (vs != NULL && ks_dtypes[voi->dtype].is_q) {
		v.kind = KS_VALUE_DOUBLE;
		v.d = ks_q_double(voi->dtype, v.u64);
	}
	return v;
}

/* Adds the samples of a histogram; where the blob has another form than the first one of its kind, there are none. */
static int
add_part_samples(const struct part *p, const struct ks_sb *sb, struct ks_metric_samples *s)
{
	struct ks_value total = { .kind = KS_VALUE_U64, .bits = 64 }, sum;
	const struct ks_voi *voi;
	unsigned n;
	const struct ks_vs *vs = find_histogram(sb, p->voi, &voi, &n);

	if (vs == NULL || voi == NULL || n != p->buckets)
		return 0;
	total.u64 = ks_hist_oob(ks_sb_data(sb, vs), vs->dtype);
	for (unsigned i = 0; i < n; i++) {
		total.u64 += ks_hist_cnt(ks_sb_data(sb, vs), vs->dtype, i);
		if (ks_metric_add_sample(s, p->family, 1, 1, KS_PART_BUCKET, p->le[i], &total) != 0)
			return -1;
	}
	sum = sum_of(sb, voi);
	return ks_metric_add_sample(s, p->family, 1, p->per, KS_PART_SUM, 0, &sum) != 0 ? -1 :
	    ks_metric_add_sample(s, p->family, 1, 1, KS_PART_COUNT, 0, &total);
}

/* Whether nothing was counted in the first histogram. */
static bool
is_empty(const struct ks_metric_blob_kind *kind)
{
	const struct ks_sb *sb = (const void *)kind->blob.data;
	const struct ks_voi *voi;
	unsigned n;
	const struct ks_vs *vs = kind->n > 0 ? find_histogram(sb, kind->part[0].voi, &voi, &n) : NULL;
	uint64_t total = vs != NULL ? ks_hist_oob(ks_sb_data(sb, vs), vs->dtype) : 0;

	for (unsigned i = 0; vs != NULL && i < n; i++)
		total |= ks_hist_cnt(ks_sb_data(sb, vs), vs->dtype, i);
	return total == 0;
}

int
ks_metric_blob_add(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, struct ks_metric_samples *s, bool is_other)
{
	int rc = 0;

	if (read_blob(kind, w, e, offset) == NULL)
		return errno == ENOMEM ? -1 : 0;
	for (size_t i = 0; rc == 0 && i < kind->n && !(is_other && is_empty(kind)); i++)
		rc = add_part_samples(&kind->part[i], (const void *)kind->blob.data, s);
	return rc;
}
