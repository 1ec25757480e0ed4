/* buf.c - see buf.h. SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_SIZE 256

void
ks_buf_free(struct ks_buf *b)
{
	free(b->data);
	*b = (struct ks_buf)KS_BUF_INIT;
}

void
ks_buf_reset(struct ks_buf *b)
{
	b->len = 0;
	b->failed = false;
}

char *
ks_buf_room(struct ks_buf *b, size_t n)
{
	size_t need;

	if (b->failed)
		return NULL;
	if (b->cap - b->len >= n && b->data != NULL)
		return b->data + b->len;
	if (__builtin_add_overflow(b->len, n, &need) ||
	    !KS_RESERVE(b->data, b->cap, need < FIRST_SIZE ? FIRST_SIZE : need)) {
		b->failed = true;
		return NULL;
	}
	return b->data + b->len;
}

void *
ks_buf_zeroed(struct ks_buf *b, size_t n)
{
	char *p = ks_buf_room(b, n);

	if (p != NULL) {
		memset(p, 0, n);
		b->len += n;
	}
	return p;
}

void
ks_buf_add(struct ks_buf *b, const void *p, size_t n)
{
	char *to = ks_buf_room(b, n);

	if (to != NULL && n > 0) {
		memcpy(to, p, n);
		b->len += n;
	}
}

void
ks_buf_addc(struct ks_buf *b, char c)
{
	ks_buf_add(b, &c, 1);
}

void
ks_buf_adds(struct ks_buf *b, const char *s)
{
	ks_buf_add(b, s, strlen(s));
}

void
ks_buf_addf(struct ks_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *to;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || (to = ks_buf_room(b, (size_t)n + 1)) == NULL) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}
