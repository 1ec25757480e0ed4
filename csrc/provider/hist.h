/*
 * hist.h - the counts of a histogram that many threads and processes update and others read with pread.
 * Fixed-width fields: it also lies in shared memory.
 *
 * An update is one commit of the word (word.h). It changes one bucket and the sums of all values, and is
 * logged: the entry with the commit's number has the bucket's new count and the sums, and a check of
 * both. The order is: lock, entry, bucket, commit. So what a writer leaves that is killed
 *
 *   before the entry is whole     is an entry whose check is wrong: the bucket is as it was;
 *   between entry and commit      is a whole entry with the number after the last commit. The bucket may have its new
 *                                 count or not; whoever locks next stores the count and commits (ks_hist_finish()).
 *
 * The sums lie in the entries alone. At commit n they are those of entry n, and a new histogram has entry 0.
 *
 * A reader copies the word (commit a), then the buckets, then the word again (commit b) with the log. The buckets have
 * each update up to a, and none after b + 1, which may be under way. The entries from a + 1 to b say what
 * those buckets held at b, and entry b + 1, if it is whole, what that bucket is about to hold. More updates than the log
 * holds: the reader begins again. See source/segment/read_record.c.
 *
 * Atomic additions (to a bucket, a count, a sum, an extreme) would cost more, and a reader between two of them would
 * see values without their sum.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_HIST_H
#define PROVIDER_HIST_H

#include <stdint.h>

#include "model/histogram.h"
#include "provider/segment/record_check.h"
#include "provider/segment/word.h"

/* Entries of a log, a power of two: enough while a reader copies thousands of buckets; and the least. */
#define KS_HIST_LOG 128u
#define KS_HIST_LEAST_LOG 2u

struct ks_hist_entry {
	uint64_t key;   /* commit number << 32 | bucket; of a value that was refused, the number of buckets */
	uint64_t count; /* of the bucket after the update */
	struct ks_hist_sums sums; /* after the update */
	uint64_t check; /* ks_hist_check() */
};

struct ks_hist {
	ks_word word;
	struct ks_hist_entry log[]; /* by commit number modulo its length; behind it, the buckets */
};

/* The counts, and how to find one's way in them, which whoever shares the memory cannot change. */
struct ks_hist_place {
	struct ks_hist *hist;
	uint32_t log; /* entries */
	uint32_t n;   /* buckets */
};

/* Of an entry's members but the last; it is faster than ks_rec_check(), which wants them in memory. */
static inline uint64_t
ks_hist_check(uint64_t key, uint64_t count, const struct ks_hist_sums *sums)
{
	return KS_REC_CHECK_END(KS_REC_CHECK_PAIR(key, count, 6) + KS_REC_CHECK_PAIR(sums->sum, sums->min, 4) +
	    KS_REC_CHECK_PAIR(sums->max, sums->out_of_range, 2));
}

static inline bool
ks_hist_is_whole(const struct ks_hist_entry *e)
{
	return e->check == ks_hist_check(e->key, e->count, &e->sums);
}

/* Bytes of a histogram. */
static inline size_t
ks_hist_size(uint32_t log, uint32_t n)
{
	return sizeof(struct ks_hist) + log * sizeof(struct ks_hist_entry) + (size_t)n * sizeof(uint64_t);
}

/* Where the buckets begin. */
static inline size_t
ks_hist_buckets(uint32_t log)
{
	return ks_hist_size(log, 0);
}

static inline uint64_t *
ks_hist_bucket(const struct ks_hist_place *p, uint32_t i)
{
	return (uint64_t *)(void *)((char *)p->hist + ks_hist_buckets(p->log)) + i;
}

/* The place in the log of the commit that the word says. */
static inline struct ks_hist_entry *
ks_hist_entry_of(const struct ks_hist_place *p, uint64_t word)
{
	return &p->hist->log[KS_WORD_SEQ(word) & (p->log - 1)];
}

/* Writes the entry of the next commit. */
static inline void
ks_hist_log(const struct ks_hist_place *p, uint64_t word, uint32_t bucket, uint64_t count,
    const struct ks_hist_sums *sums)
{
	struct ks_hist_entry *e = ks_hist_entry_of(p, word + KS_WORD_ONE);

	e->key = (uint64_t)KS_WORD_SEQ(word + KS_WORD_ONE) << 32 | bucket;
	e->count = count;
	e->sums.sum = sums->sum;
	e->sums.min = sums->min;
	e->sums.max = sums->max;
	e->sums.out_of_range = sums->out_of_range;
	e->check = ks_hist_check(e->key, count, sums);
}

/* Makes zeroed memory a histogram without values. */
void ks_hist_init(struct ks_hist *h);

uint64_t ks_hist_finish(const struct ks_hist_place *p, uint64_t v);

/* Locks, as ks_word_lock(), and ends what a writer that died had begun. */
static inline uint64_t
ks_hist_lock(const struct ks_hist_place *p)
{
	uint64_t v = ks_word_lock(&p->hist->word);

	if (v != KS_WORD_BUSY &&
	    __builtin_expect(ks_hist_entry_of(p, v + KS_WORD_ONE)->key >> 32 == KS_WORD_SEQ(v + KS_WORD_ONE), 0))
		return ks_hist_finish(p, v);
	return v;
}

/* Counts a value in a bucket; is_outside: it is out of range. 0, or -1 with errno EAGAIN. */
static inline int
ks_hist_add(const struct ks_hist_place *p, uint32_t bucket, uint64_t value, bool is_outside)
{
	uint64_t v = ks_hist_lock(p), *count = ks_hist_bucket(p, bucket);
	struct ks_hist_sums sums;

	if (__builtin_expect(v == KS_WORD_BUSY, 0))
		return -1;
	sums = ks_hist_entry_of(p, v)->sums;
	sums.sum += value;
	sums.min = value < sums.min ? value : sums.min;
	sums.max = value > sums.max ? value : sums.max;
	sums.out_of_range += is_outside;
	ks_hist_log(p, v, bucket, *count + 1, &sums);
	/* Whoever sees the new count can see the entry. */
	__atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
	ks_word_commit(&p->hist->word, v);
	return 0;
}

/* Counts a value that is none, as out of range alone. 0, or -1 with errno EAGAIN. */
int ks_hist_refuse(const struct ks_hist_place *p);

/*
 * Adds counts to n buckets, each by a commit of its own under one lock: at every one of them counts and sums fit. `sum` is
 * that of all values that are added, and 0 if it is not known; one that they cannot have is brought to the nearest that
 * they can. 0, or -1 with errno EINVAL (a bucket that no whole number is in, or 2^63 values and more), EAGAIN.
 */
int ks_hist_add_counts(const struct ks_hist_place *p, const struct ks_hist_layout *l, const uint64_t *counts, uint32_t n,
    uint64_t sum);

/* Copies the counts and the sums, in the writer's own process. 0, or -1 with errno EAGAIN. */
int ks_hist_copy(const struct ks_hist_place *p, uint64_t *to, struct ks_hist_sums *sums);

#endif
