/*
 * operand.h - the text of an operand of kstat(8), "module:instance:name:statistic", or a URI of kstat2.
 * SPDX-License-Identifier: MIT
 */
#ifndef SELECT_OPERAND_H
#define SELECT_OPERAND_H

#include <stddef.h>

#include "base/number.h"
#include "kstat2.h"
#include "select/selector.h"

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
