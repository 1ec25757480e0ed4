/*
 * publish.c - the cost of an update of a published kstat: a timer's event beside a plain increment of shared memory, a
 * histogram's value beside four atomic additions, and beside a program that finds a bucket and adds to it and to a sum,
 * and a request that waits, is served and ends beside two readings of the clock; also the cost of reading a
 * thousand published kstats. counter.lua measures counters.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_provider.h"
#include "source/sources.h"

#define ROUNDS 1000000
#define BEST_OF 9

static double
ns_of(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Runs the body ROUNDS times, and stores the time of one if it is less than what was there. */
#define MEASURE_ONCE(result, body) do { \
		double start_ = ns_of(CLOCK_MONOTONIC); \
		for (long i_ = 0; i_ < ROUNDS; i_++) { \
			body; \
		} \
		double took_ = (ns_of(CLOCK_MONOTONIC) - start_) / ROUNDS; \
		if (took_ < (result)) \
			(result) = took_; \
	} while (0)

#define MEASURE(result, body) do { \
		(result) = 1e18; \
		for (int run_ = 0; run_ < BEST_OF; run_++) \
			MEASURE_ONCE(result, body); \
	} while (0)

static void
figure(const char *name, double ours, const char *what, double theirs, double goal)
{
	char g[32] = "-";

	if (goal > 0)
		(void)snprintf(g, sizeof(g), "<= %.2g", goal);
	printf("%s\t%.1f ns\t%s %.1f ns\t%.2f\t%s\t%s\n", name, ours, what, theirs, ours / theirs, g,
	    goal <= 0 || ours <= goal * theirs ? "met" : "missed");
}

static kstat_t *
counters(kstat_pub_t *pub, int instance)
{
	kstat_t *k = kstat_publish_create(pub, "bench", instance, "counters", "misc", KSTAT_TYPE_NAMED, 4,
	    0);
	static const char *const names[] = { "a", "b", "c", "d" };

	for (int i = 0; i < 4; i++)
		kstat_named_init(&KSTAT_NAMED_PTR(k)[i], names[i], KSTAT_DATA_UINT64);
	if (kstat_install(k) != 0)
		exit(1);
	return k;
}

/* A value of a sequence that visits about 600 buckets of a latency. */
static inline uint64_t
some_time(long i)
{
	uint64_t bits = (uint64_t)i * 0x9e3779b97f4a7c15ULL;

	return 1000 + (bits >> 32 >> (bits & 15));
}

static void
add(uint64_t *cell, uint64_t n)
{
	(void)__atomic_fetch_add(cell, n, __ATOMIC_RELAXED);
}

/* What a program without this library would do: a bucket for each power of two, and the sum. */
static void
add_two(uint64_t *cells, uint64_t value)
{
	add(&cells[64 - __builtin_clzll(value | 1)], 1);
	add(&cells[100], value);
}

/* Updates of histograms, each beside others of the same machine and run. */
static void
histograms(kstat_pub_t *pub, double increment)
{
	static const struct {
		const char *name;
		int scale;
	} all[] = { { "latency, scale 5 (959 buckets)", 5 }, { "latency, scale 3 (241 buckets)", 3 },
		{ "latency, scale 8 (7656 buckets)", 8 } };
	const char *pseg[] = { "misc", "bench", "0", "hist" };
	kstat2_t *log2 = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0, 0, 0, 0, 0, "",
	    0), *h[sizeof(all) / sizeof(*all)];
	uint64_t *cells = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double four = 1e18, two = 1e18, value = 1e18, latency[] = { 1e18, 1e18, 1e18 };

	if (log2 == NULL || kstat2_install(log2) != 0)
		exit(1);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		h[i] = kstat_publish_latency(pub, "bench", (int)i, "latency", NULL, 0, NULL, all[i].scale, 0, 0);
		if (h[i] == NULL || kstat2_install(h[i]) != 0)
			exit(1);
	}
	/* In turns, so that what else the machine does slows down all of them. */
	for (int run = 0; run < 3 * BEST_OF; run++) {
		MEASURE_ONCE(four, add(&cells[0], 1); add(&cells[8], 1); add(&cells[16], 1); add(&cells[24], 1));
		MEASURE_ONCE(two, add_two(cells, some_time(i_)));
		MEASURE_ONCE(value, (void)kstat2_hist_add_value(log2, some_time(i_)));
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			MEASURE_ONCE(latency[i], (void)kstat2_hist_add_value(h[i], some_time(i_)));
	}
	figure("log2 histogram value", value, "four atomic additions", four, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		figure(all[i].name, latency[i], "four atomic additions", four, 1);
		figure(all[i].name, latency[i], "a bucket and a sum, atomic", two, 0);
		figure(all[i].name, latency[i], "plain increment of shared memory", increment, 0);
	}
}

