/*
 * ioqueue.h - the arithmetic of queues and timers: the Riemann sums of an I/O queue and the times of an event timer, as
 * pure functions. The callers lock; times are nanoseconds of gethrtime(). SPDX-License-Identifier: MIT
 */
#ifndef MODEL_IOQUEUE_H
#define MODEL_IOQUEUE_H

#include <stdint.h>

#include "kstat.h"

/*
 * Sums wrap modulo 2^64 and time may run backwards (differences are signed): unsigned
 * arithmetic gives the same bits without undefined behaviour.
 */
static inline void
ks_waitq_move(kstat_io_t *io, hrtime_t t, uint_t change)
{
	uint64_t delta = (uint64_t)t - (uint64_t)io->wlastupdate;
	uint64_t count = io->wcnt;

	io->wlastupdate = t;
	if (count != 0) {
		io->wtime = (hrtime_t)((uint64_t)io->wtime + delta);
		io->wlentime = (hrtime_t)((uint64_t)io->wlentime + delta * count);
	}
	io->wcnt += change;
}

static inline void
ks_runq_move(kstat_io_t *io, hrtime_t t, uint_t change)
{
	uint64_t delta = (uint64_t)t - (uint64_t)io->rlastupdate;
	uint64_t count = io->rcnt;

	io->rlastupdate = t;
	if (count != 0) {
		io->rtime = (hrtime_t)((uint64_t)io->rtime + delta);
		io->rlentime = (hrtime_t)((uint64_t)io->rlentime + delta * count);
	}
	io->rcnt += change;
}

enum ks_queue_op {
	KS_WAITQ_ENTER,
	KS_WAITQ_EXIT,
	KS_RUNQ_ENTER,
	KS_RUNQ_EXIT,
	KS_WAITQ_TO_RUNQ,
	KS_RUNQ_BACK_TO_WAITQ
};

/*
 * One transition at time t. 0, or -1 (nothing changed) if the queue to leave is empty or the
 * queue to enter holds 2^32-1 requests.
 */
static inline int
ks_queue_apply(kstat_io_t *io, enum ks_queue_op op, hrtime_t t)
{
	switch (op) {
	case KS_WAITQ_ENTER:
		if (io->wcnt == UINT32_MAX)
			return -1;
		ks_waitq_move(io, t, 1);
		return 0;
	case KS_WAITQ_EXIT:
		if (io->wcnt == 0)
			return -1;
		ks_waitq_move(io, t, (uint_t)-1);
		return 0;
	case KS_RUNQ_ENTER:
		if (io->rcnt == UINT32_MAX)
			return -1;
		ks_runq_move(io, t, 1);
		return 0;
	case KS_RUNQ_EXIT:
		if (io->rcnt == 0)
			return -1;
		ks_runq_move(io, t, (uint_t)-1);
		return 0;
	case KS_WAITQ_TO_RUNQ:
		if (io->wcnt == 0 || io->rcnt == UINT32_MAX)
			return -1;
		ks_waitq_move(io, t, (uint_t)-1);
		ks_runq_move(io, t, 1);
		return 0;
	case KS_RUNQ_BACK_TO_WAITQ:
		if (io->rcnt == 0 || io->wcnt == UINT32_MAX)
			return -1;
		ks_runq_move(io, t, (uint_t)-1);
		ks_waitq_move(io, t, 1);
		return 0;
	}
	return -1;
}

/* ks_fail() with EINVAL for a transition that was refused. */
int ks_queue_refused(enum ks_queue_op op);

/*
 * Brings each queue that is not empty up to time t, for a reader. A time before the last change of a
 * queue leaves it unchanged.
 */
void ks_queue_snapshot(kstat_io_t *io, hrtime_t t);

static inline void
ks_timer_start(kstat_timer_t *kt, hrtime_t t)
{
	kt->start_time = t;
}

/* max_time starts at 0, so a negative duration never sets it; min_time is set by the first. */
static inline void
ks_timer_stop(kstat_timer_t *kt, hrtime_t t)
{
	hrtime_t e = (hrtime_t)((uint64_t)t - (uint64_t)kt->start_time);

	kt->stop_time = t;
	if (e < kt->min_time || kt->num_events == 0)
		kt->min_time = e;
	if (e > kt->max_time)
		kt->max_time = e;
	kt->elapsed_time = (hrtime_t)((uint64_t)kt->elapsed_time + (uint64_t)e);
	kt->num_events++;
}

#endif
