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
	struct ks_rec_input input;
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

/* --- queue.c -------------------------------------------------------------------------------- */

/*
 * A thread writes samples into the directory, so that who makes them never waits for a disk. At most KS_REC_WAITING of
 * them wait; what comes then is dropped and counted. A sample that was not written costs those behind it up to the next
 * keyframe, which the status asks for.
 *
 * The sampler owns a sample until ks_rec_queue_add(); then the queue does, and only the thread touches it and the
 * directory. What both use, the places of the queue and the status, they use under the lock. A child of fork() has no
 * such thread, and must not use the queue.
 */
#define KS_REC_WAITING 64

/* Counts begin when the queue is opened. */
struct ks_rec_status {
	uint64_t samples;  /* that were written */
	uint64_t bytes;    /* of these */
	uint64_t dropped;  /* samples that were not written */
	uint64_t write_ns; /* that deflating and writing took, waiting for the disk included */
	uint64_t size;     /* bytes of all files */
	unsigned waiting;  /* samples that are not written yet */
	bool wants_key;    /* the next sample should be a keyframe */
	char problem[256]; /* why samples are not written now; "": they are */
};

struct ks_rec_queue;

/* Opens the directory, as ks_rec_dir_open() does, and starts the thread. NULL with errno. */
struct ks_rec_queue *ks_rec_queue_open(const char *path, const struct ks_rec_limits *limits);

/* The same path. */
const char *ks_rec_queue_path(const struct ks_rec_queue *q);

/* Returns true if there is a place for a sample; else counts it as dropped, or, if the caller can wait, waits. */
bool ks_rec_queue_has_place(struct ks_rec_queue *q, bool wait);

/* Takes over a sample, for which there is a place. */
void ks_rec_queue_add(struct ks_rec_queue *q, const struct ks_rec_item *item);

void ks_rec_queue_status(struct ks_rec_queue *q, struct ks_rec_status *to);

/* Ends the thread, when it has written all samples that wait. The status stays; nothing is to be added any more. */
void ks_rec_queue_end(struct ks_rec_queue *q);

/* The same, and frees the queue; NULL is ignored. */
void ks_rec_queue_close(struct ks_rec_queue *q);

#endif
