/*
 * scratch.c - memory for the work on digests. It is on the stack, and at most about twice as large as what is
 * asked for; large pieces are allocated.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "stats/tdigest/work.h"

/* These are separate functions, so that a call uses the stack of its own size only. */
#define ON_STACK(n) \
	static __attribute__((noinline)) int \
	with_##n(ks_tdgst_job *fn, void *ctx) \
	{ \
		_Alignas(16) char memory[KS_TDGST_SCRATCH_SIZE(n)]; \
 \
		return fn(memory, ctx); \
	}
ON_STACK(100) /* merging with 128 */
ON_STACK(128)
ON_STACK(256)
ON_STACK(400) /* merging with 512 */
ON_STACK(512)
ON_STACK(3150) /* merging with 4094 */
ON_STACK(4094)

_Static_assert(KS_TDGST_MAXCTDS == 4094, "the largest memory");

int
ks_tdgst_with_memory(size_t size, size_t most, ks_tdgst_job *fn, void *ctx)
{
	void *p = size > most ? malloc(size) : NULL;
	int ret;

	if (p != NULL) {
		ret = fn(p, ctx);
		free(p);
		return ret;
	}
	if (size <= KS_TDGST_SCRATCH_SIZE(100))
		return with_100(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(128))
		return with_128(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(256))
		return with_256(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(400))
		return with_400(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(512))
		return with_512(fn, ctx);
	if (size <= KS_TDGST_SCRATCH_SIZE(3150))
		return with_3150(fn, ctx);
	return with_4094(fn, ctx);
}
