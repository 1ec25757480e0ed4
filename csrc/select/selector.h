/*
 * selector.h - selectors of kstats and statistics: five patterns, all of which must match, and the texts that they are
 * compiled of. SPDX-License-Identifier: MIT
 */
#ifndef SELECT_SELECTOR_H
#define SELECT_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/number.h"
#include "kstat.h"
#include "kstat2.h"
#include "select/pattern.h"

struct ks_selector {
	struct ks_pattern module, instance, name, stat, class_;
	const char *reads; /* what is needed of a kstat, see ks_scan_reads(); borrowed */
	bool is_of_machine; /* it names a module or a class of the machine: see struct ks_only */
	bool is_strangers; /* chains do not warn of it: whoever serves the stranger calls ks_selector_trouble() */
};

void ks_selector_free(struct ks_selector *s);

/*
 * True if module, instance and name are given in full, so that one kstat of the system at most can match; then
 * the instance is stored, and the texts of the other two patterns are the names.
 */
bool ks_selector_is_one(const struct ks_selector *s, int *instance);

/*
 * Header fields only: module, instance as decimal text, name, class. A selector that names a module or class of the
 * machine matches no kstat that is marked as published.
 */
bool ks_selector_matches(const struct ks_selector *s, const kstat_t *ksp);

/* The instance alone. */
bool ks_selector_matches_instance(const struct ks_selector *s, int instance);

bool ks_selector_matches_stat(const struct ks_selector *s, const char *stat);

/*
 * Capture groups of its regular expressions, numbered from 1 through module, instance, name, statistic
 * and class. How many there are; the number of a named one, 0 if there is none.
 */
size_t ks_selector_groups(const struct ks_selector *s);
size_t ks_selector_group(const struct ks_selector *s, const char *name);

/*
 * Appends what a group captures of a kstat and one of its statistics (NULL: none). False if its
 * regular expression does not match them, or the group has no part in the match.
 */
bool ks_selector_capture(const struct ks_selector *s, size_t group, const kstat_t *ksp,
    const char *stat, struct ks_buf *out);

/* Bounds how long (ns) the matches of each of its regular expressions may take from now on. */
void ks_selector_limit(struct ks_selector *s, hrtime_t ns);

/* Returns a line about one of its patterns that was given up, as ks_pattern_trouble(), or NULL. */
const char *ks_selector_trouble(const struct ks_selector *s);

/* True if any of the n selectors, or n is 0. */
bool ks_selector_any_matches(const struct ks_selector *const *selectors, size_t n,
    const kstat_t *ksp);

/* The same for one of its statistics. */
bool ks_selector_any_matches_stat(const struct ks_selector *const *selectors, size_t n,
    const kstat_t *ksp, const char *stat);

/* --- the text of an operand of kstat(8), "module:instance:name:statistic", or a URI of kstat2 --------------------- */

enum ks_operand_field {
	KS_OPERAND_MODULE,
	KS_OPERAND_INSTANCE,
	KS_OPERAND_NAME,
	KS_OPERAND_STAT,
	KS_OPERAND_CLASS,
	KS_OPERAND_FIELDS
};

/* The specifiers of an operand, in the order above. */
struct ks_operand {
	struct ks_specifier {
		const char *text; /* n bytes, not terminated, not owned; NULL: not given, so that it matches everything */
		size_t n;
	} field[KS_OPERAND_FIELDS];
	kstat2_path_t path; /* the fields of a URI point into it, so they do not outlive the structure */
	char instance[KS_NUMBER_MAX];
};

/*
 * Splits the n bytes at text, which must stay as they are while the operand is used. The first three colons
 * outside of "/.../" separate, and the statistic has all further ones. Every text is an operand;
 * ks_selector_compile() checks its patterns.
 */
void ks_operand_parse(struct ks_operand *o, const char *text, size_t n);

/*
 * Compiles the specifiers. Returns 0; or -1 with errno EINVAL and a message that names the field and
 * points into it, or with errno ENOMEM: then there is nothing to free.
 */
int ks_selector_compile(struct ks_selector *s, const struct ks_operand *o);

/* Both in one. */
int ks_selector_parse(struct ks_selector *s, const char *text, size_t n);

#endif
