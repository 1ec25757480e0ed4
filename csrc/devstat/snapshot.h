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
 * Room for n devices in dinfo's memory, which is kept from call to call and given back by free().
 * NULL without memory; dinfo then is as it was.
 */
struct devstat *ks_devinfo_room(struct devinfo *dinfo, size_t n);

/*
 * Says that the room holds numdevs devices of this generation. Returns 1 if the generation is
 * another one than before, else 0.
 */
int ks_devinfo_set(struct devinfo *dinfo, int numdevs, long generation);

/* What the chain had besides the disks. */
struct ks_devstat_extra {
	bool cpu; /* cp_time is known */
	bool tty; /* the terminal counts are known */
};

/* As devstat_list_getdevs(); extra may be NULL. */
int ks_devstat_list_read(devstat_list_t *list, struct statinfo *stats,
    struct ks_devstat_extra *extra);

/*
 * Looks at the chain's headers only: the number of devices, and through *generation (NULL:
 * not wanted) the list's generation. -1 without memory.
 */
int ks_devstat_list_count(devstat_list_t *list, long *generation);

/* Of a list that was just opened: the generations to come are above this one. */
void ks_devstat_list_follow(devstat_list_t *list, long generation);

/* The last generation, 0 if there was none. */
long ks_devstat_list_generation(const devstat_list_t *list);

#endif
