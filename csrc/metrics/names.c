/* names.c - see names.h. SPDX-License-Identifier: MIT */
#include "metrics/names.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/number.h"
#include "chain/chain.h"

/*
 * Returns the value of a statistic among those of the kstat; NULL: it has none. The search begins at value *at, and
 * stores where the next one is likely to be: tables name statistics in about the order of kstats.
 */
static const struct ks_pair *
find_value(const struct ks_values *v, const char *stat, size_t *at)
{
	for (size_t i = 0; i < v->n; i++) {
		size_t k = *at + i < v->n ? *at + i : *at + i - v->n;

		if (strcmp(v->pair[k].name, stat) == 0) {
			*at = k + 1 < v->n ? k + 1 : 0;
			return &v->pair[k];
		}
	}
	return NULL;
}

bool
ks_metric_group_names(const struct ks_metric_group *group, const char *stat)
{
	for (size_t i = 0; i < group->n; i++) {
		if (strcmp(group->name[i].stat, stat) == 0)
			return true;
	}
	return false;
}

/* Bytes of another text. */
struct part {
	const char *p;
	size_t n;
};

/* --- labels -------------------------------------------------------------------------------------------- */

/*
 * Whether a text matches a pattern, which has one '*', or '#' for digits alone. Stores what that stands for. Texts
 * of a pattern without either match that text alone.
 */
static bool
match(const char *pattern, const char *text, size_t n, struct part *part)
{
	size_t before = strcspn(pattern, "*#"), behind;

	if (n < before || memcmp(text, pattern, before) != 0)
		return false;
	*part = (struct part){ text + before, n - before };
	if (pattern[before] == '\0')
		return n == before;
	behind = strlen(pattern + before + 1);
	if (n <= before + behind || memcmp(text + n - behind, pattern + before + 1, behind) != 0)
		return false;
	part->n -= behind;
	return pattern[before] == '*' || strspn(part->p, "0123456789") >= part->n;
}

/* Whether a label is from the header of a kstat. If so, stores its text. */
static bool
header_text(const struct ks_metric_label *l, const kstat_t *ksp, char number[KS_NUMBER_MAX], struct part *text)
{
	if (strcmp(l->from, "instance") == 0)
		*text = (struct part){ number, ks_format_i64(number, ksp->ks_instance) };
	else if (strcmp(l->from, "name") == 0)
		*text = (struct part){ ksp->ks_name, strlen(ksp->ks_name) };
	else if (strcmp(l->from, "module") == 0)
		*text = (struct part){ ksp->ks_module, strlen(ksp->ks_module) };
	else
		return false;
	return true;
}

/* Stores the text of a statistic that is a label; one that the kstat does not have is "". */
static void
statistic_text(const struct ks_values *values, const char *stat, char number[KS_NUMBER_MAX], struct part *text)
{
	size_t at = 0;
	const struct ks_pair *p = find_value(values, stat, &at);

	*text = (struct part){ "", 0 };
	if (p != NULL && p->value.kind == KS_VALUE_STRING)
		*text = (struct part){ p->value.str, strnlen(p->value.str, p->value.len) };
	else if (p != NULL && (p->value.kind == KS_VALUE_I64 || p->value.kind == KS_VALUE_U64))
		*text = (struct part){ number, ks_format_i64(number, p->value.i64) };
}

/* Takes the part of a label that counts; whether that lets the kstat be in the group. */
static bool
is_kept(const struct ks_metric_label *l, struct part *text)
{
	struct part part;

	if (l->part != NULL && match(l->part, text->p, text->n, &part))
		*text = part;
	return (l->keep == NULL || ks_pattern_match(l->keep, text->p, text->n)) &&
	    (l->drop == NULL || !ks_pattern_match(l->drop, text->p, text->n));
}

bool
ks_metric_group_wants(const struct ks_metric_group *group, const kstat_t *ksp)
{
	char number[KS_NUMBER_MAX];
	struct part text;

	for (size_t i = 0; i < group->nlabels; i++) {
		const struct ks_metric_label *l = &group->label[i];

		if ((l->keep != NULL || l->drop != NULL) && header_text(l, ksp, number, &text) && !is_kept(l, &text))
			return false;
	}
	return true;
}

