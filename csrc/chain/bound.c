/* bound.c - see bound.h. SPDX-License-Identifier: MIT */
#include "chain/bound.h"

#include <stdio.h>
#include <string.h>

#include "select/selector.h"

bool
ks_bound_has(const struct ks_only *only, const struct ks_offer *offer)
{
	kstat_t head = { .ks_instance = offer->instance, .ks_resv = offer->published && !only->plain };

	if (only->args == KS_ARGS_NONE && strcmp(offer->class_, KS_CLASS_ARGS) == 0)
		return false;
	if (only->n == 0)
		return true;
	ks_cut_to(head.ks_module, offer->module);
	ks_cut_to(head.ks_name, offer->name);
	ks_cut_to(head.ks_class, offer->class_);
	return ks_selector_any_matches(only->selector, only->n, &head) ||
	    (only->nalso > 0 && ks_selector_any_matches(only->also, only->nalso, &head));
}

static const struct ks_only *
only_of(const struct ks_scan *scan)
{
	return ((const struct ks_bound_scan *)scan)->only;
}

/* True if the text matches, or is not known yet. */
static bool
may_match(const struct ks_pattern *p, const char *text)
{
	return text == NULL || ks_pattern_matches(p, text);
}

bool
ks_bound_wants(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	const struct ks_only *only = only_of(scan);

	for (size_t i = 0; i < only->n; i++) {
		const struct ks_selector *s = only->selector[i];

		if (may_match(&s->module, module) && may_match(&s->class_, class_) &&
		    may_match(&s->name, name))
			return true;
	}
	return only->n == 0;
}

static const struct ks_selector *
selector_at(const struct ks_only *only, size_t i)
{
	return i < only->n ? only->selector[i] : only->also[i - only->n];
}

const char *
ks_bound_reads(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	const struct ks_only *only = only_of(scan);
	const char *reads = NULL;

	for (size_t i = 0; i < only->n + only->nalso; i++) {
		const struct ks_selector *s = selector_at(only, i);

		if (!may_match(&s->module, module) || !may_match(&s->class_, class_) || !may_match(&s->name, name))
			continue;
		if (s->reads == NULL || (reads != NULL && strcmp(reads, s->reads) != 0))
			return NULL;
		reads = s->reads;
	}
	return reads;
}

/* True if the selector spells the module or the class out, and matches what is known of the rest. */
static bool
asks_for(const struct ks_selector *s, const char *module, const char *class_, int instance, const char *name)
{
	return (s->module.kind == KS_PATTERN_LITERAL || s->class_.kind == KS_PATTERN_LITERAL) &&
	    may_match(&s->class_, class_) && may_match(&s->module, module) && may_match(&s->name, name) &&
	    (instance == KS_ANY_INSTANCE || ks_selector_matches_instance(s, instance));
}

bool
ks_bound_asks_for(const struct ks_scan *scan, const char *module, const char *class_, int instance,
    const char *name)
{
	const struct ks_only *only = only_of(scan);

	for (size_t i = 0; i < only->n + only->nalso; i++) {
		if (asks_for(selector_at(only, i), module, class_, instance, name))
			return true;
	}
	return false;
}

static bool
is_literally(const struct ks_pattern *p, const char *text)
{
	return text != NULL && p->kind == KS_PATTERN_LITERAL && strcmp(p->text, text) == 0;
}

/* True if a pattern is about names with this ending and not about those without. */
static bool
is_about(const struct ks_pattern *p, const char *ending)
{
	char name[KSTAT_STRLEN] = "x";

	if (ending == NULL || p->kind == KS_PATTERN_ANY)
		return false;
	if (p->kind != KS_PATTERN_REGEX)
		return strstr(p->text, ending) != NULL;
	(void)snprintf(name + 1, sizeof(name) - 1, "%s", ending);
	return ks_pattern_match(p, name, strlen(name)) && !ks_pattern_match(p, name, 1);
}

bool
ks_bound_spells(const struct ks_scan *scan, const char *class_, const char *ending, const char *stat)
{
	const struct ks_only *only = only_of(scan);

	if (only->args == KS_ARGS_ALL && class_ != NULL && strcmp(class_, KS_CLASS_ARGS) == 0)
		return true;
	for (size_t i = 0; i < only->n + only->nalso; i++) {
		const struct ks_selector *s = selector_at(only, i);

		if (is_literally(&s->class_, class_) || is_literally(&s->stat, stat) || is_about(&s->name, ending))
			return true;
	}
	return false;
}

bool
ks_bound_wants_only(const struct ks_scan *scan, bool (*has)(const char *module))
{
	const struct ks_only *only = only_of(scan);
	size_t i = 0;

	while (i < only->n && only->selector[i]->module.kind == KS_PATTERN_LITERAL &&
	    has(only->selector[i]->module.text))
		i++;
	return i > 0 && i == only->n;
}

bool
ks_bound_names(const struct ks_scan *scan, const char *module)
{
	const struct ks_only *only = only_of(scan);

	for (size_t i = 0; i < only->n + only->nalso; i++) {
		if (is_literally(&selector_at(only, i)->module, module))
			return true;
	}
	return false;
}
