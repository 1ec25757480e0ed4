/*
 * frame_file.h - the file of a recording: 16 bytes that say what it is, then frames. A frame is
 * one sample; it is written whole or not at all. All numbers are little-endian:
 *
 *     offset 0   4 bytes  "KSK3": a keyframe, which needs none before it; "KSK2": one of version 2, in
 *                     which and behind which nothing says who publishes a kstat; "KSK1": nor what
 *                     statistics mean; "KSD1": any other
 *            4   u32      bytes of the payload
 *            8   i64      time of day of the sample, ns since 1970
 *           16   u32      CRC-32 of the 16 bytes before and of the payload
 *           20   payload: the bytes of codec.h, deflated. The frames from one keyframe
 *                to the next are one deflate stream, flushed after each (the four bytes that
 *                every flush ends with, 00 00 ff ff, are left out).
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_FRAME_FILE_H
#define SOURCE_REPLAY_RECORDING_FRAME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define KS_REC_MAGIC "kstat-recording\n"
#define KS_REC_MAGIC_SIZE 16
#define KS_REC_HEADER_SIZE 20
#define KS_REC_MOST_PAYLOAD (64u << 20) /* bytes; a longer one is damage */
#define KS_REC_FLUSH "\x00\x00\xff\xff"
#define KS_REC_FLUSH_SIZE 4

#define KS_REC_VERSION 3 /* of what is written */

struct ks_rec_frame {
	bool key;
	unsigned version; /* of a keyframe: KS_REC_VERSION, or that of an older recording */
	uint32_t size; /* of the payload, bytes */
	int64_t time_of_day;
	uint32_t crc; /* of a frame that was read */
};

/* Writes the header of a frame, whose payload lies behind the KS_REC_HEADER_SIZE bytes for it; f->crc is not needed. */
void ks_rec_frame_pack(const struct ks_rec_frame *f, unsigned char *frame);

/*
 * Reads the frame header at an offset of a file. 1; 0 if the file ends there, or inside of the frame, which
 * *torn says; -1 with errno EBADMSG if it is damaged, or what pread() says.
 */
int ks_rec_frame_read(int fd, off_t at, off_t file_size, struct ks_rec_frame *f, bool *torn);

/*
 * Reads the payload of the frame at an offset, whose header is *f, into `to`, which has room for
 * KS_REC_FLUSH_SIZE bytes more then. in_stream: a keyframe was read before. 1; 0 if the recording ends in
 * the frame: a crash of the machine can leave zeros from somewhere in it up to the end of the file; -1 with
 * errno EBADMSG if it is damaged, ENOMEM, or what pread() says.
 */
int ks_rec_payload_read(int fd, off_t at, off_t file_size, const struct ks_rec_frame *f,
    bool in_stream, struct ks_buf *to);

/* The same as pread(), but reads less than n bytes only at the end of the file. */
ssize_t ks_rec_read_at(int fd, void *to, size_t n, off_t at);

#endif
