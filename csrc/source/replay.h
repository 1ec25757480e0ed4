/*
 * replay.h - a file in place of the machine: a capture (JSON) or a recording, told apart by how it
 * starts. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_H
#define SOURCE_REPLAY_H

#include <stdint.h>

#include "source/source.h"

/*
 * Opens a capture or a recording ("-": a capture on standard input) at its first sample from `from`
 * on, and ends it with the last one up to `to` (times of day, ns since 1970; INT64_MIN and INT64_MAX:
 * all of it). NULL with errno: ENODATA no sample in that time, EBADMSG damaged, or what open() says.
 */
struct ks_source *ks_source_replay_open(const char *path, int64_t from, int64_t to);

/* As ks_source_replay_open(), for a file that is a recording. */
struct ks_source *ks_source_recording_open(const char *path, int64_t from, int64_t to);

#endif
