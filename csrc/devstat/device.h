/*
 * device.h - one struct devstat from the kstats of a disk or tape. SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_DEVICE_H
#define DEVSTAT_DEVICE_H

#include <stdbool.h>

#include "devstat.h"

/* Returns whether the kstat is a device for the list: KSTAT_TYPE_IO of class disk or tape. */
bool ks_is_device(const kstat_t *ksp);

/*
 * Reads the kstat and its companions, which are NAMED kstats of the same module and instance that not every
 * system has, and fills *ds. Returns 0, or -1 with errno if the device is gone or cannot be read.
 *
 * "<name>,detail" has what Linux counts for a disk: 64-bit reads and writes with their times,
 * discards (kind "free") and flushes (kind "other").
 *
 * "<name>,dev" (class device) says what the device is. Its statistics, all optional:
 *   device_type  a word of devstat_buildmatch(): "da", "cd", ...
 *   interface    "scsi", "ide", "other"
 *   pass         not 0: a passthrough device
 *   block_size   bytes
 *   priority     devstat_priority
 *   {other,read,write,free}_ops     transactions
 *   {other,read,write,free}_bytes   bytes
 *   {other,read,write,free}_time    sums of durations, ns
 *   busy_time                       ns
 * Systems that count as devstat does report these counters; they take precedence over the others.
 *
 * Without companions, type and interface are derived from the name, and transactions and bytes come from the
 * IO kstat. The Riemann sum of its queues becomes the duration of kind "other", because the kstat does not
 * say which kind of transaction took the time.
 */
int ks_device_read(kstat_ctl_t *kc, kstat_t *ksp, struct devstat *ds);

/* Fills device_name, unit_number and system_name from a kstat's module, instance and name. */
void ks_device_set_name(struct devstat *ds, const kstat_t *ksp);

/* Returns a named value as a number; 0 if it is negative or no number. Fractions are cut off. */
uint64_t ks_named_number(const kstat_named_t *kn);

#endif
