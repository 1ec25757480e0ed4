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

/* Letters of other alphabets, of two bytes each, and behind each the Latin one that it looks like. */
static const char others[] =
    "ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxαaγyεeιiκkνvοoρpτt"
    "υuχxϲcЅsІiЈjАaВbЕeКkМmНhОoРpСcТtУyХxаaвbеeкkмm"
    "нhоoрpсcтtуyхxѕsіiјjѵvһhӏlԁdԛqԝwհhոnսuօo";

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
	for (const char *other = others; *other != '\0'; other += 3) {
		if (ks_character_number(other, 2) == c)
			return other[2];
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
