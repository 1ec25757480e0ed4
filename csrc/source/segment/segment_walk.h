/*
 * segment_walk.h - the entries of one file of published kstats, one after the other, for who reads a hundred
 * thousand of them and keeps none. The file is copied in large pieces, and nothing of it is remembered.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SEGMENT_SEGMENT_WALK_H
#define SOURCE_SEGMENT_SEGMENT_WALK_H

#include "source/segment/segment_file.h"

struct ks_seg_walk {
	struct ks_seg_file file; /* its header is that of the beginning */
	struct ks_seg_piece piece;
	uint64_t at;             /* where the next entry starts */
};

/* Opens a file for a walk. -1 with errno and a message. */
int ks_seg_walk_open(struct ks_seg_walk *w, const char *path);

void ks_seg_walk_close(struct ks_seg_walk *w);

/*
 * Returns n bytes of the file, a MiB at most, in a copy that is good until the next call of a function of the walk, as
 * aligned as in the file. NULL with errno and a message: the file does not have them.
 */
const char *ks_seg_walk_bytes(struct ks_seg_walk *w, uint64_t offset, size_t n);

enum { KS_WALK_END, KS_WALK_KSTAT, KS_WALK_MORE };

/*
 * Stores the fixed part of the next kstat that readers are shown, and where its entry starts: KS_WALK_KSTAT.
 * Nothing of it was checked but its size, which lies within the file. KS_WALK_MORE: there was none among the
 * next `most` entries. -1 with errno and a message: the file is damaged.
 */
int ks_seg_walk_next(struct ks_seg_walk *w, struct ks_seg_entry *e, uint64_t *offset, size_t most);

#endif
