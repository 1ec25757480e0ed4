/* printable.c - see printable.h. SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include <locale.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

static bool
is_code_printable(uint32_t c)
{
	return c >= 0x20 && (c < 0x7f || c > 0x9f) && c != 0x61c && c != 0x200e && c != 0x200f &&
	    (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069);
}

uint32_t
ks_character_number(const char *s, size_t len)
{
	uint32_t c = (unsigned char)s[0];

	if (len > 1)
		c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

size_t
ks_character(const char *s, size_t n, bool *printable)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* by length: shorter forms are no UTF-8 */
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	*printable = false;
	if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || len > n)
		return 1;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
	}
	c = ks_character_number(s, len);
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*printable = is_code_printable(c);
	return len;
}

/* Asks the C library, in the locale that knows all of Unicode; NULL: there is none, and all count as one column. */
static int
ask_columns(uint32_t c)
{
	static _Atomic(locale_t) known;
	locale_t unicode = known, none = (locale_t)0, before;
	int columns;

	if (unicode == none) {
		unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", none);
		if (unicode == none)
			return 1;
		if (!atomic_compare_exchange_strong(&known, &none, unicode)) {
			freelocale(unicode);
			unicode = none;
		}
	}
	before = uselocale(unicode);
	columns = wcwidth((wchar_t)c);
	(void)uselocale(before);
	return columns < 0 ? 1 : columns;
}

int
ks_character_columns(const char *s, size_t len, bool *narrow)
{
	uint32_t c = ks_character_number(s, len);

	/* Latin letters, and lines and blocks; terminals disagree about the soft hyphen. */
	*narrow = (c < 0x300 && c != 0xad) || (c >= 0x2500 && c < 0x25a0);
	return *narrow ? 1 : ask_columns(c);
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

size_t
ks_text_columns(const char *s, size_t n)
{
	size_t columns = 0, len;
	bool printable, narrow;

	for (size_t i = 0; i < n; i += len) {
		len = ks_plain_length(s + i, n - i);
		if (len > 0) {
			columns += len;
		} else if (s[i] == '\033' && i + 1 < n && s[i + 1] == '[') {
			while (i + len < n && s[i + len] != 'm')
				len++;
			len += i + len < n;
		} else {
			len = ks_character(s + i, n - i, &printable);
			columns += printable ? (size_t)ks_character_columns(s + i, len, &narrow) : 1;
		}
	}
	return columns;
}

bool
ks_is_printable(const char *s, size_t n)
{
	bool printable = true;

	for (size_t i = ks_plain_length(s, n); printable && i < n; )
		i += ks_character(s + i, n - i, &printable);
	return printable;
}
