/*
 * ioqueue.c - see ioqueue.h, and the functions of kstat_provider.h for queues and event timers.
 * SPDX-License-Identifier: MIT
 */
#include "model/ioqueue.h"

#include <errno.h>

#include "base/error.h"
#include "kstat_provider.h"

static const char *
op_name(enum ks_queue_op op)
{
	static const char *const names[] = {
		"kstat_waitq_enter", "kstat_waitq_exit", "kstat_runq_enter", "kstat_runq_exit",
		"kstat_waitq_to_runq", "kstat_runq_back_to_waitq"
	};

	return names[op];
}

int
ks_queue_refused(enum ks_queue_op op)
{
	switch (op) {
	case KS_WAITQ_EXIT:
	case KS_WAITQ_TO_RUNQ:
		return ks_fail(EINVAL, "%s: nothing is waiting", op_name(op));
	case KS_RUNQ_EXIT:
	case KS_RUNQ_BACK_TO_WAITQ:
		return ks_fail(EINVAL, "%s: nothing is being served", op_name(op));
	default:
		return ks_fail(EINVAL, "%s: the queue is full", op_name(op));
	}
}

void
ks_queue_snapshot(kstat_io_t *io, hrtime_t t)
{
	if (io->wcnt != 0 && t > io->wlastupdate)
		ks_waitq_move(io, t, 0);
	if (io->rcnt != 0 && t > io->rlastupdate)
		ks_runq_move(io, t, 0);
}

static int
apply(kstat_io_t *kiop, enum ks_queue_op op, hrtime_t t)
{
	if (kiop == NULL)
		return ks_fail(EINVAL, "%s: no kstat_io_t", op_name(op));
	return ks_queue_apply(kiop, op, t) == 0 ? 0 : ks_queue_refused(op);
}

/* Defines the function of a transition: at the present time, and at a given one. */
#define TRANSITION(name, op) \
	int name(kstat_io_t *kiop) { return apply(kiop, op, gethrtime()); } \
	int name##_at(kstat_io_t *kiop, hrtime_t t) { return apply(kiop, op, t); }

TRANSITION(kstat_waitq_enter, KS_WAITQ_ENTER)
TRANSITION(kstat_waitq_exit, KS_WAITQ_EXIT)
TRANSITION(kstat_runq_enter, KS_RUNQ_ENTER)
TRANSITION(kstat_runq_exit, KS_RUNQ_EXIT)
TRANSITION(kstat_waitq_to_runq, KS_WAITQ_TO_RUNQ)
TRANSITION(kstat_runq_back_to_waitq, KS_RUNQ_BACK_TO_WAITQ)

int
kstat_io_snapshot_at(const kstat_io_t *kiop, kstat_io_t *copy, hrtime_t t)
{
	if (kiop == NULL || copy == NULL)
		return ks_fail(EINVAL, "kstat_io_snapshot_at: no kstat_io_t");
	*copy = *kiop;
	ks_queue_snapshot(copy, t);
	return 0;
}

/* The same of the event timer's two. */
#define TIMER(op) \
	int kstat_timer_##op##_at(kstat_timer_t *kt, hrtime_t t) \
	{ \
		if (kt == NULL) \
			return ks_fail(EINVAL, "kstat_timer_" #op ": no kstat_timer_t"); \
		ks_timer_##op(kt, t); \
		return 0; \
	} \
	int kstat_timer_##op(kstat_timer_t *kt) { return kstat_timer_##op##_at(kt, gethrtime()); }

TIMER(start)
TIMER(stop)
