/* node.c - see node.h. SPDX-License-Identifier: MIT */
#include "chain/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static bool
has_key(const void *nodes, uint32_t slot, const void *key)
{
	return ks_key_matches(key, &((const struct ks_nodes *)nodes)->node[slot]->k);
}

static struct ks_node *
find(const struct ks_nodes *ns, uint64_t hash, const struct ks_key *key)
{
	uint32_t slot = ks_table_find(&ns->by[key->by], hash, has_key, ns, key);

	return slot == KS_NO_SLOT ? NULL : ns->node[slot];
}

static bool
has_kid(const void *nodes, uint32_t slot, const void *kid)
{
	return ((const struct ks_nodes *)nodes)->node[slot]->k.ks_kid == *(const kid_t *)kid;
}

/* Empties the tables that are built when asked for. */
static void
forget_indexes(struct ks_nodes *ns)
{
	for (int by = 0; by < KS_BY_ALL; by++)
		ks_table_clear(&ns->by[by]);
}

void
ks_nodes_init(struct ks_nodes *ns)
{
	*ns = (struct ks_nodes){ .next_kid = 1 };
}

static void
free_node(struct ks_node *node)
{
	free(node->k.ks_data);
	free(node->host);
	free(node);
}

void
ks_nodes_free(struct ks_nodes *ns)
{
	struct ks_node *node, *next;

	for (node = ns->first; node != NULL; node = next) {
		next = (struct ks_node *)node->k.ks_next;
		free_node(node);
	}
	free(ns->node);
	ks_table_free(&ns->by_kid);
	for (int by = 0; by <= KS_BY_ALL; by++)
		ks_table_free(&ns->by[by]);
}

struct ks_node *
ks_nodes_newest(const struct ks_nodes *ns, const char *module, int instance, const char *name)
{
	const struct ks_key key = { KS_BY_ALL, module, instance, name };
	struct ks_node *oldest = find(ns, ks_key_hash(&key), &key);

	return oldest == NULL ? NULL : oldest->older;
}

struct ks_node *
ks_nodes_older(const struct ks_node *node)
{
	/* kids grow, so what is not older is the newest: the ring ends. */
	return node->older->k.ks_kid < node->k.ks_kid ? node->older : NULL;
}

struct ks_node *
ks_nodes_by_kid(struct ks_nodes *ns, kid_t kid)
{
	uint32_t slot = ns->found;

	for (; slot < ns->n && slot < ns->found + 2; slot++) {
		if (ns->node[slot]->k.ks_kid == kid) {
			ns->found = slot;
			return ns->node[slot];
		}
	}
	slot = ks_table_find(&ns->by_kid, (uint64_t)kid, has_kid, ns, &kid);
	if (slot == KS_NO_SLOT)
		return NULL;
	ns->found = slot;
	return ns->node[slot];
}

static void
copy_name(char *to, const char *from)
{
	memcpy(to, from, strnlen(from, KSTAT_STRLEN - 1));
}

/* Enters a node into the array, the tables and the ring of its namesakes; there is memory for it. */
static void
enter(struct ks_nodes *ns, struct ks_node *node)
{
	const struct ks_key key = ks_key_of(&node->k, KS_BY_ALL);
	uint64_t hash = ks_key_hash(&key);
	struct ks_node *oldest = find(ns, hash, &key);

	node->slot = (uint32_t)ns->n;
	ns->node[ns->n++] = node;
	(void)ks_table_add(&ns->by_kid, (uint64_t)node->k.ks_kid, node->slot);
	if (oldest == NULL) {
		node->older = node->newer = node;
		(void)ks_table_add(&ns->by[KS_BY_ALL], hash, node->slot);
		return;
	}
	node->newer = oldest;
	node->older = oldest->older;
	node->older->newer = oldest->older = node;
}

