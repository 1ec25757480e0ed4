/*
 * protobuf.h - fields of protocol buffers, appended to a buffer. A message within a message is begun and ended: its length
 * is put before it at the end, so that nobody needs to know it in advance. Numbers without a field, and
 * signed ones, are those of varint.h. SPDX-License-Identifier: MIT
 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

/* Appends a field of the types uint32, uint64, int64 (as its bits), bool or enum. */
void ks_pb_add(struct ks_buf *b, unsigned field, uint64_t v);

/* Appends a field of the type fixed64, */
void ks_pb_fixed64(struct ks_buf *b, unsigned field, uint64_t v);

/* one of the type double, */
void ks_pb_double(struct ks_buf *b, unsigned field, double d);

/* and one of the types string or bytes. */
void ks_pb_bytes(struct ks_buf *b, unsigned field, const void *p, size_t n);

/*
 * Begins a message, or the numbers of a packed field, and returns where its contents start, for ks_pb_end(). Field 0: only
 * the length goes before it, as in a sequence of messages.
 */
size_t ks_pb_begin(struct ks_buf *b, unsigned field);
void ks_pb_end(struct ks_buf *b, size_t start);

#endif
