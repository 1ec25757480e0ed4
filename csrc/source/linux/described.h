/*
 * described.h - metadata of counters that kernels have under their own names. A name that is not known has a
 * general description. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DESCRIBED_H
#define SOURCE_LINUX_DESCRIBED_H

#include "model/meta.h"

/* The statistics whose meaning is known, sorted by name but for those of OpenZFS; a NULL stat ends each table. */
extern const struct ks_meta ks_vm_events_known[], ks_tcp_ext_known[], ks_ip_ext_known[], ks_zfs_known[];

/* The number of statistics of such a table. */
#define KS_KNOWN(table) (sizeof(table) / sizeof(*(table)) - 1)

/* Return the metadata of a statistic, which stays until the thread's next call; NULL for crtime and such. */
const struct ks_meta *ks_vm_events_meta(const char *stat);
const struct ks_meta *ks_tcp_ext_meta(const char *stat);
const struct ks_meta *ks_ip_ext_meta(const char *stat);
const struct ks_meta *ks_zfs_meta(const char *stat);

/* The same: metadata like this, with a sentence that has the statistic's name in its middle. */
const struct ks_meta *ks_described_as(const struct ks_meta *like, const char *before, const char *stat,
    const char *after);

/*
 * Looks a statistic up in a table of n entries, sorted by name. If it is not there: a general sentence, which says
 * that the counter is from that file.
 */
const struct ks_meta *ks_described(const struct ks_meta *table, size_t n, const char *stat, const char *file);

#endif
