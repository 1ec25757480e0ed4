/*
 * merge_no_memory.c CENTROIDS... - merges blobs while no memory can be allocated. For each number of
 * centroids one line: it, what stats_blob_merge() returned, whether the result is the same as with
 * memory (1), and the bytes of stack that it took. SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "statsblob.h"

#define STACK ((size_t)4 << 20)
#define UNUSED 0xa5

static struct statsblob *sb, *other;
static atomic_int refused = -1; /* requests that got no memory; negative: they get it */

static int
refuse(void)
{
	if (refused < 0)
		return 0;
	refused++;
	return 1;
}

/* The library's requests come here, and go on to whoever serves them. */
__attribute__((visibility("default"))) void *
malloc(size_t size)
{
	static void *(*next)(size_t);

	if (refuse())
		return NULL;
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	return next(size);
}

__attribute__((visibility("default"))) void *
calloc(size_t n, size_t size)
{
	static void *(*next)(size_t, size_t);

	if (refuse())
		return NULL;
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "calloc");
	return next(n, size);
}

static void *
work(void *arg)
{
	refused = 0;
	*(int *)arg = stats_blob_merge(sb, other);
	refused = -1;
	return NULL;
}

/* The stack that merging takes, and its result in *ret. */
static size_t
stack_of_merge(int *ret)
{
	unsigned char *stack = aligned_alloc(65536, STACK);
	pthread_attr_t attr;
	pthread_t thread;
	size_t i = 0;

	if (stack == NULL)
		return 0;
	memset(stack, UNUSED, STACK);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&thread, &attr, work, ret) != 0)
		return 0;
	(void)pthread_join(thread, NULL);
	while (i < STACK && stack[i] == UNUSED)
		i++;
	(void)pthread_attr_destroy(&attr);
	free(stack);
	return STACK - i;
}

static int
check(uint32_t centroids)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_TDGSTCLUST64(centroids, 4) };
	struct statsblob *expected = NULL;
	char name[32];
	int id, ret = -1, same;
	size_t stack;

	(void)snprintf(name, sizeof(name), "%u", centroids);
	id = stats_tpl_alloc(name, 0);
	if (id < 0 || stats_tpl_add_voistats((uint32_t)id, 0, "v", VSD_DTYPE_INT_U32, 2, vss, 0) != 0)
		return 1;
	sb = stats_blob_alloc((uint32_t)id, 0);
	other = stats_blob_alloc((uint32_t)id, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		(void)stats_voi_update_abs_u32(sb, 0, i * 7919u % 20011);
		(void)stats_voi_update_abs_u32(other, 0, i * 7919u % 10007);
	}
	if (stats_blob_clone(&expected, 0, sb, SB_CLONE_ALLOCDST) != 0 ||
	    stats_blob_merge(expected, other) != 0)
		return 1;
	stack = stack_of_merge(&ret);
	same = memcmp(sb, expected, sb->cursz) == 0;
	(void)printf("%u %d %d %zu\n", centroids, ret, same, stack);
	stats_blob_destroy(sb);
	stats_blob_destroy(other);
	stats_blob_destroy(expected);
	return stack == 0;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (check((uint32_t)strtoul(argv[i], NULL, 10)) != 0)
			return 1;
	}
	return 0;
}
