/*
 * note.h - messages about a capture. They name the file, the sample and the byte of the uncompressed text.
 * SPDX-License-Identifier: MIT
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
	/* What was left out of the array: a message about the first such thing, and their number. */
	char problem[KS_CAPTURE_MESSAGE];
	size_t problems;
	/* Text that was passed over: a message about the first such place, and their number. */
	char damage[KS_CAPTURE_MESSAGE];
	size_t damages;
	/* Why the capture cannot be read any further; end_errno 0: it can. */
	char end[KS_CAPTURE_MESSAGE];
	int end_errno;
};

/* Returns where the parser is in the whole text. */
uint64_t ks_capture_position(const struct ks_capture_notes *n);

/* Notes that something is left out of the current array, the rest of which can be read. */
void ks_capture_problem(struct ks_capture_notes *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes that the text at this byte is damaged; later arrays may be whole. Returns 0, so that yajl stops. */
int ks_capture_damage(struct ks_capture_notes *n, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that nothing can be read from this byte on. Returns 0, so that yajl stops. */
int ks_capture_end(struct ks_capture_notes *n, int error, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

int ks_capture_out_of_memory(struct ks_capture_notes *n);

#endif
