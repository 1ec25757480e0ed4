/* pattern.c - see pattern.h. SPDX-License-Identifier: MIT */
#include "select/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"

/* The JIT compiler costs more than it saves on the few dozen names of a small machine. */
#define USES_BEFORE_JIT 256

/*
 * Steps of one match. Names are short: an expression that needs more never ends in practice. An expression may be a
 * stranger's, and thousands of names are matched against it.
 */
#define MATCH_LIMIT 10000

#define LONG_MATCH 50000LL /* ns: more than almost any match takes */

#define KNOWN 65536 /* texts of which a stranger's expression remembers whether it matched, by their hashes */

#define TRIES 8

struct known {
	char text[KSTAT_STRLEN];
	uint8_t n; /* 0: none */
	bool matches;
};

struct ks_regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	unsigned uses;
	int failure; /* the error of the first match that was given up; 0: none was */
	hrtime_t left; /* how long all its matches may still take (ns), at most 0: no longer; KS_NO_TIME_LIMIT */
	bool is_slow;  /* a match took long, or others ran meanwhile: from then on the thread's own time counts */
	struct known *known; /* owned; where the time is limited: a history has the same names in each sample */
	bool reported;
	char trouble[400];
	size_t n;
	char text[]; /* n bytes */
};

/* --- globs -------------------------------------------------------------- */

/*
 * Matches one byte against the set that starts behind its '['. Stores where the set ends;
 * NULL there if it never does.
 */
static bool
match_set(const char *p, const char *end, unsigned char c, const char **behind)
{
	bool negated = p < end && *p == '!';
	bool found = false;

	p += negated;
	*behind = NULL;
	for (bool first = true; p < end; first = false) {
		unsigned char low = (unsigned char)*p++, high;

		if (low == ']' && !first) {
			*behind = p;
			return found != negated;
		}
		if (low == '\\') {
			if (p == end)
				return false;
			low = (unsigned char)*p++;
		}
		high = low;
		if (end - p >= 2 && p[0] == '-' && p[1] != ']') {
			high = (unsigned char)p[1];
			p += 2;
			if (high == '\\') {
				if (p == end)
					return false;
				high = (unsigned char)*p++;
			}
		}
		if (low <= c && c <= high)
			found = true;
	}
	return false;
}

/* Matches whole; goes back to the last star only, so the cost is at most the product of the lengths. */
static bool
glob_match(const char *p, const char *pend, const char *s, const char *send)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		bool step = false;

		if (p < pend && *p == '*') {
			star = ++p;
			retry = s;
			continue;
		}
		if (s == send && p == pend)
			return true;
		if (s < send && p < pend) {
			const char *behind = p + 1;

			if (*p == '?') {
				step = true;
			} else if (*p == '[') {
				step = match_set(p + 1, pend, (unsigned char)*s, &behind);
				if (behind == NULL)
					return false;
			} else if (*p == '\\') {
				if (p + 1 == pend)
					return false;
				step = p[1] == *s;
				behind = p + 2;
			} else {
				step = *p == *s;
			}
			if (step) {
				p = behind;
				s++;
				continue;
			}
		}
		if (star == NULL || retry == send)
			return false;
		p = star;
		s = ++retry;
	}
}

/* Refuses globs that could match nothing at all. 0, or -1 with errno EINVAL. */
static int
check_glob(const char *text, size_t n)
{
	const char *end = text + n, *p = text;
	int shown = (int)(n < 200 ? n : 200);

	while (p < end) {
		const char *start = p++;

		if (*start == '\\' && p++ == end)
			return ks_fail(EINVAL, "glob '%.*s': the \\ at its end quotes nothing (\\\\ is the "
			    "character itself)", shown, text);
		if (*start != '[')
			continue;
		(void)match_set(p, end, '\0', &p);
		if (p == NULL)
			return ks_fail(EINVAL, "glob '%.*s': the [ at character %zu has no ] (\\[ is the "
			    "character itself)", shown, text, (size_t)(start - text) + 1);
	}
	return 0;
}

static int
compile_glob(struct ks_pattern *p, const char *text, size_t n)
{
	*p = (struct ks_pattern){ .kind = KS_PATTERN_LITERAL, .n = n };
	if (check_glob(text, n) != 0)
		return -1;
	p->text = malloc(n + 1);
	if (p->text == NULL)
		return ks_fail(ENOMEM, "out of memory for a pattern");
	if (n > 0)
		memcpy(p->text, text, n);
	p->text[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (strchr("*?[\\", text[i]) != NULL && text[i] != '\0')
			p->kind = KS_PATTERN_GLOB;
	}
	if (p->kind == KS_PATTERN_GLOB && strspn(p->text, "*") == n)
		p->kind = KS_PATTERN_ANY;
	return 0;
}

