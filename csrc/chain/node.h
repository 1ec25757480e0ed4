/*
 * node.h - the kstats of one chain and the tables that find them. Only the chain's own files
 * see this. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_NODE_H
#define CHAIN_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"
#include "source/source.h"

/* One kstat of the chain; clients see the first member. */
struct ks_node {
	kstat_t k;
	struct ks_source *source;
	uint64_t cookie;
	uint64_t seen;             /* number of the last scan that offered it */
	struct ks_node *same_name; /* next in its bucket of by_name */
	struct ks_node **name_at;  /* what points here in that bucket */
	struct ks_node *same_kid;  /* next in its bucket of by_kid */
};

/* Which of module, instance and name a lookup gives. */
enum { KS_BY_MODULE = 1, KS_BY_INSTANCE = 2, KS_BY_NAME = 4, KS_BY_ALL = 7 };

/* One way of looking up: the first node of the chain for each key, by open addressing. */
struct ks_index {
	struct ks_node **slot; /* NULL: not built since the chain changed */
	size_t mask;
};

struct ks_nodes {
	struct ks_node *first, *last; /* in chain order, linked by k.ks_next */
	size_t n;
	kid_t next_kid;
	struct ks_node **by_name; /* buckets, mask + 1 of them */
	struct ks_node **by_kid;
	size_t mask;
	struct ks_index index[KS_BY_ALL + 1]; /* by set of KS_BY_* */
};

/* 0, or -1 with errno ENOMEM. */
int ks_nodes_init(struct ks_nodes *ns);

/* Frees all nodes and tables. */
void ks_nodes_free(struct ks_nodes *ns);

/* The first node with this name at or after `from` in its bucket (NULL: from the start), or NULL. */
struct ks_node *ks_nodes_named(const struct ks_nodes *ns, const struct ks_node *from,
    const char *module, int instance, const char *name);

struct ks_node *ks_nodes_by_kid(const struct ks_nodes *ns, kid_t kid);

/* A new node at the end of the chain, with its header filled in; NULL with errno ENOMEM. */
struct ks_node *ks_nodes_append(struct ks_nodes *ns, struct ks_source *src,
    const struct ks_offer *offer);

/* Removes and frees the node that follows `prev` in the chain (NULL: the first). */
void ks_nodes_remove_after(struct ks_nodes *ns, struct ks_node *prev);

/* The first node of the chain that matches what is given: `by` says which of the three count. */
struct ks_node *ks_nodes_lookup(struct ks_nodes *ns, int by, const char *module, int instance,
    const char *name);

#endif
