/*
 * text.h - parses the text of a file of /proc. The text may hold anything: every function stops at its
 * end, and a number that does not fit counts as missing. "Takes" means that the text then begins behind
 * what was read. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_TEXT_H
#define SOURCE_LINUX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"

struct ks_text {
	const char *p;
	const char *end;
};

static inline struct ks_text
ks_text_of(const char *s, size_t n)
{
	return (struct ks_text){ s, s + n };
}

/* Takes the next line, without its newline; false at the end. */
static inline bool
ks_text_line(struct ks_text *t, struct ks_text *line)
{
	const char *nl;

	if (t->p >= t->end)
		return false;
	nl = memchr(t->p, '\n', (size_t)(t->end - t->p));
	line->p = t->p;
	line->end = nl != NULL ? nl : t->end;
	t->p = nl != NULL ? nl + 1 : t->end;
	return true;
}

static inline size_t
ks_text_size(const struct ks_text *t)
{
	return (size_t)(t->end - t->p);
}

static inline bool
ks_text_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline void
ks_text_skip(struct ks_text *t)
{
	while (t->p < t->end && ks_text_blank(*t->p)) {
		t->p++;
		/* Numbers are padded to the width of a column. */
		while (t->end - t->p >= 8 && memcmp(t->p, "        ", 8) == 0)
			t->p += 8;
	}
}

/* Takes the next word, blanks before it dropped; false if there is none. */
static inline bool
ks_text_word(struct ks_text *t, struct ks_text *word)
{
	ks_text_skip(t);
	word->p = t->p;
	while (t->p < t->end && !ks_text_blank(*t->p))
		t->p++;
	word->end = t->p;
	return word->p < word->end;
}

/* Takes the next decimal number; false, with nothing taken, if there is none that fits. */
static inline bool
ks_text_u64(struct ks_text *t, uint64_t *v)
{
	struct ks_text at = *t;

	ks_text_skip(&at);
	if (ks_scan_u64(&at.p, at.end, v) != 0)
		return false;
	*t = at;
	return true;
}

/* Takes the next hexadecimal number of up to 16 digits; false, with nothing taken, if there is none. */
static inline bool
ks_text_hex(struct ks_text *t, uint64_t *v)
{
	struct ks_text at = *t;
	const char *first;

	ks_text_skip(&at);
	first = at.p;
	for (*v = 0; at.p < at.end && at.p - first < 16; at.p++) {
		char c = *at.p;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (unsigned)(c - '0');
		else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
			*v = *v << 4 | (unsigned)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	if (at.p == first || (at.p < at.end && !ks_text_blank(*at.p)))
		return false;
	*t = at;
	return true;
}

/* Takes up to max numbers; returns how many it found. */
static inline size_t
ks_text_numbers(struct ks_text *t, uint64_t *v, size_t max)
{
	size_t n = 0;

	while (n < max && ks_text_u64(t, &v[n]))
		n++;
	return n;
}

/* True if the next word starts with a digit. */
static inline bool
ks_text_at_number(const struct ks_text *t)
{
	struct ks_text at = *t;

	ks_text_skip(&at);
	return at.p < at.end && *at.p >= '0' && *at.p <= '9';
}

/* True if the text is empty or has only blanks. */
static inline bool
ks_text_empty(const struct ks_text *t)
{
	struct ks_text at = *t;

	ks_text_skip(&at);
	return at.p == at.end;
}

/* True if the text has no control character but tabs. */
static inline bool
ks_text_plain(const struct ks_text *t)
{
	for (const char *p = t->p; p < t->end; p++) {
		if ((unsigned char)*p < 0x20 ? *p != '\t' : *p == 0x7f)
			return false;
	}
	return true;
}

static inline bool
ks_text_equal(const struct ks_text *a, const struct ks_text *b)
{
	return ks_text_size(a) == ks_text_size(b) && memcmp(a->p, b->p, ks_text_size(a)) == 0;
}

static inline bool
ks_text_is(const struct ks_text *t, const char *s)
{
	size_t n = strlen(s);

	return ks_text_size(t) == n && memcmp(t->p, s, n) == 0;
}

static inline bool
ks_text_starts(const struct ks_text *t, const char *s)
{
	size_t n = strlen(s);

	return ks_text_size(t) >= n && memcmp(t->p, s, n) == 0;
}

/* Removes blanks at both ends. */
static inline void
ks_text_trim(struct ks_text *t)
{
	ks_text_skip(t);
	while (t->end > t->p && ks_text_blank(t->end[-1]))
		t->end--;
}

/*
 * Splits "key: value" at the first colon. Both are trimmed; the value is empty if there is no colon. False if
 * there is no key.
 */
static inline bool
ks_text_pair(const struct ks_text *line, struct ks_text *key, struct ks_text *value)
{
	const char *colon = memchr(line->p, ':', ks_text_size(line)), *end = line->end;

	*key = (struct ks_text){ line->p, colon != NULL ? colon : end };
	*value = (struct ks_text){ colon != NULL ? colon + 1 : end, end };
	ks_text_trim(key);
	ks_text_trim(value);
	return key->p < key->end;
}

/*
 * Takes a decimal fraction such as "0.25" as an integer of units of 10^-digits, rounded down;
 * false if malformed or too large.
 */
static inline bool
ks_text_fixed(struct ks_text *t, unsigned digits, uint64_t *v)
{
	struct ks_text at = *t;
	uint64_t r;

	if (!ks_text_u64(&at, &r))
		return false;
	if (at.p < at.end && *at.p == '.')
		at.p++;
	for (; digits > 0; digits--) {
		unsigned d = 0;

		if (at.p < at.end && *at.p >= '0' && *at.p <= '9')
			d = (unsigned)(*at.p++ - '0');
		if (__builtin_mul_overflow(r, (uint64_t)10, &r) || __builtin_add_overflow(r, (uint64_t)d, &r))
			return false;
	}
	while (at.p < at.end && *at.p >= '0' && *at.p <= '9')
		at.p++;
	*t = at;
	*v = r;
	return true;
}

#endif
