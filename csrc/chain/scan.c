/*
 * scan.c - brings a chain up to date with what its sources offer: the chain's struct ks_scan_ops
 * of source.h. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/bound.h"
#include "chain/handle.h"
#include "chain/rivals.h"
#include "model/origin.h"
#include "source/sources.h"

#define MOST_NAMESAKES 64 /* tried before a kstat counts as new; a capture may hold any number */

struct scan {
	struct ks_bound_scan base;
	struct ks_chain *chain;
	struct ks_source *source;
	size_t rank;                     /* which of the chain's sources that is: a name belongs to the first */
	bool offered[KS_MOST_SOURCES];   /* false: nothing changed in that source, and its kstats stay */
	uint64_t number;
	bool anew;                       /* no kstat is the same as before: the machine was started again */
	bool changed;
	struct ks_rivals rivals;
	struct ks_node *expected; /* follows the last match: sources offer in the same order each time */
};

static int
note_change(struct ks_chain *chain, const kstat_t *k, bool added)
{
	struct ks_change *c;

	if (!KS_RESERVE(chain->change, chain->change_cap, chain->nchanges + 1))
		return ks_fail(ENOMEM, "out of memory for the changes of the chain");
	c = &chain->change[chain->nchanges++];
	memcpy(c->module, k->ks_module, sizeof(c->module));
	memcpy(c->name, k->ks_name, sizeof(c->name));
	c->instance = k->ks_instance;
	c->added = added;
	return 0;
}

