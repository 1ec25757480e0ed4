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

/* Writes a file; path: below the root. */
static void
put(const char *path, const void *text, size_t len)
{
	char name[512];
	int fd;

	(void)snprintf(name, sizeof(name), "%s/%s", root, path);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, text, len) == (ssize_t)len, name);
	(void)close(fd);
}

/* Reads all kstats, and walks along their values. */
static void
read_all(kstat_ctl_t *kc)
{
	struct ks_values values = { 0 };

	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) < 0)
			continue;
		values.n = 0;
		check(ks_values_collect(&values, k, true) == 0, "collect");
		for (size_t i = 0; i < values.n; i++)
			(void)ks_chain_meta(kc, k, values.pair[i].name);
	}
	while (ks_chain_warning(kc) != NULL)
		;
	ks_values_free(&values);
}

#endif
