/*
 * scratch.c - the scratch memory of large digests. It is on the stack, and at most about twice as large
 * as the digest needs; for the largest digests it is allocated.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "stats/tdigest/impl.h"

/* These are separate functions, so that a call uses the stack of its own size only. */
#define ON_STACK(n) \
	static __attribute__((noinline)) int \
	with_##n(ks_tdgst_job *fn, void *ctx) \
	{ \
		KS_TDGST_SCRATCH(n) sc; \
 \
		return fn(KS_TDGST_WORK(sc), ctx); \
	}
ON_STACK(256)
ON_STACK(512)
ON_STACK(4094)

_Static_assert(KS_TDGST_MAXCTDS == 4094, "the largest scratch memory");
_Static_assert(sizeof(struct ks_tdgst_item) % sizeof(int64_t) == 0, "alignment of what follows");

/* For digests of so many nodes that the stack of a small thread might be too small. */
static int
allocated(size_t n, ks_tdgst_job *fn, void *ctx)
{
	size_t nsort = KS_TDGST_NSORT(n), nitems = KS_TDGST_NITEMS(n);
	struct ks_tdgst_work wk;
	char *p;
	int ret;

	/* The members with the widest types come first, so that all are aligned. */
	p = malloc(nitems * sizeof(*wk.item) + 2 * nsort * sizeof(*wk.sort[0]) +
	    nsort * sizeof(*wk.bucket));
	if (p == NULL)
		return with_4094(fn, ctx);
	wk.item = (struct ks_tdgst_item *)(void *)p;
	wk.sort[0] = (int64_t *)(void *)(wk.item + nitems);
	wk.sort[1] = wk.sort[0] + nsort;
	wk.bucket = (uint16_t *)(void *)(wk.sort[1] + nsort);
	ret = fn(&wk, ctx);
	free(p);
	return ret;
}

int
ks_tdgst_with_scratch(size_t n, ks_tdgst_job *fn, void *ctx)
{
	if (n <= 256)
		return with_256(fn, ctx);
	if (n <= 512)
		return with_512(fn, ctx);
	return allocated(n, fn, ctx);
}
