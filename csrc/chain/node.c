/* node.c - see node.h. SPDX-License-Identifier: MIT */
#include "chain/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

#define FIRST_BUCKETS 256

static uint64_t
hash_key(int by, const char *module, int instance, const char *name)
{
	uint64_t h = KS_HASH_INIT;

	if (by & KS_BY_MODULE)
		h = ks_hash_string(h, module);
	if (by & KS_BY_INSTANCE)
		h = ks_hash_bytes(h, &instance, sizeof(instance));
	if (by & KS_BY_NAME)
		h = ks_hash_string(h, name);
	return h ^ (h >> 32);
}

static bool
same_key(const kstat_t *k, int by, const char *module, int instance, const char *name)
{
	return (!(by & KS_BY_INSTANCE) || k->ks_instance == instance) &&
	    (!(by & KS_BY_MODULE) || strcmp(k->ks_module, module) == 0) &&
	    (!(by & KS_BY_NAME) || strcmp(k->ks_name, name) == 0);
}

static struct ks_node **
name_bucket(const struct ks_nodes *ns, const char *module, int instance, const char *name)
{
	return &ns->by_name[hash_key(KS_BY_ALL, module, instance, name) & ns->mask];
}

static struct ks_node **
kid_bucket(const struct ks_nodes *ns, kid_t kid)
{
	return &ns->by_kid[(size_t)kid & ns->mask];
}

static void
enter(struct ks_nodes *ns, struct ks_node *node)
{
	struct ks_node **bucket = name_bucket(ns, node->k.ks_module, node->k.ks_instance,
	    node->k.ks_name);

	node->same_name = *bucket;
	node->name_at = bucket;
	if (*bucket != NULL)
		(*bucket)->name_at = &node->same_name;
	*bucket = node;
	bucket = kid_bucket(ns, node->k.ks_kid);
	node->same_kid = *bucket;
	*bucket = node;
}

static int
resize(struct ks_nodes *ns, size_t buckets)
{
	struct ks_node **by_name = calloc(buckets, sizeof(struct ks_node *));
	struct ks_node **by_kid = calloc(buckets, sizeof(struct ks_node *));

	if (by_name == NULL || by_kid == NULL) {
		free(by_name);
		free(by_kid);
		return ks_fail(ENOMEM, "out of memory for the kstat chain");
	}
	free(ns->by_name);
	free(ns->by_kid);
	ns->by_name = by_name;
	ns->by_kid = by_kid;
	ns->mask = buckets - 1;
	for (struct ks_node *node = ns->first; node != NULL; node = (struct ks_node *)node->k.ks_next)
		enter(ns, node);
	return 0;
}

static void
forget_indexes(struct ks_nodes *ns)
{
	for (int by = 0; by <= KS_BY_ALL; by++) {
		free(ns->index[by].slot);
		ns->index[by].slot = NULL;
	}
}

int
ks_nodes_init(struct ks_nodes *ns)
{
	*ns = (struct ks_nodes){ .next_kid = 1 };
	return resize(ns, FIRST_BUCKETS);
}

static void
free_node(struct ks_node *node)
{
	free(node->k.ks_data);
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
	free(ns->by_name);
	free(ns->by_kid);
	forget_indexes(ns);
}

struct ks_node *
ks_nodes_named(const struct ks_nodes *ns, const struct ks_node *from, const char *module,
    int instance, const char *name)
{
	struct ks_node *node;

	node = from == NULL ? *name_bucket(ns, module, instance, name) : from->same_name;
	while (node != NULL && !same_key(&node->k, KS_BY_ALL, module, instance, name))
		node = node->same_name;
	return node;
}

struct ks_node *
ks_nodes_by_kid(const struct ks_nodes *ns, kid_t kid)
{
	struct ks_node *node = *kid_bucket(ns, kid);

	while (node != NULL && node->k.ks_kid != kid)
		node = node->same_kid;
	return node;
}

static void
copy_name(char *to, const char *from)
{
	memcpy(to, from, strnlen(from, KSTAT_STRLEN - 1));
}

struct ks_node *
ks_nodes_append(struct ks_nodes *ns, struct ks_source *src, const struct ks_offer *offer)
{
	struct ks_node *node;

	if (ns->n > ns->mask && resize(ns, 4 * (ns->mask + 1)) != 0)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (node == NULL)
		return ks_fail_null(ENOMEM, "out of memory for the kstat chain");
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
	node->source = src;
	node->cookie = offer->cookie;
	enter(ns, node);
	if (ns->last != NULL)
		ns->last->k.ks_next = &node->k;
	else
		ns->first = node;
	ns->last = node;
	ns->n++;
	forget_indexes(ns);
	return node;
}

void
ks_nodes_remove_after(struct ks_nodes *ns, struct ks_node *prev)
{
	struct ks_node *node = prev == NULL ? ns->first : (struct ks_node *)prev->k.ks_next;
	struct ks_node *next = (struct ks_node *)node->k.ks_next;
	struct ks_node **at;

	if (prev != NULL)
		prev->k.ks_next = node->k.ks_next;
	else
		ns->first = next;
	if (ns->last == node)
		ns->last = prev;
	*node->name_at = node->same_name;
	if (node->same_name != NULL)
		node->same_name->name_at = node->name_at;
	at = kid_bucket(ns, node->k.ks_kid);
	while (*at != node)
		at = &(*at)->same_kid;
	*at = node->same_kid;
	ns->n--;
	free_node(node);
	forget_indexes(ns);
}

/* Enters every node whose key is not there yet, so that the first of the chain wins. */
static int
build_index(struct ks_nodes *ns, int by)
{
	struct ks_index *ix = &ns->index[by];
	size_t slots = 64;

	while (slots < 2 * ns->n)
		slots *= 2;
	ix->slot = calloc(slots, sizeof(struct ks_node *));
	if (ix->slot == NULL)
		return ks_fail(ENOMEM, "out of memory for an index of the kstat chain");
	ix->mask = slots - 1;
	for (struct ks_node *node = ns->first; node != NULL;
	    node = (struct ks_node *)node->k.ks_next) {
		const kstat_t *k = &node->k;
		size_t i = hash_key(by, k->ks_module, k->ks_instance, k->ks_name) & ix->mask;

		while (ix->slot[i] != NULL && !same_key(&ix->slot[i]->k, by, k->ks_module,
		    k->ks_instance, k->ks_name))
			i = (i + 1) & ix->mask;
		if (ix->slot[i] == NULL)
			ix->slot[i] = node;
	}
	return 0;
}

struct ks_node *
ks_nodes_lookup(struct ks_nodes *ns, int by, const char *module, int instance, const char *name)
{
	struct ks_index *ix = &ns->index[by];
	size_t i;

	if (by == 0)
		return ns->first;
	if (ix->slot == NULL && build_index(ns, by) != 0)
		return NULL;
	i = hash_key(by, module, instance, name) & ix->mask;
	while (ix->slot[i] != NULL && !same_key(&ix->slot[i]->k, by, module, instance, name))
		i = (i + 1) & ix->mask;
	return ix->slot[i];
}
