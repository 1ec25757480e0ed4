/*
 * operand.c - fuzzes the operands of kstat(8): whatever the text, its fields with colons between are the text
 * again, a colon inside a field belongs to a regular expression or to the statistic, and the selector that is
 * compiled of them can be used. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "select/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
	if (!is_true)
		abort();
}

static void
check_fields(const struct ks_operand *o, const char *text, size_t n)
{
	const char *at = text;

	for (int i = KS_OPERAND_MODULE; i <= KS_OPERAND_STAT && o->field[i].text != NULL; i++) {
		const struct ks_specifier *f = &o->field[i];

		check(f->text == at && f->n <= (size_t)(text + n - at));
		check(i == KS_OPERAND_STAT || memchr(at, ':', f->n) == NULL ||
		    (at[0] == '/' && memchr(at + 1, '/', f->n - 1) != NULL));
		at += f->n;
		if (at == text + n) {
			check(i == KS_OPERAND_STAT || o->field[i + 1].text == NULL);
			return;
		}
		check(*at++ == ':');
	}
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kstat_t k = { .ks_module = "unix", .ks_instance = 1, .ks_name = "system_misc", .ks_class = "misc" };
	size_t n = size < 400 ? size : 400;
	char *text = malloc(n + 1);
	struct ks_selector s;
	struct ks_operand o;

	check(text != NULL);
	memcpy(text, data, n);
	text = realloc(text, n > 0 ? n : 1); /* so that a byte too many is noticed */
	check(text != NULL);
	ks_operand_parse(&o, text, n);
	if (o.field[KS_OPERAND_CLASS].text == NULL)
		check_fields(&o, text, n);
	if (ks_selector_parse(&s, text, n) == 0) {
		(void)ks_selector_matches(&s, &k);
		(void)ks_selector_matches_stat(&s, "nproc");
		ks_selector_free(&s);
	} else {
		check(errno == EINVAL && *kstat_errmsg() != '\0');
	}
	free(text);
	return 0;
}
