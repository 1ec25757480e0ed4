/*
 * work.h - work on a t-digest: the list of items into which it is copied meanwhile, in scratch memory of the caller,
 * and what changes its nodes.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_TDIGEST_WORK_H
#define STATS_TDIGEST_WORK_H

#include "stats/tdigest/bytes.h"

/* The sizes of the arrays below for a digest of n nodes. */
#define KS_TDGST_NSORT(n) (KS_TDGST_NWAIT(n) + 3)
#define KS_TDGST_NITEMS(n) (KS_TDGST_NWAIT(n) + (n) + 3)

struct ks_tdgst_work {
	int64_t *sort[2];           /* KS_TDGST_NSORT each */
	uint16_t *bucket;           /* as many */
	struct ks_tdgst_item *item; /* KS_TDGST_NITEMS; the list begins with the second */
};

#define KS_TDGST_SCRATCH_SIZE(n) \
	(KS_TDGST_NITEMS(n) * sizeof(struct ks_tdgst_item) + \
	KS_TDGST_NSORT(n) * (2 * sizeof(int64_t) + sizeof(uint16_t)))

/*
 * The arrays for a digest of n nodes in memory of KS_TDGST_SCRATCH_SIZE(n) bytes; the widest types come
 * first.
 */
static inline struct ks_tdgst_work
ks_tdgst_work_in(void *memory, size_t n)
{
	struct ks_tdgst_work wk = { .item = memory };

	wk.sort[0] = (int64_t *)(void *)(wk.item + KS_TDGST_NITEMS(n));
	wk.sort[1] = wk.sort[0] + KS_TDGST_NSORT(n);
	wk.bucket = (uint16_t *)(void *)(wk.sort[1] + KS_TDGST_NSORT(n));
	return wk;
}

/*
 * Calls fn with memory of that size, and returns its result. The memory is on the stack if the size is at
 * most `most`, else allocated; where there is none it is on the stack, too. The greatest size is what a
 * digest of KS_TDGST_MAXCTDS nodes needs as scratch memory.
 */
typedef int ks_tdgst_job(void *memory, void *ctx);
int ks_tdgst_with_memory(size_t size, size_t most, ks_tdgst_job *fn, void *ctx);

/* The content of a digest, for reading. */
struct ks_tdgst_list {
	const struct ks_tdgst_item *item;
	size_t n;
	uint64_t total; /* sum of weights */
	unsigned unit;  /* m are in units of 2^-unit */
	bool few;       /* the digest is a tree or empty */
};

enum ks_tdgst_what {
	KS_TDGST_ALL,      /* all nodes and samples */
	KS_TDGST_ABSORBED, /* after ks_tdgst_absorb */
	KS_TDGST_NODES     /* no more items than the digest has nodes */
};

/* Calls fn with the content of td and returns the result of fn. td does not change. */
int ks_tdgst_with_list(const void *td, int kind, enum ks_tdgst_what what,
    int (*fn)(const struct ks_tdgst_list *list, void *ctx), void *ctx);

/*
 * Writes the digest's nodes and waiting samples as an ascending list to wk->item + 1, with equal exact
 * items joined but without compression. *extra becomes the number of bits by which m is finer
 * than mu, *total the sum of weights. Returns the number of items.
 */
size_t ks_tdgst_gather(const void *td, int kind, const struct ks_tdgst_work *wk,
    unsigned *extra, uint64_t *total);

/*
 * Sorts n values between min and max, whose differences are multiples of 2^shift.
 * bucket has room for n, v and tmp for two more. Returns the address of the result, behind which one
 * more value may be written.
 */
int64_t *ks_tdgst_sort(int64_t *v, int64_t *tmp, uint16_t *bucket, size_t n, int64_t min,
    int64_t max, unsigned shift);

/*
 * Returns whether a list to which samples were just added must be compressed: it is too long, or not
 * all of its items are exact. (If a sample lies within the range of a centroid, a list with both
 * would place it above or below the whole centroid.)
 */
bool ks_tdgst_must_compress(const struct ks_tdgst_item *it, size_t nitems, size_t max);

/*
 * Compresses n items of that total weight in place to at most `target`, for a digest of max nodes.
 * Returns how many items are left. The weight `kept` lies above them; if it is 0 the last item is not
 * merged.
 */
size_t ks_tdgst_compress(struct ks_tdgst_item *it, size_t n, uint64_t total, size_t max,
    uint64_t kept, size_t target);

/*
 * As ks_tdgst_gather(), but merges the samples that an update would merge now. At most td_target(max) items
 * are left, and in addition the greatest samples, which are kept.
 */
size_t ks_tdgst_absorb(const void *td, int kind, const struct ks_tdgst_work *wk, unsigned *extra,
    uint64_t *total);

/* --- changing a digest --- */

/* Marks the first n nodes as the digest; no sample waits. */
void ks_tdgst_set_array(void *td, int kind, size_t n);

void ks_tdgst_tree_to_array(void *td, int kind);

/* Links node i of a tree: -1 is no node. */
void ks_tdgst_set_node(void *td, int kind, size_t i, int parent, int left, int right);

/* Stores the indices of a tree's nodes in ascending order, equal ones in the order in which they came. */
size_t ks_tdgst_tree_order(const void *td, int kind, size_t order[KS_TDGST_TREEMAX]);

void ks_tdgst_count_compression(void *td, int kind);

/*
 * Merges the waiting samples, and w more of value m, into the nodes of an array. Afterwards no sample
 * waits, unless w is 1: then the kept ones may wait.
 */
void ks_tdgst_flush(void *td, int kind, int64_t m, uint64_t w);

/* Changes a TDGSTCLUST64 array in which no sample waits to the next mode. */
void ks_tdgst_next_mode(void *td);

#endif
