/*
 * blob_kstat.c - the cost of publishing a statsblob: an update of a published blob beside the same update of
 * a private blob, and the cost of a read. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_blob.h"
#include "source/sources.h"

#define ROUNDS 1000000
#define BEST_OF 7

static double
now(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int64_t
value(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int64_t)(*state >> 44);
}

static void
measure(kstat_pub_t *pub, const char *what, uint32_t tpl)
{
	kstat_t *k = kstat_publish_statsblob(pub, "bench", 0, what, "misc", tpl, 1, 0), *seen;
	struct statsblob *mine = stats_blob_alloc(tpl, 0);
	double ours = 1e18, theirs = 1e18, reading = 1e18;
	kstat_ctl_t *kc;
	kstat_blob_t *b;
	uint64_t state = 1;

	if (k == NULL || mine == NULL || kstat_install(k) != 0 || (b = kstat_blob(k)) == NULL)
		exit(1);
	for (int run = 0; run < BEST_OF; run++) {
		double start = now(CLOCK_MONOTONIC), took;

		for (int i = 0; i < ROUNDS; i++)
			(void)kstat_blob_update_int(b, 0, value(&state), false);
		took = (now(CLOCK_MONOTONIC) - start) / ROUNDS;
		ours = took < ours ? took : ours;
		start = now(CLOCK_MONOTONIC);
		for (int i = 0; i < ROUNDS; i++)
			(void)stats_voi_update_int(mine, 0, value(&state), false);
		took = (now(CLOCK_MONOTONIC) - start) / ROUNDS;
		theirs = took < theirs ? took : theirs;
	}
	printf("update of a published statsblob: %s\t%.1f ns\tprivate blob %.1f ns\t%.2f\t-\tmet\n", what,
	    ours, theirs, ours / theirs);
	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	seen = kstat_lookup(kc, "bench", 0, what);
	for (int i = 0; i < 200; i++) {
		double start = now(CLOCK_PROCESS_CPUTIME_ID), took;

		(void)kstat_blob_update_int(b, 0, i, false);
		if (kstat_read(kc, seen, NULL) == -1)
			exit(1);
		took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
		reading = took < reading ? took : reading;
	}
	printf("reading a published statsblob: %s\t%.1f us\t1 ms of CPU\t%.4f\t-\tmet\n", what, reading / 1e3,
	    reading / 1e6);
	stats_blob_destroy(mine);
	(void)kstat_close(kc);
}

int
main(void)
{
	struct voistatspec simple[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN() };
	struct voistatspec hist[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
		STATS_VSS_CRHIST64_LIN(0, 1000000, 50000, 0) };
	struct voistatspec digest[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_TDGSTCLUST64(100, 4) };
	char dir[] = "/dev/shm/kstat-bench-XXXXXX", path[64];
	int a = stats_tpl_alloc("simple", 0), b = stats_tpl_alloc("hist", 0), c = stats_tpl_alloc("digest", 0);
	kstat_pub_t *pub;

	if (stats_tpl_add_voistats((uint32_t)a, 0, "v", VSD_DTYPE_INT_U64, NVSS(simple), simple, 0) != 0 ||
	    stats_tpl_add_voistats((uint32_t)b, 0, "v", VSD_DTYPE_INT_U64, NVSS(hist), hist, 0) != 0 ||
	    stats_tpl_add_voistats((uint32_t)c, 0, "v", VSD_DTYPE_INT_U64, NVSS(digest), digest, 0) != 0 ||
	    mkdtemp(dir) == NULL || setenv("KSTAT_DIR", dir, 1) != 0)
		return 1;
	pub = kstat_publish("bench", 0);
	if (pub == NULL) {
		(void)fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	measure(pub, "SUM+MAX+MIN", (uint32_t)a);
	measure(pub, "SUM+MAX+MIN, 20 buckets", (uint32_t)b);
	measure(pub, "SUM+MAX, digest(100)", (uint32_t)c);
	kstat_unpublish(pub);
	(void)snprintf(path, sizeof(path), "%s/.lock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	return 0;
}
