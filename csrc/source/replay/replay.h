/*
 * replay.h - a file in place of the machine: a capture (JSON) or a recording, which is known by how it starts.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_REPLAY_H
#define SOURCE_REPLAY_REPLAY_H

#include "source/replay/reader.h"

/*
 * Opens a capture or a recording ("-": a capture on standard input) at the first sample of the window.
 * The replay ends with the last sample of the window. NULL with errno: ENODATA no sample in that time,
 * EBADMSG damaged, or what open() says.
 */
struct ks_source *ks_source_replay_open(const char *path, const struct ks_window *window);

/*
 * True if a plain file begins as recordings do. False also if it cannot be read: opening it then says why. A pipe is
 * not looked into, because what is read from it would be lost; it can only be a capture.
 */
bool ks_replay_is_recording(const char *path);

/* Fails because a file or several have no sample in the window: errno is ENODATA. */
int ks_replay_fail_outside(const char *path, const struct ks_window *w);

/* Called for each sample that is read behind the first, unless it is NULL: to say how far a long reading is. */
extern void (*ks_replay_watch)(void);

#endif