static void
updates(kstat_pub_t *pub)
{
	kstat_t *io = kstat_publish_create(pub, "bench", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_t *measured = kstat_publish_create(pub, "bench", 0, "measured", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_t *timers = kstat_publish_create(pub, "bench", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	volatile uint64_t *plain = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);
	double increment, clocks, trip, event;
	struct timespec ts;
	kstat_etimer_t *t;
	kstat_ioq_t *q;

	kstat_timer_init(timers->ks_data, "event");
	if (kstat_publish_queue_latency(measured) != 0 || kstat_install(measured) != 0 || kstat_install(io) != 0 ||
	    kstat_install(timers) != 0)
		exit(1);
	q = kstat_ioq(io);
	t = kstat_etimer(timers, NULL);
	MEASURE(increment, *plain = *plain + 1);
	MEASURE(clocks, (void)clock_gettime(CLOCK_MONOTONIC, &ts);
	    (void)clock_gettime(CLOCK_MONOTONIC, &ts));
	MEASURE(trip, (void)kstat_ioq_waitq_enter(q); (void)kstat_ioq_waitq_to_runq(q);
	    (void)kstat_ioq_done(q, KSTAT_IO_READ, 512));
	figure("I/O queue: wait, run, done", trip, "two clock_gettime", clocks, 1.5);
	MEASURE(trip, (void)kstat_queue_finish(measured, kstat_queue_start(measured, kstat_queue_enter(measured)),
	    KSTAT_IO_READ, 512));
	figure("I/O queue with latencies: the same", trip, "two clock_gettime", clocks, 0);
	MEASURE(event, (void)kstat_etimer_event(t, 5, 9));
	figure("timer event", event, "plain increment of shared memory", increment, 0);
	histograms(pub, increment);
}

/* Measures the CPU time in which a reader reads all kstats of a segment. */
static double
read_all(kstat_ctl_t *kc, int *n)
{
	double start = ns_of(CLOCK_PROCESS_CPUTIME_ID);

	*n = 0;
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) == -1)
			exit(1);
		++*n;
	}
	return ns_of(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static void
reading(kstat_pub_t *pub)
{
	double least = 1e18, update = 1e18;
	kstat_ctl_t *kc;
	int n;

	for (int i = 0; i < 1000; i++)
		(void)counters(pub, i);
	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	for (int i = 0; i < 50; i++) {
		double took = read_all(kc, &n), start;

		if (took < least)
			least = took;
		start = ns_of(CLOCK_PROCESS_CPUTIME_ID);
		(void)kstat_chain_update(kc);
		took = ns_of(CLOCK_PROCESS_CPUTIME_ID) - start;
		if (took < update)
			update = took;
	}
	(void)kstat_close(kc);
	printf("reading %d published kstats\t%.3f ms\t1 ms of CPU\t%.2f\t<= 1\t%s\n", n, least / 1e6,
	    least / 1e6, least <= 1e6 ? "met" : "missed");
	printf("updating a chain of %d published kstats\t%.3f ms\t1 ms of CPU\t%.3f\t-\tmet\n", n,
	    update / 1e6, update / 1e6);
}

int
main(void)
{
	char dir[] = "/dev/shm/kstat-bench-XXXXXX", path[64];
	kstat_pub_t *pub;

	if (mkdtemp(dir) == NULL || setenv("KSTAT_DIR", dir, 1) != 0)
		return 1;
	pub = kstat_publish("bench", 0);
	if (pub == NULL) {
		(void)fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	reading(pub);
	updates(pub);
	kstat_unpublish(pub);
	(void)snprintf(path, sizeof(path), "%s/.lock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	return 0;
}
