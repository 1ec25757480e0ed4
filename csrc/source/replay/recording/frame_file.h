/*
 * frame_file.h - the file of a recording: 16 bytes that say what it is, then frames. A frame is
 * one sample; it is written whole or not at all. All numbers are little-endian:
 *
 *     offset 0   4 bytes  what it is, see below
 *            4   u32      bytes of the payload
 *            8   i64      time of day of the sample, ns since 1970
 *           16   u32      CRC-32 of the 16 bytes before and of the payload
 *           20   payload: the bytes of codec.h, deflated. The frames from one keyframe
 *                to the next are one deflate stream, flushed after each (the four bytes that
 *                every flush ends with, 00 00 ff ff, are left out).
 *
 * "KSK5" is a keyframe, which needs none before it. Its payload starts with
 *     offset 20  u32      how often the time of a sample of the file is before that of the sample before
 *            24   u32      CRC-32 of the 16 bytes at offset 0 and the 4 at offset 20
 * "KSL5" is a light keyframe, which needs the last "KSK5" and nothing between: it says how its sample differs from that
 * one, and starts a deflate stream. "KSD5" is any other frame. So a reader comes to a sample by one keyframe, at most
 * one light one, and the frames behind that. It finds keyframes from any byte of the file on: in what is deflated a
 * byte 00 follows each "KSK", which readers take out, so that nothing that somebody publishes looks like one.
 *
 * Older files, which a recorder of today continues with a keyframe, have neither light keyframes nor what starts the
 * payload, nor is a byte put in. Their keyframes are "KSK4"; "KSK3", in which and behind which no field of a structure
 * is hidden; "KSK2": nor does anything say who publishes a kstat; "KSK1": nor what statistics mean. Others are "KSD1".
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_FRAME_FILE_H
#define SOURCE_REPLAY_RECORDING_FRAME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

#include "base/buf.h"

#define KS_REC_MAGIC "kstat-recording\n"
#define KS_REC_MAGIC_SIZE 16
#define KS_REC_HEADER_SIZE 20
#define KS_REC_MOST_PAYLOAD (64u << 20) /* bytes; a longer one is damage */
#define KS_REC_FLUSH "\x00\x00\xff\xff"
#define KS_REC_FLUSH_SIZE 4

#define KS_REC_VERSION 5 /* of what is written, and the first with light keyframes */
#define KS_REC_CHECK_SIZE 8 /* bytes before what is deflated of a keyframe */

/* --- reading --------------------------------------------------------------------------- */

enum ks_rec_kind { KS_REC_DIFFERENCE, KS_REC_LIGHT, KS_REC_KEY };

struct ks_rec_frame {
	enum ks_rec_kind kind;
	unsigned version; /* KS_REC_VERSION, or that of an older recording */
	uint32_t size; /* of the payload, bytes */
	int64_t time_of_day;
	uint32_t crc; /* of a frame that was read */
};

/*
 * Reads the frame header at an offset of a file. 1; 0 if the file ends there, or inside of the frame, which
 * *torn says; -1 with errno EBADMSG if it is damaged, or what pread() says.
 */
int ks_rec_frame_read(int fd, off_t at, off_t file_size, struct ks_rec_frame *f, bool *torn);

/*
 * Reads what is deflated of the frame at an offset, whose header is *f, into `to`, which has room for
 * KS_REC_FLUSH_SIZE bytes more then. 1; 0 if the recording ends in the frame: a crash of the machine can
 * leave zeros from somewhere in it up to the end of the file; -1 with errno EBADMSG if it is damaged, ENOMEM,
 * or what pread() says.
 */
int ks_rec_payload_read(int fd, off_t at, off_t file_size, const struct ks_rec_frame *f, struct ks_buf *to);

/* True if there is a keyframe of version 5 or later at an offset. *set_back: see above. */
bool ks_rec_is_key(int fd, off_t at, struct ks_rec_frame *f, uint32_t *set_back);

/* The same as pread(), but reads less than n bytes only at the end of the file. */
ssize_t ks_rec_read_at(int fd, void *to, size_t n, off_t at);

/* --- finding ------------------------------------------------------------------------------- */