struct ks_node *
ks_nodes_append(struct ks_nodes *ns, struct ks_source *src, const struct ks_offer *offer)
{
	struct ks_node *node = calloc(1, sizeof(*node));

	if (node != NULL && offer->host != NULL)
		node->host = strdup(offer->host);
	if (node == NULL || (offer->host != NULL && node->host == NULL) || ns->n + 1 >= KS_NO_SLOT ||
	    !KS_RESERVE(ns->node, ns->cap, ns->n + 1) || !ks_table_reserve(&ns->by_kid, ns->n + 1) ||
	    !ks_table_reserve(&ns->by[KS_BY_ALL], ns->n + 1)) {
		if (node != NULL)
			free_node(node);
		return ks_fail_null(ENOMEM, "out of memory for the kstat chain");
	}
	copy_name(node->k.ks_module, offer->module);
	copy_name(node->k.ks_name, offer->name);
	copy_name(node->k.ks_class, offer->class_);
	node->k.ks_instance = offer->instance;
	node->k.ks_kid = ns->next_kid++;
	node->k.ks_type = offer->type;
	node->k.ks_flags = offer->flags;
	node->k.ks_crtime = offer->crtime;
	node->k.ks_ndata = offer->ndata;
	node->k.ks_data_size = offer->data_size;
	node->k.ks_snaptime = offer->crtime;
	node->source = src;
	node->cookie = offer->cookie;
	node->published = offer->published;
	enter(ns, node);
	if (ns->last != NULL)
		ns->last->k.ks_next = &node->k;
	else
		ns->first = node;
	ns->last = node;
	forget_indexes(ns);
	return node;
}

/* Replaces slot `from` by slot `to` (KS_NO_SLOT: none) in the tables that have it for the node's name. */
static void
move_name(struct ks_nodes *ns, const struct ks_node *node, uint32_t from, uint32_t to)
{
	const struct ks_key key = ks_key_of(&node->k, KS_BY_ALL);

	if (to == KS_NO_SLOT)
		(void)ks_table_remove(&ns->by[KS_BY_ALL], ks_key_hash(&key), from);
	else
		(void)ks_table_replace(&ns->by[KS_BY_ALL], ks_key_hash(&key), from, to);
}

/* Removes a node from the ring, the tables and the array, where the last node moves to its slot. */
static void
leave(struct ks_nodes *ns, struct ks_node *node)
{
	struct ks_node *last = ns->node[ns->n - 1];

	move_name(ns, node, node->slot, node->newer == node ? KS_NO_SLOT : node->newer->slot);
	node->older->newer = node->newer;
	node->newer->older = node->older;
	(void)ks_table_remove(&ns->by_kid, (uint64_t)node->k.ks_kid, node->slot);
	if (last != node) {
		move_name(ns, last, last->slot, node->slot);
		(void)ks_table_replace(&ns->by_kid, (uint64_t)last->k.ks_kid, last->slot, node->slot);
		ns->node[node->slot] = last;
		last->slot = node->slot;
	}
	ns->n--;
}

void
ks_nodes_remove_after(struct ks_nodes *ns, struct ks_node *prev)
{
	struct ks_node *node = prev == NULL ? ns->first : (struct ks_node *)prev->k.ks_next;

	if (prev != NULL)
		prev->k.ks_next = node->k.ks_next;
	else
		ns->first = (struct ks_node *)node->k.ks_next;
	if (ns->last == node)
		ns->last = prev;
	leave(ns, node);
	free_node(node);
	forget_indexes(ns);
}

/* Enters every node whose key is not there yet, so that the first of the chain wins. False without memory for it. */
static bool
build_index(struct ks_nodes *ns, int by)
{
	for (struct ks_node *node = ns->first; node != NULL;
	    node = (struct ks_node *)node->k.ks_next) {
		const struct ks_key key = ks_key_of(&node->k, by);
		uint64_t hash = ks_key_hash(&key);

		if (find(ns, hash, &key) == NULL && !ks_table_add(&ns->by[by], hash, node->slot)) {
			ks_table_clear(&ns->by[by]);
			return false;
		}
	}
	return true;
}

/* Finds what an index would find. */
static struct ks_node *
walk(const struct ks_nodes *ns, const struct ks_key *key)
{
	struct ks_node *node = ns->first;

	while (node != NULL && !ks_key_matches(key, &node->k))
		node = (struct ks_node *)node->k.ks_next;
	return node;
}

struct ks_node *
ks_nodes_lookup(struct ks_nodes *ns, int by, const char *module, int instance, const char *name)
{
	const struct ks_key key = { by, module, instance, name };

	if (by == 0)
		return ns->first;
	if (by != KS_BY_ALL && ns->by[by].n == 0 && !build_index(ns, by))
		return walk(ns, &key);
	return find(ns, ks_key_hash(&key), &key);
}
