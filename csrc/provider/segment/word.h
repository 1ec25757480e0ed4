/*
 * word.h - the lock of one shared record, in one 64-bit word: which thread is writing, and how
 * many changes were committed. Committing and unlocking are a single store, so that a writer that dies
 * at any instruction leaves the number of the last complete version behind; whoever comes next finds
 * the owner dead and takes the lock over. Works between threads and between processes of one
 * pid namespace. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_WORD_H
#define PROVIDER_SEGMENT_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint64_t ks_word;

/* Low 36 bits: the owner (22 bits thread ID, 14 bits of its start time), 0 if unlocked. */
#define KS_WORD_OWNER ((1ULL << 36) - 1)
#define KS_WORD_ONE (1ULL << 36) /* one commit; the count is the upper 28 bits and wraps */
#define KS_WORD_SEQ(v) ((uint32_t)((v) >> 36))
#define KS_WORD_SEQ_MASK ((1u << 28) - 1)
#define KS_WORD_BUSY UINT64_MAX

extern _Thread_local uint64_t ks_owner_cached __attribute__((tls_model("initial-exec")));

/* How often this process came out of a fork: what belongs to a thread is asked for anew then. */
extern uint32_t ks_forks;

uint64_t ks_owner_find_out(void);

/* This thread as an owner; never 0. */
static inline uint64_t
ks_owner_self(void)
{
	uint64_t self = ks_owner_cached;

	return __builtin_expect(self != 0, 1) ? self : ks_owner_find_out();
}

/* The process as an owner, whichever of its threads asks; exec() does not change it. */
uint64_t ks_owner_process(void);

/* False if the thread has ended (also if its process is a zombie). */
bool ks_owner_alive(uint64_t owner);

uint64_t ks_word_wait(ks_word *w, uint64_t self);

/*
 * Locks. Returns the word as it was when unlocked, for ks_word_commit() or ks_word_abort(); or
 * KS_WORD_BUSY with errno EAGAIN, if a live owner did not move for a second, or this very thread
 * holds the lock (in an interrupted call, of a signal handler).
 */
static inline uint64_t
ks_word_lock(ks_word *w)
{
	uint64_t self = ks_owner_self();
	uint64_t v = atomic_load_explicit(w, memory_order_relaxed);

	if (__builtin_expect((v & KS_WORD_OWNER) == 0 &&
	    atomic_compare_exchange_strong_explicit(w, &v, v | self, memory_order_acquire,
	    memory_order_relaxed), 1))
		return v;
	return ks_word_wait(w, self);
}

/* Makes what was written the current version, and unlocks. */
static inline void
ks_word_commit(ks_word *w, uint64_t v)
{
	atomic_store_explicit(w, v + KS_WORD_ONE, memory_order_release);
}

/* Unlocks; the current version stays current. */
static inline void
ks_word_abort(ks_word *w, uint64_t v)
{
	atomic_store_explicit(w, v, memory_order_release);
}

#endif
