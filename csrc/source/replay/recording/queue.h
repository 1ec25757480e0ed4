/*
 * queue.h - a thread that writes samples into a directory of recordings, so that who makes them never waits for a disk.
 * At most KS_REC_WAITING of them wait; what comes then is dropped and counted. A sample that was not written costs
 * those behind it up to the next keyframe, which the status asks for.
 *
 * The sampler owns a sample until ks_rec_queue_add(); then the queue does, and only the thread touches it and the
 * directory. What both use, the places of the queue and the status, they use under the lock. A child of fork() has no
 * such thread, and must not use the queue.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_QUEUE_H
#define SOURCE_REPLAY_RECORDING_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "source/replay/recording/directory.h"

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
