/*
 * rivals.h - finds out whether the machine has a kstat with the name of a published one, although the chain's bound
 * left it out because of its class: a published kstat never replaces one of the machine.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_RIVALS_H
#define CHAIN_RIVALS_H

#include <stdbool.h>

#include "chain/chain.h"
#include "chain/selector.h"

/* All zero before the first question. */
struct ks_rivals {
	kstat_ctl_t *machine; /* what the bound would hold of the machine if it said nothing of classes; owned */
	struct ks_selector *selector;      /* its bound; owned, but not what their patterns point to */
	const struct ks_selector **list;
};

/*
 * 1 if a bound that says something of classes may hide a kstat of the machine with this name, 0 if not, -1 with
 * errno and a message if that cannot be found out. The first question opens the machine.
 */
int ks_rivals_find(struct ks_rivals *r, const struct ks_only *only, const char *module, int instance,
    const char *name);

void ks_rivals_free(struct ks_rivals *r);

#endif
