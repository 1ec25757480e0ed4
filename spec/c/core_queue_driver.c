/*
 * core_queue_driver.c - the queue, timer and histogram arithmetic, driven by lines on standard input:
 *   io                          a new kstat_io_t; so does "timer"
 *   waitq_enter T N DT          N calls of kstat_waitq_enter_at() at T, T + DT, ...; prints
 *                               "ok" or the errno's name, and the state
 *   snapshot T                  prints the copy
 *   start T | stop T            the timer
 *   hist TYPE MIN MAX STEP      prints "low-high" of each bucket, or the errno's name and message
 *   index TYPE MIN MAX STEP V   prints the bucket of V and its bounds
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kstat_provider.h"
#include "model/histogram.h"

static kstat_io_t io;
static kstat_timer_t timer;

static void
print_io(const char *verdict, const kstat_io_t *k)
{
	printf("%s %lld %lld %lld %lld %lld %lld %u %u\n", verdict, k->wtime, k->wlentime,
	    k->wlastupdate, k->rtime, k->rlentime, k->rlastupdate, k->wcnt, k->rcnt);
}

static void
print_timer(void)
{
	printf("ok %llu %lld %lld %lld %lld %lld\n", timer.num_events, timer.elapsed_time,
	    timer.min_time, timer.max_time, timer.start_time, timer.stop_time);
}

static int
queue_op(const char *op, hrtime_t t, long n, hrtime_t dt)
{
	static const struct {
		const char *name;
		int (*call)(kstat_io_t *, hrtime_t);
	} calls[] = {
		{ "waitq_enter", kstat_waitq_enter_at }, { "waitq_exit", kstat_waitq_exit_at },
		{ "runq_enter", kstat_runq_enter_at }, { "runq_exit", kstat_runq_exit_at },
		{ "waitq_to_runq", kstat_waitq_to_runq_at },
		{ "runq_back_to_waitq", kstat_runq_back_to_waitq_at }
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(op, calls[i].name) != 0)
			continue;
		for (; n > 0; n--, t += dt) {
			if (calls[i].call(&io, t) != 0) {
				print_io(errno == EINVAL ? "EINVAL" : "other", &io);
				return 1;
			}
		}
		print_io("ok", &io);
		return 1;
	}
	return 0;
}

static void
histogram(const char *op, const char *type, uint64_t min, uint64_t max, uint64_t step, uint64_t v)
{
	struct ks_hist_layout l;
	uint64_t low, high;
	uint32_t i;

	if (ks_hist_layout_init(&l, (kstat2_nv_hist_type_t)ks_hist_type_parse(type, strlen(type)),
	    min, max, step) != 0) {
		printf("%s %s\n", errno == EINVAL ? "EINVAL" : "other", kstat_errmsg());
		return;
	}
	if (strcmp(op, "index") == 0) {
		i = ks_hist_index(&l, v);
		ks_hist_bounds(&l, i, &low, &high);
		printf("%u %" PRIu64 "-%" PRIu64 "\n", i, low, high);
		return;
	}
	printf("ok");
	for (i = 0; i < l.n; i++) {
		ks_hist_bounds(&l, i, &low, &high);
		printf(" %" PRIu64 "-%" PRIu64, low, high);
	}
	printf("\n");
}

int
main(void)
{
	char line[256], op[32], type[32];
	long long t, dt;
	long n;
	uint64_t min, max, step, v;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		t = dt = 0;
		n = 1;
		v = 0;
		if (sscanf(line, "%31s", op) != 1)
			return 1;
		if ((strcmp(op, "hist") == 0 || strcmp(op, "index") == 0) &&
		    sscanf(line, "%*s %31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, type, &min, &max,
		    &step, &v) >= 4) {
			histogram(op, type, min, max, step, v);
			continue;
		}
		(void)sscanf(line, "%*s %lld %ld %lld", &t, &n, &dt);
		if (strcmp(op, "io") == 0) {
			memset(&io, 0, sizeof(io));
		} else if (strcmp(op, "timer") == 0) {
			kstat_timer_init(&timer, "event");
		} else if (strcmp(op, "snapshot") == 0) {
			kstat_io_t copy;

			if (kstat_io_snapshot_at(&io, &copy, t) != 0)
				return 1;
			print_io("ok", &copy);
		} else if (strcmp(op, "start") == 0) {
			if (kstat_timer_start_at(&timer, t) != 0)
				return 1;
			print_timer();
		} else if (strcmp(op, "stop") == 0) {
			if (kstat_timer_stop_at(&timer, t) != 0)
				return 1;
			print_timer();
		} else if (!queue_op(op, t, n, dt)) {
			return 1;
		}
	}
	return 0;
}
