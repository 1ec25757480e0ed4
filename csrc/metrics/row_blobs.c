/* row_blobs.c - see row_blobs.h. SPDX-License-Identifier: MIT */
#include "metrics/row_blobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "model/blobstat.h"
#include "provider/blob_layout.h"

#define TRIES 20       /* copies of a blob that keeps changing */
#define MOST_BUCKETS 4096u

/* A blob as of a commit. */
struct ks_metric_blob {
	uint64_t offset, word;
	int64_t crtime;
	size_t numbers, n; /* the number of its first one, and how many it has */
};

/* A histogram of the blobs of a kind. Its numbers in a blob begin at number `at`: values in no bucket, buckets, sum. */
struct part {
	char stat[KSTAT_STRLEN]; /* the value of interest */
	uint32_t family;
	uint32_t *le;            /* owned: the offsets of the labels of its buckets */
	size_t buckets, at;
	uint64_t per;
};

struct ks_metric_blob_kind {
	size_t word_at;    /* of the word that says whether a blob changed, in its data */
	bool has_shards;   /* each of which has such a word: then blobs are always read */
	struct part *part; /* owned */
	size_t n, cap, numbers;
};

/* --- what is kept --------------------------------------------------------------------------------------- */

bool
ks_metric_blobs_take(struct ks_metric_blobs *b)
{
	struct ks_metric_blob *before = b->before;
	struct ks_buf numbers = b->numbers_before;
	size_t cap = b->before_cap;

	if (b->is_taken)
		return false;
	b->is_taken = true;
	b->before = b->now;
	b->nbefore = b->n;
	b->before_cap = b->cap;
	b->numbers_before = b->numbers;
	b->now = before;
	b->cap = cap;
	b->numbers = numbers;
	b->n = b->at = 0;
	ks_buf_reset(&b->numbers);
	return true;
}

void
ks_metric_blobs_give_back(struct ks_metric_blobs *b, bool is_whole)
{
	if (!is_whole)
		b->n = 0;
	free(b->before);
	ks_buf_free(&b->numbers_before);
	b->before = NULL;
	b->nbefore = b->before_cap = 0;
	b->is_taken = false;
}

void
ks_metric_blobs_free(struct ks_metric_blobs *b)
{
	free(b->now);
	free(b->before);
	ks_buf_free(&b->numbers);
	ks_buf_free(&b->numbers_before);
	*b = (struct ks_metric_blobs){ .n = 0 };
}

/*
 * Finds the numbers of the blob as they were; NULL: it changed, is new, or other numbers of it have names since
 * then. Blobs come in the order of the file.
 */
static const struct ks_value *
find_kept(struct ks_metric_blobs *b, const struct ks_metric_blob_kind *kind, const struct ks_seg_entry *e,
    uint64_t offset, uint64_t word)
{
	const struct ks_metric_blob *m;

	while (b->at < b->nbefore && b->before[b->at].offset < offset)
		b->at++;
	m = b->at < b->nbefore ? &b->before[b->at] : NULL;
	if (m == NULL || m->offset != offset || m->crtime != e->crtime || m->word != word || m->n != kind->numbers)
		return NULL;
	return (const struct ks_value *)(const void *)b->numbers_before.data + m->numbers;
}