/* --- regular expressions -------------------------------------------------- */

static void
free_regex(struct ks_regex *r)
{
	if (r != NULL) {
		pcre2_match_context_free(r->context);
		pcre2_match_data_free(r->data);
		pcre2_code_free(r->code);
		free(r->known);
		free(r);
	}
}

static uint32_t
option_of(char flag)
{
	switch (flag) {
	case 'i': return PCRE2_CASELESS;
	case 'm': return PCRE2_MULTILINE;
	case 's': return PCRE2_DOTALL;
	case 'x': return PCRE2_EXTENDED;
	case 'n': return PCRE2_NO_AUTO_CAPTURE;
	case 'U': return PCRE2_UNGREEDY;
	default: return 0;
	}
}

bool
ks_pattern_is_flag(char c)
{
	return option_of(c) != 0;
}

static int
compile_regex(struct ks_pattern *p, const char *text, size_t n, const char *flags)
{
	uint32_t options = 0;
	struct ks_regex *r;
	PCRE2_SIZE at = 0;
	int error = 0;

	*p = (struct ks_pattern){ .kind = KS_PATTERN_REGEX };
	for (; flags != NULL && *flags != '\0'; flags++) {
		if (option_of(*flags) == 0)
			return ks_fail(EINVAL, "/%.*s/%s: unknown flag '%c' (known: imsxnU)",
			    (int)(n < 200 ? n : 200), text, flags, *flags);
		options |= option_of(*flags);
	}
	r = calloc(1, sizeof(*r) + n);
	if (r == NULL)
		return ks_fail(ENOMEM, "out of memory for a regular expression");
	memcpy(r->text, text, n);
	r->n = n;
	r->code = pcre2_compile((PCRE2_SPTR)text, n, options, &error, &at, NULL);
	if (r->code == NULL) {
		unsigned char why[160];

		free_regex(r);
		(void)pcre2_get_error_message(error, why, sizeof(why));
		return ks_fail(EINVAL, "regular expression /%.*s/: %s at character %zu, after '%.*s'",
		    (int)(n < 200 ? n : 200), text, (char *)why, (size_t)at + 1,
		    (int)(at < 100 ? at : 100), text + (at < 100 ? 0 : at - 100));
	}
	r->data = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (r->data == NULL || r->context == NULL) {
		free_regex(r);
		return ks_fail(ENOMEM, "out of memory for a regular expression");
	}
	(void)pcre2_set_match_limit(r->context, MATCH_LIMIT);
	r->left = KS_NO_TIME_LIMIT;
	p->regex = r;
	return 0;
}

/*
 * The time that a limit is about. The clock of the thread does not run while others have the CPU, but asking for
 * it costs more than most matches.
 */
static hrtime_t
time_of(const struct ks_regex *r)
{
	return r->is_slow ? ks_thread_time() : gethrtime();
}

static void
charge(struct ks_regex *r, hrtime_t start)
{
	hrtime_t took = time_of(r) - start;

	if (!r->is_slow && took > LONG_MATCH) {
		r->is_slow = true;
		took = LONG_MATCH;
	}
	r->left -= took;
}

