/*
 * tdigest.c - the t-digest of a blob beside a merging k1 t-digest in plain doubles with the
 * same number of centroids: rank errors for 10^7 values and for 64 merged digests, and
 * the time of an update. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <time.h>

#include "stats/tdigest/tdigest.h"
#include "../spec/c/tdigest_reference.h"

#define VALUES 10000000
#define CENTROIDS 100
#define PARTS 64
#define SIZE 2432 /* ks_tdgst_size(KS_TDGST64, CENTROIDS) */

static const double quantiles[] = { 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999 };
static const char *const sets[] = {
	"lognormal", "uniform", "bimodal", "sorted", "reversed", "constant"
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
print_error(const char *set, const char *what, double q, double ours, double plain, double goal)
{
	printf("%s %s rank error p%g\t%.6f\tk1 t-digest %.6f\t%.2f\t<= %.6f\t%s\n", set,
	    what, q * 100, ours, plain, plain > 0 ? ours / plain : ours > 0 ? HUGE_VAL : 1, goal,
	    ours <= goal ? "met" : "missed");
}

static int
measure(const char *name)
{
	const struct ref_set set = { .kind = name, .a = 42, .n = VALUES };
	static unsigned char one[SIZE], part[PARTS][SIZE];
	struct ref_digest *plain = ref_digest_new(CENTROIDS);
	int64_t *v = ref_values(&set);
	double t0, t1, t2, x, ours, theirs, q;
	size_t i, refused = 0;

	if (v == NULL || ks_tdgst_size(KS_TDGST64, CENTROIDS) != SIZE)
		return 1;
	ks_tdgst_init(one, KS_TDGST64, CENTROIDS, 8);
	for (i = 0; i < PARTS; i++)
		ks_tdgst_init(part[i], KS_TDGST64, CENTROIDS, 8);
	t0 = now_ns();
	for (i = 0; i < VALUES; i++)
		refused += ks_tdgst_add_s64(one, KS_TDGST64, v[i], 1) != 0;
	t1 = now_ns();
	for (i = 0; i < VALUES; i++)
		ref_digest_add(plain, (double)v[i]);
	t2 = now_ns();
	for (i = 0; i < VALUES; i++)
		refused += ks_tdgst_add_s64(part[i % PARTS], KS_TDGST64, v[i], 1) != 0;
	for (i = 1; i < PARTS; i++)
		refused += ks_tdgst_merge(part[0], part[i], KS_TDGST64) != 0;
	qsort(v, VALUES, sizeof(*v), ref_compare);
	for (i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		q = quantiles[i];
		theirs = ref_rank_error(v, VALUES, ref_digest_quantile(plain, q), q);
		(void)ks_tdgst_quantile(one, KS_TDGST64, q, &x);
		ours = ref_rank_error(v, VALUES, x, q);
		print_error(name, "t-digest", q, ours, theirs, theirs);
		(void)ks_tdgst_quantile(part[0], KS_TDGST64, q, &x);
		ours = ref_rank_error(v, VALUES, x, q);
		print_error(name, "64 merged", q, ours, theirs, ks_tdgst_bound(one, KS_TDGST64, q));
	}
	printf("%s t-digest update\t%.1f ns\tk1 t-digest %.1f ns\t%.2f\t< 60 ns\t%s\n",
	    name, (t1 - t0) / VALUES, (t2 - t1) / VALUES, (t1 - t0) / (t2 - t1),
	    (t1 - t0) / VALUES < 60 ? "met" : "missed");
	printf("%s t-digest samples refused\t%zu\tnone 0\t1\t0\t%s\n", name, refused,
	    refused == 0 ? "met" : "missed");
	free(v);
	ref_digest_free(plain);
	return 0;
}

int
main(void)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		ret |= measure(sets[i]);
	return ret;
}
