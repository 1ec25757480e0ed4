/*
 * yajl_memory.h - the memory of a JSON parser. yajl does not check what its allocator returns; so without memory
 * this one leaves yajl with longjmp(), and all that yajl had is released at once.
 * SPDX-License-Identifier: MIT
 */
#ifndef CAPTURE_YAJL_MEMORY_H
#define CAPTURE_YAJL_MEMORY_H

#include <setjmp.h>
#include <yajl/yajl_common.h>

struct ks_yajl_block;

struct ks_yajl_memory {
	jmp_buf failed;               /* where to go without memory; the caller sets it */
	struct ks_yajl_block *blocks; /* all that yajl has; owned */
	yajl_alloc_funcs functions;   /* for yajl_alloc() */
};

void ks_yajl_memory_start(struct ks_yajl_memory *m);

/* Releases all of it. Parsers that use it must not be used after it, not even for yajl_free(). */
void ks_yajl_memory_end(struct ks_yajl_memory *m);

#endif
