/*
 * blob_histogram.c - the histogram of a VOI of a statsblob, from the statistics of its kstat; see blobstat.h.
 * SPDX-License-Identifier: MIT
 */
#include "model/blobstat.h"

#include <string.h>

#include "model/record.h"

const char *
ks_blob_find(const kstat_t *ksp, const char *voi, size_t voi_len, const char *ending, uint32_t from,
    struct ks_value *v)
{
	const void *table = ks_blobstat_is(ksp) ? ks_blobstat_find(ksp) : NULL;
	const char *name;

	for (uint32_t i = from; table != NULL && ks_blobstat_stat(table, i, &name, v); i++) {
		if (strncmp(name, voi, voi_len) == 0 && strcmp(name + voi_len, ending) == 0)
			return name;
	}
	for (uint32_t i = 0; table != NULL && i < from && ks_blobstat_stat(table, i, &name, v); i++) {
		if (strncmp(name, voi, voi_len) == 0 && strcmp(name + voi_len, ending) == 0)
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

bool
ks_blob_histogram_open(struct ks_blob_histogram *h, const kstat_t *ksp, const char *voi, size_t voi_len,
    uint32_t from)
{
	if (ks_blob_find(ksp, voi, voi_len, "_buckets", from, &h->buckets) == NULL ||
	    h->buckets.kind != KS_VALUE_INTS || h->buckets.len == 0)
		return false;
	h->bounds_name = ks_blob_find(ksp, voi, voi_len, "_bounds", from, &h->bounds);
	if (h->bounds_name == NULL)
		return false;
	h->n = h->buckets.len;
	h->text = h->bounds.str;
	h->at = 0;
	return h->bounds.kind == KS_VALUE_INTS ? h->bounds.len == h->n :
	    h->bounds.kind == KS_VALUE_STRS && count_texts(&h->bounds) == h->n;
}

uint64_t
ks_blob_histogram_count(const struct ks_blob_histogram *h, size_t i)
{
	return ks_ints_at(h->buckets.str, i);
}

void
ks_blob_histogram_bound(struct ks_blob_histogram *h, size_t i, struct ks_value *v)
{
	if (h->bounds.kind == KS_VALUE_INTS) {
		*v = (struct ks_value){ .kind = KS_VALUE_U64, .bits = 64 };
		v->u64 = ks_ints_at(h->bounds.str, i);
		return;
	}
	if (i < h->at) {
		h->text = h->bounds.str;
		h->at = 0;
	}
	for (; h->at < i; h->at++)
		h->text += strlen(h->text) + 1;
	*v = (struct ks_value){ .kind = KS_VALUE_STRING, .str = h->text, .len = (uint32_t)strlen(h->text) };
}
