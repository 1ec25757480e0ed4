/* word.c - see word.h. SPDX-License-Identifier: MIT */
#include "provider/segment/word.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "kstat.h"

#define TID_BITS 22 /* the kernel's limit of pid_max is 2^22 */
#define TID_MASK ((1ULL << TID_BITS) - 1)
#define START_RANGE 16383u /* start times are told apart modulo this; 0 is "unknown" */

_Thread_local uint64_t ks_owner_cached __attribute__((tls_model("initial-exec")));

uint32_t ks_forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In the child of a fork the one thread that is left has another ID. */
static void
forget_self(void)
{
	ks_owner_cached = 0;
	ks_forks++;
}

static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, forget_self);
}

/*
 * Reads state and start time of a thread from /proc. False if there is no telling: procfs is not
 * there, or hides the processes of others.
 */
static bool
read_stat(unsigned tid, char *state, uint64_t *start)
{
	char path[40], text[1024], *p;
	unsigned long long ticks;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name, in parentheses, may hold anything: what follows the last one is safe to scan. */
	p = strrchr(text, ')');
	/* State is the third field, the start time the twenty-second. */
	if (p == NULL || sscanf(p, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
	    "%*s %*s %*s %llu", state, &ticks) != 2)
		return false;
	*start = ticks % START_RANGE + 1;
	return true;
}

static uint64_t
owner_of(unsigned tid)
{
	uint64_t start = 0;
	int error = errno;
	char state;

	if (!read_stat(tid, &state, &start))
		start = 0;
	errno = error;
	return (tid & TID_MASK) | start << TID_BITS;
}

uint64_t
ks_owner_find_out(void)
{
	(void)pthread_once(&once, watch_forks);
	ks_owner_cached = owner_of((unsigned)gettid());
	return ks_owner_cached;
}

uint64_t
ks_owner_process(void)
{
	return owner_of((unsigned)getpid());
}

bool
ks_owner_alive(uint64_t owner)
{
	unsigned tid = (unsigned)(owner & TID_MASK);
	uint64_t start = owner >> TID_BITS, now;
	char state;

	if (tid == 0 || (kill((pid_t)tid, 0) != 0 && errno == ESRCH))
		return false;
	if (!read_stat(tid, &state, &now))
		return tid == 0 || kill((pid_t)tid, 0) == 0 || errno != ESRCH;
	if (state == 'Z' || state == 'X' || state == 'x')
		return false;
	return start == 0 || start == now;
}

static void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* True with the lock taken (*v as it was unlocked); else *v is the word with its owner. */
static bool
try_lock(ks_word *w, uint64_t self, uint64_t *v)
{
	*v = atomic_load_explicit(w, memory_order_relaxed);
	return (*v & KS_WORD_OWNER) == 0 &&
	    atomic_compare_exchange_strong_explicit(w, v, *v | self, memory_order_acquire,
	    memory_order_relaxed);
}

/* Takes over from an owner that is dead; nobody else can have got in between. */
static bool
take_over(ks_word *w, uint64_t self, uint64_t v)
{
	if (ks_owner_alive(v & KS_WORD_OWNER))
		return false;
	return atomic_compare_exchange_strong_explicit(w, &v, (v & ~KS_WORD_OWNER) | self,
	    memory_order_acquire, memory_order_relaxed);
}

/*
 * Holding a lock takes some ten nanoseconds, so whoever finds one held waits for a thread that
 * was pre-empted, or has died. First spin, then let others run, then sleep ever longer.
 */
uint64_t
ks_word_wait(ks_word *w, uint64_t self)
{
	uint64_t v, seen = KS_WORD_BUSY;
	hrtime_t stuck = 0;
	unsigned yields = 0;
	long nap = 20000;

	for (;;) {
		for (int i = 0; i < 100; i++) {
			if (try_lock(w, self, &v))
				return v;
			relax();
		}
		if ((v & KS_WORD_OWNER) == self) {
			(void)ks_fail(EAGAIN, "the record is being changed by the call that a signal handler "
			    "interrupted");
			return KS_WORD_BUSY;
		}
		if (yields++ < 8) {
			(void)sched_yield();
			continue;
		}
		if (v != seen) {
			/* Somebody moved since the last nap. */
			seen = v;
			stuck = gethrtime();
			nap = 20000;
		}
		if ((v & KS_WORD_OWNER) != 0 && take_over(w, self, v))
			return v & ~KS_WORD_OWNER;
		if (gethrtime() - stuck > 1000000000LL) {
			(void)ks_fail(EAGAIN, "thread %u stopped in the middle of changing a record",
			    (unsigned)(v & TID_MASK));
			return KS_WORD_BUSY;
		}
		(void)nanosleep(&(struct timespec){ 0, nap }, NULL);
		if (nap < 1000000)
			nap *= 2;
	}
}
