/*
 * watch.h - kstats of a chain that are read over and over, each with the reading before: two sections of data
 * take turns, nothing is copied. A watch is good until the chain is updated with a change, or closed.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_WATCH_H
#define CHAIN_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "chain/delta.h"
#include "kstat.h"

struct ks_watch;

/* Owned by the caller; the chain is borrowed. NULL with errno ENOMEM. */
struct ks_watch *ks_watch_new(kstat_ctl_t *kc);

/*
 * Watches a kstat of the chain, which was read; what it holds now is the earlier reading of the next
 * ks_watch_read(). One that is watched is not watched twice. Returns its number, or -1 with errno: ENOMEM, EINVAL
 * it was not read.
 */
int ks_watch_add(struct ks_watch *w, kstat_t *ksp);

/* Reads all. 0; or -1 with errno if one cannot be read: then all of them are what they were before. */
int ks_watch_read(struct ks_watch *w);

size_t ks_watch_length(const struct ks_watch *w);

/*
 * The last reading of number i, borrowed from the chain; NULL if it left the chain. The one call that is
 * allowed after a change.
 */
const kstat_t *ks_watch_last(const struct ks_watch *w, size_t i);

/* What happened to number i between the last two readings; false if nothing can be said. */
bool ks_watch_delta(const struct ks_watch *w, size_t i, struct ks_delta *d);

/* The kstats of the chain keep their last reading. The chain may be closed. */
void ks_watch_free(struct ks_watch *w);

#endif
