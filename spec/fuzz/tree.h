/*
 * tree.h - what the fuzzers of trees of /proc and /sys share.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <stdio.h>
#include <stdlib.h>

#include "chain/chain.h"
#include "chain/values.h"

/* Ends the fuzzer, with what errno means, unless a condition is true. */
static void
check(bool is_true, const char *what)
{
	if (!is_true) {
		perror(what);
		abort();
	}
}

/* Reads a kstat, and walks along its values; describes: asks for the metadata of each, too. */
static void
read_one(kstat_ctl_t *kc, kstat_t *k, bool describes)
{
	static struct ks_values values;

	if (kstat_read(kc, k, NULL) < 0)
		return;
	values.n = 0;
	check(ks_values_collect(&values, k, true) == 0, "collect");
	for (size_t i = 0; i < values.n && describes; i++)
		(void)ks_chain_meta(kc, k, values.pair[i].name);
}

#endif
