/*
 * kstat2.c - kstat2_create_histogram(9F) and its companions. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/histstat.h"
#include "provider/provider.h"

#define CLOCKS_APART 2000 /* ns by which threads' clocks differ at most (base/clock.h) */

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
	kstat2_md_t md = { .md_type = content_type, .md_flags = md_flags, .md_scale = scale,
		.md_kind = KSTAT2_NVMK_COUNTER, .md_desc = desc };
	kstat2_path_t path;
	struct ks_provider *p, *dormant;

	(void)ks_zone;
	if (kstat2_parse_path((const char *const *)ks_pseg, ks_npseg, &path) != 0)
		return NULL;
	if (buckets != NULL && (ks_flags & KSTAT2_FLAG_PERSISTENT))
		return ks_fail_null(EINVAL, "a PERSISTENT histogram cannot have supplied buckets");
	p = ks_histogram_new(&path, type, range_min, range_max, stepping, &md, ks_flags, ks_mflags);
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

/* The histogram, or NULL with errno EINVAL, for a function of that name. */
static inline struct ks_histogram *
histogram_of(kstat2_t *ksp, const char *function)
{
	struct ks_histogram *h = ksp != NULL ? ((struct ks_provider *)ksp)->histogram : NULL;

	return h != NULL ? h : ks_fail_null(EINVAL, "%s: not a histogram", function);
}

static int
not_installed(const kstat2_t *ksp)
{
	return ks_fail(EINVAL, "%s:%d:%s is not installed", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
}

static inline __attribute__((always_inline)) int
add(kstat2_t *ksp, struct ks_histogram *h, uint64_t value)
{
	uint32_t i = ks_hist_index(&h->layout, value);

	if (h->place.hist != NULL)
		return ks_hist_add(&h->place, i, value, ks_hist_is_outside(&h->layout, value));
	if (h->supplied == NULL)
		return not_installed(ksp);
	(void)__atomic_fetch_add(&h->supplied[i], 1, __ATOMIC_RELAXED);
	return 0;
}

/* Counts what is no value of this kstat as out of range. -1 with errno EINVAL, or EAGAIN. */
static int
refuse(kstat2_t *ksp, struct ks_histogram *h, double value)
{
	if (h->place.hist == NULL && h->supplied == NULL)
		return not_installed(ksp);
	if (h->place.hist != NULL && ks_hist_refuse(&h->place) != 0)
		return -1;
	return ks_fail(EINVAL, "%s:%d:%s counts values from 0 to 2^64-1, not %g", ksp->ks_module, ksp->ks_instance,
	    ksp->ks_name, value);
}

int
kstat2_hist_add_value(kstat2_t *ksp, uint64_t value)
{
	struct ks_histogram *h = histogram_of(ksp, "kstat2_hist_add_value");

	return h != NULL ? add(ksp, h, value) : -1;
}

int
kstat2_hist_add_double(kstat2_t *ksp, double value)
{
	struct ks_histogram *h = histogram_of(ksp, "kstat2_hist_add_double");

	if (h == NULL)
		return -1;
	/* Most values are below 2^63, whose conversion is one instruction. */
	if (__builtin_expect(value >= 0 && value < 0x1p63, 1))
		return add(ksp, h, (uint64_t)(int64_t)value);
	return value >= 0x1p63 && value < 0x1p64 ? add(ksp, h, (uint64_t)value) : refuse(ksp, h, value);
}

int
kstat2_hist_add_counts(kstat2_t *ksp, const uint64_t *counts, uint32_t n, uint64_t sum)
{
	struct ks_histogram *h = histogram_of(ksp, "kstat2_hist_add_counts");

	if (h == NULL)
		return -1;
	if (counts == NULL || n > h->layout.n)
		return ks_fail(EINVAL, "%s:%d:%s has %u buckets, not %u", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, h->layout.n, counts == NULL ? 0 : n);
	if (h->supplied != NULL)
		return ks_fail(EINVAL, "%s:%d:%s counts in buckets of the caller's own: add to those", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	return h->place.hist == NULL ? not_installed(ksp) : ks_hist_add_counts(&h->place, &h->layout, counts, n, sum);
}

hrtime_t
kstat_latency_start(void)
{
	return ks_tick();
}

int
kstat_latency_stop(kstat2_t *ksp, hrtime_t start)
{
	struct ks_histogram *h = histogram_of(ksp, "kstat_latency_stop");
	hrtime_t took = start < 0 ? INT64_MIN : ks_tick() - start;

	if (h == NULL)
		return -1;
	if (h->unit_ns == 0)
		return ks_fail(EINVAL, "%s:%d:%s counts no times", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	/* Threads' clocks differ by some nanoseconds. */
	if (took < 0)
		return took > -CLOCKS_APART ? add(ksp, h, 0) : refuse(ksp, h, (double)took);
	return add(ksp, h, h->unit_ns == 1 ? (uint64_t)took : (uint64_t)took / h->unit_ns);
}
