/*
 * errbuf.c - the error text of a thread.
 *
 * It is not thread-local storage: 2 KB of that would keep the Lua module from being loaded into a running process,
 * whose reserve for such storage is small.
 * SPDX-License-Identifier: MIT
 */
#include "devstat/device.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

/* The destructor is the C library's free(), so a thread may outlive the module. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void
make_key(void)
{
	have_key = pthread_key_create(&key, free) == 0;
}

__attribute__((destructor)) static void
delete_key(void)
{
	if (!have_key)
		return;
	free(pthread_getspecific(key));
	(void)pthread_key_delete(key);
	have_key = false;
}

char (*devstat_errbuf_location(void))[DEVSTAT_ERRBUF_SIZE]
{
	/* Used by every thread whose buffer cannot be allocated. */
	static char last_resort[DEVSTAT_ERRBUF_SIZE];
	void *buf;

	(void)pthread_once(&once, make_key);
	if (!have_key)
		return &last_resort;
	buf = pthread_getspecific(key);
	if (buf == NULL) {
		buf = calloc(1, DEVSTAT_ERRBUF_SIZE);
		if (buf == NULL || pthread_setspecific(key, buf) != 0) {
			free(buf);
			return &last_resort;
		}
	}
	return buf;
}

int
ks_devstat_fail(int err, const char *fmt, ...)
{
	/* Written to a buffer of its own, because an argument may be the text of the previous error. */
	char text[DEVSTAT_ERRBUF_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)snprintf(devstat_errbuf, sizeof(devstat_errbuf), "%s", text);
	return ks_fail(err, "%s", text);
}
