/* gzip.h - bodies of answers as gzip, for clients that take it. SPDX-License-Identifier: MIT */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a header Accept-Encoding (NULL: there is none) names gzip without a weight of 0. */
bool http_takes_gzip(const char *s);

/* Returns the body as gzip in memory of its own, and stores its length; NULL: it is no shorter, or memory lacks. */
void *http_gzip(const char *body, size_t n, size_t *length);

#endif
