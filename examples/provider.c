/*
 * provider.c - a program with statistics of its own, which every kstat command on the host shows.
 *
 *     cc examples/provider.c $(pkg-config --cflags --libs kstat) -lpthread -o provider
 *     ./provider 30 &
 *     kstat -p provider::counters
 *     kstat provider::sizes
 *
 * Four threads serve requests; no update needs a lock or a system call.
 * Usage: provider [SECONDS]. SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <kstat_provider.h>

enum { THREADS = 4 };

static kstat_t *counters, *queue;
static kstat2_t *sizes;
static hrtime_t stop;

static int
failed(const char *what)
{
	(void)fprintf(stderr, "provider: %s: %s\n", what, kstat_errmsg());
	return 1;
}

/* The statistics: names and descriptions. */
static int
publish(void)
{
	const char *path[] = { "misc", "provider", "0", "sizes" };
	const kstat2_md_t bytes = { .md_type = KSTAT2_NVMT_BYTES, .md_kind = KSTAT2_NVMK_COUNTER,
		.md_desc = "bytes of all requests" };
	kstat_pub_t *pub = kstat_publish("provider", 0);

	if (pub == NULL)
		return failed("kstat_publish");
	counters = kstat_publish_create(pub, "provider", 0, "counters", "misc", KSTAT_TYPE_NAMED, 2, 0);
	queue = kstat_publish_create(pub, "provider", 0, "queue", "disk", KSTAT_TYPE_IO, 1, 0);
	sizes = kstat2_publish_histogram(pub, path, 4, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_BYTES, 1,
	    KSTAT2_NVMF_NONE, 0, 0, 0, 0, "size of a request", KSTAT2_MF_NONE);
	if (counters == NULL || queue == NULL || sizes == NULL)
		return failed("create");
	kstat_named_init(&KSTAT_NAMED_PTR(counters)[0], "requests", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(counters)[1], "bytes", KSTAT_DATA_UINT64);
	if (kstat2_set_md(counters, "bytes", &bytes) != 0 ||
	    kstat_publish_shards(counters, THREADS + 1) != 0 || kstat_install(counters) != 0 ||
	    kstat_install(queue) != 0 || kstat2_install(sizes) != 0)
		return failed("install");
	return 0;
}

static unsigned
work(unsigned n)
{
	volatile unsigned x = 0;

	while (n-- > 0)
		x = x + n;
	return x;
}

static void *
serve(void *arg)
{
	/* This thread's own part of each counter: no cache line is shared with another thread. */
	kstat_counter_t *requests = kstat_counter_own(counters, "requests", NULL);
	kstat_counter_t *bytes = kstat_counter_own(counters, "bytes", NULL);
	kstat_ioq_t *q = kstat_ioq(queue);
	unsigned seed = *(unsigned *)arg;

	while (gethrtime() < stop) {
		unsigned size = (unsigned)rand_r(&seed) % 4096;

		(void)kstat_ioq_waitq_enter(q);
		(void)kstat_ioq_waitq_to_runq(q);
		(void)work(size);
		(void)kstat_ioq_done(q, KSTAT_IO_READ, size);
		(void)kstat2_hist_add_value(sizes, size);
		kstat_counter_add(requests, 1);
		kstat_counter_add(bytes, size);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	unsigned number[THREADS];

	if (publish() != 0)
		return 1;
	stop = gethrtime() + (hrtime_t)((argc > 1 ? atof(argv[1]) : 30) * 1e9);
	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		if (pthread_create(&thread[i], NULL, serve, &number[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	return 0;
}
