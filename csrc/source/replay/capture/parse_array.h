/*
 * parse_array.h - parses one array of kstats, as JSON, into a sample that was started.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_PARSE_ARRAY_H
#define SOURCE_REPLAY_CAPTURE_PARSE_ARRAY_H

#include <stdbool.h>

#include "source/replay/capture/builder.h"
#include "source/replay/capture/input.h"
#include "source/replay/capture/note.h"

/* Stores the next byte, without moving: 1. 0 at the end; -1 after a failure, which is in the notes. */
int ks_capture_peek(struct ks_capture_input *in, struct ks_capture_notes *n, char *c);

/*
 * Parses what follows the "[" of an array. Returns true if the array is complete; the input is behind it
 * then. Returns false after damage, which is in the notes; the input is then where the search for later
 * arrays starts, unless the notes say that nothing more can be read. Complete kstats are in the sample.
 */
bool ks_capture_array_parse(struct ks_capture_input *in, struct ks_capture_builder *b);

#endif
