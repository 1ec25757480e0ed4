/*
 * frame_writer.h - writes samples behind each other into the file of a recording, as frame_file.h has it. A file
 * that exists is continued behind its last whole frame. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_FRAME_WRITER_H
#define SOURCE_REPLAY_RECORDING_FRAME_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

#include "base/buf.h"

/* The file is whole up to `size` between calls. What lies behind that nobody reads, and the next frame replaces it. */
struct ks_rec_writer {
	char *path;          /* for messages; owned */
	int fd;
	off_t size;          /* bytes: whole frames only */
	bool started;        /* what was behind them is cut off */
	z_stream deflater;
	struct ks_buf frame; /* the one that is being written or looked at */
};

/*
 * Opens the file, with a lock that keeps other writers out, and finds the end of its last whole frame; all of them
 * are looked at. Nothing is written. 0, or -1 with errno as ks_recorder_open() has it; close it in both cases.
 */
int ks_rec_writer_open(struct ks_rec_writer *w, const char *path);

/*
 * Appends the frame of a sample. is_key: no frame before it is needed to read it. `input` is the descriptor of the
 * file that the sample was read from, or -1. 0, or -1 with errno, EINVAL if this is the file that is written; the
 * next frame must then be a keyframe.
 */
int ks_rec_writer_add(struct ks_rec_writer *w, bool is_key, int64_t time_of_day, const struct ks_buf *sample,
    int input);

void ks_rec_writer_close(struct ks_rec_writer *w);

#endif
