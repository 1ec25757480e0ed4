/*
 * note.h - what is to be told about a capture, and where in it. Lines name the file, the
 * sample and the byte of the uncompressed text. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_NOTE_H
#define SOURCE_REPLAY_CAPTURE_NOTE_H

#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

#include "source/replay/capture/input.h"

#define KS_CAPTURE_MESSAGE 400

struct ks_capture_notes {
	const char *path;                  /* for messages; the owner keeps it */
	const struct ks_capture_input *in; /* what is being read */
	yajl_handle yajl;                  /* of the array under way; NULL between arrays */
	uint64_t number;                   /* of the last array, from 1 */
	/* What of the array had to be left out: the first such thing, and how many there were. */
	char problem[KS_CAPTURE_MESSAGE];
	size_t problems;
	/* Text that had to be passed over: the first such place, and how many there were. */
	char damage[KS_CAPTURE_MESSAGE];
	size_t damages;
	/* Why the capture cannot be read any further; errno 0: it can. */
	char end[KS_CAPTURE_MESSAGE];
	int end_errno;
};

/* Where the parser stands in the whole text. */
uint64_t ks_capture_position(const struct ks_capture_notes *n);

/* Something is left out of the array under way; the rest of it can be read. */
void ks_capture_problem(struct ks_capture_notes *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * What is at this byte is not to be understood; later arrays perhaps are. Returns 0, for yajl to
 * stop.
 */
int ks_capture_damage(struct ks_capture_notes *n, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Nothing can be read from this byte on. Returns 0, for yajl to stop. */
int ks_capture_end(struct ks_capture_notes *n, int error, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

int ks_capture_out_of_memory(struct ks_capture_notes *n);

#endif
