/*
 * json.h - writing JSON text (RFC 8259). SPDX-License-Identifier: MIT
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Appends the n bytes at s as a JSON string, quotes included. UTF-8 stays UTF-8, each
 * byte that is not part of valid UTF-8 becomes U+FFFD, control bytes are escaped.
 */
void ks_json_string(struct ks_buf *b, const char *s, size_t n);

#endif