/* Appends a label of the kstat. False: the kstat is to be left out. */
static bool
add_label(struct ks_metric_samples *s, const struct ks_metric_label *l)
{
	char number[KS_NUMBER_MAX];
	struct part text;

	if (!header_text(l, s->ksp, number, &text))
		statistic_text(s->values, l->from, number, &text);
	if (!is_kept(l, &text))
		return false;
	if (l->name[0] != '\0')
		ks_metric_add_label(&s->labels, s->ksp_labels, l->name, text.p, text.n);
	return true;
}

/* --- names that match many statistics ------------------------------------------------------------------ */

/*
 * Appends a text with another one in the place of its '*'. Of that, '_' stands for bytes that a name cannot hold, or
 * that cannot be within the quotes of a label.
 */
static void
add_filled(struct ks_buf *b, const char *text, struct part part, bool is_label)
{
	for (; *text != '\0' && *text != '%'; text++) {
		size_t at = b->len;

		if (*text != '*' && *text != '^') {
			ks_buf_addc(b, *text);
			continue;
		}
		for (size_t i = 0; i < part.n; i++) {
			bool fits = is_label ? strchr("\"\\\n", part.p[i]) == NULL : ks_is_metric_byte(part.p[i]);

			if (is_label || part.p[i] != ')')
				ks_buf_addc(b, fits ? part.p[i] : '_');
		}
		if (*text == '^' && b->len > at && b->data[at] >= 'a' && b->data[at] <= 'z')
			b->data[at] = (char)(b->data[at] - 'a' + 'A');
	}
}

/* Stores the family of a statistic that a name matches; KS_NO_SLOT: it has none. False without memory. */
static bool
find_matching_family(struct ks_metric_samples *s, const struct ks_metric_group *group,
    const struct ks_metric_name *name, struct part part, const struct ks_meta *m, const char *unit,
    uint32_t *family)
{
	struct ks_buf *b = &s->taken;

	ks_buf_reset(b);
	add_filled(b, name->family, part, false);
	if (unit[0] != '\0') {
		ks_buf_addc(b, '_');
		ks_buf_adds(b, unit);
	}
	ks_buf_addc(b, '\0');
	if (b->failed)
		return false;
	*family = group->fields != NULL && !ks_pattern_match(group->fields, b->data + group->fields_at,
	    b->len - 1 - group->fields_at) ? KS_NO_SLOT :
	    ks_metric_named_family(&s->families, b->data, name->type, m->desc);
	return true;
}

/* Appends the labels of one sample; returns where they are: 0 is "". */
static uint32_t
add_own_labels(struct ks_metric_samples *s, const char *labels, struct part part)
{
	uint32_t own = (uint32_t)s->labels.len;

	if (labels[0] == '\0')
		return 0;
	add_filled(&s->labels, labels, part, true);
	ks_buf_addc(&s->labels, '\0');
	return own;
}

/* Adds the sample of a statistic that a name matches. `part` is what the wildcard stands for. */
static int
add_match(struct ks_metric_samples *s, const struct ks_metric_group *group, const struct ks_metric_name *name,
    const struct ks_pair *p, struct part part)
{
	static const struct ks_meta none;
	static const struct ks_value one = { .kind = KS_VALUE_U64, .bits = 64, .u64 = 1 };
	const struct ks_meta *m = ks_chain_meta(s->kc, s->ksp, p->name);
	struct ks_metric_unit unit = { .base = "", .times = name->times, .per = name->per };
	bool is_text = name->kind == KS_METRIC_TEXTS;
	uint32_t family, own;

	m = m != NULL ? m : &none;
	if (name->family[strlen(name->family) - 1] == '%')
		ks_metric_unit_of(m, &unit);
	if (!find_matching_family(s, group, name, part, m, unit.base, &family))
		return -1;
	if (family == KS_NO_SLOT)
		return 0;
	own = add_own_labels(s, name->labels, part);
	if (is_text) {
		s->labels.len -= own != 0; /* its NUL */
		ks_metric_add_label(&s->labels, own, name->other, p->value.str, strnlen(p->value.str, p->value.len));
		ks_buf_addc(&s->labels, '\0');
	}
	return ks_metric_add_sample(s, family, unit.times, unit.per, KS_PART_VALUE, own, is_text ? &one : &p->value);
}

