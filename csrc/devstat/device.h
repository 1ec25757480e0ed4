/*
 * device.h - one struct devstat from the kstats of a disk or tape. SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_DEVICE_H
#define DEVSTAT_DEVICE_H

#include <stdbool.h>

#include "devstat.h"

/* True if the kstat is a device of the list: KSTAT_TYPE_IO of class disk or tape. */
bool ks_is_device(const kstat_t *ksp);

/*
 * Reads the kstat and its companions, NAMED kstats of the same module and instance that may or
 * may not be there, and fills *ds. Returns 0, or -1 with errno: the device is gone or cannot
 * be read.
 *
 * "<name>,detail" is what Linux counts of a disk: 64-bit reads and writes with the times of
 * each, discards (kind "free") and flushes (kind "other").
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
 * The counters are for systems that count as devstat does, and win over the others.
 *
 * Without companions, type and interface follow from the name, transactions and bytes from the
 * IO kstat, and its queues' Riemann sum is the duration of kind "other", as nobody knows of
 * which kind it is.
 */
int ks_device_read(kstat_ctl_t *kc, kstat_t *ksp, struct devstat *ds);

/* Fills device_name, unit_number and system_name from a kstat's module, instance and name. */
void ks_device_set_name(struct devstat *ds, const kstat_t *ksp);

/* A named value as a number, 0 if it is none; negative and fractional ones are cut. */
uint64_t ks_named_number(const kstat_named_t *kn);

#endif
