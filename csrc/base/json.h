/*
 * json.h - writing JSON text (RFC 8259): the one place that knows its quotes, commas and line breaks.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A text that is being written; the members that are not set are zeros. Its user opens and closes in pairs. */
struct ks_json {
	struct ks_buf *out; /* borrowed */
	const char *next;   /* what stands between objects of an array; NULL: a comma */
	bool is_indented;   /* each member of an object has a line; arrays stay on theirs */
	bool follows;       /* a value or member stands before */
	bool is_named;      /* a name stands before */
	unsigned depth;     /* of objects */
};

/* Begin and end an object, '{' and '}', or an array, '[' and ']'. */
void ks_json_open(struct ks_json *j, char bracket);
void ks_json_close(struct ks_json *j, char bracket);

/* Adds the name of a member, whose value follows. */
void ks_json_name(struct ks_json *j, const char *name);

/*
 * Adds a string of n bytes. UTF-8 stays UTF-8, each byte that is not part of valid UTF-8 becomes U+FFFD, control bytes
 * are escaped.
 */
void ks_json_string(struct ks_json *j, const char *s, size_t n);

void ks_json_u64(struct ks_json *j, uint64_t v);
void ks_json_double(struct ks_json *j, double v); /* one that is not finite is null */
void ks_json_word(struct ks_json *j, const char *word); /* true, false, null, or digits */

/* Begins a value whose digits the caller appends to the buffer that is returned. */
struct ks_buf *ks_json_value(struct ks_json *j);

/* Each adds a member whole. */
void ks_json_string_member(struct ks_json *j, const char *name, const char *value);
void ks_json_i64_member(struct ks_json *j, const char *name, int64_t value);

#endif
