/* sbuf.c - the string buffers of statsblob.h. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "statsblob.h"

#define SBUF_OWNBUF    0x100 /* s_buf was allocated here */
#define SBUF_OWNSTRUCT 0x200
#define SBUF_DEFAULT   256

struct sbuf *
stats_sbuf_new(struct sbuf *s, char *buf, size_t length, int flags)
{
	int own = 0;

	if (s == NULL) {
		s = malloc(sizeof(*s));
		if (s == NULL)
			return NULL;
		own = SBUF_OWNSTRUCT;
	}
	*s = (struct sbuf){ .s_buf = buf, .s_size = length, .s_flags = flags | own };
	if (buf == NULL) {
		s->s_size = length > 0 ? length : SBUF_DEFAULT;
		s->s_buf = malloc(s->s_size);
		s->s_flags |= SBUF_OWNBUF;
		if (s->s_buf == NULL) {
			stats_sbuf_delete(s);
			return NULL;
		}
	}
	return s;
}

void
stats_sbuf_delete(struct sbuf *s)
{
	int flags;

	if (s == NULL)
		return;
	flags = s->s_flags;
	if (flags & SBUF_OWNBUF)
		free(s->s_buf);
	*s = (struct sbuf){ 0 };
	if (flags & SBUF_OWNSTRUCT)
		free(s);
}

void
stats_sbuf_clear(struct sbuf *s)
{
	s->s_len = 0;
	s->s_error = 0;
}

/* Makes room for n bytes and a NUL. Memory of the caller is never replaced. */
static bool
make_room(struct sbuf *s, size_t n)
{
	size_t need;

	if (__builtin_add_overflow(s->s_len, n, &need) || __builtin_add_overflow(need, 1, &need))
		return false;
	if (need <= s->s_size)
		return true;
	return (s->s_flags & (SBUF_AUTOEXTEND | SBUF_OWNBUF)) == (SBUF_AUTOEXTEND | SBUF_OWNBUF) &&
	    KS_RESERVE(s->s_buf, s->s_size, need);
}

int
stats_sbuf_bcat(struct sbuf *s, const void *p, size_t n)
{
	if (s->s_error != 0)
		return -1;
	if (!make_room(s, n)) {
		s->s_error = ENOMEM;
		/* As sbuf(9) does, the bytes that fit are kept. */
		if (s->s_size == 0 || s->s_len + 1 >= s->s_size)
			return -1;
		if (n > s->s_size - 1 - s->s_len)
			n = s->s_size - 1 - s->s_len;
	}
	if (n > 0)
		memcpy(s->s_buf + s->s_len, p, n);
	s->s_len += n;
	return s->s_error != 0 ? -1 : 0;
}

int
stats_sbuf_cat(struct sbuf *s, const char *str)
{
	return stats_sbuf_bcat(s, str, strlen(str));
}

int
stats_sbuf_printf(struct sbuf *s, const char *fmt, ...)
{
	char tmp[512], *p = tmp;
	va_list ap;
	int n, ret;

	va_start(ap, fmt);
	n = vsnprintf(tmp, sizeof(tmp), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(tmp)) {
		va_start(ap, fmt);
		n = vasprintf(&p, fmt, ap);
		va_end(ap);
	}
	if (n < 0) {
		s->s_error = ENOMEM;
		return -1;
	}
	ret = stats_sbuf_bcat(s, p, (size_t)n);
	if (p != tmp)
		free(p);
	return ret;
}

int
stats_sbuf_finish(struct sbuf *s)
{
	if (s->s_size > 0)
		s->s_buf[s->s_len] = '\0';
	if (s->s_error == 0)
		return 0;
	errno = s->s_error;
	return -1;
}

int
stats_sbuf_error(const struct sbuf *s)
{
	return s->s_error;
}

char *
stats_sbuf_data(struct sbuf *s)
{
	if (s->s_size > 0)
		s->s_buf[s->s_len] = '\0';
	return s->s_buf;
}

ptrdiff_t
stats_sbuf_len(const struct sbuf *s)
{
	return s->s_error != 0 ? -1 : (ptrdiff_t)s->s_len;
}
