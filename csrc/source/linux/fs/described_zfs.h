/* described_zfs.h - metadata of the statistics of OpenZFS. SPDX-License-Identifier: MIT */
#ifndef SOURCE_LINUX_FS_DESCRIBED_ZFS_H
#define SOURCE_LINUX_FS_DESCRIBED_ZFS_H

#include "model/meta.h"

/* The statistics whose meaning is known; a NULL stat ends the table. */
extern const struct ks_meta ks_zfs_known[];

/*
 * Returns the metadata of a statistic, which stays until the thread's next call; NULL for crtime and such. If it is
 * not known: a general sentence with its name.
 */
const struct ks_meta *ks_zfs_meta(const char *stat);

#endif
