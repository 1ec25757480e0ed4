/*
 * replay.h - the past in place of the machine: a file, a capture (JSON) or a recording, which is known by how it starts;
 * or several, as one stream of samples. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_REPLAY_H
#define SOURCE_REPLAY_REPLAY_H

#include <stdint.h>

#include "source/replay/reader.h"

/*
 * Opens a capture or a recording ("-": a capture on standard input) at the first sample of the window.
 * The replay ends with the last sample of the window. NULL with errno: ENODATA no sample in that time,
 * EBADMSG damaged, or what open() says.
 */
struct ks_source *ks_source_replay_open(const char *path, const struct ks_window *window);

/*
 * True if a plain file begins as recordings do. False also if it cannot be read, with errno. A pipe is
 * not looked into, because what is read from it would be lost; it can only be a capture.
 */
bool ks_replay_is_recording(const char *path);

/* Fails because a file or several have no sample in the window: errno is ENODATA. */
int ks_replay_fail_outside(const char *path, const struct ks_window *w);

/* Called for each sample that is read behind the first, unless it is NULL: to say how far a long reading is. */
extern void (*ks_replay_watch)(void);

/* --- stream.c ------------------------------------------------------------------------------- */

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
