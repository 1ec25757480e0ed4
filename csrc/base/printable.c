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

/* The number in Unicode of a character of which all bytes are there. */
static uint32_t
number_of(const char *s, size_t len)
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
	c = number_of(s, len);
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
	uint32_t c = number_of(s, len);

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

/* --- which names fall together ------------------------------------------------------------------------ */

#define NOTHING '\0'
#define BETWEEN '_'

/* What letters are without accents, from a number of Unicode on; '_' where nothing looks like a Latin letter. */
static const struct {
	uint32_t first;
	const char *letters;
} runs[] = {
	{ 0xc0,
	    "aaaaaaaceeeeiiiidnooooo_ouuuuypsaaaaaaaceeeeiiiidnooooo_ouuuuypyaaaaaaccccccccddddee"
	    "eeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrsssssssstttttt"
	    "uuuuuuuuuuuuwwyyyzzzzzzsbbbbbbocc_dddg__effg___ikkl__nnooo__pp_____ttttuu_vyyzz_____"
	    "ss_pl____d__l__n_aaiioouuuuuuuuuu_aaaa__ggggkkoooo__j_d_gg__nnaa__ooaaaaeeeeiiiioooo"
	    "rrrruuuusstt__hhnd__zzaaeeooooooooyylntj__accltsz__b__eejjqqrryy_a_b_cdd___e___jgggy"
	    "__h_iiilll_w_mnnno______rrr_r_s_j___t__u___yzz_______b_ghj_lq" },
	{ 0x2b0, "hhjr___wy" },
	{ 0x2e1, "lsx" },
	{ 0x1d00,
	    "a__bcd_e__jklm_ooo______p__tu___vwz___r__p__a_bbde_ghijklmn_o_prtuwa___bde_e_g_km_oo"
	    "__ptu__v______iruv______bdfmnprrstz______p__bdfgklmnprs_vxza_dee__io_u__cc__fjg_i_ii"
	    "jlllm_nnno_s_t__uv_zzz" },
	{ 0x1e00,
	    "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooo"
	    "pppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwyasss__aaaaaaaa"
	    "aaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy__"
	    "__yy" },
	{ 0x2070, "0i__456789_____n0123456789______aeox_hklmnpst" },
	{ 0x2100, "__c_______ghhhh_iill_n___pqrrr______z___z_kabc_eef_mo____i___________ddeij" },
	{ 0x2160, "i___v____x__lcdmi___v____x__lcdm" },
	{ 0x2c60, "lllprathhkkzz_m__vwwv___e_o_jvsz" },
	{ 0xa730, "fs" },
	{ 0xab30, "___ee_glllmn___o______r__r_rr_u___u___xxxxy__llu" },
	{ 0x391, "ab__ezh_ik_mn_o_p__ty_x" },
	{ 0x3b1, "a_y_e___ik_uv_o_p__tu_x" },
};

/* Letters elsewhere that look like Latin ones: of Greek, Cyrillic, Armenian, Coptic, Lisu, Cherokee … */
static const uint_least32_t others[] =
    U"ϲcЅsІiЈjАaВbЕeКkМmНhОoРpСcТtУyХxаaвbеeкkмmнhоoрpсcтtуyхxѕsіiјjѵvһhӏlԁdԛqԝwհhոnսuօoՍuªaºoµu²2³3"
    U"¹1ϝfϜfϳjгrьbЬbүyҽeԍgցgքfտsՏsզqⲥcⲤcⲣpⲢpⲟoⲞoⲩyⲨyⲕkⲔkⲙmⲘmⲛnⲚnⲧtⲦtⲭxⲬxⲏhⲎhⲃbⲂbⲁaⲀaꓮaꓐbꓚcꓓdꓰeꓝf"
    U"ꓖgꓧhꓲiꓙjꓗkꓡlꓟmꓠnꓳoꓑpꓣrꓢsꓔtꓴuꓦvꓪwꓫxꓬyꓜzᎪaᏴbᏟcᎠdᎬeᏀgᎻhᏂhᎥiᎫjᏦkᏞlᎷmᏢpᎡrᏚsᎢtᏙvᎳwᎩyᏃzᑌu"
    U"ᑭpᑯdᕁx⍴p⍺a∪uଠo੦o०o০o௦oഠo൦o๐o໐o၀oყyёeЁeїiЇiάaΆaόoΌoίiΊiύuΎyέeΈeΉh";

/* What nobody sees: accents that follow their letters, and what joins or parts words without a width. */
static const uint32_t unseen[][2] = { { 0xad, 0xad }, { 0x300, 0x36f }, { 0x483, 0x489 }, { 0x61c, 0x61c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
	{ 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x20d0, 0x20ff }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff } };

/* The plain letter or digit of one of the alphabets of mathematics, or of those in circles and squares. */
static uint32_t
plain_of(uint32_t c)
{
	if (c >= 0x1d400 && c < 0x1d6a4)
		return (c - 0x1d400) % 26 + 'a';
	if (c == 0x1d6a4 || c == 0x1d6a5)
		return c - 0x1d6a4 + 'i';
	if (c >= 0x1d6a8 && c < 0x1d7cc) /* Greek, capitals and small letters */
		return (c - 0x1d6a8) % 58 < 26 ? (c - 0x1d6a8) % 58 + 0x391 : (c - 0x1d6a8) % 58 - 26 + 0x3b1;
	if (c >= 0x1d7ce && c < 0x1d800)
		return (c - 0x1d7ce) % 10 + '0';
	if (c >= 0x1fbf0 && c < 0x1fbfa)
		return c - 0x1fbf0 + '0';
	if (c >= 0x2460 && c < 0x2469)
		return c - 0x2460 + '1';
	if (c >= 0x249c && c < 0x24ea)
		return (c - 0x249c) % 26 + 'a';
	if (c >= 0x1f110 && c < 0x1f190 && (c - 0x1f110) % 32 < 26)
		return (c - 0x1f110) % 32 + 'a';
	if (c >= 0x1f1e6 && c < 0x1f200)
		return c - 0x1f1e6 + 'a';
	if (c >= 0xab70 && c < 0xabc0) /* the small letters of Cherokee, which are as its others */
		return c - 0xab70 + 0x13a0;
	return c >= 0xff01 && c <= 0xff5e ? c - 0xff00 + 0x20 : c; /* the wide forms of ASCII */
}

static char
letter_of(uint32_t c)
{
	c = plain_of(c);
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
		return (char)c;
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		if (c >= unseen[i][0] && c <= unseen[i][1])
			return NOTHING;
	}
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (c >= runs[i].first && c - runs[i].first < strlen(runs[i].letters))
			return runs[i].letters[c - runs[i].first];
	}
	for (const uint_least32_t *other = others; *other != 0; other += 2) {
		if (*other == c)
			return (char)other[1];
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
		char c = is_utf8 ? letter_of(number_of(name, len)) : BETWEEN;

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
