/*
 * rivals.h - finds out whether the machine has a kstat with the name of a published one, although the chain's bound
 * left it out because of its class: a published kstat never replaces one of the machine.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_RIVALS_H
#define CHAIN_RIVALS_H

#include <stdbool.h>

#include "chain/chain.h"
#include "chain/node.h"
#include "select/selector.h"

/* All zero before the first question. */
struct ks_rivals {
	bool listed;             /* the machine's kstats are in `machine` */
	struct ks_nodes machine; /* what the bound would hold of the machine if it said nothing of classes */
	struct ks_selector *selector; /* that bound; owned, but not what their patterns point to */
	const struct ks_selector **list;
};

/*
 * 1 if a bound that says something of classes may hide a kstat of the machine with this name, 0 if not, -1 with
 * errno and a message if that cannot be found out. The first question lists the machine's kstats.
 */
int ks_rivals_find(struct ks_rivals *r, const struct ks_only *only, const char *module, int instance,
    const char *name);

void ks_rivals_free(struct ks_rivals *r);

/* The machine as a source, or the trees that the environment names in its place; NULL with errno. */
struct ks_source *ks_machine_open(void);

#endif
