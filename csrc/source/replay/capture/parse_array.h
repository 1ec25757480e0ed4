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

/* The next byte, which stays: 1. 0 at the end, -1 after a failure, which the notes tell. */
int ks_capture_peek(struct ks_capture_input *in, struct ks_capture_notes *n, char *c);

/*
 * Parses what follows the "[" of an array. True: the array is complete, and the input stands
 * behind it. False: the notes tell of damage, and the input stands where later arrays are to be
 * looked for; or they tell that nothing can be read any further. What was complete is in the sample.
 */
bool ks_capture_array_parse(struct ks_capture_input *in, struct ks_capture_builder *b);

#endif
