/* blob.h - what the files of this folder share about blobs. SPDX-License-Identifier: MIT */
#ifndef STATS_BLOB_H
#define STATS_BLOB_H

#include <stdint.h>

#include "stats/abi.h"

/* Returns the time of the monotonic clock in seconds, 32.32 fixed point. */
int64_t ks_sb_now(void);

/*
 * Returns whether two blobs have equal template hashes, slots and bucket bounds; equal hashes alone prove
 * nothing. Both blobs must have passed stats_blob_check() or been made by this library.
 */
bool ks_sb_same_layout(const struct ks_sb *a, const struct ks_sb *b);

#endif
