/*
 * space.h - where entries lie in a segment that this process publishes: found by name, and places
 * for new ones. The segment is locked (header.lock) in all of it. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_SPACE_H
#define PROVIDER_SEGMENT_SPACE_H

#include "provider/segment/segment.h"
#include "provider/segment/entry_image.h"

/*
 * space.c believes nothing that lies in the mapping: each offset and size is checked before it is used.
 */

/* Takes in entries that this or another process added. 0, or -1 with errno EIO (damaged), ENOMEM. */
int ks_seg_index_update(struct kstat_pub *pub);

/*
 * The entry of that name and layout, whatever became of it; else NULL, and the entry that has the
 * name in *other (or NULL).
 */
struct ks_seg_entry *ks_seg_find_entry(struct kstat_pub *pub, const struct ks_seg_entry *like,
    struct ks_seg_entry **other);

/* A new entry with that content, not yet installed. NULL with errno ENOSPC, ENOMEM, ... */
struct ks_seg_entry *ks_seg_place(struct kstat_pub *pub, const struct ks_seg_image *im);

/* Gives up an entry's place; the change is announced. */
void ks_seg_free_entry(struct kstat_pub *pub, struct ks_seg_entry *e, int64_t when);

/* Bytes of the entry at an offset, or 0 if no entry can be there. */
uint64_t ks_seg_entry_size(struct kstat_pub *pub, uint64_t offset);

/* False if the entry of that size, unless its place was given up, is not what a publisher wrote there. */
bool ks_seg_entry_is_whole(struct kstat_pub *pub, uint64_t offset, uint64_t size);

/*
 * Makes sure that `size` bytes from offset `used` on have storage: what is written there later is no SIGBUS.
 * 0, or -1 with errno ENOSPC.
 */
int ks_seg_take_storage(struct kstat_pub *pub, uint64_t used, uint64_t size);

void ks_seg_index_free(struct ks_seg_index *ix);

#endif
