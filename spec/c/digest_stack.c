/*
 * digest_stack.c CENTROIDS... - prints what stack all functions of a digest need, in bytes, one line
 * for each number of centroids. SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "statsblob.h"

#define STACK ((size_t)1 << 20)
#define UNUSED 0xa5

static struct statsblob *sb, *other;

static void *
work(void *arg)
{
	struct sbuf *s = sbuf_new_auto();
	double v, e;

	(void)arg;
	for (uint32_t i = 0; i < 20000; i++)
		(void)stats_voi_update_abs_u32(sb, 0, i * 7919u % 20011);
	(void)stats_voi_quantile(sb, 0, 0.99, &v, &e);
	(void)stats_voi_cdf(sb, 0, 500, &v);
	(void)stats_voi_rank_error(sb, 0, 0.5, &e);
	(void)stats_blob_merge(other, sb); /* a copy, and then what merging is otherwise */
	(void)stats_blob_merge(other, sb);
	(void)stats_blob_check(sb, sb->cursz);
	(void)stats_blob_tostr(sb, s, SB_STRFMT_JSON, SB_TOSTR_OBJDUMP);
	sbuf_delete(s);
	return NULL;
}

static int
measure(uint32_t centroids)
{
	struct voistatspec vss[] = { STATS_VSS_TDGSTCLUST64(centroids, 4) };
	unsigned char *stack;
	pthread_attr_t attr;
	pthread_t thread;
	char name[32];
	size_t i = 0;
	int id;

	(void)snprintf(name, sizeof(name), "%u", centroids);
	id = stats_tpl_alloc(name, 0);
	if (id < 0 || stats_tpl_add_voistats((uint32_t)id, 0, "v", VSD_DTYPE_INT_U32, 1, vss, 0) != 0)
		return 1;
	sb = stats_blob_alloc((uint32_t)id, 0);
	other = stats_blob_alloc((uint32_t)id, 0);
	stack = aligned_alloc(65536, STACK);
	if (sb == NULL || other == NULL || stack == NULL)
		return 1;
	memset(stack, UNUSED, STACK);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&thread, &attr, work, NULL) != 0)
		return 1;
	(void)pthread_join(thread, NULL);
	while (i < STACK && stack[i] == UNUSED)
		i++;
	(void)printf("%u %zu\n", centroids, STACK - i);
	(void)pthread_attr_destroy(&attr);
	free(stack);
	stats_blob_destroy(sb);
	stats_blob_destroy(other);
	return 0;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (measure((uint32_t)strtoul(argv[i], NULL, 10)) != 0)
			return 1;
	}
	return 0;
}