static int
add_matching(struct ks_metric_samples *s, const struct ks_metric_group *group, const struct ks_metric_name *name)
{
	for (size_t i = 0; i < s->values->n; i++) {
		const struct ks_pair *p = &s->values->pair[i];
		struct part part;
		bool fits = name->kind == KS_METRIC_TEXTS ? p->value.kind == KS_VALUE_STRING : ks_metric_is_number(&p->value);

		if (fits && match(name->stat, p->name, strlen(p->name), &part) && add_match(s, group, name, p, part) != 0)
			return -1;
	}
	return 0;
}

/* --- names of one statistic ---------------------------------------------------------------------------- */

/* Returns the number of the family of name number i of the table. */
static uint32_t
find_family(struct ks_metric_samples *s, size_t i, const struct ks_metric_name *name)
{
	if (s->named[i] == KS_NO_SLOT) {
		const struct ks_meta *m = ks_chain_meta(s->kc, s->ksp, name->stat);

		s->named[i] = ks_metric_named_family(&s->families, name->family, name->type, m != NULL ? m->desc :
		    name->kind == KS_METRIC_ALWAYS ? "what the labels say" : NULL);
	}
	return s->named[i];
}

/*
 * Stores what a name makes of the kstat's values, and the divisor of that. The search for the statistic begins at
 * value *at. False: nothing.
 */
static bool
find_number(const struct ks_metric_samples *s, const struct ks_metric_name *name, size_t *at, struct ks_value *v,
    uint64_t *per)
{
	const struct ks_pair *p = name->kind == KS_METRIC_ALWAYS ? NULL : find_value(s->values, name->stat, at), *other;
	size_t from = *at;

	*per = name->per;
	*v = (struct ks_value){ .kind = KS_VALUE_U64, .bits = 64, .u64 = 1 };
	if (name->kind == KS_METRIC_ALWAYS)
		return true;
	if (p == NULL || ks_metric_is_number(&p->value) == (name->kind == KS_METRIC_IS))
		return false;
	switch (name->kind) {
	case KS_METRIC_IS:
		v->u64 = p->value.kind == KS_VALUE_STRING && strnlen(p->value.str, p->value.len) == strlen(name->other) &&
		    strncasecmp(p->value.str, name->other, strlen(name->other)) == 0;
		return true;
	case KS_METRIC_NOT:
		v->u64 = p->value.u64 == 0;
		return true;
	case KS_METRIC_ROUNDED:
		v->u64 = (p->value.u64 * 100 + name->per / 2) / name->per;
		*per = 100;
		return true;
	case KS_METRIC_ONE_MORE:
		*v = p->value;
		v->i64 += (int64_t)name->per;
		return true;
	case KS_METRIC_IF:
		other = find_value(s->values, name->other, &from);
		*v = p->value;
		return other != NULL && ks_metric_is_number(&other->value) && other->value.u64 != 0;
	default:
		*v = p->value;
		return true;
	}
}

static int
add_name(struct ks_metric_samples *s, const struct ks_metric_name *name, size_t number, size_t *at)
{
	struct ks_value v;
	uint64_t per;
	uint32_t family;

	if (!find_number(s, name, at, &v, &per))
		return 0;
	family = find_family(s, number, name);
	return family == KS_NO_SLOT ? 0 : ks_metric_add_sample(s, family, name->times, per, KS_PART_VALUE,
	    add_own_labels(s, name->labels, (struct part){ "", 0 }), &v);
}

int
ks_metric_samples_add_named(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values, const struct ks_metric_group *group)
{
	size_t at = 0, end = group->first + group->n;
	int rc = 0;

	if (!KS_RESERVE(s->named, s->named_cap, end))
		return -1;
	for (; s->nnamed < end; s->nnamed++)
		s->named[s->nnamed] = KS_NO_SLOT;
	ks_metric_samples_begin(s, kc, ksp, values);
	for (size_t i = 0; i < group->nlabels; i++) {
		if (!add_label(s, &group->label[i]))
			return 0;
	}
	ks_buf_addc(&s->labels, '\0');
	if (group->once && !ks_metric_labels_are_new(s))
		return 0;
	for (size_t i = 0; rc == 0 && i < group->n; i++) {
		const struct ks_metric_name *name = &group->name[i];

		rc = name->kind >= KS_METRIC_MATCHING ? add_matching(s, group, name) :
		    add_name(s, name, group->first + i, &at);
	}
	return rc == 0 && !s->labels.failed && s->labels.len <= UINT32_MAX ? 0 : -1;
}
