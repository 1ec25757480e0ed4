/*
 * node.h - the kstats of one chain and the tables that find them. Only the chain's own files
 * see this. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_NODE_H
#define CHAIN_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "kstat.h"
#include "model/key.h"
#include "source/source.h"

/* One kstat of the chain; clients see the first member. A chain may have 100,000: what is small lies together. */
struct ks_node {
	kstat_t k;
	struct ks_source *source;
	char *host;                /* owned: the machine that it is of, of several in a recording; else NULL */
	uint64_t cookie;
	uint64_t seen;             /* number of the last scan that offered it */
	struct ks_node *older, *newer; /* namesakes, in a ring: behind the newest comes the oldest */
	uint32_t slot;             /* where ks_nodes.node has it */
	uint8_t rank;              /* of the source in its chain: a name belongs to the lowest */
	bool published;            /* its source knows by whom */
	bool hidden;               /* a source of lower rank has taken the name: it is about to be removed */
	bool stranger;             /* Linux has no such kstat: its metadata are not looked for there again */
};

/*
 * The nodes of a chain: a list in the order in which kstats were offered first, and tables that find them. Of
 * kstats of one name the tables have the oldest, from which a ring leads to the others: a capture may hold
 * several of a name, and during a scan a kstat that was created anew is there beside the one that it
 * replaces. A slot is used again when its node is gone; a kid never is.
 */
struct ks_nodes {
	struct ks_node *first, *last; /* in chain order, linked by k.ks_next */
	kid_t next_kid;
	struct ks_node **node;        /* n of them by their slots */
	size_t n, cap;
	uint32_t found;               /* the slot that was looked up last: mostly it is asked for again, or the next one */
	struct ks_table by_kid;
	struct ks_table by[KS_BY_ALL + 1]; /* the oldest of each key; all but the last are built when asked for */
};

void ks_nodes_init(struct ks_nodes *ns);

/* Frees all nodes and tables. */
void ks_nodes_free(struct ks_nodes *ns);

/* Returns the newest of the nodes with this name, or NULL. */
struct ks_node *ks_nodes_newest(const struct ks_nodes *ns, const char *module, int instance,
    const char *name);

/* Returns the namesake that was appended before this one, or NULL. */
struct ks_node *ks_nodes_older(const struct ks_node *node);

struct ks_node *ks_nodes_by_kid(struct ks_nodes *ns, kid_t kid);

/* A new node at the end of the chain, with its header filled in; NULL with errno ENOMEM. */
struct ks_node *ks_nodes_append(struct ks_nodes *ns, struct ks_source *src,
    const struct ks_offer *offer);

/* Removes and frees the node that follows `prev` in the chain (NULL: the first). */
void ks_nodes_remove_after(struct ks_nodes *ns, struct ks_node *prev);

/* The first node of the chain that matches what is given: `by` says which of the three count. */
struct ks_node *ks_nodes_lookup(struct ks_nodes *ns, int by, const char *module, int instance,
    const char *name);

#endif
