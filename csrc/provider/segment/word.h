/*
 * word.h - the lock of one shared record, in one 64-bit word: which thread is writing, and how many changes
 * were committed. Committing and unlocking are a single store, so that a writer that dies at any instruction
 * leaves the number of the last complete version behind.
 *
 * The kernel marks the word of a thread that ends while it holds a lock, by whatever signal, and of one whose
 * process calls exec(): while a thread locks, its robust list (set_robust_list(2)) names the word. Whoever
 * comes next finds the mark and takes the lock over. Nobody looks up whether a thread is alive, so the lock
 * works between threads, processes and PID namespaces.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_WORD_H
#define PROVIDER_SEGMENT_WORD_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t ks_word;

/* Low 36 bits: 0 if unlocked; else the thread ID in 30 bits, or KS_WORD_DIED. The kernel uses bits 30 and 31. */
#define KS_WORD_OWNER ((1ULL << 36) - 1)
#define KS_WORD_DIED ((uint64_t)FUTEX_OWNER_DIED)
#define KS_WORD_ONE (1ULL << 36) /* one commit; the count is the upper 28 bits and wraps */
#define KS_WORD_SEQ(v) ((uint32_t)((v) >> 36))
#define KS_WORD_SEQ_MASK ((1u << 28) - 1)
#define KS_WORD_BUSY UINT64_MAX

/* What is known of this thread. One structure, since a library that is loaded late calls a function to find it. */
extern _Thread_local struct ks_thread {
	uint32_t id; /* 0: not known yet, nor is the rest */
	struct robust_list_head *robust;
	void *outer; /* what the list named when this thread locked; NULL but in a handler that interrupts a change */
} ks_thread __attribute__((visibility("hidden")));

/* How often this process came out of a fork: what belongs to a thread is asked for anew then. */
extern uint32_t ks_forks;

uint32_t ks_thread_find_out(void);

/* The ID of this thread; never 0. Its robust list is known after this call. */
static inline uint32_t
ks_thread_self(void)
{
	uint32_t self = ks_thread.id;

	return __builtin_expect(self != 0, 1) ? self : ks_thread_find_out();
}

/* --- owners of what is held for longer than a change ---------------------------------------------- */

/* Inode of this process's PID namespace, in which its threads are numbered; 0 if unknown. */
uint64_t ks_pid_space(void);

/* The calling thread as an owner: its ID, its start time and its PID namespace, hashed into 64 bits; never 0. */
uint64_t ks_owner_self(void);

/* The process as an owner, whichever of its threads asks; exec() does not change it. */
uint64_t ks_owner_process(void);

/*
 * False if the thread has ended (also if its process is a zombie). True for an owner in another PID namespace,
 * since nothing is known about it.
 */
bool ks_owner_alive(uint64_t owner);

/* --- locking ---------------------------------------------------------------------------------------- */

uint64_t ks_word_wait(ks_word *w, uint32_t self);

/* What the robust list calls the word: the kernel adds an offset of the list's own to find the 32 bits. */
static inline void *
ks_word_entry(ks_word *w)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (char *)w + 4 - ks_thread.robust->futex_offset;
#else
	return (char *)w - ks_thread.robust->futex_offset;
#endif
}

/* From here on the kernel looks at the word when this thread ends (NULL: at none). */
static inline void
ks_word_announce(void *entry)
{
	*(struct robust_list *volatile *)&ks_thread.robust->list_op_pending = (struct robust_list *)entry;
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * Locks. Returns the word as it was when unlocked, for ks_word_commit() or ks_word_abort(); or
 * KS_WORD_BUSY with errno EAGAIN, if a live owner did not move for a second, or this very thread
 * holds the lock (in an interrupted call, of a signal handler).
 */
static inline uint64_t
ks_word_lock(ks_word *w)
{
	uint32_t self = ks_thread_self();
	uint64_t v = atomic_load_explicit(w, memory_order_relaxed);

	if (__builtin_expect((v & KS_WORD_OWNER) == 0 && ks_thread.robust->list_op_pending == NULL, 1)) {
		ks_word_announce(ks_word_entry(w));
		if (__builtin_expect(atomic_compare_exchange_strong_explicit(w, &v, v | self,
		    memory_order_acquire, memory_order_relaxed), 1))
			return v;
		ks_word_announce(NULL);
	}
	return ks_word_wait(w, self);
}

/* Unlocks: the word becomes v. */
static inline void
ks_word_release(ks_word *w, uint64_t v)
{
	void *outer = ks_thread.outer;

	atomic_store_explicit(w, v, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	ks_word_announce(outer);
	if (__builtin_expect(outer != NULL, 0))
		ks_thread.outer = NULL;
}

/* Makes what was written the current version, and unlocks. */
static inline void
ks_word_commit(ks_word *w, uint64_t v)
{
	ks_word_release(w, v + KS_WORD_ONE);
}

/* Unlocks; the current version stays current. */
static inline void
ks_word_abort(ks_word *w, uint64_t v)
{
	ks_word_release(w, v);
}

#endif
