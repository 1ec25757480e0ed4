/* selector.c - see selector.h. SPDX-License-Identifier: MIT */
#include "select/selector.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "model/decode.h"
#include "model/origin.h"
#include "source/sources.h"

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

/* --- operands --------------------------------------------------------------------------------------- */

#define LONGEST_URI (sizeof("kstat:") + 4 * KSTAT_STRLEN)

/*
 * The length of the regular expression at the begin of a text, flags included: up to the first slash that
 * only flags separate from the end of the field. 0 if there is none.
 */
static size_t
regex_length(const char *s, size_t n)
{
	for (size_t i = 1; i < n && s[0] == '/'; i++) {
		size_t end = i + 1;

		if (s[i] != '/')
			continue;
		while (end < n && ks_pattern_is_flag(s[end]))
			end++;
		if (end == n || s[end] == ':')
			return end;
	}
	return 0;
}

/* The length of the field at the begin of a text. */
static size_t
field_length(const char *s, size_t n)
{
	size_t length = regex_length(s, n);
	const char *colon = length == 0 && n > 0 ? memchr(s, ':', n) : NULL;

	if (length > 0)
		return length;
	return colon != NULL ? (size_t)(colon - s) : n;
}

static void
set_field(struct ks_operand *o, enum ks_operand_field field, const char *text)
{
	o->field[field] = (struct ks_specifier){ text, strlen(text) };
}

/* Splits the text if it is a URI. It has no colon but that of "kstat:". */
static bool
parse_uri(struct ks_operand *o, const char *text, size_t n)
{
	char uri[LONGEST_URI + 1];

	if (n < 7 || n > LONGEST_URI || memcmp(text, "kstat:/", 7) != 0 || memchr(text + 7, ':', n - 7) != NULL ||
	    memchr(text, '\0', n) != NULL)
		return false;
	memcpy(uri, text, n);
	uri[n] = '\0';
	if (kstat2_parse_uri(uri, &o->path) != 0)
		return false;
	o->instance[ks_format_i64(o->instance, o->path.p_instance)] = '\0';
	set_field(o, KS_OPERAND_CLASS, o->path.p_class);
	set_field(o, KS_OPERAND_MODULE, o->path.p_module);
	set_field(o, KS_OPERAND_INSTANCE, o->instance);
	set_field(o, KS_OPERAND_NAME, o->path.p_name);
	return true;
}

void
ks_operand_parse(struct ks_operand *o, const char *text, size_t n)
{
	const char *end = text + n;

	*o = (struct ks_operand){ .field = { { NULL, 0 } } };
	if (parse_uri(o, text, n))
		return;
	for (int i = KS_OPERAND_MODULE; i <= KS_OPERAND_STAT; i++) {
		size_t left = (size_t)(end - text);
		size_t length = i == KS_OPERAND_STAT ? left : field_length(text, left);

		o->field[i] = (struct ks_specifier){ text, length };
		if (length == left)
			return;
		text += length + 1; /* behind the colon */
	}
}

/*
 * True if a selector names a module of the machine, or leaves the module open and names a class of the machine. A
 * module may be a pattern that begins as all of ZFS do, which is "zfs/" and a glob.
 */
static bool
is_of_machine(const struct ks_selector *s)
{
	const struct ks_pattern *module = &s->module, *class_ = &s->class_;

	if (module->kind == KS_PATTERN_LITERAL || (module->kind == KS_PATTERN_GLOB && strncmp(module->text, "zfs/", 4) == 0))
		return ks_source_linux_is_named(module->text, NULL) || ks_is_among(ks_reserved_module, module->text);
	return class_->kind == KS_PATTERN_LITERAL &&
	    (ks_source_linux_is_named(NULL, class_->text) || ks_is_among(ks_reserved_class, class_->text));
}

int
ks_selector_compile(struct ks_selector *s, const struct ks_operand *o)
{
	static const char *const names[KS_OPERAND_FIELDS] = { "module", "instance", "name", "statistic",
		"class" };
	struct ks_pattern *const patterns[KS_OPERAND_FIELDS] = { &s->module, &s->instance, &s->name,
		&s->stat, &s->class_ };

	*s = (struct ks_selector){ .module = { .kind = KS_PATTERN_ANY } };
	for (int i = 0; i < KS_OPERAND_FIELDS; i++) {
		struct ks_pattern p;

		if (ks_pattern_compile(&p, o->field[i].text, o->field[i].n) != 0) {
			int err = errno;
			char why[256];

			(void)snprintf(why, sizeof(why), "%s: %.220s", names[i], kstat_errmsg());
			ks_selector_free(s);
			return ks_fail(err, "%s", why);
		}
		*patterns[i] = p;
	}
	s->is_of_machine = is_of_machine(s);
	return 0;
}

int
ks_selector_parse(struct ks_selector *s, const char *text, size_t n)
{
	struct ks_operand o;

	ks_operand_parse(&o, text, n);
	return ks_selector_compile(s, &o);
}
