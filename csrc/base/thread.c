/* thread.c - see thread.h. SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

#define STACK (256u << 10)

int
ks_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t unnamed;
	int rc = pthread_attr_init(&attr);

	if (rc != 0)
		return rc;
	(void)pthread_attr_setstacksize(&attr, STACK);
	if (thread == NULL)
		(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread != NULL ? thread : &unnamed, &attr, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	return rc;
}
