/*
 * tree.h - what fuzzers share that write trees of /proc and /sys below a directory in memory, and read kstats of them.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chain/chain.h"
#include "chain/values.h"

static char root[64];

/* Ends the fuzzer, with what errno means, unless a condition is true. */
static void
check(bool is_true, const char *what)
{
	if (!is_true) {
		perror(what);
		abort();
	}
}

static void
make_root(void)
{
	(void)snprintf(root, sizeof(root), "/dev/shm/kstat-fuzz.XXXXXX");
	check(mkdtemp(root) != NULL, root);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void
remove_root(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Reads a kstat, and walks along its values. */
static void
read_one(kstat_ctl_t *kc, kstat_t *k)
{
	static struct ks_values values;

	if (kstat_read(kc, k, NULL) < 0)
		return;
	values.n = 0;
	check(ks_values_collect(&values, k, true) == 0, "collect");
	for (size_t i = 0; i < values.n; i++)
		(void)ks_chain_meta(kc, k, values.pair[i].name);
}

#endif
