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

#endif
