/*
 * kstat2.c - kstat2_create_histogram(9F) and its companions. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/histstat.h"
#include "provider/provider.h"

/* Gives a local histogram its counts. 0, or -1 with errno. */
static int
give_counts(struct ks_provider *p, uint64_t *supplied, uint16_t n)
{
	struct ks_histogram *h = p->histogram;

	if (supplied == NULL) {
		h->place.log = KS_HIST_LEAST_LOG;
		h->place.hist = calloc(1, ks_hist_size(h->place.log, h->place.n));
		if (h->place.hist == NULL)
			return ks_fail(ENOMEM, "out of memory for %u buckets", h->layout.n);
		ks_hist_init(h->place.hist);
		return 0;
	}
	if (n == 0 || (n < h->layout.n && !(h->layout.grows && h->layout.range_max == 0)))
		return ks_fail(EINVAL, "histogram: %u buckets supplied, the layout has %u", n,
		    h->layout.n);
	if (n < h->layout.n)
		h->layout.n = n; /* an open one ends where the array does */
	h->supplied = supplied;
	p->ks.ks_ndata = KS_HISTSTAT_LEAST_VALUES; /* nobody counts their sum */
	return 0;
}

kstat2_t *
kstat2_create_histogram(const char *ks_pseg[], uint32_t ks_npseg, zoneid_t ks_zone,
    kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type, uint64_t scale,
    kstat2_nv_metaflag_t md_flags, uint64_t *buckets, uint16_t num_buckets, uint64_t range_min,
    uint64_t range_max, uint64_t stepping, uint32_t ks_flags, const char *desc,
    kstat2_metaflag_t ks_mflags)
{
	kstat2_path_t path;
	struct ks_provider *p, *dormant;

	(void)ks_zone;
	if (kstat2_parse_path((const char *const *)ks_pseg, ks_npseg, &path) != 0)
		return NULL;
	if (buckets != NULL && (ks_flags & KSTAT2_FLAG_PERSISTENT))
		return ks_fail_null(EINVAL, "a PERSISTENT histogram cannot have supplied buckets");
	p = ks_histogram_new(&path, type, content_type, scale, md_flags, range_min, range_max,
	    stepping, ks_flags, desc, ks_mflags);
	if (p == NULL)
		return NULL;
	dormant = ks_registry_revive(p);
	if (dormant != NULL || errno != ENOENT || give_counts(p, buckets, num_buckets) != 0 ||
	    ks_registry_add(p) != 0) {
		int error = errno;

		ks_provider_free(p);
		errno = error;
		return dormant != NULL ? &dormant->ks : NULL;
	}
	return &p->ks;
}

int
kstat2_install(kstat2_t *ksp)
{
	return kstat_install(ksp);
}

void
kstat2_delete(kstat2_t *ksp)
{
	kstat_delete(ksp);
}

int
kstat2_hist_add_value(kstat2_t *ksp, uint64_t value)
{
	struct ks_histogram *h = ksp != NULL ? ((struct ks_provider *)ksp)->histogram : NULL;
	uint32_t i;

	if (h == NULL)
		return ks_fail(EINVAL, "kstat2_hist_add_value: not a histogram");
	i = ks_hist_index(&h->layout, value);
	if (h->place.hist != NULL)
		return ks_hist_add(&h->place, i, value, ks_hist_is_outside(&h->layout, value));
	if (h->supplied == NULL)
		return ks_fail(EINVAL, "%s:%d:%s is not installed", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	(void)__atomic_fetch_add(&h->supplied[i], 1, __ATOMIC_RELAXED);
	return 0;
}
