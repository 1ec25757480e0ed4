/*
 * cell_update.c - changing published kstats: no system call, no allocation, from any thread and
 * process. See kstat_provider.h and segment_layout.h. SPDX-License-Identifier: MIT
 */
/*
 * GCC joins neighbouring members into vectors. A load of the vector then waits for the stores of the single
 * members just before it, which makes each update slower.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/ioqueue.h"
#include "provider/segment/segment.h"

/* --- finding what to change --------------------------------------------------------------------- */

/*
 * A published, installed kstat of that type, or NULL with errno EINVAL. Where its data lies follows from what this
 * process knows, not from what the segment says by now.
 */
static struct ks_published *
installed(kstat_t *ksp, uchar_t type)
{
	struct ks_provider *p = (struct ks_provider *)ksp;

	if (ksp == NULL || p->published == NULL || p->published->entry == NULL)
		return ks_fail_null(EINVAL, "not a published kstat, or not installed");
	if (ksp->ks_type != type || p->histogram != NULL)
		return ks_fail_null(EINVAL, "%s:%d:%s has another type", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return p->published;
}

static char *
data_of(struct ks_published *d)
{
	return (char *)d->entry + d->e.data;
}

static const struct ks_seg_field *
field_of(struct ks_published *d, const char *stat)
{
	if (d == NULL)
		return NULL;
	if (stat == NULL)
		return ks_fail_null(EINVAL, "no statistic named");
	for (uint32_t i = 0; i < d->e.nfields; i++) {
		if (strncmp(d->fields[i].name, stat, sizeof(d->fields[i].name)) == 0)
			return &d->fields[i];
	}
	return ks_fail_null(ENOENT, "%s:%d:%s has no statistic %.30s", d->e.module, d->e.instance, d->e.name,
	    stat);
}

/* --- counters --------------------------------------------------------------------------------------- */

static struct ks_published *
with_cells(kstat_t *ksp, const char *stat, const struct ks_seg_field **f)
{
	uchar_t type = ksp != NULL && ksp->ks_type == KSTAT_TYPE_INTR ? KSTAT_TYPE_INTR : KSTAT_TYPE_NAMED;
	struct ks_published *d = installed(ksp, type);

	*f = field_of(d, stat);
	if (*f == NULL)
		return NULL;
	if ((*f)->storage != KS_STORE_CELL && (*f)->storage != KS_STORE_SHARDED)
		return ks_fail_null(EINVAL, "%s is not a number", stat);
	return d;
}

kstat_counter_t *
kstat_counter(kstat_t *ksp, const char *stat)
{
	const struct ks_seg_field *f;
	struct ks_published *d = with_cells(ksp, stat, &f);

	return d != NULL ? (kstat_counter_t *)(data_of(d) + f->offset) : NULL;
}

/* The row that this thread claimed, or claims now; 0 if there is none left. */
static uint32_t
claim_row(struct ks_published *d)
{
	ks_word *owner = (ks_word *)(data_of(d) + d->e.owners);
	uint64_t self = ks_owner_self();

	for (uint32_t i = 1; i < d->e.shards; i++) {
		if (atomic_load(&owner[i]) == self)
			return i;
	}
	for (uint32_t i = 1; i < d->e.shards; i++) {
		uint64_t v = atomic_load(&owner[i]);

		/* Rows of the dead go on where they are: readers sum them all the same. */
		if ((v == 0 || !ks_owner_alive(v)) && atomic_compare_exchange_strong(&owner[i], &v, self))
			return i;
	}
	return 0;
}

kstat_counter_t *
kstat_counter_own(kstat_t *ksp, const char *stat, int *own)
{
	const struct ks_seg_field *f;
	struct ks_published *d = with_cells(ksp, stat, &f);
	uint32_t row = 0;

	if (own != NULL)
		*own = 0;
	if (d == NULL)
		return NULL;
	if (f->storage == KS_STORE_SHARDED && d->e.owners != 0)
		row = claim_row(d);
	if (own != NULL)
		*own = row != 0;
	return (kstat_counter_t *)(data_of(d) + f->offset + (size_t)row * d->e.row);
}

int
kstat_counter_reclaim(kstat_t *ksp, const char *stat, int64_t *taken)
{
	const struct ks_seg_field *f;
	struct ks_published *d = with_cells(ksp, stat, &f);
	uint64_t self = ks_owner_self();
	ks_word *owner;

	if (d == NULL)
		return -1;
	if (taken == NULL)
		return ks_fail(EINVAL, "kstat_counter_reclaim: nowhere to store the sum");
	*taken = 0;
	owner = (ks_word *)(data_of(d) + d->e.owners);
	for (uint32_t i = 1; f->storage == KS_STORE_SHARDED && d->e.owners != 0 && i < d->e.shards; i++) {
		uint64_t v = atomic_load(&owner[i]);
		uint64_t *cell = (uint64_t *)(void *)(data_of(d) + f->offset + (size_t)i * d->e.row);

		/* The dead thread's row is claimed for a moment, so that no two threads take what it holds. */
		if (v == 0 || v == self || ks_owner_alive(v) ||
		    !atomic_compare_exchange_strong(&owner[i], &v, self))
			continue;
		*taken += (int64_t)__atomic_exchange_n(cell, 0, __ATOMIC_RELAXED);
		atomic_store(&owner[i], 0);
	}
	return 0;
}

/* --- text, arrays, bytes ------------------------------------------------------------------------------ */

static int
store_record(struct ks_rec *rec, size_t size, const void *head, size_t nhead, const void *value,
    size_t n)
{
	size_t rounded = (size + 7) & ~(size_t)7;
	uint64_t v = ks_word_lock(&rec->word);
	char *next;

	if (v == KS_WORD_BUSY)
		return -1;
	next = ks_rec_next(rec, v, size);
	if (nhead > 0)
		memcpy(next, head, nhead);
	if (n > 0)
		memcpy(next + nhead, value, n);
	memset(next + nhead + n, 0, rounded - nhead - n);
	ks_rec_commit(rec, v, next, rounded);
	return 0;
}

int
kstat_named_store(kstat_t *ksp, const char *stat, const void *value, size_t n)
{
	struct ks_published *d = installed(ksp, KSTAT_TYPE_NAMED);
	const struct ks_seg_field *f = field_of(d, stat);
	struct ks_seg_text head;
	struct ks_rec *rec;

	if (f == NULL)
		return -1;
	if (f->storage != KS_STORE_RECORD)
		return ks_fail(EINVAL, "%s is a %s", stat, f->storage == KS_STORE_TEXT ? "fixed text" : "number");
	rec = (struct ks_rec *)(data_of(d) + f->offset);
	if (f->data_type == KSTAT_DATA_CHAR) {
		if (n > f->size)
			return ks_fail(ENOSPC, "%s: %zu bytes are more than %u", stat, n, f->size);
		return store_record(rec, f->size, NULL, 0, value, value == NULL ? 0 : n);
	}
	if (value == NULL)
		n = 0;
	/* Strings are stored with their NUL, and lists of strings end in one. */
	head.present = value != NULL;
	head.len = (uint32_t)n + (value != NULL && f->data_type == KSTAT_DATA_STRING);
	if (f->data_type == KSTAT_DATA_INTS && n % sizeof(uint64_t) != 0)
		return ks_fail(EINVAL, "%s: an array of numbers has a multiple of 8 bytes", stat);
	if (n > f->size || head.len > f->size - sizeof(head))
		return ks_fail(ENOSPC, "%s: there is room for %zu bytes, not %zu", stat,
		    f->size - sizeof(head), n);
	return store_record(rec, f->size, &head, sizeof(head), value, n);
}

int
kstat_raw_store(kstat_t *ksp, const void *bytes)
{
	struct ks_published *d = installed(ksp, KSTAT_TYPE_RAW);

	if (d == NULL)
		return -1;
	if (d->e.form != KS_FORM_RECORD || bytes == NULL)
		return ks_fail(EINVAL, "%s:%d:%s is updated in its memory", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return store_record((struct ks_rec *)data_of(d), d->e.ndata, NULL, 0, bytes, d->e.ndata);
}

void *
kstat_publish_memory(kstat_t *ksp)
{
	struct ks_published *d = installed(ksp, KSTAT_TYPE_RAW);

	if (d == NULL)
		return NULL;
	if (d->e.form != KS_FORM_BYTES)
		return ks_fail_null(EINVAL, "%s:%d:%s does not hand out its memory", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	return data_of(d);
}

/* --- queues ---------------------------------------------------------------------------------------------- */

kstat_ioq_t *
kstat_ioq(kstat_t *ksp)
{
	struct ks_published *d = installed(ksp, KSTAT_TYPE_IO);

	return d != NULL ? (kstat_ioq_t *)data_of(d) : NULL;
}

enum { AS_GIVEN, NOW }; /* which time */
enum { NO_OP = -1, READS = KSTAT_IO_READ, WRITES = KSTAT_IO_WRITE };

/* A negative number of bytes arrives here as one of 2^63 and more. */
static int
refuse_change(const kstat_ioq_t *q, hrtime_t t, int64_t bytes)
{
	if (q == NULL)
		return ks_fail(EINVAL, "no queue");
	return ks_fail(EINVAL, "%s are counted from 0 on, not %lld", t < 0 ? "times" : "bytes",
	    (long long)(t < 0 ? t : bytes));
}

/*
 * One change of the record: copy, apply, commit. Inlined into each function below, where op and the
 * rest are constants. The time is taken while the record is locked: a reader that finds it unlocked
 * knows that no change will come with a time before its own. Threads' clocks may be some
 * nanoseconds apart, so a change counts as one at the time of the last, at the least.
 */
static inline __attribute__((always_inline)) int
change(kstat_ioq_t *q, int op, int which, hrtime_t t, int rw, uint64_t bytes)
{
	struct ks_rec *rec = (struct ks_rec *)q;
	const kstat_io_t *now;
	uint64_t v, check;
	kstat_io_t io; /* in registers, so that nothing waits for a store to be read back */
	kstat_io_t *next;

	if (__builtin_expect(q == NULL || t < 0 || bytes > INT64_MAX, 0))
		return refuse_change(q, t, (int64_t)bytes);
	v = ks_word_lock(&rec->word);
	if (__builtin_expect(v == KS_WORD_BUSY, 0))
		return -1;
	if (which == NOW)
		t = ks_tick();
	now = ks_rec_now(rec, v, sizeof(io));
	io = (kstat_io_t){ .nread = now->nread, .nwritten = now->nwritten, .reads = now->reads,
		.writes = now->writes, .wtime = now->wtime, .wlentime = now->wlentime,
		.wlastupdate = now->wlastupdate, .rtime = now->rtime, .rlentime = now->rlentime,
		.rlastupdate = now->rlastupdate, .wcnt = now->wcnt, .rcnt = now->rcnt };
	if (op != NO_OP) {
		if (which == NOW && op != KS_RUNQ_ENTER && op != KS_RUNQ_EXIT && t < io.wlastupdate)
			t = io.wlastupdate;
		if (which == NOW && op != KS_WAITQ_ENTER && op != KS_WAITQ_EXIT && t < io.rlastupdate)
			t = io.rlastupdate;
		if (__builtin_expect(ks_queue_apply(&io, (enum ks_queue_op)op, t) != 0, 0)) {
			ks_word_abort(&rec->word, v);
			return ks_queue_refused((enum ks_queue_op)op);
		}
	}
	if (rw == READS) {
		io.reads++;
		io.nread += bytes;
	} else if (rw == WRITES) {
		io.writes++;
		io.nwritten += bytes;
	}
	next = ks_rec_next(rec, v, sizeof(io));
	check = ks_rec_check_io(&io, (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK);
	next->nread = io.nread;
	next->nwritten = io.nwritten;
	next->reads = io.reads;
	next->writes = io.writes;
	next->wtime = io.wtime;
	next->wlentime = io.wlentime;
	next->wlastupdate = io.wlastupdate;
	next->rtime = io.rtime;
	next->rlentime = io.rlentime;
	next->rlastupdate = io.rlastupdate;
	next->wcnt = io.wcnt;
	next->rcnt = io.rcnt;
	memcpy(next + 1, &check, sizeof(check));
	ks_word_commit(&rec->word, v);
	return 0;
}

/* Defines the function of a transition: at the present time, and at a given one. */
#define TRANSITION(name, op) \
	int name(kstat_ioq_t *q) { return change(q, op, NOW, 0, NO_OP, 0); } \
	int name##_at(kstat_ioq_t *q, hrtime_t t) { return change(q, op, AS_GIVEN, t, NO_OP, 0); }

TRANSITION(kstat_ioq_waitq_enter, KS_WAITQ_ENTER)
TRANSITION(kstat_ioq_waitq_exit, KS_WAITQ_EXIT)
TRANSITION(kstat_ioq_runq_enter, KS_RUNQ_ENTER)
TRANSITION(kstat_ioq_runq_exit, KS_RUNQ_EXIT)
TRANSITION(kstat_ioq_waitq_to_runq, KS_WAITQ_TO_RUNQ)
TRANSITION(kstat_ioq_runq_back_to_waitq, KS_RUNQ_BACK_TO_WAITQ)

static int
no_direction(int rw)
{
	return ks_fail(EINVAL, "%d is neither KSTAT_IO_READ nor KSTAT_IO_WRITE", rw);
}

int
kstat_ioq_done(kstat_ioq_t *q, int rw, uint64_t bytes)
{
	switch (rw) {
	case KSTAT_IO_READ:
		return change(q, KS_RUNQ_EXIT, NOW, 0, READS, bytes);
	case KSTAT_IO_WRITE:
		return change(q, KS_RUNQ_EXIT, NOW, 0, WRITES, bytes);
	default:
		return no_direction(rw);
	}
}

int
kstat_ioq_done_at(kstat_ioq_t *q, int rw, uint64_t bytes, hrtime_t t)
{
	if (rw != KSTAT_IO_READ && rw != KSTAT_IO_WRITE)
		return no_direction(rw);
	return change(q, KS_RUNQ_EXIT, AS_GIVEN, t, rw, bytes);
}

int
kstat_ioq_count(kstat_ioq_t *q, int rw, uint64_t bytes)
{
	if (rw != KSTAT_IO_READ && rw != KSTAT_IO_WRITE)
		return no_direction(rw);
	return change(q, NO_OP, AS_GIVEN, 0, rw, bytes);
}

/* --- timers -------------------------------------------------------------------------------------------------- */

kstat_etimer_t *
kstat_etimer(kstat_t *ksp, const char *name)
{
	struct ks_published *d = installed(ksp, KSTAT_TYPE_TIMER);
	const struct ks_seg_field *f = d != NULL && name == NULL ? d->fields : field_of(d, name);

	return f != NULL ? (kstat_etimer_t *)(data_of(d) + f->offset) : NULL;
}

enum timer_op { TIMER_START, TIMER_STOP, TIMER_EVENT };

static inline __attribute__((always_inline)) int
change_timer(kstat_etimer_t *kt, enum timer_op op, hrtime_t start, hrtime_t stop)
{
	struct ks_rec *rec = (struct ks_rec *)kt;
	void *next, *values;
	kstat_timer_t t;
	uint64_t v;

	if (kt == NULL)
		return ks_fail(EINVAL, "no timer");
	if (start < 0 || stop < 0 || (op == TIMER_EVENT && stop < start))
		return ks_fail(EINVAL, "a time below 0, or an end (%lld) before the start (%lld)", (long long)stop,
		    (long long)start);
	v = ks_word_lock(&rec->word);
	if (v == KS_WORD_BUSY)
		return -1;
	next = ks_rec_next(rec, v, KS_SEG_TIMER_SIZE);
	values = ks_seg_timer_values(&t);
	memcpy(values, ks_rec_now(rec, v, KS_SEG_TIMER_SIZE), KS_SEG_TIMER_SIZE);
	if (op != TIMER_STOP)
		ks_timer_start(&t, start);
	if (op != TIMER_START)
		ks_timer_stop(&t, stop);
	memcpy(next, values, KS_SEG_TIMER_SIZE);
	ks_rec_commit(rec, v, next, KS_SEG_TIMER_SIZE);
	return 0;
}

int
kstat_etimer_start(kstat_etimer_t *kt)
{
	return change_timer(kt, TIMER_START, ks_tick(), 0);
}

int
kstat_etimer_stop(kstat_etimer_t *kt)
{
	return change_timer(kt, TIMER_STOP, 0, ks_tick());
}

int
kstat_etimer_start_at(kstat_etimer_t *kt, hrtime_t t)
{
	return change_timer(kt, TIMER_START, t, 0);
}

int
kstat_etimer_stop_at(kstat_etimer_t *kt, hrtime_t t)
{
	return change_timer(kt, TIMER_STOP, 0, t);
}

int
kstat_etimer_event(kstat_etimer_t *kt, hrtime_t start, hrtime_t stop)
{
	return change_timer(kt, TIMER_EVENT, start, stop);
}
