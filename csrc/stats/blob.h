/* blob.h - what the files of this folder share about blobs. SPDX-License-Identifier: MIT */
#ifndef STATS_BLOB_H
#define STATS_BLOB_H

#include <stdint.h>

#include "stats/abi.h"

/* The monotonic clock as seconds in 32.32 fixed point. */
int64_t ks_sb_now(void);

/*
 * Whether two blobs have the same template's hash, slots and bucket bounds; equal hashes
 * alone are no proof. Both have passed stats_blob_check() or were made here.
 */
bool ks_sb_same_layout(const struct ks_sb *a, const struct ks_sb *b);

#endif