static int
keep(struct ks_metric_blobs *b, const struct ks_metric_blob_kind *kind, const struct ks_seg_entry *e,
    uint64_t offset, uint64_t word, const struct ks_value *numbers)
{
	if (!KS_RESERVE(b->now, b->cap, b->n + 1))
		return -1;
	b->now[b->n++] = (struct ks_metric_blob){ .offset = offset, .word = word, .crtime = e->crtime,
		.numbers = b->numbers.len / sizeof(*numbers), .n = kind->numbers };
	ks_buf_add(&b->numbers, numbers, kind->numbers * sizeof(*numbers));
	return b->numbers.failed ? -1 : 0;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* A blob that was read, as a kstat. */
struct read_blob {
	kstat_t k;
	struct ks_buf data;
	uint64_t word;
	uint32_t shards;
};

/* Reads the blob of an entry. 0, or -1 with errno. The data is to be freed in either case. */
static int
read_blob(struct ks_seg_walk *w, const struct ks_seg_entry *e, uint64_t offset, size_t word_at,
    struct read_blob *b)
{
	struct ks_record r = KS_RECORD_INIT;
	struct ks_buf bytes = KS_BUF_INIT;
	int rc = 0;

	*b = (struct read_blob){ .k = { .ks_type = KSTAT_TYPE_RAW, .ks_flags = KSTAT_FLAG_STATSBLOB } };
	if (ks_buf_room(&bytes, e->ndata) == NULL)
		return ks_fail(ENOMEM, "out of memory for metrics");
	for (int i = 0; rc == 0 && i < TRIES; i++) {
		ks_record_reset(&r);
		rc = ks_seg_file_read(&w->file, bytes.data, e->ndata, offset + e->data) ?
		    ks_seg_blob_read(bytes.data, e->ndata, &r) : ks_fail(EIO, "a statsblob that was cut off");
	}
	if (rc > 0) {
		memcpy(&b->word, bytes.data + word_at, sizeof(b->word));
		b->shards = ((const struct ks_blob_head *)(const void *)bytes.data)->shards;
		b->k.ks_data = ks_buf_zeroed(&b->data, ks_record_size(&r));
		b->k.ks_data_size = ks_record_size(&r);
		b->k.ks_ndata = r.ndata;
		if (b->k.ks_data != NULL && !ks_record_failed(&r))
			ks_record_finish(&r, KSTAT_TYPE_RAW, b->k.ks_data);
		else
			rc = ks_fail(ENOMEM, "out of memory for metrics");
	}
	ks_buf_free(&bytes);
	ks_record_free(&r);
	return rc > 0 ? 0 : rc < 0 ? -1 : ks_fail(EAGAIN, "a statsblob that changed all the time");
}

/*
 * Stores the numbers of a blob; where it has another form than the first one of its kind, they stay what
 * they are.
 */
static void
find_numbers(const struct ks_metric_blob_kind *kind, const kstat_t *k, struct ks_value *numbers)
{
	struct ks_blob_histogram h;

	for (size_t i = 0; i < kind->n; i++) {
		const struct part *p = &kind->part[i];
		struct ks_value *to = numbers + p->at;

		if (!ks_blob_histogram_open(&h, k, p->stat, strlen(p->stat), 0) || h.n != p->buckets)
			continue;
		(void)ks_blob_find(k, p->stat, strlen(p->stat), "_oob", 0, to);
		for (size_t b = 0; b < h.n; b++) {
			to[1 + b] = (struct ks_value){ .kind = KS_VALUE_U64, .bits = 64 };
			to[1 + b].u64 = ks_blob_histogram_count(&h, b);
		}
		(void)ks_blob_find(k, p->stat, strlen(p->stat), "_sum", 0, &to[1 + h.n]);
	}
}

/* --- kinds ---------------------------------------------------------------------------------------------- */

static struct part *
add_part(struct ks_metric_blob_kind *kind, const char *stat, uint32_t family, size_t buckets)
{
	struct part *p;

	if (family == KS_NO_SLOT || strlen(stat) >= sizeof(p->stat) ||
	    !KS_RESERVE(kind->part, kind->cap, kind->n + 1))
		return NULL;
	p = &kind->part[kind->n];
	*p = (struct part){ .family = family, .buckets = buckets, .at = kind->numbers };
	strcpy(p->stat, stat);
	p->le = calloc(buckets, sizeof(*p->le));
	if (p->le == NULL)
		return NULL;
	kind->n++;
	kind->numbers += buckets + 2;
	return p;
}

/* Makes the labels of buckets. A bucket does not hold the bound at which the next one begins. */
static void
add_bounds(struct part *p, struct ks_blob_histogram *h, struct ks_metric_samples *s)
{
	for (size_t i = 0; i < p->buckets; i++) {
		struct ks_value high = { .kind = KS_VALUE_U64, .bits = 64 };

		if (i + 1 < p->buckets)
			ks_blob_histogram_bound(h, i + 1, &high);
		if (high.kind == KS_VALUE_U64)
			high.u64--;
		p->le[i] = (uint32_t)s->labels.len;
		ks_metric_add_le(&s->labels, s->format, i + 1 < p->buckets ? &high : NULL, 1, p->per);
		ks_buf_addc(&s->labels, '\0');
	}
}

/* Adds the histogram of a value of interest, if it has one with whole bounds. */
static void
add_histogram_part(struct ks_metric_blob_kind *kind, const kstat_t *k, const struct ks_blob_voi *voi,
    const struct ks_metric_name *name, struct ks_metric_samples *s)
{
	uint64_t per = name->per;
	struct ks_blob_histogram h;
	struct part *p;

	if (!ks_blob_histogram_open(&h, k, voi->name, strlen(voi->name), 0) || h.n > MOST_BUCKETS ||
	    h.bounds.kind != KS_VALUE_INTS)
		return;
	p = add_part(kind, voi->name, ks_metric_row_family(s, name->stat[0] == '*' ? NULL : name->family, name->type,
	    voi->name, voi->unit, voi->desc, &per), h.n);
	if (p == NULL)
		return;
	p->per = per;
	add_bounds(p, &h, s);
}

struct ks_metric_blob_kind *
ks_metric_blob_kind_new(struct ks_seg_walk *w, const struct ks_seg_entry *e, uint64_t offset,
    const struct ks_metric_group *group, struct ks_metric_samples *s)
{
	struct ks_metric_blob_kind *kind = calloc(1, sizeof(*kind));
	struct read_blob b;
	const struct ks_blob_voi *voi;
	size_t nvois = 0;

	if (kind == NULL)
		return ks_fail_null(ENOMEM, "out of memory for metrics");
	if (read_blob(w, e, offset, 0, &b) != 0) {
		ks_buf_free(&b.data);
		free(kind);
		return NULL;
	}
	ks_metric_samples_row(s, 0);
	voi = ks_blobstat_vois(ks_blobstat_find(&b.k), &nvois);
	for (size_t i = 0; i < group->n; i++) {
		const struct ks_metric_name *name = &group->name[i];

		for (size_t v = 0; name->type == KS_METRIC_HISTOGRAM && v < nvois; v++) {
			if (name->stat[0] == '*' ? !ks_metric_group_names(group, voi[v].name) :
			    strcmp(name->stat, voi[v].name) == 0)
				add_histogram_part(kind, &b.k, &voi[v], name, s);
		}
	}
	kind->word_at = ks_blob_first(nvois);
	kind->has_shards = b.shards != 1;
	ks_buf_free(&b.data);
	return kind;
}

void
ks_metric_blob_kind_free(struct ks_metric_blob_kind *kind)
{
	for (size_t i = 0; kind != NULL && i < kind->n; i++)
		free(kind->part[i].le);
	if (kind != NULL)
		free(kind->part);
	free(kind);
}

/* --- samples --------------------------------------------------------------------------------------------- */

static int
add_part_samples(const struct part *p, const struct ks_value *numbers, struct ks_metric_samples *s)
{
	struct ks_value total = { .kind = KS_VALUE_U64, .bits = 64 };

	total.u64 = numbers[0].kind == KS_VALUE_U64 ? numbers[0].u64 : 0;
	for (size_t i = 0; i < p->buckets; i++) {
		total.u64 += numbers[1 + i].u64;
		if (ks_metric_add_sample(s, p->family, 1, 1, KS_PART_BUCKET, p->le[i], &total) != 0)
			return -1;
	}
	return ks_metric_add_sample(s, p->family, 1, p->per, KS_PART_SUM, 0, &numbers[1 + p->buckets]) != 0 ? -1 :
	    ks_metric_add_sample(s, p->family, 1, 1, KS_PART_COUNT, 0, &total);
}

/* Whether nothing was counted in the first histogram. */
static bool
is_empty(const struct ks_metric_blob_kind *kind, const struct ks_value *numbers)
{
	const struct part *p = kind->part;

	for (size_t i = 0; kind->n > 0 && i <= p->buckets; i++) {
		if (numbers[i].kind == KS_VALUE_U64 && numbers[i].u64 != 0)
			return false;
	}
	return true;
}

/* Returns the numbers of a blob, which are kept or read into b, and its word; NULL with errno. */
static const struct ks_value *
numbers_of(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, struct ks_metric_blobs *kept, struct ks_buf *b, uint64_t *word)
{
	const char *at = ks_seg_walk_bytes(w, offset + e->data + kind->word_at, sizeof(*word));
	const struct ks_value *found;
	struct read_blob blob;
	struct ks_value *numbers;

	if (at == NULL)
		return NULL;
	memcpy(word, at, sizeof(*word));
	found = kept != NULL && !kind->has_shards ? find_kept(kept, kind, e, offset, *word) : NULL;
	if (found != NULL)
		return found;
	if (read_blob(w, e, offset, kind->word_at, &blob) != 0) {
		ks_buf_free(&blob.data);
		return NULL;
	}
	*word = blob.word;
	numbers = ks_buf_zeroed(b, (kind->numbers + 1) * sizeof(*numbers));
	for (size_t i = 0; numbers != NULL && i < kind->numbers; i++)
		numbers[i].kind = KS_VALUE_STRING; /* no number */
	if (numbers != NULL)
		find_numbers(kind, &blob.k, numbers);
	ks_buf_free(&blob.data);
	return numbers;
}

int
ks_metric_blob_add(struct ks_metric_blob_kind *kind, struct ks_seg_walk *w, const struct ks_seg_entry *e,
    uint64_t offset, struct ks_metric_samples *s, struct ks_metric_blobs *kept, bool is_other)
{
	struct ks_buf b = KS_BUF_INIT;
	uint64_t word = 0;
	const struct ks_value *numbers = numbers_of(kind, w, e, offset, kept, &b, &word);
	int rc = 0;

	if (numbers == NULL)
		return errno == ENOMEM ? -1 : 0;
	if (kept != NULL)
		rc = keep(kept, kind, e, offset, word, numbers);
	for (size_t i = 0; rc == 0 && i < kind->n && !(is_other && is_empty(kind, numbers)); i++) {
		if (numbers[kind->part[i].at + 1].kind == KS_VALUE_U64)
			rc = add_part_samples(&kind->part[i], numbers + kind->part[i].at, s);
	}
	ks_buf_free(&b);
	return rc;
}
