/*
 * provider_api.c - what a provider's program finds in the public headers besides kstat_create(9F): says which
 * checks fail, and how many there were. $KSTAT_DIR is an empty directory. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <kstat_provider.h>

static int checks, failures;

#define CHECK(expr) do { \
		checks++; \
		if (!(expr)) { \
			failures++; \
			printf("line %d: not so: %s (%s)\n", __LINE__, #expr, kstat_errmsg()); \
		} \
	} while (0)

static kstat_ctl_t *kc;

static kstat_t *
see(const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, "api", 0, name);
}

/* --- the bounds of a histogram's buckets --------------------------------------------------- */

static void
bounds(void)
{
	const char *path[] = { "misc", "api", "0", "delays" };
	const char *published_path[] = { "misc", "api", "0", "sizes" };
	kstat_pub_t *pub = kstat_publish("api-bounds", 0);
	kstat2_t *own = kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR, KSTAT2_NVMT_T_REL, 1,
	    KSTAT2_NVMF_NONE, NULL, 0, 100, 300, 50, 0, "delays", KSTAT2_MF_NONE);
	kstat2_t *shared = kstat2_publish_histogram(pub, published_path, 4, KSTAT2_NVHIST_LOG10_LIN,
	    KSTAT2_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, 1, 2, 10, 0, NULL, KSTAT2_MF_NONE);
	static const uint64_t low[] = { 0, 100, 150, 200, 250, 300 };
	static const uint64_t high[] = { 99, 149, 199, 249, 299, UINT64_MAX };
	uint64_t from = 1, to = 1;
	kstat_t *k;

	CHECK(kstat2_install(own) == 0 && kstat2_install(shared) == 0);
	k = see("delays");
	CHECK(kstat2_hist_bounds(k, 0, &from, &to) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_add_value(own, 160) == 0);
	CHECK(kstat_read(kc, k, NULL) > 0);
	for (uint32_t i = 0; i < 6; i++) {
		CHECK(kstat2_hist_bounds(k, i, &from, &to) == 0);
		CHECK(from == low[i] && to == high[i]);
	}
	from = to = 7;
	CHECK(kstat2_hist_bounds(k, 6, &from, &to) == -1 && errno == EINVAL && from == 7 && to == 7);
	CHECK(kstat2_hist_bounds(k, 0, NULL, &to) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_bounds(NULL, 0, &from, &to) == -1 && errno == EINVAL);
	k = see("sizes");
	CHECK(kstat_read(kc, k, NULL) > 0);
	CHECK(kstat2_hist_bounds(k, 10, &from, &to) == 0 && from == 100 && to == 199);
	kstat2_delete(own);
	kstat2_delete(shared);
	own = kstat_create("api", 0, "plain", "misc", KSTAT_TYPE_NAMED, 0, 0);
	CHECK(kstat_install(own) == 0 && kstat_read(kc, see("plain"), NULL) > 0);
	CHECK(kstat2_hist_bounds(see("plain"), 0, &from, &to) == -1 && errno == EINVAL);
	kstat_delete(own);
	kstat_unpublish(pub);
}

int
main(void)
{
	kc = kstat_open();
	if (kc == NULL)
		return 1;
	bounds();
	kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return 0;
}
