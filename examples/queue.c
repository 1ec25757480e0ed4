/*
 * queue.c - a work queue that can be watched: how many requests wait and are served, and how long each of them does.
 *
 *     cc examples/queue.c $(pkg-config --cflags --libs kstat) -o queue
 *     ./queue 30 &
 *     kstatlua prtop 5                     the queue: wait, actv, wsvc_t, asvc_t
 *     kstat -a 'p50(buckets), p99(buckets) by (name)' -m queue 5
 *
 * Usage: queue [SECONDS]. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include <kstat_provider.h>

enum { BATCH = 8 };

int
main(int argc, char **argv)
{
	kstat_pub_t *pub = kstat_publish("queue", 0);
	kstat_t *queue = pub ? kstat_publish_create(pub, "queue", 0, "jobs", "disk", KSTAT_TYPE_IO, 1, 0) : NULL;
	hrtime_t token[BATCH], stop = gethrtime() + (hrtime_t)((argc > 1 ? atof(argv[1]) : 30) * 1e9);

	/* jobs,wait and jobs,svc have the times of single requests; jobs alone has their mean. */
	if (queue == NULL || kstat_publish_queue_latency(queue) != 0 || kstat_install(queue) != 0) {
		(void)fprintf(stderr, "queue: %s\n", kstat_errmsg());
		return 1;
	}
	while (gethrtime() < stop) {
		for (int i = 0; i < BATCH; i++)
			token[i] = kstat_queue_enter(queue);
		for (int i = 0; i < BATCH; i++) {
			hrtime_t started = kstat_queue_start(queue, token[i]), end = gethrtime() + 1000 * (i + 1);

			while (gethrtime() < end)
				continue;
			(void)kstat_queue_finish(queue, started, KSTAT_IO_READ, 512);
		}
	}
	kstat_unpublish(pub);
	return 0;
}
