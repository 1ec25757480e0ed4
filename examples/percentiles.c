/*
 * percentiles.c - computes percentiles of a program's own values with statsblobs: each of two workers has
 * its own blob, the blobs are merged, and the program prints how exact each percentile is.
 *
 *     cc examples/percentiles.c $(pkg-config --cflags --libs kstat) -lm -o percentiles
 *     ./percentiles 100000
 *
 * Usage: percentiles [VALUES]. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <statsblob.h>

enum { LATENCY, SIZE }; /* values of interest */
enum { WORKERS = 2, CENTROIDS = 100 };

static int
failed(const char *what, int err)
{
	(void)fprintf(stderr, "percentiles: %s: %s\n", what, strerror(err));
	return 1;
}

/*
 * Makes the template, which says what is computed of each value of interest. Returns its ID, or a negated
 * errno.
 */
static int
make_template(void)
{
	struct voistatspec latency[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
		STATS_VSS_TDGSTCLUST64(CENTROIDS, 4) };
	struct voistatspec size[] = { STATS_VSS_SUM(),
		STATS_VSS_CRHIST64_EXP(1, 1 << 20, 2, 0, VSD_HIST_LBOUND_INF) };
	int id = stats_tpl_alloc("percentiles", 0), err;

	if (id < 0)
		return id;
	err = stats_tpl_add_voistats((uint32_t)id, LATENCY, "latency_us", VSD_DTYPE_INT_U64,
	    NVSS(latency), latency, 0);
	if (err == 0)
		err = stats_tpl_add_voistats((uint32_t)id, SIZE, "size", VSD_DTYPE_INT_S64, NVSS(size),
		    size, 0);
	return err == 0 ? id : -err;
}

/* Returns a value between 1 and about 20,000, mostly a small one; the sequence is the same in each run. */
static uint64_t
next_value(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint64_t)exp((double)(*seed >> 40) / 0x1p24 * 10);
}

static int
report(struct statsblob *sb)
{
	static const double q[] = { 0.5, 0.9, 0.99, 0.999 };
	double value, err;
	int ret;

	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		ret = stats_voi_quantile(sb, LATENCY, q[i], &value, NULL);
		if (ret == 0)
			ret = stats_voi_rank_error(sb, LATENCY, q[i], &err);
		if (ret != 0)
			return failed("latency", ret);
		(void)printf("latency p%-4g %8.0f us, rank within %.4f\n", q[i] * 100, value, err);
	}
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		ret = stats_voi_quantile(sb, SIZE, q[i], &value, &err);
		if (ret != 0)
			return failed("size", ret);
		(void)printf("size    p%-4g %8.0f bytes, within %.0f\n", q[i] * 100, value, err);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	struct statsblob *worker[WORKERS];
	uint64_t seed = 1;
	int tpl = make_template(), ret = 0;

	if (tpl < 0)
		return failed("template", -tpl);
	/* Each worker has a blob of its own, because blobs are not locked. */
	for (int w = 0; w < WORKERS; w++) {
		worker[w] = stats_blob_alloc((uint32_t)tpl, 0);
		if (worker[w] == NULL)
			return failed("blob", ENOMEM);
	}
	for (long i = 0; i < n; i++) {
		struct statsblob *sb = worker[i % WORKERS];

		ret = stats_voi_update_abs_u64(sb, LATENCY, next_value(&seed));
		if (ret == 0)
			ret = stats_voi_update_abs_s64(sb, SIZE, (int64_t)next_value(&seed) * 10);
		if (ret != 0)
			return failed("update", ret);
	}
	for (int w = 1; w < WORKERS; w++) {
		ret = stats_blob_merge(worker[0], worker[w]);
		if (ret != 0)
			return failed("merge", ret);
		stats_blob_destroy(worker[w]);
	}
	ret = report(worker[0]);
	stats_blob_destroy(worker[0]);
	return ret;
}
