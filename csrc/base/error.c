/* error.c - see error.h. SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "kstat.h"

static _Thread_local char message[512];

__attribute__((format(printf, 2, 0)))
static void
set_message(int err, const char *fmt, va_list ap)
{
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	errno = err;
}

int
(ks_fail)(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_message(err, fmt, ap);
	va_end(ap);
	return -1;
}

void *
(ks_fail_null)(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_message(err, fmt, ap);
	va_end(ap);
	return NULL;
}

bool
ks_is_lack(int err)
{
	return err == ENOMEM || err == EMFILE || err == ENFILE;
}

const char *
kstat_errmsg(void)
{
	return message;
}
