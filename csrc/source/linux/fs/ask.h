/*
 * ask.h - statvfs() of a file system that may never answer, such as one of a dead NFS server. A thread asks, and
 * the caller waits for a limited time.
 *
 * A thread whose question is not answered stays in the kernel until the file system answers or is unmounted, or
 * until the process ends; nothing can end it sooner. So a process has at most one such thread for each file system
 * and KS_ASK_MOST in all, no matter how many chains ask. The threads block all signals, hold no lock while they
 * ask, and end after the answer. After fork() the child has no questions.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_ASK_H
#define SOURCE_LINUX_ASK_H

#include <stdint.h>
#include <sys/statvfs.h>

#include "kstat.h"

#define KS_ASK_MOST 64         /* questions at a time in a process */
#define KS_ASK_LIMIT 250000000 /* ns for which a caller waits, counted from the beginning of the question */

struct ks_ask_answer {
	struct statvfs fs;
	int err;           /* 0: fs is valid; EAGAIN: no answer; EBUSY: not asked; else the errno of the answer */
	hrtime_t when;     /* when the question was asked */
};

/*
 * Starts to ask, unless the same question waits for its answer, or was answered that was asked at or after
 * `since`. mount_id: the mount of mountinfo that is meant; another one at this path counts as ENOENT.
 */
void ks_ask_start(const char *path, uint64_t mount_id, hrtime_t since);

/* The same, and waits for the answer until KS_ASK_LIMIT after the question. */
void ks_ask_wait(const char *path, uint64_t mount_id, hrtime_t since, struct ks_ask_answer *answer);

/*
 * statvfs() of a mount without a thread. Automounts are not triggered. Returns 0 or an errno. Unless unique is NULL,
 * *unique gets a number that no other mount has had since boot; 0: it is not known (Linux before 6.8).
 */
int ks_ask_directly(const char *path, uint64_t mount_id, struct statvfs *fs, uint64_t *unique);

#endif
