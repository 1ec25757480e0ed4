/*
 * segment_idle.h - which kstats of a file of published kstats nobody has counted in for a while: for a
 * publisher that gives up such rows. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SEGMENT_SEGMENT_IDLE_H
#define SOURCE_SEGMENT_SEGMENT_IDLE_H

#include "source/segment/segment_walk.h"

/*
 * What is known from the last walk over the file: of each kstat of numbers their sum, of each statsblob and
 * histogram the word that counts its changes, and since when that is the same. Both lists are in the order of the file.
 */
struct ks_seg_idle {
	struct ks_seg_walk walk;
	struct ks_seg_seen *now, *before; /* owned */
	size_t n, cap, nbefore, before_cap, at;
	bool is_walking;
};

/* Begins a walk. -1 with errno and a message. */
int ks_seg_idle_begin(struct ks_seg_idle *s, const char *path);

/*
 * Goes on with it for less than a millisecond, until a kstat of one of n classes (of all that begin so, if one ends
 * in '.') did not change for so many
 * seconds, and stores its name; now: seconds of a clock. Kstats of numbers without texts are nobody's rows,
 * and never idle. KS_WALK_KSTAT; KS_WALK_MORE: none so far; KS_WALK_END; -1 with errno.
 */
int ks_seg_idle_next(struct ks_seg_idle *s, const char *const *classes, size_t n, double now, double seconds,
    char name[KSTAT_STRLEN]);

void ks_seg_idle_free(struct ks_seg_idle *s);

#endif
