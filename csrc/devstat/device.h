/*
 * device.h - what the files of devstat share: devices made of kstats, the words for their kinds, lists of them, and
 * failing with a text. SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_DEVICE_H
#define DEVSTAT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

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

/* Returns the first known word that these len bytes start with, without regard to case, or NULL. */
const struct devstat_match_table *ks_devstat_word(const char *item, size_t len);

/* Returns the word for a device's type (DEVSTAT_MATCH_TYPE) or interface (DEVSTAT_MATCH_IF), or NULL. */
const char *ks_devstat_type_word(devstat_type_flags type, devstat_match_flags field);

/*
 * Makes dinfo's memory hold n devices and returns them. The memory is kept from call to call; free() releases
 * it. NULL without memory; dinfo is unchanged then.
 */
struct devstat *ks_devinfo_room(struct devinfo *dinfo, size_t n);

/*
 * Declares that the memory holds numdevs devices of this generation. Returns 1 if the generation or the
 * number differs from before, else 0.
 */
int ks_devinfo_set(struct devinfo *dinfo, int numdevs, long generation);

/* Which figures besides those of the disks the chain has. */
struct ks_devstat_extra {
	bool cpu; /* cp_time was stored */
	bool tty; /* tk_nin and tk_nout were stored */
};

/* As devstat_list_getdevs(); extra may be NULL. */
int ks_devstat_list_read(devstat_list_t *list, struct statinfo *stats,
    struct ks_devstat_extra *extra);

/*
 * Returns the number of devices and stores the list's generation unless `generation` is NULL. Reads no data,
 * only the headers of the chain. -1 without memory.
 */
int ks_devstat_list_count(devstat_list_t *list, long *generation);

/* Makes the generations of a list that was just opened follow this one. */
void ks_devstat_list_follow(devstat_list_t *list, long generation);

/* Returns the last generation, 0 if there was none. */
long ks_devstat_list_generation(const devstat_list_t *list);

/*
 * Sets errno to err, and devstat_errbuf (so also kstat_errmsg()) to the text, cut to its size.
 * Returns -1.
 */
int ks_devstat_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
