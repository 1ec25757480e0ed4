/* alike.c - see alike.h. SPDX-License-Identifier: MIT */
#include "base/alike.h"

#include <stdint.h>
#include <string.h>

#include "base/printable.h"

#define NOTHING '\0'
#define BETWEEN '_'

/* What letters of Latin-1 and Latin Extended-A are without their accents, from U+00C0 on. */
static const char latin[] = "aaaaaaaceeeeiiiidnooooo_ouuuuypsaaaaaaaceeeeiiiidnooooo_ouuuuypyaaaaaaccccccccddddeeeeeeeeee"
    "gggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* Letters of other alphabets, capital and small, and the Latin ones that they look like. */
static const struct {
	uint16_t code;
	char letter;
} others[] = {
	{ 0x391, 'a' }, { 0x392, 'b' }, { 0x395, 'e' }, { 0x396, 'z' }, { 0x397, 'h' }, { 0x399, 'i' }, { 0x39a, 'k' },
	{ 0x39c, 'm' }, { 0x39d, 'n' }, { 0x39f, 'o' }, { 0x3a1, 'p' }, { 0x3a4, 't' }, { 0x3a5, 'y' }, { 0x3a7, 'x' },
	{ 0x3b1, 'a' }, { 0x3b3, 'y' }, { 0x3b5, 'e' }, { 0x3b9, 'i' }, { 0x3ba, 'k' }, { 0x3bd, 'v' }, { 0x3bf, 'o' },
	{ 0x3c1, 'p' }, { 0x3c4, 't' }, { 0x3c5, 'u' }, { 0x3c7, 'x' }, { 0x3f2, 'c' }, { 0x405, 's' }, { 0x406, 'i' },
	{ 0x408, 'j' }, { 0x410, 'a' }, { 0x412, 'b' }, { 0x415, 'e' }, { 0x41a, 'k' }, { 0x41c, 'm' }, { 0x41d, 'h' },
	{ 0x41e, 'o' }, { 0x420, 'p' }, { 0x421, 'c' }, { 0x422, 't' }, { 0x423, 'y' }, { 0x425, 'x' }, { 0x430, 'a' },
	{ 0x432, 'b' }, { 0x435, 'e' }, { 0x43a, 'k' }, { 0x43c, 'm' }, { 0x43d, 'h' }, { 0x43e, 'o' }, { 0x440, 'p' },
	{ 0x441, 'c' }, { 0x442, 't' }, { 0x443, 'y' }, { 0x445, 'x' }, { 0x455, 's' }, { 0x456, 'i' }, { 0x458, 'j' },
	{ 0x475, 'v' }, { 0x4bb, 'h' }, { 0x4cf, 'l' }, { 0x501, 'd' }, { 0x51b, 'q' }, { 0x51d, 'w' }, { 0x570, 'h' },
	{ 0x578, 'n' }, { 0x57d, 'u' }, { 0x585, 'o' }
};

static char
letter_of(uint32_t c)
{
	if (c >= 0xff01 && c <= 0xff5e)
		c -= 0xff00 - 0x20; /* the wide forms of ASCII */
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
		return (char)c;
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	if (c >= 0xc0 && c < 0xc0 + sizeof(latin) - 1)
		return latin[c - 0xc0];
	/* Accents that follow their letters, the soft hyphen, and what joins or parts words without a width. */
	if ((c >= 0x300 && c < 0x370) || c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x2060 && c <= 0x2064) ||
	    (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff)
		return NOTHING;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (others[i].code == c)
			return others[i].letter;
	}
	return BETWEEN;
}

size_t
ks_alike(const char *name, char *to, size_t size)
{
	size_t left = strlen(name), n = 0;
	bool between = false;

	while (left > 0 && n + 1 < size) {
		bool printable;
		size_t len = ks_character(name, left, &printable);
		bool is_utf8 = len > 1 || (*name & 0x80) == 0;
		char c = is_utf8 ? letter_of(ks_character_number(name, len)) : BETWEEN;

		name += len;
		left -= len;
		if (c == BETWEEN) {
			between = true;
		} else if (c != NOTHING) {
			if (between && n > 0)
				to[n++] = '_';
			between = false;
			if (n + 1 < size)
				to[n++] = c;
		}
	}
	to[n] = '\0';
	return n;
}

bool
ks_are_alike(const char *a, const char *b)
{
	char one[256], other[256];

	return ks_alike(a, one, sizeof(one)) == ks_alike(b, other, sizeof(other)) && strcmp(one, other) == 0;
}
