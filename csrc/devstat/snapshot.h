/*
 * snapshot.h - the memory behind a struct devinfo, and reading a list with what struct statinfo
 * cannot say. SPDX-License-Identifier: MIT
 */
#ifndef DEVSTAT_SNAPSHOT_H
#define DEVSTAT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "devstat.h"

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

#endif
