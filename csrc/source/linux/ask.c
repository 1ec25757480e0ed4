/* ask.c - see ask.h. SPDX-License-Identifier: MIT */
#include "source/linux/ask.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/thread.h"

#define MS 1000000
#define MOST_MS 3600000u

enum { FREE, ASKED, ANSWERED };

/* What a thread has of its own: the answer stays here until another question needs the slot. */
struct asking {
	size_t slot;
	struct ks_question q;
	_Alignas(max_align_t) char data[];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct slot {
		struct asking *asking; /* owned, but while it is ASKED the thread's alone */
		uint64_t key;          /* of the question and its function */
		int state;
		int waiting; /* callers that wait for the answer: the slot stays theirs */
		int err;
		hrtime_t began;
	} slot[KS_ASK_MOST];
} asks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hrtime_t limit = (hrtime_t)250 * MS;

static void
init_condition(void)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&asks.answered, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static void
before_fork(void)
{
	(void)pthread_mutex_lock(&asks.lock);
}

static void
after_fork_in_parent(void)
{
	(void)pthread_mutex_unlock(&asks.lock);
}

/* The threads that ask do not exist in the child. */
static void
after_fork_in_child(void)
{
	for (struct slot *s = asks.slot; s < asks.slot + KS_ASK_MOST; s++) {
		s->waiting = 0;
		if (s->state == ASKED)
			*s = (struct slot){ .state = FREE };
	}
	init_condition();
	(void)pthread_mutex_unlock(&asks.lock);
}

static void
init(void)
{
	const char *text = getenv("KSTAT_WAIT_MAX"), *at = text;
	uint64_t ms;

	if (text != NULL && ks_scan_u64(&at, text + strlen(text), &ms) == 0 && *at == '\0' && ms - 1 < MOST_MS)
		limit = (hrtime_t)ms * MS;
	init_condition();
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

hrtime_t
ks_ask_limit(void)
{
	(void)pthread_once(&once, init);
	return limit;
}

static void *
ask(void *arg)
{
	struct asking *a = arg;
	int err;

	(void)pthread_setname_np(pthread_self(), a->q.thread);
	err = a->q.ask(a->data);
	(void)pthread_mutex_lock(&asks.lock);
	asks.slot[a->slot].err = err;
	asks.slot[a->slot].state = ANSWERED;
	(void)pthread_cond_broadcast(&asks.answered);
	(void)pthread_mutex_unlock(&asks.lock);
	return NULL;
}

/* The slot for a question: its own, else a free one, else that of the oldest answer; NULL if all are waiting. */
static struct slot *
slot_of(uint64_t key)
{
	struct slot *best = NULL;

	for (struct slot *s = asks.slot; s < asks.slot + KS_ASK_MOST; s++) {
		if (s->state != FREE && s->key == key)
			return s;
		if (s->state == ASKED || s->waiting > 0 || (best != NULL && best->state == FREE))
			continue;
		if (best == NULL || s->state == FREE || s->began < best->began)
			best = s;
	}
	return best;
}

/* With the lock held: the slot in which the question is asked or answered; NULL if it cannot be asked. */
static struct slot *
start(const struct ks_question *q, const void *data, hrtime_t since)
{
	uint64_t key = ks_hash_bytes(ks_hash_bytes(KS_HASH_INIT, &q->key, sizeof(q->key)), &q->ask, sizeof(q->ask));
	struct slot *s = slot_of(key);
	struct asking *a;

	if (s == NULL || (s->state != FREE && s->key == key && (s->state == ASKED || s->began >= since)))
		return s;
	a = malloc(sizeof(*a) + q->size);
	if (a == NULL)
		return NULL;
	a->slot = (size_t)(s - asks.slot);
	a->q = *q;
	memcpy(a->data, data, q->size);
	free(s->asking);
	*s = (struct slot){ .asking = a, .key = key, .state = ASKED, .began = gethrtime() };
	if (ks_thread_start(NULL, ask, a) == 0)
		return s;
	free(a);
	*s = (struct slot){ .state = FREE };
	return NULL;
}

void
ks_ask_start(const struct ks_question *q, const void *data, hrtime_t since)
{
	(void)pthread_once(&once, init);
	(void)pthread_mutex_lock(&asks.lock);
	(void)start(q, data, since);
	(void)pthread_mutex_unlock(&asks.lock);
}

/* The time on the condition's clock that is that many nanoseconds from now. */
static struct timespec
from_now(hrtime_t ns)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (t.tv_nsec + ns) / KS_NANOSEC;
	t.tv_nsec = (t.tv_nsec + ns) % KS_NANOSEC;
	return t;
}

int
ks_ask_wait(const struct ks_question *q, void *data, hrtime_t since, hrtime_t *when)
{
	struct timespec until;
	hrtime_t left;
	struct slot *s;
	int err = EBUSY;

	(void)pthread_once(&once, init);
	*when = gethrtime();
	(void)pthread_mutex_lock(&asks.lock);
	s = start(q, data, since);
	if (s != NULL) {
		left = s->began + limit - gethrtime();
		until = from_now(left > 0 ? left : 0);
		s->waiting++;
		while (s->state == ASKED && left > 0 &&
		    pthread_cond_timedwait(&asks.answered, &asks.lock, &until) == 0)
			;
		s->waiting--;
		*when = s->began;
		err = s->state == ASKED ? EAGAIN : s->err;
		if (err == 0 && s->asking->q.size <= q->size)
			memcpy(data, s->asking->data, s->asking->q.size);
	}
	(void)pthread_mutex_unlock(&asks.lock);
	return err;
}
