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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "kstat.h"

#define TID_BITS 22 /* the kernel's limit of pid_max is 2^22 */
#define TID_MASK ((1ULL << TID_BITS) - 1)
#define START_RANGE 16383u /* start times are told apart modulo this; 0 is "unknown" */
#define SPACE_SHIFT 36     /* above it: the PID namespace, hashed */

_Thread_local struct ks_thread ks_thread;

static _Thread_local uint64_t owner_cached; /* ks_owner_self(); 0: not known yet */

/* Of a thread for which the C library registered none. */
static _Thread_local struct robust_list_head own_robust;

uint32_t ks_forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In the child of a fork the one thread that is left has another ID, and its robust list is registered anew. */
static void
forget_self(void)
{
	ks_thread.id = 0;
	owner_cached = 0;
	ks_forks++;
}

static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, forget_self);
}

/*
 * Finds the calling thread's robust list, or registers one. If the kernel refuses both, updates work all the
 * same, and a death in the middle of one leaves its record locked.
 */
static void
find_robust(void)
{
	struct robust_list_head *head = NULL;
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &head, &size) == 0 && head != NULL) {
		ks_thread.robust = head;
		return;
	}
	own_robust.list.next = &own_robust.list;
	ks_thread.robust = &own_robust;
	(void)syscall(SYS_set_robust_list, &own_robust, sizeof(own_robust));
}

uint32_t
ks_thread_find_out(void)
{
	int error = errno;

	(void)pthread_once(&once, watch_forks);
	find_robust();
	ks_thread.outer = NULL;
	ks_thread.id = (uint32_t)gettid();
	errno = error;
	return ks_thread.id;
}

/* --- owners ------------------------------------------------------------------------------------------- */

uint64_t
ks_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* This process's PID namespace as the upper bits of an owner; 0 is "unknown". */
static uint64_t
space_bits(void)
{
	uint64_t space = ks_pid_space();

	return space == 0 ? 0 : (space * 0x9e3779b97f4a7c15ULL >> SPACE_SHIFT | 1) << SPACE_SHIFT;
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
	return (tid & TID_MASK) | start << TID_BITS | space_bits();
}

uint64_t
ks_owner_self(void)
{
	unsigned self = ks_thread_self();

	if (owner_cached == 0)
		owner_cached = owner_of(self);
	return owner_cached;
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
	uint64_t start = owner >> TID_BITS & ((1u << (SPACE_SHIFT - TID_BITS)) - 1), now;
	char state;

	if (owner >> SPACE_SHIFT != space_bits() >> SPACE_SHIFT)
		return true;
	if (tid == 0 || (kill((pid_t)tid, 0) != 0 && errno == ESRCH))
		return false;
	if (!read_stat(tid, &state, &now))
		return kill((pid_t)tid, 0) == 0 || errno != ESRCH;
	if (state == 'Z' || state == 'X' || state == 'x')
		return false;
	return start == 0 || start == now;
}

/* --- waiting for a lock ---------------------------------------------------------------------------------- */

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
try_lock(ks_word *w, uint32_t self, void *outer, uint64_t *v)
{
	uint64_t owner;

	*v = atomic_load_explicit(w, memory_order_relaxed);
	owner = *v & KS_WORD_OWNER;
	/* Of a thread that died nothing is left but the mark. */
	if (owner != 0 && (owner & KS_WORD_DIED) == 0)
		return false;
	ks_word_announce(ks_word_entry(w));
	if (atomic_compare_exchange_strong_explicit(w, v, (*v & ~KS_WORD_OWNER) | self, memory_order_acquire,
	    memory_order_relaxed)) {
		*v &= ~KS_WORD_OWNER;
		ks_thread.outer = outer;
		return true;
	}
	ks_word_announce(outer);
	return false;
}

static uint64_t
give_up(const char *why, uint64_t v)
{
	(void)ks_fail(EAGAIN, "%s (thread %u)", why, (unsigned)(v & TID_MASK));
	return KS_WORD_BUSY;
}

/*
 * Holding a lock takes some ten nanoseconds, so whoever finds one held waits for a thread that was pre-empted
 * or is about to die. First spin, then let others run, then sleep ever longer.
 */
uint64_t
ks_word_wait(ks_word *w, uint32_t self)
{
	void *outer = ks_thread.robust->list_op_pending, *entry = ks_word_entry(w);
	uint64_t v, seen = KS_WORD_BUSY;
	hrtime_t stuck = 0;
	unsigned yields = 0;
	long nap = 20000;

	for (;;) {
		for (int i = 0; i < 100; i++) {
			if (try_lock(w, self, outer, &v))
				return v;
			relax();
		}
		if ((v & KS_WORD_OWNER) == self && outer == entry)
			return give_up("the record is being changed by the call that a signal handler interrupted", v);
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
		if (gethrtime() - stuck > 1000000000LL)
			return give_up("a thread stopped in the middle of changing a record", v);
		(void)nanosleep(&(struct timespec){ 0, nap }, NULL);
		if (nap < 1000000)
			nap *= 2;
	}
}
