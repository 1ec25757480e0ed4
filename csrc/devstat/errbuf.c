/* errbuf.c - the error text of a thread. SPDX-License-Identifier: MIT */
#include "devstat/errbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "devstat.h"

__thread char devstat_errbuf[DEVSTAT_ERRBUF_SIZE];

int
ks_devstat_fail(int err, const char *fmt, ...)
{
	/* Built aside: an argument may be the text of the error before. */
	char text[DEVSTAT_ERRBUF_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)snprintf(devstat_errbuf, sizeof devstat_errbuf, "%s", text);
	return ks_fail(err, "%s", text);
}
