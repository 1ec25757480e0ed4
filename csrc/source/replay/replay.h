/*
 * replay.h - a file in place of the machine: a capture (JSON) or a recording, told apart by how it
 * starts. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_REPLAY_H
#define SOURCE_REPLAY_REPLAY_H

#include <stdint.h>

#include "source/source.h"

/* Which samples: those whose time of day (ns since 1970) lies between, bounds included. */
struct ks_window {
	int64_t from, to;
	const char *from_text, *to_text; /* the bounds as they were given, for messages; NULL: none */
};

#define KS_WINDOW_ALL ((struct ks_window){ INT64_MIN, INT64_MAX, NULL, NULL })

/*
 * Opens a capture or a recording ("-": a capture on standard input) at the first sample of the
 * window, and ends it with the last one. The texts of the window are borrowed for the call.
 * NULL with errno: ENODATA no sample in that time, EBADMSG damaged, or what open() says.
 */
struct ks_source *ks_source_replay_open(const char *path, const struct ks_window *window);

/* As ks_source_replay_open(), for a file that is a recording. */
struct ks_source *ks_source_recording_open(const char *path, const struct ks_window *window);

/* Fails with ENODATA: the file has samples, but none in the window. Returns -1. */
int ks_replay_fail_outside(const char *path, const struct ks_window *window);

#endif
