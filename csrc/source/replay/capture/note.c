/* note.c - see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

uint64_t
ks_capture_position(const struct ks_capture_notes *n)
{
	size_t at = n->in->pos;

	if (n->yajl != NULL)
		at += yajl_get_bytes_consumed(n->yajl);
	return ks_capture_input_position(n->in, at);
}

/* Writes a message. Between arrays it names the next sample. */
__attribute__((format(printf, 4, 0)))
static void
write_message(char *to, const struct ks_capture_notes *n, uint64_t at, const char *fmt, va_list ap)
{
	int len = snprintf(to, KS_CAPTURE_MESSAGE, "%.200s: sample %llu, byte %llu: ", n->path,
	    (unsigned long long)n->number + (n->yajl == NULL), (unsigned long long)at);

	(void)vsnprintf(to + len, KS_CAPTURE_MESSAGE - (size_t)len, fmt, ap);
}

void
ks_capture_problem(struct ks_capture_notes *n, const char *fmt, ...)
{
	va_list ap;

	if (n->problems++ > 0)
		return;
	va_start(ap, fmt);
	write_message(n->problem, n, ks_capture_position(n), fmt, ap);
	va_end(ap);
}

int
ks_capture_damage(struct ks_capture_notes *n, uint64_t at, const char *fmt, ...)
{
	va_list ap;

	if (n->damages++ > 0)
		return 0;
	va_start(ap, fmt);
	write_message(n->damage, n, at, fmt, ap);
	va_end(ap);
	return 0;
}

int
ks_capture_end(struct ks_capture_notes *n, int error, uint64_t at, const char *fmt, ...)
{
	va_list ap;

	if (n->end_errno != 0)
		return 0;
	va_start(ap, fmt);
	write_message(n->end, n, at, fmt, ap);
	va_end(ap);
	n->end_errno = error;
	return 0;
}

int
ks_capture_out_of_memory(struct ks_capture_notes *n)
{
	return ks_capture_end(n, ENOMEM, ks_capture_position(n), "out of memory");
}
