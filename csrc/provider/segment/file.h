/*
 * file.h - files of segments, below the publications that this process has open (publication.c).
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_FILE_H
#define PROVIDER_SEGMENT_FILE_H

#include <sys/stat.h>

#include "provider/segment/directory.h"
#include "provider/segment/segment.h"

#define KS_SEG_FIRST_STORAGE ((size_t)65536)
#define KS_SEG_TEMPORARY ".tmp" /* at the end of the name of a file that is being made */

/* The name of a publication's file; while it is being made: ".NAME.tmp". */
void ks_seg_file_name(char to[KS_SEG_NAME + 8], const struct kstat_pub *pub, bool temporary);

/* Fails with that errno and a line that names the file; returns -1. */
int ks_seg_fail_at(const struct ks_seg_dir *d, const char *file, int error);

/* Checks a header that was mapped or is about to be. */
bool ks_seg_header_is_good(const struct ks_seg_header *h, off_t size);

/* True if that can be an entry, of a segment that goes on for so many bytes. */
bool ks_seg_is_entry(const struct ks_seg_entry *e, uint64_t room);

/* Finds, takes over or makes the file; the directory is locked. -1 with errno and message if it failed. */
int ks_seg_take_file(struct kstat_pub *pub, const struct ks_seg_dir *d, int flags);

/*
 * Removes a file that nobody publishes; with `own`, one that this process published, whatever has become
 * of what is in it. 1 removed, 0 it is live, to be kept, or none of ours; -1 with errno.
 */
int ks_seg_remove_if_dead(const struct ks_seg_dir *d, const char *file, int flags, bool own);

#endif
