/*
 * core_distribution.c - distributions for programs in C, for spec/core/distribution_spec.lua: two histograms of this process
 * are read, subtracted and merged. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "kstat2.h"

static kstat2_t *
create(const char *name, kstat2_nv_metatype_t what, uint64_t scale)
{
	const char *path[] = { "misc", "cdist", "0", name };
	kstat2_t *ksp = kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_EXPONENTIAL, what, 1, KSTAT2_NVMF_NONE,
	    NULL, 0, 1, 1000000, scale, 0, NULL, KSTAT2_MF_NONE);

	if (ksp != NULL)
		(void)kstat2_install(ksp);
	return ksp;
}

static kstat_hist_t *
read_hist(kstat_ctl_t *kc, const char *name)
{
	kstat_t *ksp = kstat_lookup(kc, "cdist", 0, name);

	return ksp != NULL && kstat_read(kc, ksp, NULL) != -1 ? kstat_hist_read(kc, ksp, NULL) : NULL;
}

static void
print_hist(const char *what, const kstat_hist_t *h)
{
	printf("%s: %llu values, %g to %g, sum %g, mean %g, p50 %.0f, p99 %.0f, %g at most 150\n", what,
	    (unsigned long long)kstat_hist_count(h), kstat_hist_min(h), kstat_hist_max(h), kstat_hist_sum(h),
	    kstat_hist_mean(h), kstat_hist_quantile(h, 0.5), kstat_hist_quantile(h, 0.99), kstat_hist_share(h, 150));
}

/* What a lookup finds; "none" if nothing. */
static void
print_lookup(kstat_ctl_t *kc, const char *name, const char *stat)
{
	kstat_t *ksp = kstat_lookup(kc, "cdist", 0, name);
	kstat_named_t *kn = kstat_read(kc, ksp, NULL) != -1 ? kstat_data_lookup(ksp, stat) : NULL;

	if (kn == NULL)
		printf("%s %s none\n", name, stat);
	else if (kn->data_type == KSTAT_DATA_DOUBLE)
		printf("%s %s %.0f\n", name, stat, kn->value.d);
	else
		printf("%s %s %llu\n", name, stat, (unsigned long long)kn->value.ui64);
}

static void
print_lookups(kstat_ctl_t *kc)
{
	print_lookup(kc, "a", "count");
	print_lookup(kc, "a", "max");
	print_lookup(kc, "a", "p99");
	print_lookup(kc, "empty", "count");
	print_lookup(kc, "empty", "p99");
}

int
main(void)
{
	kstat2_t *a = create("a", KSTAT2_NVMT_BYTES, 5), *b = create("b", KSTAT2_NVMT_BYTES, 3);
	kstat2_t *c = create("c", KSTAT2_NVMT_CNT, 3), *empty = create("empty", KSTAT2_NVMT_CNT, 3);
	kstat_ctl_t *kc = kstat_open();
	kstat_hist_t *before, *now, *other, *count;
	kstat_t *ksp;

	if (a == NULL || b == NULL || c == NULL || empty == NULL || kc == NULL)
		return 1;
	for (int i = 0; i < 1000; i++)
		(void)kstat2_hist_add_value(a, 100);
	print_lookup(kc, "a", "p90");
	printf("plain %d %s\n", read_hist(kc, "a") == NULL, kstat_errmsg());
	(void)kstat2_all_types(kc);
	before = read_hist(kc, "a");
	for (int i = 0; i < 10; i++)
		(void)kstat2_hist_add_value(a, 20000);
	(void)kstat2_hist_add_value(b, 100);
	now = read_hist(kc, "a");
	other = read_hist(kc, "b");
	count = read_hist(kc, "c");
	print_hist("all", now);
	printf("subtract %d\n", kstat_hist_subtract(now, before));
	print_hist("interval", now);
	printf("merge %d\n", kstat_hist_merge(now, other));
	print_hist("merged", now);
	printf("other unit %d", kstat_hist_merge(now, count));
	printf(" %d %s\n", errno == EINVAL, kstat_errmsg());
	printf("empty %d", isnan(kstat_hist_quantile(count, 0.5)));
	printf(" %d\n", errno == ENOENT);
	ksp = kstat_lookup(kc, "unix", 0, "system_misc");
	printf("no histogram %d", kstat_hist_read(kc, ksp, NULL) == NULL);
	printf(" %d\n", errno == EINVAL);
	print_lookups(kc);
	kstat_hist_free(before);
	kstat_hist_free(now);
	kstat_hist_free(other);
	kstat_hist_free(count);
	(void)kstat_close(kc);
	return 0;
}
