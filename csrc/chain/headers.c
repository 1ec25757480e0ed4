/*
 * headers.c - unix:0:kstat_headers, the list of all kstats that illumos's chains begin with: programs look in it for
 * what there is. Only the chains of C programs have it. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "chain/handle.h"

struct headers {
	struct ks_source src;
	const struct ks_chain *chain;
	bool offered;
};

static int
headers_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct headers *h = (struct headers *)src;

	if (h->offered)
		return 0;
	h->offered = true;
	return ks_scan_offer(scan, &(struct ks_offer){ .module = "unix", .name = "kstat_headers", .class_ = "kstat",
	    .type = KSTAT_TYPE_RAW, .flags = KSTAT_FLAG_VAR_SIZE }) == 0 ? 1 : -1;
}

static int
headers_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	const struct headers *h = (const struct headers *)src;

	(void)ksp;
	(void)cookie;
	for (const struct ks_node *node = h->chain->nodes.first; node != NULL;
	    node = (const struct ks_node *)node->k.ks_next) {
		kstat_t *copy = ks_record_add(r, sizeof(*copy));

		if (copy == NULL)
			break; /* the caller finds that memory was lacking */
		*copy = node->k;
		copy->ks_next = NULL;
		copy->ks_data = NULL;
	}
	return 0;
}

static void
headers_close(struct ks_source *src)
{
	free(src);
}

static const struct ks_source_ops headers_ops = {
	.name = "headers", .scan = headers_scan, .read = headers_read, .close = headers_close
};

struct ks_source *
ks_source_headers_open(const struct ks_chain *chain)
{
	struct headers *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a kstat handle");
	h->src.ops = &headers_ops;
	h->chain = chain;
	return &h->src;
}
