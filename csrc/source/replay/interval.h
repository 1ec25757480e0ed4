/*
 * interval.h - finds the one interval that ends at a time, by the times of the samples alone.
 *
 * The interval ends with the last sample up to that time, and begins with the sample before it, or with the one that
 * is as far before it as was asked for. There is none in a gap: a distance between two samples of a minute or more that
 * is more than three times the distances beside it.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_INTERVAL_H
#define SOURCE_REPLAY_INTERVAL_H

#include <stdint.h>

#include "source/replay/files.h"

#define KS_GAP 3 /* a distance that is so many times the usual one is a gap, */
#define KS_SHORTEST_GAP (60 * KS_NANOSEC) /* unless it is shorter: the recorder was only late */

struct ks_interval {
	size_t file;      /* the first one that has to be read */
	int64_t from, to; /* the times of its two samples, ns since 1970 */
};

/*
 * Finds the interval of `length` ns (0: from one sample to the next) that ends at or before a time. 0, or -1 with errno:
 * ENODATA there is none, and the message says what there is, or what ks_file_times() says.
 */
int ks_interval_find(const struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found);

/* Stores the time of the last sample. 0, or -1 as ks_file_times(). */
int ks_interval_end(const struct ks_files *files, int64_t *time);

#endif