static bool
same_host(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_kstat(const struct ks_node *node, const struct scan *scan, const struct ks_offer *offer)
{
	return !scan->anew && node->rank == scan->rank && node->seen != scan->number && !node->hidden &&
	    node->published == offer->published &&
	    node->k.ks_crtime == offer->crtime && node->k.ks_type == offer->type &&
	    ((node->k.ks_flags ^ offer->flags) & KSTAT_FLAG_STATSBLOB) == 0 && same_host(node->host, offer->host) &&
	    strncmp(node->k.ks_class, offer->class_, KSTAT_STRLEN - 1) == 0;
}

static int
matched(struct scan *scan, struct ks_node *node, const struct ks_offer *offer)
{
	node->seen = scan->number;
	node->cookie = offer->cookie;
	/* Whether the data holds long strings is known from a read. */
	node->k.ks_flags = (uchar_t)(offer->flags | (node->k.ks_flags & KSTAT_FLAG_LONGSTRINGS));
	scan->expected = (struct ks_node *)node->k.ks_next;
	return 0;
}

/* True if the node's source has that kstat now, as far as it was scanned. */
static bool
is_there(const struct scan *scan, const struct ks_node *node)
{
	return !node->hidden && (!scan->offered[node->rank] || node->seen == scan->number);
}

/* True if an earlier source has that kstat: a later one cannot replace it. */
static bool
is_taken(const struct scan *scan, const struct ks_node *node)
{
	return node->rank < scan->rank && is_there(scan, node);
}

/* True if a source that was scanned before has the module. */
static bool
scan_owns(const struct ks_scan *base, const char *module)
{
	const struct scan *scan = (const struct scan *)base;

	if (ks_looks_reserved(module))
		return true;
	for (size_t i = 0; i < scan->rank; i++) {
		struct ks_source *src = scan->chain->source[i];

		if (src->ops->owns != NULL && src->ops->owns(src, module))
			return true;
	}
	return false;
}

static bool
scan_is_other(const struct ks_scan *base)
{
	return ((const struct scan *)base)->changed;
}

static enum ks_hearing
scan_hears(const struct ks_scan *base, uint32_t uid)
{
	const struct ks_only *only = ((const struct ks_bound_scan *)base)->only;

	if (only->machine || only->reserved)
		return only->reserved && uid == 0 ? KS_HEARS_TRUSTED : KS_HEARS_NOT;
	for (size_t i = 0; i < only->ntrusted; i++) {
		if (only->trusted[i] == uid)
			return KS_HEARS_TRUSTED;
	}
	if (uid == 0 || uid == geteuid())
		return KS_HEARS_TRUSTED;
	return only->trusted != NULL ? KS_HEARS_NOT : KS_HEARS_STRANGER;
}

/* True if the chain is of the machine alone and this is published, or the other way round and root's own (origin.h). */
static bool
is_others(const struct ks_chain *chain, const struct ks_source *src, const struct ks_offer *offer)
{
	return offer->published ? chain->only.machine :
	    chain->only.published && src->ops->publisher != NULL && src->ops->advance == NULL;
}

static int
scan_offer(struct ks_scan *base, const struct ks_offer *given)
{
	struct scan *scan = (struct scan *)base;
	struct ks_chain *chain = scan->chain;
	struct ks_node *node;
	struct ks_offer offer = *given;
	char module[KSTAT_STRLEN], name[KSTAT_STRLEN];
	int namesakes = 0, rivals;

	ks_cut_to(module, offer.module);
	ks_cut_to(name, offer.name);
	offer.module = module;
	offer.name = name;
	if (chain->plain)
		offer.ndata -= offer.nforeign;
	if (scan->expected != NULL && scan->expected->k.ks_instance == offer.instance &&
	    strcmp(scan->expected->k.ks_name, name) == 0 &&
	    strcmp(scan->expected->k.ks_module, module) == 0 &&
	    same_kstat(scan->expected, scan, &offer))
		return matched(scan, scan->expected, &offer);
	for (node = ks_nodes_newest(&chain->nodes, module, offer.instance, name);
	    node != NULL && namesakes++ < MOST_NAMESAKES; node = ks_nodes_older(node)) {
		if (same_kstat(node, scan, &offer))
			return matched(scan, node, &offer);
		if (is_taken(scan, node))
			return 0;
	}
	if (!ks_bound_has(&chain->only, &offer) || is_others(chain, scan->source, &offer))
		return 0;
	/* What a later source offers may have the name of a kstat that the bound has left out. */
	rivals = scan->rank == 0 ? 0 :
	    ks_rivals_find(&scan->rivals, &chain->only, module, offer.instance, name);
	if (rivals != 0)
		return rivals < 0 ? -1 : 0;
	node = ks_nodes_append(&chain->nodes, scan->source, &offer);
	if (node == NULL)
		return -1;
	node->rank = (uint8_t)scan->rank;
	node->seen = scan->number;
	node->k.ks_resv = offer.published && !chain->only.plain;
	/*
	 * The name belongs to this source from now on, whether or not later ones are scanned. The last source, which a
	 * capture is too, has none behind it: a capture may hold any number of kstats of one name.
	 */
	for (struct ks_node *other = node->older; scan->rank + 1 < chain->nsources && other != node;
	    other = other->older)
		other->hidden |= other->rank > node->rank;
	scan->changed = true;
	return note_change(chain, &node->k, true);
}

static bool
scan_mistakes(const struct ks_scan *scan, const char *class_)
{
	return scan->for_program && ks_source_linux_is_named(NULL, class_);
}

static void
scan_warn(struct ks_scan *base, bool damaged, const char *line)
{
	struct ks_chain *chain = ((struct scan *)base)->chain;

	chain->damaged |= damaged;
	ks_warnings_add(&chain->warnings, line);
}

static const struct ks_scan_ops scan_ops = { scan_offer, ks_bound_wants, ks_bound_wants_only, ks_bound_names,
	ks_bound_asks_for, ks_bound_spells, scan_warn, scan_owns, scan_hears, scan_is_other,
	ks_bound_reads, scan_mistakes };

static int
remove_absent(struct ks_chain *chain, struct scan *scan)
{
	struct ks_node *prev = NULL;
	struct ks_node *node = chain->nodes.first;

	while (node != NULL) {
		struct ks_node *next = (struct ks_node *)node->k.ks_next;

		if (is_there(scan, node)) {
			prev = node;
		} else {
			if (note_change(chain, &node->k, false) != 0)
				return -1;
			ks_nodes_remove_after(&chain->nodes, prev);
			scan->changed = true;
		}
		node = next;
	}
	return 0;
}

/* True if an earlier source has now the one kstat that the selector matches. */
static bool
is_found_before(const struct scan *scan, const struct ks_selector *s)
{
	const struct ks_node *node;
	int instance;

	if (!ks_selector_is_one(s, &instance))
		return false;
	node = ks_nodes_newest(&scan->chain->nodes, s->module.text, instance, s->name.text);
	return node != NULL && is_taken(scan, node) && ks_selector_matches(s, &node->k);
}

/*
 * True if the chain is to hold kstats that are named in full, and earlier sources have them all: what this
 * source has of these names would be left out.
 */
static bool
is_complete(const struct scan *scan)
{
	const struct ks_only *only = &scan->chain->only;
	size_t i = 0;

	if (only->nalso > 0)
		return false;
	while (scan->rank > 0 && i < only->n && is_found_before(scan, only->selector[i]))
		i++;
	return i > 0 && i == only->n;
}

int
ks_chain_scan(struct ks_chain *chain)
{
	struct scan scan = { .base = { { &scan_ops, chain->only.for_program, chain->asks_more }, &chain->only },
		.chain = chain, .number = ++chain->scans };
	bool any = false, failed = false;
	int error = 0, removed = 0;
	char message[512] = "";

	chain->nchanges = 0;
	for (size_t i = 0; i < chain->nsources; i++) {
		struct ks_source *src = chain->source[i];
		bool left_out = chain->only.published && src->ops->owns != NULL;
		int rc;

		scan.source = src;
		scan.rank = i;
		scan.anew = src->ops->cut != NULL && src->ops->cut(src) == KS_CUT_BOOT;
		scan.expected = chain->nodes.first;
		rc = left_out || is_complete(&scan) ? 0 : src->ops->scan(src, &scan.base.base);
		scan.offered[i] = rc > 0;
		any |= rc > 0;
		if (rc < 0) {
			failed = true;
			error = errno;
			(void)snprintf(message, sizeof(message), "%s", kstat_errmsg());
		}
	}
	ks_rivals_free(&scan.rivals);
	if (any) { /* else the chain stays as it is */
		ks_chain_warn_of_selectors(&chain->kc, chain->only.selector, chain->only.n);
		removed = remove_absent(chain, &scan);
	}
	if (scan.changed) {
		chain->kc.kc_chain = chain->nodes.first == NULL ? NULL : &chain->nodes.first->k;
		chain->kc.kc_chain_id++;
	}
	if (removed != 0)
		return -1;
	if (failed)
		return ks_fail(error, "%s", message);
	return scan.changed;
}
