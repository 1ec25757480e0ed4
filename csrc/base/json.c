/* json.c - see json.h. SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

#include "base/number.h"

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

/* --- structure ----------------------------------------------------------------------------------------- */

static void
add_line_break(struct ks_json *j)
{
	if (!j->is_indented)
		return;
	ks_buf_addc(j->out, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		ks_buf_addc(j->out, '\t');
}

struct ks_buf *
ks_json_value(struct ks_json *j)
{
	if (j->follows && !j->is_named)
		ks_buf_addc(j->out, ',');
	j->follows = true;
	j->is_named = false;
	return j->out;
}

void
ks_json_open(struct ks_json *j, char bracket)
{
	if (bracket == '{' && j->next != NULL && j->follows && !j->is_named) {
		ks_buf_adds(j->out, j->next);
		j->is_named = true;
	}
	ks_buf_addc(ks_json_value(j), bracket);
	j->follows = false;
	j->depth += bracket == '{';
}

void
ks_json_close(struct ks_json *j, char bracket)
{
	if (bracket == '}') {
		j->depth--;
		add_line_break(j);
	}
	ks_buf_addc(j->out, bracket);
	j->follows = true;
}

void
ks_json_name(struct ks_json *j, const char *name)
{
	if (j->follows)
		ks_buf_addc(j->out, ',');
	add_line_break(j);
	j->is_named = true;
	ks_json_string(j, name, strlen(name));
	ks_buf_addc(j->out, ':');
	if (j->is_indented)
		ks_buf_addc(j->out, ' ');
	j->is_named = true;
}

/* --- values -------------------------------------------------------------------------------------------- */

void
ks_json_string(struct ks_json *j, const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	struct ks_buf *b = ks_json_value(j);
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

void
ks_json_u64(struct ks_json *j, uint64_t v)
{
	char text[KS_NUMBER_MAX];

	ks_buf_add(ks_json_value(j), text, ks_format_u64(text, v));
}

static void
add_i64(struct ks_json *j, int64_t v)
{
	char text[KS_NUMBER_MAX];

	ks_buf_add(ks_json_value(j), text, ks_format_i64(text, v));
}

void
ks_json_double(struct ks_json *j, double v)
{
	char text[KS_NUMBER_MAX];

	if (v - v != 0) /* not finite */
		ks_json_word(j, "null");
	else
		ks_buf_add(ks_json_value(j), text, ks_format_double(text, v));
}

void
ks_json_word(struct ks_json *j, const char *word)
{
	ks_buf_adds(ks_json_value(j), word);
}

void
ks_json_string_member(struct ks_json *j, const char *name, const char *value)
{
	ks_json_name(j, name);
	ks_json_string(j, value, strlen(value));
}

void
ks_json_i64_member(struct ks_json *j, const char *name, int64_t value)
{
	ks_json_name(j, name);
	add_i64(j, value);
}
