/* printable.c - see printable.h. SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include <stdint.h>
#include <string.h>

static bool
is_code_printable(uint32_t c)
{
	return c >= 0x20 && (c < 0x7f || c > 0x9f) && c != 0x61c && c != 0x200e && c != 0x200f &&
	    (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069);
}

size_t
ks_character(const char *s, size_t n, bool *printable)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* by length: shorter forms are no UTF-8 */
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	*printable = false;
	if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || len > n)
		return 1;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*printable = is_code_printable(c);
	return len;
}

size_t
ks_text_columns(const char *s, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\033' && i + 1 < n && s[i + 1] == '[') {
			while (i < n && s[i] != 'm')
				i++;
		} else {
			columns += ((unsigned char)s[i] & 0xc0) != 0x80;
		}
	}
	return columns;
}

#define EACH_BYTE UINT64_C(0x0101010101010101)

size_t
ks_plain_length(const char *s, size_t n)
{
	size_t i = 0;
	uint64_t w;

	/* The highest bit of a byte shows that it is not ASCII, below a blank, or DEL. */
	while (n - i >= sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		if (((w | (w - 0x20 * EACH_BYTE) | (w + EACH_BYTE)) & 0x80 * EACH_BYTE) != 0)
			break;
		i += sizeof(w);
	}
	while (i < n && s[i] >= 0x20 && s[i] < 0x7f)
		i++;
	return i;
}

bool
ks_is_printable(const char *s, size_t n)
{
	bool printable = true;

	for (size_t i = ks_plain_length(s, n); printable && i < n; )
		i += ks_character(s + i, n - i, &printable);
	return printable;
}
