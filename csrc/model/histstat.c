/* histstat.c - see histstat.h, and kstat2_hist_bounds() of kstat2.h. SPDX-License-Identifier: MIT */
#include "model/histstat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const kstat_named_t *
find(const kstat_t *ksp, const char *name, uchar_t type)
{
	const kstat_named_t *kn = ksp->ks_data;

	for (uint_t i = 0; i < ksp->ks_ndata; i++) {
		if (kn[i].data_type == type && strncmp(kn[i].name, name, KSTAT_STRLEN) == 0)
			return &kn[i];
	}
	return NULL;
}

static bool
get_text(const kstat_t *ksp, const char *name, const char **s, size_t *n)
{
	const kstat_named_t *kn = find(ksp, name, KSTAT_DATA_CHAR);

	if (kn != NULL) {
		*s = kn->value.c;
		*n = strnlen(kn->value.c, sizeof(kn->value.c));
		return true;
	}
	/* In a capture the text is a string. */
	kn = find(ksp, name, KSTAT_DATA_STRING);
	if (kn == NULL || KSTAT_NAMED_STR_PTR(kn) == NULL)
		return false;
	*s = KSTAT_NAMED_STR_PTR(kn);
	*n = strnlen(*s, KSTAT_NAMED_STR_BUFLEN(kn));
	return true;
}

static bool
get_number(const kstat_t *ksp, const char *name, uint64_t *v)
{
	const kstat_named_t *kn = find(ksp, name, KSTAT_DATA_UINT64);

	if (kn != NULL)
		*v = kn->value.ui64;
	return kn != NULL;
}

bool
ks_histstat_is(const kstat_t *ksp)
{
	const kstat_named_t *kn = ksp->ks_data;

	return ksp->ks_type == KSTAT_TYPE_NAMED && kn != NULL && ksp->ks_ndata >= KS_HISTSTAT_LEAST_VALUES &&
	    kn->data_type == KSTAT_DATA_INTS && strcmp(kn->name, "buckets") == 0;
}

/* As ks_hist_layout_init(), from what is in the data. */
static bool
get_layout(struct ks_hist_layout *l, const kstat_t *ksp)
{
	uint64_t min, max, step;
	const char *type;
	size_t n;
	int t;

	if (!get_text(ksp, "type", &type, &n)) {
		(void)ks_fail(EINVAL, "%s:%d:%s is no histogram", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
		return false;
	}
	t = ks_hist_type_parse(type, n);
	if (t < 0)
		(void)ks_fail(EINVAL, "there is no histogram of type '%.*s'", n < 40 ? (int)n : 40, type);
	else if (!get_number(ksp, "range_min", &min) || !get_number(ksp, "range_max", &max) ||
	    !get_number(ksp, "stepping", &step))
		(void)ks_fail(EINVAL, "the range of a histogram is not of unsigned numbers");
	else
		return ks_hist_layout_init(l, (kstat2_nv_hist_type_t)t, min, max, step) == 0;
	return false;
}

bool
ks_histstat_open(struct ks_histstat *h, const kstat_t *ksp)
{
	const kstat_named_t *kn = ksp->ks_data;

	memset(h, 0, sizeof(*h));
	if (!ks_histstat_is(ksp)) {
		errno = EINVAL;
		return false;
	}
	if (!get_layout(&h->layout, ksp))
		return false;
	h->buckets = (const char *)kn->value.string.addr.ptr;
	h->n = h->buckets == NULL ? 0 : kn->value.string.len / sizeof(uint64_t);
	if (h->n > h->layout.n) {
		(void)ks_fail(EINVAL, "a histogram has %u buckets, but its layout has %u", h->n, h->layout.n);
		return false;
	}
	h->has_sum = get_number(ksp, "sum", &h->sum) && get_number(ksp, "min", &h->min) &&
	    get_number(ksp, "max", &h->max);
	(void)get_number(ksp, "out_of_range", &h->out_of_range);
	return true;
}

/* Returns whether counts and sums can be of the same values. */
static bool
sums_fit(const struct ks_histstat *h)
{
	const uint64_t *buckets = (const uint64_t *)(const void *)h->buckets;
	struct ks_hist_sums sums = { h->sum, h->min, h->max, h->out_of_range }, none = { .min = UINT64_MAX };
	uint64_t count = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		if (__builtin_add_overflow(count, buckets[i], &count))
			return false;
	}
	if (!h->has_sum)
		return true;
	/* Without values least and greatest are stored as 0. */
	return ks_hist_sums_fit(&h->layout, buckets, h->n, count == 0 && h->max == 0 && h->sum == 0 ? &none : &sums);
}

/* The same of a finished record. */
static int
check_finished(const kstat_t *k)
{
	struct ks_histstat h;
	const char *type;
	size_t n;

	if (!ks_histstat_is(k) || !get_text(k, "type", &type, &n) || ks_hist_type_parse(type, n) < 0)
		return 0;
	if (!ks_histstat_open(&h, k)) {
		errno = EBADMSG;
		return -1;
	}
	return sums_fit(&h) ? 0 : ks_fail(EBADMSG, "the counts and sums of a histogram do not fit");
}

int
ks_histstat_check(const struct ks_record *r)
{
	kstat_t k = { .ks_type = KSTAT_TYPE_NAMED, .ks_data = r->fixed.data, .ks_ndata = r->ndata };
	int rc;

	if (!ks_histstat_is(&k))
		return 0;
	k.ks_data = malloc(ks_record_size(r));
	if (k.ks_data == NULL)
		return ks_fail(ENOMEM, "out of memory for a histogram");
	ks_record_finish(r, KSTAT_TYPE_NAMED, k.ks_data);
	rc = check_finished(&k);
	free(k.ks_data);
	return rc;
}

void
ks_histstat_add(struct ks_record *r, const struct ks_hist_layout *l, const uint64_t *buckets,
    const struct ks_hist_sums *sums)
{
	const char *type = ks_hist_type_name(l->type);
	uint32_t n = l->n;

	while (l->grows && n > 0 && buckets[n - 1] == 0)
		n--;
	ks_named_ints(r, "buckets", buckets, n);
	ks_named_chars(r, "type", type, strlen(type));
	ks_named_u64(r, "range_min", l->range_min);
	ks_named_u64(r, "range_max", l->range_max);
	ks_named_u64(r, "stepping", l->stepping);
	if (sums == NULL)
		return;
	ks_named_u64(r, "sum", sums->sum);
	ks_named_u64(r, "min", sums->min <= sums->max ? sums->min : 0);
	ks_named_u64(r, "max", sums->max);
	ks_named_u64(r, "out_of_range", sums->out_of_range);
}

int
kstat2_hist_bounds(const kstat2_t *ksp, uint32_t i, uint64_t *low, uint64_t *high)
{
	struct ks_histstat h;

	if (ksp == NULL || low == NULL || high == NULL)
		return ks_fail(EINVAL, "kstat2_hist_bounds: a kstat and room for two bounds are needed");
	if (!ks_histstat_open(&h, ksp))
		return ks_fail(EINVAL, "%s:%d:%s is not a histogram that was read", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (i >= h.layout.n)
		return ks_fail(EINVAL, "%s:%d:%s has %u buckets, so none of number %u", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name, h.layout.n, i);
	ks_hist_bounds(&h.layout, i, low, high);
	return 0;
}
