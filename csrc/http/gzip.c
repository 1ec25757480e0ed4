/* gzip.c - see gzip.h. SPDX-License-Identifier: MIT */
#include "http/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

bool
http_takes_gzip(const char *s)
{
	for (; s != NULL && *s != '\0'; s += strcspn(s, ",") + (s[strcspn(s, ",")] == ',')) {
		size_t n;

		s += strspn(s, " \t");
		n = strcspn(s, ";, \t");
		if (n == 4 && strncasecmp(s, "gzip", 4) == 0) {
			const char *q = s + n + strspn(s + n, "; \t");

			return strncasecmp(q, "q=0", 3) != 0 || strspn(q + 2, "0.") != strcspn(q + 2, ", \t;");
		}
	}
	return false;
}

void *
http_gzip(const char *body, size_t n, size_t *length)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)body, .avail_in = (uInt)n };
	unsigned char *out = NULL;
	bool done;

	if (n > UINT32_MAX / 2 || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	out = malloc(n);
	z.next_out = out;
	z.avail_out = (uInt)n;
	done = out != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
	*length = z.total_out;
	(void)deflateEnd(&z);
	if (done)
		return out;
	free(out);
	return NULL;
}
