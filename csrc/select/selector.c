/* selector.c - see selector.h. SPDX-License-Identifier: MIT */
#include "select/selector.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "model/decode.h"
#include "model/origin.h"

void
ks_selector_free(struct ks_selector *s)
{
	ks_pattern_free(&s->module);
	ks_pattern_free(&s->instance);
	ks_pattern_free(&s->name);
	ks_pattern_free(&s->stat);
	ks_pattern_free(&s->class_);
}

bool
ks_selector_is_one(const struct ks_selector *s, int *instance)
{
	const char *digits = s->instance.text;
	uint64_t number;

	if (s->module.kind != KS_PATTERN_LITERAL || s->instance.kind != KS_PATTERN_LITERAL ||
	    s->name.kind != KS_PATTERN_LITERAL ||
	    ks_scan_u64(&digits, digits + s->instance.n, &number) != 0 || number > INT_MAX)
		return false;
	*instance = (int)number;
	return true;
}

bool
ks_selector_matches_instance(const struct ks_selector *s, int instance)
{
	const struct ks_pattern *p = &s->instance;
	char text[KS_NUMBER_MAX];

	return p->kind == KS_PATTERN_ANY ||
	    ks_pattern_match(p, text, ks_format_i64(text, instance));
}

bool
ks_selector_matches(const struct ks_selector *s, const kstat_t *ksp)
{
	return ks_pattern_matches(&s->class_, ksp->ks_class) && ks_pattern_matches(&s->module, ksp->ks_module) &&
	    ks_pattern_matches(&s->name, ksp->ks_name) && ks_selector_matches_instance(s, ksp->ks_instance) &&
	    !(s->is_of_machine && ks_is_published(ksp));
}

bool
ks_selector_matches_stat(const struct ks_selector *s, const char *stat)
{
	return ks_pattern_match(&s->stat, stat, strlen(stat));
}

enum { FIELDS = 5 };

/* The patterns in the order in which their groups count. */
static void
fields_of(const struct ks_selector *s, const struct ks_pattern *field[FIELDS])
{
	field[0] = &s->module;
	field[1] = &s->instance;
	field[2] = &s->name;
	field[3] = &s->stat;
	field[4] = &s->class_;
}

void
ks_selector_limit(struct ks_selector *s, hrtime_t ns)
{
	struct ks_pattern *fields[] = { &s->module, &s->instance, &s->name, &s->stat, &s->class_ };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ks_pattern_limit(fields[i], ns);
}

const char *
ks_selector_trouble(const struct ks_selector *s)
{
	const struct ks_pattern *field[FIELDS];
	const char *line = NULL;

	fields_of(s, field);
	for (int i = 0; line == NULL && i < FIELDS; i++)
		line = ks_pattern_trouble(field[i]);
	return line;
}

size_t
ks_selector_groups(const struct ks_selector *s)
{
	const struct ks_pattern *field[FIELDS];
	size_t n = 0;

	fields_of(s, field);
	for (int i = 0; i < FIELDS; i++)
		n += ks_pattern_groups(field[i]);
	return n;
}

size_t
ks_selector_group(const struct ks_selector *s, const char *name)
{
	const struct ks_pattern *field[FIELDS];
	size_t before = 0;

	fields_of(s, field);
	for (int i = 0; i < FIELDS; i++) {
		size_t group = ks_pattern_group(field[i], name);

		if (group > 0)
			return before + group;
		before += ks_pattern_groups(field[i]);
	}
	return 0;
}

bool
ks_selector_capture(const struct ks_selector *s, size_t group, const kstat_t *ksp,
    const char *stat, struct ks_buf *out)
{
	char instance[KS_NUMBER_MAX];
	const struct ks_pattern *field[FIELDS];
	const char *const text[FIELDS] = { ksp->ks_module, instance, ksp->ks_name,
		stat != NULL ? stat : "", ksp->ks_class };
	const char *found;
	size_t n, i;

	instance[ks_format_i64(instance, ksp->ks_instance)] = '\0';
	fields_of(s, field);
	for (i = 0; i < FIELDS && group > ks_pattern_groups(field[i]); i++)
		group -= ks_pattern_groups(field[i]);
	if (i == FIELDS || !ks_pattern_capture(field[i], group, text[i], strlen(text[i]), &found, &n))
		return false;
	ks_buf_add(out, found, n);
	return true;
}

bool
ks_selector_any_matches(const struct ks_selector *const *selectors, size_t n, const kstat_t *ksp)
{
	for (size_t i = 0; i < n; i++) {
		if (ks_selector_matches(selectors[i], ksp))
			return true;
	}
	return n == 0;
}

bool
ks_selector_any_matches_stat(const struct ks_selector *const *selectors, size_t n, const kstat_t *ksp,
    const char *stat)
{
	for (size_t i = 0; i < n; i++) {
		if (ks_selector_matches_stat(selectors[i], stat) && ks_selector_matches(selectors[i], ksp))
			return true;
	}
	return n == 0;
}
