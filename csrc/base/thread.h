/* thread.h - threads of the library, which take no signals. SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread with 256 KiB of stack and all signals blocked: these are the program's business. *thread is to be
 * joined; NULL: nobody waits for its end. Returns 0, or what pthread_create() returns.
 */
int ks_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
