/* blob.h - what the files of this folder share about blobs. SPDX-License-Identifier: MIT */
#ifndef STATS_BLOB_H
#define STATS_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/abi.h"

/* Returns the time of the monotonic clock in seconds, 32.32 fixed point. */
int64_t ks_sb_now(void);

/*
 * Returns whether two blobs have equal template hashes, slots and bucket bounds; equal hashes alone prove
 * nothing. `a` must have passed stats_blob_check() or been made by this library; of `b` only as many bytes
 * must be there.
 */
bool ks_sb_same_layout(const struct ks_sb *a, const struct ks_sb *b);

/*
 * As stats_voi_update_int(), _uint() and _dbl(). `form` is the blob itself; or `to` lies in memory in which
 * others may write at any time, and `form` is a blob of the same template that nobody changes. EBADMSG:
 * others overwrote `to`, of which a part may be updated by now.
 */
int ks_sb_update_int(const struct ks_sb *form, struct ks_sb *to, int32_t id, int64_t v, bool rel);
int ks_sb_update_uint(const struct ks_sb *form, struct ks_sb *to, int32_t id, uint64_t v, bool rel);
int ks_sb_update_dbl(const struct ks_sb *form, struct ks_sb *to, int32_t id, double v, bool rel);

/*
 * Returns the value that a SUM, MAX or MIN of data type dt starts with. ctl: the control bits of a Q
 * type, else 0.
 */
uint64_t ks_vss_start(int stype, unsigned dt, unsigned ctl);

#endif
