/*
 * counter_updates.c - counts n times, and prints the nanoseconds for one time: "plain" (an
 * increment of shared memory), "atomic" (kstat_counter_add() of a number that all share) or
 * "own" (of this thread's own part). For bench/counter.lua.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kstat_provider.h"

static volatile uint64_t *
shared_memory(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static kstat_counter_t *
counter(kstat_pub_t *pub, int own)
{
	kstat_t *k = kstat_publish_create(pub, "bench", 0, "n", "misc", KSTAT_TYPE_NAMED, 1, 0);

	if (k == NULL)
		return NULL;
	kstat_named_init(KSTAT_NAMED_PTR(k), "n", KSTAT_DATA_UINT64);
	if ((own && kstat_publish_shards(k, 4) != 0) || kstat_install(k) != 0)
		return NULL;
	return own ? kstat_counter_own(k, "n", NULL) : kstat_counter(k, "n");
}

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int
main(int argc, char **argv)
{
	volatile uint64_t *plain = shared_memory();
	kstat_pub_t *pub = kstat_publish("bench", 0);
	kstat_counter_t *c;
	double start;
	long n;

	if (argc != 3 || plain == NULL || pub == NULL)
		return 2;
	n = atol(argv[2]);
	c = counter(pub, strcmp(argv[1], "own") == 0);
	if (c == NULL || n <= 0) {
		(void)fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	start = now();
	if (strcmp(argv[1], "plain") == 0) {
		for (long i = 0; i < n; i++)
			*plain = *plain + 1;
	} else {
		for (long i = 0; i < n; i++)
			kstat_counter_add(c, 1);
	}
	printf("%.4f\n", (now() - start) / (double)n);
	kstat_unpublish(pub);
	return 0;
}
