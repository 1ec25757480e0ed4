/* metric_names.c - see metric_names.h. SPDX-License-Identifier: MIT */
#include "chain/metric_names.h"

#include <string.h>

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

/* Appends a label of the kstat; what the kstat does not have is "". */
static void
add_label(struct ks_metric_samples *s, const struct ks_metric_label *l)
{
	const kstat_t *ksp = s->ksp;
	const char *value = "";
	char number[KS_NUMBER_MAX];
	size_t n = 0, at = 0, ending;

	if (strcmp(l->from, "instance") == 0) {
		value = number;
		n = ks_format_i64(number, ksp->ks_instance);
	} else if (strncmp(l->from, "name", 4) == 0 && (l->from[4] == '\0' || l->from[4] == ',')) {
		value = ksp->ks_name;
		n = strlen(value);
		ending = strlen(l->from + 4);
		if (n >= ending && strcmp(value + n - ending, l->from + 4) == 0)
			n -= ending;
	} else {
		const struct ks_pair *p = find_value(s->values, l->from, &at);

		if (p != NULL && p->value.kind == KS_VALUE_STRING) {
			value = p->value.str;
			n = strnlen(value, p->value.len);
		}
	}
	ks_metric_add_label(&s->labels, s->ksp_labels, l->name, value, n);
}

/* Stores the family of all names that are "*", with the name of this statistic. False without memory. */
static bool
find_family_of_any(struct ks_metric_samples *s, const struct ks_metric_name *name, const char *stat,
    const struct ks_meta *m, const char *unit, uint32_t *family)
{
	struct ks_buf *b = &s->taken;

	ks_buf_reset(b);
	ks_buf_adds(b, name->family);
	for (; *stat != '\0'; stat++) {
		if (*stat != ')')
			ks_buf_addc(b, ks_is_metric_byte(*stat) ? *stat : '_');
	}
	if (unit[0] != '\0') {
		ks_buf_addc(b, '_');
		ks_buf_adds(b, unit);
	}
	ks_buf_addc(b, '\0');
	if (b->failed)
		return false;
	*family = ks_metric_named_family(&s->families, b->data, name->type, m != NULL ? m->desc : NULL);
	return true;
}

static int
add_any(struct ks_metric_samples *s, const struct ks_metric_name *name)
{
	static const struct ks_meta none;

	for (size_t i = 0; i < s->values->n; i++) {
		const struct ks_pair *p = &s->values->pair[i];
		const struct ks_meta *m;
		struct ks_metric_unit unit;
		uint32_t family;

		if (!ks_metric_is_number(&p->value))
			continue;
		m = ks_chain_meta(s->kc, s->ksp, p->name);
		ks_metric_unit_of(m != NULL ? m : &none, &unit);
		if (!find_family_of_any(s, name, p->name, m, unit.base, &family) ||
		    (family != KS_NO_SLOT && ks_metric_add_sample(s, family, unit.times, unit.per, KS_PART_VALUE,
		    0, &p->value) != 0))
			return -1;
	}
	return 0;
}

/* Returns the number of the family of name number i of the table. */
static uint32_t
find_family(struct ks_metric_samples *s, size_t i, const struct ks_metric_name *name)
{
	if (s->named[i] == KS_NO_SLOT) {
		const struct ks_meta *m = ks_chain_meta(s->kc, s->ksp, name->stat);

		s->named[i] = ks_metric_named_family(&s->families, name->family, name->type, m != NULL ? m->desc : NULL);
	}
	return s->named[i];
}

static int
add_name(struct ks_metric_samples *s, const struct ks_metric_name *name, size_t number, size_t *at)
{
	const struct ks_pair *p = find_value(s->values, name->stat, at);
	uint32_t own = 0, family; /* the label at 0 is "" */

	if (p == NULL || !ks_metric_is_number(&p->value))
		return 0;
	family = find_family(s, number, name);
	if (name->labels[0] != '\0') {
		own = (uint32_t)s->labels.len;
		ks_buf_add(&s->labels, name->labels, strlen(name->labels) + 1);
	}
	return family == KS_NO_SLOT ? 0 :
	    ks_metric_add_sample(s, family, 1, name->per, KS_PART_VALUE, own, &p->value);
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
	for (size_t i = 0; i < group->nlabels; i++)
		add_label(s, &group->label[i]);
	ks_buf_addc(&s->labels, '\0');
	for (size_t i = 0; rc == 0 && i < group->n; i++) {
		const struct ks_metric_name *name = &group->name[i];

		rc = name->stat[0] == '*' ? add_any(s, name) : add_name(s, name, group->first + i, &at);
	}
	return rc == 0 && !s->labels.failed && s->labels.len <= UINT32_MAX ? 0 : -1;
}
