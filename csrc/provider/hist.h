/*
 * hist.h - the counts of a histogram that many threads and processes update and others read
 * with pread. Fixed-width fields: it also lies in shared memory.
 *
 * An update changes one bucket. The last KS_HIST_LOG updates are logged with the values they
 * stored, so that a reader who copied the buckets while they changed can bring its copy to one
 * instant (provider/segment/segment_layout.h tells how). SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_HIST_H
#define PROVIDER_HIST_H

#include <stdint.h>

#include "model/histogram.h"
#include "provider/segment/word.h"

#define KS_HIST_LOG 128 /* entries, a power of two */

struct ks_hist_entry {
	uint64_t key;   /* commit number << 32 | bucket */
	uint64_t value; /* of the bucket after the update */
	uint64_t check; /* ks_hist_check(key, value) */
};

struct ks_hist {
	ks_word word;
	uint64_t pad[7];
	struct ks_hist_entry log[KS_HIST_LOG]; /* by commit number modulo KS_HIST_LOG */
	uint64_t bucket[];
};

static inline uint64_t
ks_hist_check(uint64_t key, uint64_t value)
{
	uint64_t h = (key ^ 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ (value + 0x632be59bd9b4e019ULL) * 0xc4ceb9fe1a85ec53ULL;
}

/* Bytes of a histogram with n buckets. */
static inline size_t
ks_hist_size(uint32_t n)
{
	return sizeof(struct ks_hist) + (size_t)n * sizeof(uint64_t);
}

/* Counts one in a bucket; 0, or -1 with errno EAGAIN (ks_word_lock()). */
static inline int
ks_hist_add(struct ks_hist *h, uint32_t bucket)
{
	uint64_t v = ks_word_lock(&h->word);
	uint32_t seq;
	struct ks_hist_entry *e;

	if (v == KS_WORD_BUSY)
		return -1;
	seq = (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK;
	e = &h->log[seq % KS_HIST_LOG];
	e->key = (uint64_t)seq << 32 | bucket;
	e->value = h->bucket[bucket] + 1;
	e->check = ks_hist_check(e->key, e->value);
	h->bucket[bucket]++;
	ks_word_commit(&h->word, v);
	return 0;
}

/* Copies the counts of n buckets, in the writer's own process. 0, or -1 with errno EAGAIN. */
int ks_hist_copy(struct ks_hist *h, uint64_t *to, uint32_t n);

#endif
