/*
 * stream.h - parses captures: what `kstat -j` printed, illumos's or ours. One array is
 * one sample; arrays follow each other with anything blank between, and before an array the
 * line that -T prints may stand. What is neither is passed over, up to the next line that starts
 * with an array. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_STREAM_H
#define SOURCE_REPLAY_CAPTURE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/replay/capture/input.h"
#include "source/replay/capture/note.h"
#include "source/replay/capture/capture_sample.h"

struct ks_capture_parser {
	struct ks_capture_input in;
	struct ks_capture_sample sample;
	/*
	 * What is to be told of the sample, and of what was passed over before it, which the owner
	 * clears (notes.damages) when it has told it.
	 */
	struct ks_capture_notes notes;
	uint64_t number; /* of the sample in `sample`, from 1; 0: none yet */
	bool has_time;   /* a time stamp stood before it */
	int64_t time;    /* ns since 1970 */
	bool lost;       /* behind damage: the next array starts a line */
	int64_t until;   /* the owner's wish: samples with a later time of day are not read */
	bool past;       /* there was one */
};

/* path "-": standard input. 0, or -1 with errno and message; free it in either case. */
int ks_capture_parser_open(struct ks_capture_parser *p, const char *path);

void ks_capture_parser_free(struct ks_capture_parser *p);

/*
 * Parses the next array into p->sample, or of a damaged one what was complete before the damage; one
 * without anything complete is passed over. 1: there is one. 0: the capture has no more, or none up to
 * p->until. -1 with errno and message: it cannot be read any further, or its end is damage that was not
 * told. Unless there is one, p->sample stays as it is.
 */
int ks_capture_parser_next(struct ks_capture_parser *p);

#endif
