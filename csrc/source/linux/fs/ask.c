/* ask.c - see ask.h. SPDX-License-Identifier: MIT */
#include "source/linux/fs/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define STACK (256u << 10)
#define UNIQUE_ID 0x4000u /* STATX_MNT_ID_UNIQUE, which older headers do not have */

enum { FREE, ASKED, ANSWERED };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct slot {
		uint64_t key; /* of the path and the mount */
		int state;
		int waiting; /* callers that wait for the answer: the slot stays theirs */
		int err;
		struct statvfs fs;
		hrtime_t began;
	} slot[KS_ASK_MOST];
} asks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

struct question {
	size_t slot;
	uint64_t mount_id;
	char path[];
};

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
	memset(asks.slot, 0, sizeof(asks.slot));
	init_condition();
	(void)pthread_mutex_unlock(&asks.lock);
}

static void
init(void)
{
	init_condition();
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* True if a descriptor is of that mount, as far as this can be found out. */
static bool
is_of_mount(int fd, uint64_t mount_id)
{
#ifdef STATX_MNT_ID
	struct statx st;

	/* Nothing is asked of a server for this. Kernels before 5.8 do not know the number of a mount. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) == 0 &&
	    (st.stx_mask & STATX_MNT_ID) != 0)
		return st.stx_mnt_id == mount_id;
#else
	(void)fd;
	(void)mount_id;
#endif
	return true;
}

/* The number of a descriptor's mount that is never used again; 0: it is not known. */
static uint64_t
unique_mount(int fd)
{
#ifdef STATX_MNT_ID
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, UNIQUE_ID, &st) == 0 &&
	    (st.stx_mask & UNIQUE_ID) != 0)
		return st.stx_mnt_id;
#else
	(void)fd;
#endif
	return 0;
}

int
ks_ask_directly(const char *path, uint64_t mount_id, struct statvfs *fs, uint64_t *unique)
{
	/* O_PATH does not trigger an automount, as statvfs() of a path does. */
	int fd = open(path, O_PATH | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;

	if (fd >= 0) {
		if (!is_of_mount(fd, mount_id))
			err = ENOENT;
		else if (fstatvfs(fd, fs) != 0)
			err = errno;
		else if (unique != NULL)
			*unique = unique_mount(fd);
		(void)close(fd);
	}
	return err;
}

static void *
ask(void *arg)
{
	struct question *q = arg;
	struct statvfs fs = { .f_bsize = 0 };
	int err;

	(void)pthread_setname_np(pthread_self(), "kstat-statvfs");
	err = ks_ask_directly(q->path, q->mount_id, &fs, NULL);
	(void)pthread_mutex_lock(&asks.lock);
	asks.slot[q->slot].fs = fs;
	asks.slot[q->slot].err = err;
	asks.slot[q->slot].state = ANSWERED;
	(void)pthread_cond_broadcast(&asks.answered);
	(void)pthread_mutex_unlock(&asks.lock);
	free(q);
	return NULL;
}

/* Starts the thread of a question, with all signals blocked; false if it cannot be created. */
static bool
start_thread(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	bool started;

	if (pthread_attr_init(&attr) != 0)
		return false;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	(void)pthread_attr_setstacksize(&attr, STACK);
	started = pthread_create(&thread, &attr, ask, q) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	return started;
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
start(const char *path, uint64_t mount_id, hrtime_t since)
{
	uint64_t key = ks_hash_string(KS_HASH_INIT, path) + mount_id;
	struct slot *s = slot_of(key);
	struct question *q;

	if (s == NULL || (s->state != FREE && s->key == key && (s->state == ASKED || s->began >= since)))
		return s;
	q = malloc(sizeof(*q) + strlen(path) + 1);
	if (q == NULL)
		return NULL;
	q->slot = (size_t)(s - asks.slot);
	q->mount_id = mount_id;
	memcpy(q->path, path, strlen(path) + 1);
	s->key = key;
	s->state = ASKED;
	s->began = gethrtime();
	if (start_thread(q))
		return s;
	free(q);
	s->state = FREE;
	return NULL;
}

void
ks_ask_start(const char *path, uint64_t mount_id, hrtime_t since)
{
	(void)pthread_once(&once, init);
	(void)pthread_mutex_lock(&asks.lock);
	(void)start(path, mount_id, since);
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

void
ks_ask_wait(const char *path, uint64_t mount_id, hrtime_t since, struct ks_ask_answer *answer)
{
	struct timespec until;
	hrtime_t left;
	struct slot *s;

	(void)pthread_once(&once, init);
	(void)pthread_mutex_lock(&asks.lock);
	s = start(path, mount_id, since);
	if (s != NULL) {
		left = s->began + KS_ASK_LIMIT - gethrtime();
		until = from_now(left > 0 ? left : 0);
		s->waiting++;
		while (s->state == ASKED && left > 0 &&
		    pthread_cond_timedwait(&asks.answered, &asks.lock, &until) == 0)
			;
		s->waiting--;
		*answer = (struct ks_ask_answer){ s->fs, s->state == ASKED ? EAGAIN : s->err, s->began };
	} else {
		*answer = (struct ks_ask_answer){ .err = EBUSY, .when = gethrtime() };
	}
	(void)pthread_mutex_unlock(&asks.lock);
}
