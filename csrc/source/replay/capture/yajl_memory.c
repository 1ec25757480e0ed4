/* yajl_memory.c - see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What precedes the bytes that yajl gets. */
struct ks_yajl_block {
	struct ks_yajl_block *next, **link; /* link points to what points to this block */
	alignas(max_align_t) char bytes[];
};

static struct ks_yajl_block *
block_of(void *bytes)
{
	return (struct ks_yajl_block *)((char *)bytes - offsetof(struct ks_yajl_block, bytes));
}

static void *
resize(void *context, void *bytes, size_t size)
{
	struct ks_yajl_memory *m = context;
	struct ks_yajl_block *b = size > SIZE_MAX - sizeof(*b) ? NULL :
	    realloc(bytes != NULL ? block_of(bytes) : NULL, sizeof(*b) + size);

	if (b == NULL)
		longjmp(m->failed, 1);
	if (bytes == NULL) {
		b->next = m->blocks;
		b->link = &m->blocks;
	}
	*b->link = b;
	if (b->next != NULL)
		b->next->link = &b->next;
	return b->bytes;
}

static void *
allocate(void *context, size_t size)
{
	return resize(context, NULL, size);
}

static void
release(void *context, void *bytes)
{
	struct ks_yajl_block *b = bytes != NULL ? block_of(bytes) : NULL;

	(void)context;
	if (b == NULL)
		return;
	*b->link = b->next;
	if (b->next != NULL)
		b->next->link = b->link;
	free(b);
}

void
ks_yajl_memory_start(struct ks_yajl_memory *m)
{
	m->blocks = NULL;
	m->functions = (yajl_alloc_funcs){ allocate, resize, release, m };
}

void
ks_yajl_memory_end(struct ks_yajl_memory *m)
{
	while (m->blocks != NULL)
		release(m, m->blocks->bytes);
}
