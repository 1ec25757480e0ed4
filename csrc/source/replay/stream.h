/*
 * stream.h - the past as one stream of samples: files and directories, one behind the other in order of time.
 *
 * A file is read from its first sample that is later than the last one of the file before, so what two files have is
 * read once. Where the machine was started again, or nothing was recorded for long, the samples before and behind make no
 * difference: the stream is cut there, which ks_source_ops.cut tells. Files of two machines are refused.
 *
 * A file is chosen by the times at its two ends, which are in headers, or by its name until it is needed. Which samples
 * of a file an earlier one has, too, is found once, when it is opened (ks_machine_begin()): both have such times, and
 * count them by one clock. One rule says from when an incomplete time counts, the last sample, so that a command gives
 * the same tomorrow; only the recordings of this machine, which nobody named, count from now.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_STREAM_H
#define SOURCE_REPLAY_STREAM_H

#include <stdint.h>

#include "source/replay/reader.h"

/* Which part of the past is wanted. Texts are times as base/when.h reads them; NULL: there is none. */
struct ks_past {
	const char *paths;     /* what ks_files_list() takes */
	const char *from, *to; /* the first and the last time of day */
	const char *at;        /* the end of the one interval that is wanted, in place of from and to */
	int64_t interval;      /* how long that is, ns; 0: from one sample to the next */
	const char *host;      /* of several machines, the one that is meant; NULL, "*": all that one recording holds */
	int64_t now;           /* what incomplete times count from, ns since 1970; 0: the last sample */
	int64_t start;         /* see struct ks_window */
	size_t most;
};

/*
 * Opens the first sample that is wanted. NULL with errno: EINVAL a text is no time, or there are two machines, ENODATA
 * there is no such sample or, for `at`, no such interval, and what ks_source_replay_open() has.
 */
struct ks_source *ks_source_stream_open(const struct ks_past *past);

#endif
