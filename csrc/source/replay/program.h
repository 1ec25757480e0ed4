/*
 * program.h - what programs in C that know kstats from illumos get of a replay beyond what the file has: the records
 * of illumos, whole, in its order and with its types, and in the first CPU what Linux counts for the machine alone.
 * A capture tells neither order nor types, and a recording may be of a version that did not have all of this.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_PROGRAM_H
#define SOURCE_REPLAY_PROGRAM_H

#include "source/replay/reader.h"

/* True if the kstat is that of a loop device or the like, which come behind all others. */
bool ks_program_is_late(const struct ks_replay *r, const struct ks_store_kstat *k);

/* True if the cookie is that of a kstat that ks_program_offer() added. */
bool ks_program_has(uint64_t cookie);

/* Offers the kstats that Linux has for such programs alone, unless the sample has them. -1 with errno. */
int ks_program_offer(struct ks_replay *r, struct ks_scan *scan);

/* Reads one of those. -1 with errno. */
int ks_program_read(const struct ks_replay *r, uint64_t cookie, struct ks_record *record);

/* Completes what was read of a kstat of the sample. -1 with errno. */
int ks_program_complete(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_record *record);

/*
 * Stores in an offer what such programs find in the header before the first read: the number and the size of the
 * data records when they are complete. -1 with errno.
 */
int ks_program_measure(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_offer *offer);

#endif
