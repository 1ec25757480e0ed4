/*
 * interval.h - finds the one interval that ends at a time, and gaps (base/gap.h), by the times of the samples alone.
 *
 * The interval ends with the last sample up to that time, and begins with the sample before it, or with the one that
 * is as far before it as was asked for. There is none in a gap.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_INTERVAL_H
#define SOURCE_REPLAY_INTERVAL_H

#include <stdint.h>

#include "source/replay/files.h"

/* The times of some samples that follow each other, in their order. All zeros at first. */
struct ks_times {
	int64_t *time; /* owned */
	size_t n, cap;
	size_t at;     /* what was looked for last */
	int64_t from;  /* what a file has before that was read in another one */
	bool is_set;   /* in this file clocks were perhaps set back */
	int64_t until; /* two samples behind that time are enough; */
	size_t beyond; /* fewer were found where files end */
	const int64_t *start; /* as ks_file_times() */
	bool failed;   /* no memory */
};

struct ks_interval {
	size_t file;      /* the first one that has to be read */
	int64_t from, to; /* the times of its two samples, ns since 1970 */
	bool is_twice;    /* clocks were set back over this time: it is the first one */
};

/*
 * Finds the interval of `length` ns (0: from one sample to the next) that ends at or before a time. 0, or -1 with errno:
 * ENODATA there is none, and the message says what there is, or what ks_file_times() says.
 */
int ks_interval_find(struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found);

/*
 * The distance that is usual beside two samples of these times (base/gap.h), the second of which follows the first; 0: it
 * is not known, as of a pipe; -1 with errno: memory or descriptors are short. What it reads stays in t for the next call,
 * which the caller frees.
 */
int64_t ks_interval_usual(struct ks_times *t, struct ks_files *files, int64_t from, int64_t to);

/* Stores the time of the last sample. 0, or -1 as ks_file_times(). */
int ks_interval_end(struct ks_files *files, int64_t *time);

#endif