static bool
regex_match(struct ks_regex *r, const char *s, size_t n)
{
	bool is_limited = r->left != KS_NO_TIME_LIMIT;
	int rc = PCRE2_ERROR_MATCHLIMIT;
	hrtime_t start;

	if (++r->uses == USES_BEFORE_JIT)
		(void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
	start = is_limited ? time_of(r) : 0;
	if (r->left > 0)
		rc = pcre2_match(r->code, (PCRE2_SPTR)s, n, 0, 0, r->data, r->context);
	if (is_limited)
		charge(r, start);
	if (rc < PCRE2_ERROR_NOMATCH && r->failure == 0)
		r->failure = rc;
	return rc >= 0;
}

/* --- either ------------------------------------------------------------------ */

/* The same without the groups that matched. A text that was matched within a limit of time mostly costs none again. */
static bool
regex_matches(struct ks_regex *r, const char *s, size_t n)
{
	struct known *k;
	uint32_t at;
	bool matches;

	if (r->left != KS_NO_TIME_LIMIT && r->known == NULL)
		r->known = calloc(KNOWN, sizeof(*r->known));
	if (r->left == KS_NO_TIME_LIMIT || r->known == NULL || n == 0 || n > sizeof(k->text))
		return regex_match(r, s, n);
	at = ks_table_mix(ks_hash_bytes(KS_HASH_INIT, s, n)) % KNOWN;
	for (k = &r->known[at]; k->n != 0 && k < &r->known[KNOWN - 1] && k < &r->known[at + TRIES]; k++) {
		if (k->n == n && memcmp(k->text, s, n) == 0)
			return k->matches;
	}
	matches = regex_match(r, s, n);
	if (r->failure == 0) {
		*k = (struct known){ .n = (uint8_t)n, .matches = matches };
		memcpy(k->text, s, n);
	}
	return matches;
}

/*
 * True for "/^n/q" and "/n$/q": a slash, letters behind a later one, and between them what paths
 * do not have. Other texts of that form are globs, as "/dev/shm" is.
 */
static bool
is_regex_with_bad_flag(const char *text, size_t n)
{
	const char *slash = n > 0 && text[0] == '/' ? memrchr(text, '/', n) : NULL;

	if (slash == NULL || slash == text || slash + 1 == text + n)
		return false;
	for (const char *p = slash + 1; p < text + n; p++) {
		if (!isalpha((unsigned char)*p))
			return false;
	}
	return text[1] == '^' || slash[-1] == '$';
}

int
ks_pattern_compile(struct ks_pattern *p, const char *text, size_t n)
{
	size_t last = n;
	char flags[16];

	if (n == 0) {
		*p = (struct ks_pattern){ .kind = KS_PATTERN_ANY };
		return 0;
	}
	while (last > 0 && option_of(text[last - 1]) != 0)
		last--;
	if (is_regex_with_bad_flag(text, n) && text[last - 1] != '/')
		return ks_fail(EINVAL, "%.*s: unknown flag '%c' of a regular expression (known: imsxnU)",
		    (int)(n < 200 ? n : 200), text, text[last - 1]);
	if (text[0] != '/' || last < 2 || text[last - 1] != '/' || n - last >= sizeof(flags))
		return compile_glob(p, text, n);
	memcpy(flags, text + last, n - last);
	flags[n - last] = '\0';
	return compile_regex(p, text + 1, last - 2, flags);
}

void
ks_pattern_free(struct ks_pattern *p)
{
	free(p->text);
	free_regex(p->regex);
	*p = (struct ks_pattern){ .kind = KS_PATTERN_ANY };
}

void
ks_pattern_limit(struct ks_pattern *p, hrtime_t ns)
{
	if (p->kind == KS_PATTERN_REGEX)
		p->regex->left = ns;
}

bool
ks_pattern_match(const struct ks_pattern *p, const char *s, size_t n)
{
	switch (p->kind) {
	case KS_PATTERN_ANY:
		return true;
	case KS_PATTERN_LITERAL:
		return n == p->n && memcmp(s, p->text, n) == 0;
	case KS_PATTERN_GLOB:
		return glob_match(p->text, p->text + p->n, s, s + n);
	default:
		return regex_matches(p->regex, s, n);
	}
}

const char *
ks_pattern_trouble(const struct ks_pattern *p)
{
	struct ks_regex *r = p->kind == KS_PATTERN_REGEX ? p->regex : NULL;
	unsigned char why[120];

	if (r == NULL || r->failure == 0 || r->reported)
		return NULL;
	r->reported = true;
	(void)pcre2_get_error_message(r->failure, why, sizeof(why));
	(void)snprintf(r->trouble, sizeof(r->trouble), "regular expression /%.*s/: %s; what it was "
	    "given up at counts as no match (repeats inside of repeats, such as (a+)+, take too many "
	    "steps: write it without)", (int)(r->n < 160 ? r->n : 160), r->text, (char *)why);
	return r->trouble;
}

/* --- captures ----------------------------------------------------------------- */

size_t
ks_pattern_groups(const struct ks_pattern *p)
{
	uint32_t n = 0;

	if (p->kind == KS_PATTERN_REGEX)
		(void)pcre2_pattern_info(p->regex->code, PCRE2_INFO_CAPTURECOUNT, &n);
	return n;
}

size_t
ks_pattern_group(const struct ks_pattern *p, const char *name)
{
	int group;

	if (p->kind != KS_PATTERN_REGEX)
		return 0;
	group = pcre2_substring_number_from_name(p->regex->code, (PCRE2_SPTR)name);
	return group > 0 ? (size_t)group : 0;
}

bool
ks_pattern_capture(const struct ks_pattern *p, size_t group, const char *s, size_t n,
    const char **text, size_t *len)
{
	const PCRE2_SIZE *at;

	if (group < 1 || group > ks_pattern_groups(p) || !regex_match(p->regex, s, n))
		return false;
	at = pcre2_get_ovector_pointer(p->regex->data);
	/* A \K in a lookahead may put the end before the start. */
	if (at[2 * group] == PCRE2_UNSET || at[2 * group + 1] < at[2 * group])
		return false;
	*text = s + at[2 * group];
	*len = at[2 * group + 1] - at[2 * group];
	return true;
}
