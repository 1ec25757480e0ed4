/*
 * buf.h - a growing byte buffer. After a failed allocation all appends do nothing, so that a caller makes any
 * number of them and looks at `failed` once, at the end. What an append returned stays where it is until the
 * next append.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct ks_buf {
	char *data; /* owned; NULL while nothing was appended */
	size_t len;
	size_t cap;
	bool failed; /* an allocation failed; the contents are incomplete */
};

#define KS_BUF_INIT { NULL, 0, 0, false }

void ks_buf_free(struct ks_buf *b);

/* Forgets the contents, keeps the memory, clears the failure. */
void ks_buf_reset(struct ks_buf *b);

/*
 * Makes room for n more bytes at the end and returns where they go, or NULL after a failed
 * allocation. The caller adds the number of bytes that it wrote to b->len.
 */
char *ks_buf_room(struct ks_buf *b, size_t n);

/* Appends n zeroed bytes and returns them, or NULL. */
void *ks_buf_zeroed(struct ks_buf *b, size_t n);

void ks_buf_add(struct ks_buf *b, const void *p, size_t n);
void ks_buf_addc(struct ks_buf *b, char c);
void ks_buf_adds(struct ks_buf *b, const char *s);
void ks_buf_addf(struct ks_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
