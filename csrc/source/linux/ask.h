/*
 * ask.h - questions that may never be answered: statvfs() of a file system of a dead NFS server, a call of a driver's
 * library. A thread asks, and the caller waits for a limited time.
 *
 * A thread whose question is not answered stays until it is (a file system answers or is unmounted), or until the
 * process ends; nothing can end it sooner. So a process has at most one such thread for each question and KS_ASK_MOST
 * in all, no matter how many chains ask. The threads block all signals, hold no lock while they ask, and end after the
 * answer. After fork() the child keeps the answers, and has no questions.
 *
 * A thread per question needs no queue and leaves nothing behind in a program that uses the library; a child process
 * would have to be waited for, which is the program's own business. Local file systems are asked directly.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_ASK_H
#define SOURCE_LINUX_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "kstat.h"

#define KS_ASK_MOST 64 /* questions at a time in a process */

struct ks_question {
	const char *thread; /* the name of the thread, at most 15 bytes */
	/* Asks, in the thread: what it finds out goes into its own copy of the data. Returns 0 or an errno. */
	int (*ask)(void *data);
	uint64_t key;       /* equal keys: the same question, of this function */
	size_t size;        /* of the data, which holds what the question needs, and has room for the answer */
};

/*
 * The ns for which a caller waits, counted from the beginning of the question: 250 ms, or the milliseconds of
 * $KSTAT_WAIT_MAX if these are from 1 to 3,600,000. The variable is read once in a process.
 */
hrtime_t ks_ask_limit(void);

/*
 * Starts to ask, unless the same question waits for its answer, or was answered that was asked at or after `since`.
 * data: what the question needs; it is copied.
 */
void ks_ask_start(const struct ks_question *q, const void *data, hrtime_t since);

/*
 * The same, and waits for the answer until ks_ask_limit() after the question. Returns 0, and data with the answer;
 * EAGAIN: no answer; EBUSY: not asked; else the errno of the answer. *when is the time of the question.
 */
int ks_ask_wait(const struct ks_question *q, void *data, hrtime_t since, hrtime_t *when);

#endif
