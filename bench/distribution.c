/*
 * distribution.c - the cost of the percentiles of an interval: of a published histogram of 1,000 buckets. A kstat is
 * read, an earlier reading is taken away from it, and four quantiles are asked for; beside it, the same counts are
 * copied, subtracted and walked by loops that check nothing. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kstat_provider.h"

#define BUCKETS 1000
#define ROUNDS 2000
#define BEST_OF 15

static const double wanted[] = { 0.5, 0.9, 0.99, 0.999 };
static double kept; /* keeps the compiler from dropping what was computed */

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void
add_values(kstat2_t *ksp, uint64_t *state)
{
	for (int i = 0; i < 20000; i++) {
		*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
		(void)kstat2_hist_add_value(ksp, *state >> 24 >> (*state & 31));
	}
}

/* One interval: the earlier distribution is replaced by the one that is read. */
static void
by_library(kstat_ctl_t *kc, kstat_t *seen, kstat_hist_t **before)
{
	kstat_hist_t *read, *interval;

	if (kstat_read(kc, seen, NULL) == -1 || (read = kstat_hist_read(kc, seen, NULL)) == NULL)
		exit(1);
	interval = kstat_hist_copy(read);
	if (interval == NULL || kstat_hist_subtract(interval, *before) != 0)
		exit(1);
	for (size_t i = 0; i < 4; i++)
		kept += kstat_hist_quantile(interval, wanted[i]);
	kstat_hist_free(interval);
	kstat_hist_free(*before);
	*before = read;
}

static void
by_hand(const uint64_t *counts, uint64_t *before)
{
	uint64_t copy[BUCKETS], interval[BUCKETS], total = 0;

	memcpy(copy, counts, sizeof(copy));
	for (size_t i = 0; i < BUCKETS; i++)
		total += interval[i] = copy[i] - before[i];
	for (size_t i = 0; i < 4; i++) {
		uint64_t rank = (uint64_t)(wanted[i] * (double)total), below = 0;
		size_t k = 0;

		while (k + 1 < BUCKETS && below + interval[k] <= rank)
			below += interval[k++];
		kept += (double)k;
	}
	memcpy(before, copy, sizeof(copy));
}

static void
measure(kstat2_t *ksp, kstat_ctl_t *kc, kstat_t *seen)
{
	double ours = 1e18, reading = 1e18, theirs = 1e18;
	uint64_t counts[BUCKETS], before[BUCKETS] = { 0 }, state = 1;
	kstat_hist_t *last;

	for (size_t i = 0; i < BUCKETS; i++)
		counts[i] = i * 7 % 23;
	if (kstat_read(kc, seen, NULL) == -1 || (last = kstat_hist_read(kc, seen, NULL)) == NULL)
		exit(1);
	for (int run = 0; run < BEST_OF; run++) {
		double start, took;

		add_values(ksp, &state);
		start = now();
		for (int i = 0; i < ROUNDS; i++)
			by_library(kc, seen, &last);
		took = (now() - start) / ROUNDS;
		ours = took < ours ? took : ours;
		start = now();
		for (int i = 0; i < ROUNDS; i++)
			(void)kstat_read(kc, seen, NULL);
		took = (now() - start) / ROUNDS;
		reading = took < reading ? took : reading;
		start = now();
		for (int i = 0; i < ROUNDS; i++)
			by_hand(counts, before);
		took = (now() - start) / ROUNDS;
		theirs = took < theirs ? took : theirs;
	}
	printf("percentiles of an interval, 1000 buckets: read, subtract, 4 quantiles\t%.2f us\tkstat_read() alone "
	    "%.2f us\t%.2f\t8 us\t%s\n", ours, reading, ours / reading, ours <= 8 ? "met" : "missed");
	printf("percentiles of an interval, 1000 buckets: subtract, 4 quantiles\t%.2f us\tplain loops %.2f us\t%.2f\t-\t"
	    "-\n", ours - reading, theirs, (ours - reading) / theirs);
	kstat_hist_free(last);
}

int
main(void)
{
	const char *name[] = { "misc", "bench", "0", "latency" };
	char dir[] = "/dev/shm/kstat-bench-XXXXXX", path[64];
	kstat_pub_t *pub;
	kstat2_t *ksp;
	kstat_ctl_t *kc;
	kstat_t *seen;

	if (mkdtemp(dir) == NULL || setenv("KSTAT_DIR", dir, 1) != 0 || (pub = kstat_publish("bench", 0)) == NULL)
		return 1;
	/* 31.22 doublings at scale 5 are 1,000 buckets. */
	ksp = kstat2_publish_histogram(pub, name, 4, KSTAT2_NVHIST_EXPONENTIAL, KSTAT2_NVMT_T_REL, 1000000000,
	    KSTAT2_NVMF_FRACT, 500, 1230000000000, 5, 0, "time to answer", KSTAT2_MF_NONE);
	kc = kstat_open();
	if (ksp == NULL || kstat2_install(ksp) != 0 || kc == NULL || kstat2_all_types(kc) != 0 ||
	    kstat_chain_update(kc) == -1 || (seen = kstat_lookup(kc, "bench", 0, "latency")) == NULL)
		return 1;
	measure(ksp, kc, seen);
	(void)kstat_close(kc);
	kstat_unpublish(pub);
	(void)snprintf(path, sizeof(path), "%s/.lock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	return kept == 0;
}
