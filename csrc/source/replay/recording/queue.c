/* queue.c - the thread that writes into a directory of recordings; see directory.h. SPDX-License-Identifier: MIT */
#include "source/replay/recording/directory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "kstat.h"

struct ks_rec_queue {
	struct ks_rec_dir dir; /* the thread's */
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a sample came or was written, or this is the end */
	struct ks_rec_item item[KS_REC_WAITING];
	unsigned first; /* the oldest of status.waiting; it stays there until it is written */
	bool is_ending;
	struct ks_rec_status status;
};

/* With the lock held: notes what became of the oldest sample. error: an errno, 0 if it was written. */
static void
note(struct ks_rec_queue *q, int error, hrtime_t took)
{
	struct ks_rec_status *s = &q->status;
	const struct ks_rec_dir *d = &q->dir;

	s->write_ns += (uint64_t)took;
	s->wants_key = ks_rec_dir_wants_key(d);
	s->size = d->old_bytes + (uint64_t)d->file.size;
	if (error == 0) {
		s->samples++;
		s->bytes += d->file.frame.len;
		if (s->waiting == 1) /* a slow disk stays a problem until nothing waits any more */
			s->problem[0] = '\0';
	} else {
		s->dropped++;
		/* A sample that only lacks the one before it is no problem of its own. */
		if (error != EAGAIN || s->problem[0] == '\0')
			(void)snprintf(s->problem, sizeof(s->problem), "%s", kstat_errmsg());
	}
}

/* With the lock held: writes the oldest sample, meanwhile without the lock. */
static void
write_oldest(struct ks_rec_queue *q)
{
	struct ks_rec_item *item = &q->item[q->first];
	hrtime_t began;
	int error;

	(void)pthread_mutex_unlock(&q->lock);
	began = gethrtime();
	error = ks_rec_dir_add(&q->dir, item) == 0 ? 0 : errno;
	ks_buf_free(&item->bytes);
	(void)pthread_mutex_lock(&q->lock);
	note(q, error, gethrtime() - began);
	q->first = (q->first + 1) % KS_REC_WAITING;
	q->status.waiting--;
	(void)pthread_cond_broadcast(&q->changed);
}

static void *
write_samples(void *arg)
{
	struct ks_rec_queue *q = arg;

	(void)pthread_setname_np(pthread_self(), "kstat-record");
	(void)pthread_mutex_lock(&q->lock);
	while (q->status.waiting > 0 || !q->is_ending) {
		if (q->status.waiting > 0)
			write_oldest(q);
		else
			(void)pthread_cond_wait(&q->changed, &q->lock);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct ks_rec_queue *
ks_rec_queue_open(const char *path, const struct ks_rec_limits *limits)
{
	struct ks_rec_queue *q = calloc(1, sizeof(*q));
	int error;

	if (q == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a recorder");
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_cond_init(&q->changed, NULL);
	q->status.wants_key = true;
	if (ks_rec_dir_open(&q->dir, path, limits) == 0) {
		error = ks_thread_start(&q->thread, write_samples, q);
		q->is_running = error == 0;
		if (q->is_running)
			return q;
		(void)ks_fail(error, "no thread for a recorder: %s", strerror(error));
	}
	error = errno;
	ks_rec_queue_close(q);
	errno = error;
	return NULL;
}

const char *
ks_rec_queue_path(const struct ks_rec_queue *q)
{
	return q->dir.path;
}

bool
ks_rec_queue_has_place(struct ks_rec_queue *q, bool wait)
{
	bool has_place;

	(void)pthread_mutex_lock(&q->lock);
	while (wait && q->status.waiting == KS_REC_WAITING)
		(void)pthread_cond_wait(&q->changed, &q->lock);
	has_place = q->status.waiting < KS_REC_WAITING;
	if (!has_place) {
		q->status.dropped++;
		(void)snprintf(q->status.problem, sizeof(q->status.problem), "%s: the disk is too slow: %d samples wait",
		    q->dir.path, KS_REC_WAITING);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return has_place;
}

void
ks_rec_queue_add(struct ks_rec_queue *q, const struct ks_rec_item *item)
{
	(void)pthread_mutex_lock(&q->lock);
	q->item[(q->first + q->status.waiting) % KS_REC_WAITING] = *item;
	q->status.waiting++;
	q->status.wants_key = false; /* this one is a keyframe, if one was wanted */
	(void)pthread_cond_broadcast(&q->changed);
	(void)pthread_mutex_unlock(&q->lock);
}

void
ks_rec_queue_status(struct ks_rec_queue *q, struct ks_rec_status *to)
{
	(void)pthread_mutex_lock(&q->lock);
	*to = q->status;
	(void)pthread_mutex_unlock(&q->lock);
}

void
ks_rec_queue_end(struct ks_rec_queue *q)
{
	if (!q->is_running)
		return;
	(void)pthread_mutex_lock(&q->lock);
	q->is_ending = true;
	(void)pthread_cond_broadcast(&q->changed);
	(void)pthread_mutex_unlock(&q->lock);
	(void)pthread_join(q->thread, NULL);
	q->is_running = false;
}

void
ks_rec_queue_close(struct ks_rec_queue *q)
{
	if (q == NULL)
		return;
	ks_rec_queue_end(q);
	ks_rec_dir_close(&q->dir);
	(void)pthread_cond_destroy(&q->changed);
	(void)pthread_mutex_destroy(&q->lock);
	free(q);
}
