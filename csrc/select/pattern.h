/*
 * pattern.h - what a specifier matches: a glob (gmatch rules) or a Perl regular expression.
 * Compiled once, used on bytes. SPDX-License-Identifier: MIT
 */
#ifndef SELECT_PATTERN_H
#define SELECT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kstat.h"

struct ks_regex; /* a compiled Perl regular expression */

enum ks_pattern_kind { KS_PATTERN_ANY, KS_PATTERN_LITERAL, KS_PATTERN_GLOB, KS_PATTERN_REGEX };

struct ks_pattern {
	int kind;     /* enum ks_pattern_kind */
	char *text;   /* glob or literal, n bytes; owned */
	size_t n;
	struct ks_regex *regex; /* owned */
};

/*
 * Compiles a specifier of n bytes. "" matches everything. A text of at least two bytes that starts
 * with '/' and ends with '/' and optional flag letters among "imsxUn" is a regular expression; every
 * other text is a glob that must match whole: * ? [abc] [a-z] [!abc], \ quotes.
 * 0, or -1 with errno EINVAL and a message that points into the expression, or ENOMEM. EINVAL are as
 * well what can match nothing, a glob with a [ without its ] or with a \ at its end, and letters that
 * are no flags behind "/^...$/" or either half of it.
 */
int ks_pattern_compile(struct ks_pattern *p, const char *text, size_t n);

/* True for a letter that may follow the second slash of a regular expression. */
bool ks_pattern_is_flag(char c);

void ks_pattern_free(struct ks_pattern *p);

#define KS_NO_TIME_LIMIT INT64_MAX

/*
 * Bounds how long (ns) all matches of a regular expression may take from now on; later ones count as given up. The same
 * text is matched once, so that a history takes no longer than a sample of it.
 */
void ks_pattern_limit(struct ks_pattern *p, hrtime_t ns);

/*
 * True if the n bytes at s match. A regular expression that exceeds PCRE2's match limits
 * counts as no match; ks_pattern_trouble() tells.
 */
bool ks_pattern_match(const struct ks_pattern *p, const char *s, size_t n);

/* The same of a text: most patterns are literal or match anything, and are asked of each kstat of a chain. */
static inline bool
ks_pattern_matches(const struct ks_pattern *p, const char *text)
{
	return p->kind == KS_PATTERN_ANY ||
	    (p->kind == KS_PATTERN_LITERAL ? *p->text == *text && strcmp(p->text, text) == 0 :
	    ks_pattern_match(p, text, strlen(text)));
}

/*
 * Once, after a match that was given up: a line for the person, owned by the pattern. Else NULL.
 */
const char *ks_pattern_trouble(const struct ks_pattern *p);

/* How many capture groups it has; only regular expressions have any. */
size_t ks_pattern_groups(const struct ks_pattern *p);

/* The number of a named group, from 1; 0 if there is none. */
size_t ks_pattern_group(const struct ks_pattern *p, const char *name);

/*
 * What a group, from 1, captured of the n bytes at s: true, with *text pointing into them. False if
 * they do not match, or the group took no part.
 */
bool ks_pattern_capture(const struct ks_pattern *p, size_t group, const char *s, size_t n,
    const char **text, size_t *len);

#endif
