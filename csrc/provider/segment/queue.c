/*
 * queue.c - how long each request of a published queue waits and is served. See kstat_provider.h.
 *
 * The sums of an IO kstat tell how many requests are in a queue, not which one leaves it. So whoever has the request
 * keeps the time at which it entered, and the queue's two histograms, kstats of their own, count what has passed. A
 * change of the queue comes first, then the count: a process that is killed in between leaves both sound, and the
 * histogram short of that request.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "provider/segment/segment.h"

#define ENDING 5u /* bytes that the names of histograms have more than their queue's */

static const struct {
	const char *ending, *desc;
} times_of[KS_QUEUE_TIMES] = {
	{ ",wait", "time that requests waited" },
	{ ",svc", "time that requests were in service" }
};

int
kstat_publish_queue_latency(kstat_t *ksp)
{
	struct ks_published *d = ksp != NULL ? ((struct ks_provider *)ksp)->published : NULL;
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_T_REL, .md_flags = KSTAT2_NVMF_FRACT, .md_scale = KS_NANOSEC };
	char name[KSTAT_STRLEN + ENDING];

	if (d == NULL || d->entry != NULL || ksp->ks_type != KSTAT_TYPE_IO)
		return ks_fail(EINVAL, "kstat_publish_queue_latency() is for published IO kstats that are not installed");
	if (strlen(ksp->ks_name) + ENDING >= KSTAT_STRLEN)
		return ks_fail(EINVAL, "%s: the name of a queue with latencies has at most %u bytes", ksp->ks_name,
		    KSTAT_STRLEN - 1 - ENDING);
	for (int i = 0; i < KS_QUEUE_TIMES; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", ksp->ks_name, times_of[i].ending);
		md.md_desc = times_of[i].desc;
		if (d->times[i] == NULL)
			d->times[i] = kstat_publish_latency(d->pub, ksp->ks_module, ksp->ks_instance, name, NULL,
			    ksp->ks_flags & KSTAT_FLAG_PERSISTENT, &md, -1, 0, 0);
		if (d->times[i] == NULL)
			return -1;
	}
	return 0;
}

/* The queue of a published kstat, or NULL with errno EINVAL, for a function with that name; token: what it was given. */
static kstat_ioq_t *
queue_of(kstat_t *ksp, hrtime_t token, const char *function)
{
	if (token < 0)
		return ks_fail_null(EINVAL, "%s: %lld is no token of a request", function, (long long)token);
	return kstat_ioq(ksp);
}

/* Counts the time from a token, which may be 0, until now. The request has gone on by then, whatever happens here. */
static void
count_time(kstat_t *ksp, enum ks_queue_time i, hrtime_t token, hrtime_t now)
{
	kstat_t *times = ((struct ks_provider *)ksp)->published->times[i];

	if (times != NULL && token != 0)
		(void)kstat2_hist_add_value(times, now > token ? (uint64_t)(now - token) : 0);
}

hrtime_t
kstat_queue_enter(kstat_t *ksp)
{
	kstat_ioq_t *q = kstat_ioq(ksp);
	hrtime_t now = ks_tick();

	return q != NULL && kstat_ioq_waitq_enter(q) == 0 ? now : -1;
}

hrtime_t
kstat_queue_start(kstat_t *ksp, hrtime_t token)
{
	kstat_ioq_t *q = queue_of(ksp, token, "kstat_queue_start");
	hrtime_t now = ks_tick();

	if (q == NULL || (token == 0 ? kstat_ioq_runq_enter(q) : kstat_ioq_waitq_to_runq(q)) != 0)
		return -1;
	count_time(ksp, KS_QUEUE_WAIT, token, now);
	return now;
}

int
kstat_queue_finish(kstat_t *ksp, hrtime_t token, int rw, uint64_t bytes)
{
	kstat_ioq_t *q = queue_of(ksp, token, "kstat_queue_finish");
	hrtime_t now = ks_tick();

	if (q == NULL || kstat_ioq_done(q, rw, bytes) != 0)
		return -1;
	count_time(ksp, KS_QUEUE_SVC, token, now);
	return 0;
}