/*
 * Where to look from for samples at or after a time of day: a keyframe before which all are earlier, if the times of
 * the file are in order, which *ordered says; else the first frame.
 */
off_t ks_rec_find_start(int fd, off_t file_size, int64_t time, bool *ordered);

/*
 * The first keyframe of version 5 or later behind an offset where something is damaged, and its time: frames are read
 * again from there on. -1, and INT64_MAX: there is none.
 */
off_t ks_rec_find_key_behind(int fd, off_t at, off_t file_size, int64_t *time);

/* The last keyframe of version 5 or later before an offset; without one the first frame. */
off_t ks_rec_find_key_before(int fd, off_t before);

/*
 * Calls visit(context, time) with the time of day of each frame of a file of that size, from the one at an offset on,
 * until it returns false; only headers are read, and behind a damaged one those from the next keyframe on. 0, or -1 as
 * ks_rec_frame_read().
 */
int ks_rec_times(int fd, off_t at, off_t file_size, bool (*visit)(void *context, int64_t time), void *context);

/*
 * Stores the time of day of the last frame of a file of that size. 1, 0 if there is none, -1 as ks_rec_frame_read(), with
 * the time of the last frame before the damage. The headers behind the last keyframe are read if the file does not end
 * with a whole frame, or ends with a large one.
 */
int ks_rec_last_time(int fd, off_t file_size, int64_t *time);

/* --- writing --------------------------------------------------------------------------- */

/*
 * Writes the header of a frame, behind which its payload lies, and what the payload of a keyframe starts with; f->crc is
 * ignored.
 */
void ks_rec_frame_pack(const struct ks_rec_frame *f, uint32_t set_back, unsigned char *frame);

/* Which file a sample was read from, for as long as it waits to be written; 0, 0: none. */
struct ks_rec_input {
	dev_t dev;
	ino_t ino;
};

struct ks_rec_input ks_rec_input_of(int fd);

/* The file is whole up to `size` between calls; the next frame replaces what lies behind. */
struct ks_rec_writer {
	char *path;          /* for messages; owned */
	int fd;
	off_t size;          /* bytes: whole frames only */
	bool started;        /* what was behind them is cut off */
	uint32_t set_back;   /* how often the time of a frame is before that of the one before, and this one's */
	int64_t time_of_day;
	z_stream deflater;
	struct ks_buf frame; /* the one that is being written or looked at */
};

/*
 * Opens the file, with a lock that keeps other writers out, and finds the end of its last whole frame; all of
 * them are looked at. Nothing is written. 0, or -1 with errno: EEXIST it is a file of another kind, EWOULDBLOCK
 * another writer has it and did not end within a second, EBADMSG it is damaged, or what open() says. Close it in
 * both cases.
 */
int ks_rec_writer_open(struct ks_rec_writer *w, const char *path);

/*
 * The same in an open directory: `path` is for messages, and its last component is what is opened there, not through a
 * link, for its owner and group alone. is_new: EEXIST also if there is anything of that name.
 */
int ks_rec_writer_open_in(struct ks_rec_writer *w, int dir, const char *path, bool is_new);

/* Locks an open file or directory against other recorders. 0, or -1 with errno; it waits for a second. */
int ks_rec_lock(int fd);

/*
 * Makes w->frame of a sample. 0, or -1 with errno; the next frame must
 * then be a keyframe, and also if this one is not put into the file.
 */
int ks_rec_writer_pack(struct ks_rec_writer *w, enum ks_rec_kind kind, int64_t time_of_day,
    const struct ks_buf *sample);

/*
 * Before a frame: refuses to write the file that the samples come from. Before the first one it cuts off what
 * a killed recorder left behind the last whole frame, and says what the file is. 0, or -1 with errno.
 */
int ks_rec_writer_start(struct ks_rec_writer *w, struct ks_rec_input input);

/* Appends that frame. 0, or -1 with errno, EINVAL if it was read from the file that is written. */
int ks_rec_writer_put(struct ks_rec_writer *w, struct ks_rec_input input);

void ks_rec_writer_close(struct ks_rec_writer *w);

#endif
