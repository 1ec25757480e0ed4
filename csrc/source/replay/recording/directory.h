/*
 * directory.h - a directory of recordings, which a recorder writes for years within limits. The files are
 * kstat-YYYYMMDD-HHMMSS.rec, named after their first sample in UTC, so that names are in the order of time. A file ends
 * at midnight UTC, when it holds an eighth of the limit, and when the machine was started again; a recorder that
 * starts otherwise continues the newest one.
 *
 * Room for a sample is made before it is written, so that the limits hold at each moment. What is removed for it is
 * always the oldest file; and only files with such a name and the header of a recording are, which are no links and
 * belong to the recorder's user. The directory is locked as long as it is open. One that was removed is made again.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_DIRECTORY_H
#define SOURCE_REPLAY_RECORDING_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "source/replay/recording/frame_file.h"

struct ks_rec_limits {
	int64_t keep;   /* ns; a file whose last sample is older is removed */
	uint64_t bytes; /* of all files together */
};

/* A sample on its way to the disk. */
struct ks_rec_item {
	enum ks_rec_kind kind;
	int64_t time_of_day; /* ns since 1970 */
	int64_t boot;        /* when the machine was started, on the same clock */
	int input;           /* the descriptor of the file that it was read from, or -1 */
	struct ks_buf bytes; /* what ks_rec_encode() made; owned */
};

/* A file that is not written any more. */
struct ks_rec_old {
	char name[40];
	int64_t first, last; /* times of its samples; INT64_MIN: it has none, as a killed recorder leaves it */
	off_t size;
};

struct ks_rec_dir {
	char *path; /* for messages; owned */
	int fd;
	struct ks_rec_limits limits;
	struct ks_rec_writer file; /* the one that is written */
	bool is_open;              /* there is one */
	int64_t seen, seen_at;     /* the last time of day, 0: there was none, and gethrtime() then */
	bool jumped;               /* the clock was set far ahead: age says nothing */
	bool is_broken;            /* the next sample has to be a keyframe */
	int64_t day;               /* of the file: days since 1970 */
	struct ks_rec_old *old;    /* the others, oldest first; owned */
	size_t n, cap;
	uint64_t old_bytes;
};

/* Days since 1970 in UTC. */
int64_t ks_rec_day(int64_t time_of_day);

/*
 * Opens a directory, and makes it if there is none. Nothing is written into it. 0, or -1 with errno: EWOULDBLOCK
 * another recorder writes there and did not end within a second, or what open() says. Close it in both cases.
 */
int ks_rec_dir_open(struct ks_rec_dir *d, const char *path, const struct ks_rec_limits *limits);

/*
 * Writes a sample. 0, or -1 with errno and a message: ENOSPC also if less than 5 % or 256 MB of the file system are
 * free, EFBIG if the sample is larger than the limit allows, EAGAIN if it cannot be understood without one that was
 * not written.
 */
int ks_rec_dir_add(struct ks_rec_dir *d, const struct ks_rec_item *item);

/* True if the next sample should be a keyframe: because a new file is due, or samples were not written. */
bool ks_rec_dir_wants_key(const struct ks_rec_dir *d);

void ks_rec_dir_close(struct ks_rec_dir *d);

#endif
