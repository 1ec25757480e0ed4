/* protobuf.c - see protobuf.h. SPDX-License-Identifier: MIT */
#include "base/protobuf.h"

#include <string.h>

/* The types of the wire. */
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

static void
add_tag(struct ks_buf *b, unsigned field, unsigned type)
{
	ks_varint_put(b, field << 3 | type);
}

void
ks_pb_add(struct ks_buf *b, unsigned field, uint64_t v)
{
	add_tag(b, field, VARINT);
	ks_varint_put(b, v);
}

void
ks_pb_fixed64(struct ks_buf *b, unsigned field, uint64_t v)
{
	char *to;

	add_tag(b, field, FIXED64);
	to = ks_buf_room(b, sizeof(v));
	if (to == NULL)
		return;
	for (size_t i = 0; i < sizeof(v); i++) /* the least byte first, whatever the machine */
		to[i] = (char)(v >> 8 * i);
	b->len += sizeof(v);
}

void
ks_pb_double(struct ks_buf *b, unsigned field, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	ks_pb_fixed64(b, field, bits);
}

void
ks_pb_bytes(struct ks_buf *b, unsigned field, const void *p, size_t n)
{
	add_tag(b, field, LENGTH);
	ks_varint_put(b, n);
	ks_buf_add(b, p, n);
}

size_t
ks_pb_begin(struct ks_buf *b, unsigned field)
{
	if (field != 0)
		add_tag(b, field, LENGTH);
	ks_buf_addc(b, 0); /* most lengths have one byte */
	return b->len;
}

void
ks_pb_end(struct ks_buf *b, size_t start)
{
	char length[KS_VARINT_MAX];
	size_t n, bytes;

	if (b->failed)
		return;
	n = b->len - start;
	bytes = ks_varint_write(length, n);
	if (bytes > 1) {
		if (ks_buf_room(b, bytes - 1) == NULL)
			return;
		memmove(b->data + start + bytes - 1, b->data + start, n);
		b->len += bytes - 1;
	}
	memcpy(b->data + start - 1, length, bytes);
}
