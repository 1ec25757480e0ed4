/* json.c - see json.h. SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdint.h>

/* Returns the length of the valid UTF-8 sequence at s, which has at most n bytes; 0 if there is none. */
static size_t
utf8_sequence(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c = s[0] & (0x7fu >> len);

	if (s[0] < 0xc2 || s[0] > 0xf4 || n < len)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return len;
}

void
ks_json_string(struct ks_buf *b, const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t plain = 0; /* start of the bytes that are copied unchanged */
	size_t i = 0;

	ks_buf_addc(b, '"');
	while (i < n) {
		unsigned char c = s[i];
		size_t len = c < 0x80 ? 1 : utf8_sequence(s + i, n - i);

		if (len > 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
			i += len;
			continue;
		}
		ks_buf_add(b, str + plain, i - plain);
		if (len == 0)
			ks_buf_adds(b, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			ks_buf_addf(b, "\\%c", c);
		else if (c == '\n')
			ks_buf_adds(b, "\\n");
		else if (c == '\t')
			ks_buf_adds(b, "\\t");
		else
			ks_buf_addf(b, "\\u%04x", c);
		plain = ++i;
	}
	ks_buf_add(b, str + plain, n - plain);
	ks_buf_addc(b, '"');
}
