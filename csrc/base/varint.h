/*
 * varint.h - integers in as few bytes as their bits need (LEB128); signed ones are folded first, so
 * that small magnitudes stay short. SPDX-License-Identifier: MIT
 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define KS_VARINT_MAX 10 /* bytes of the longest integer */

/* Writes an integer, KS_VARINT_MAX bytes at most, and returns how many. */
static inline size_t
ks_varint_write(char *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (char)(v | 0x80);
	to[n++] = (char)v;
	return n;
}

static inline void
ks_varint_put(struct ks_buf *b, uint64_t v)
{
	char *to = ks_buf_room(b, KS_VARINT_MAX);

	if (to != NULL)
		b->len += ks_varint_write(to, v);
}

/* Reads an integer and moves *p behind it. 0, or -1 if it does not end before `end` or exceeds 64 bits. */
static inline int
ks_varint_get(const unsigned char **p, const unsigned char *end, uint64_t *v)
{
	const unsigned char *s = *p;
	uint64_t r = 0;

	for (unsigned shift = 0; s < end && shift < 64; shift += 7) {
		unsigned char c = *s++;

		if (shift == 63 && c > 1)
			return -1;
		r |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*p = s;
			*v = r;
			return 0;
		}
	}
	return -1;
}

static inline uint64_t
ks_zigzag(uint64_t signed_bits)
{
	return signed_bits << 1 ^ (0 - (signed_bits >> 63));
}

static inline uint64_t
ks_unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

#endif
