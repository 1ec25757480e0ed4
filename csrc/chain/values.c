/* values.c - see values.h. SPDX-License-Identifier: MIT */
#include "chain/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/selection.h"

void
ks_values_free(struct ks_values *v)
{
	free(v->pair);
	*v = (struct ks_values){ NULL, 0, 0 };
}

/* Room for one more pair at the end, not yet counted. */
static struct ks_pair *
next_pair(struct ks_values *v)
{
	if (!KS_RESERVE(v->pair, v->cap, v->n + 1))
		return ks_fail_null(ENOMEM, "out of memory for the statistics of a kstat");
	return &v->pair[v->n];
}

int
ks_values_add(struct ks_values *v, const char *name, const struct ks_value *value)
{
	struct ks_pair *p = next_pair(v);

	if (p == NULL)
		return -1;
	*p = (struct ks_pair){ name, 0, *value };
	v->n++;
	return 0;
}

static int
add_time(struct ks_values *v, const char *name, hrtime_t t)
{
	return ks_values_add(v, name, &(struct ks_value){ .kind = KS_VALUE_TIME, .bits = 64, .i64 = t });
}

/* class, crtime and, if the kstat was read, snaptime. */
static int
add_header(struct ks_values *v, const kstat_t *ksp, bool with_class)
{
	struct ks_value class_ = { .kind = KS_VALUE_STRING, .str = ksp->ks_class,
	    .len = (uint32_t)strlen(ksp->ks_class) };

	v->n = 0;
	if ((with_class && ks_values_add(v, "class", &class_) != 0) || add_time(v, "crtime", ksp->ks_crtime) != 0)
		return -1;
	return ksp->ks_data != NULL ? add_time(v, "snaptime", ksp->ks_snaptime) : 0;
}

static int
collect(struct ks_values *v, const kstat_t *ksp, bool with_class, bool with_computed)
{
	struct ks_cursor c;
	struct ks_pair *p;

	if (add_header(v, ksp, with_class) != 0)
		return -1;
	if (ksp->ks_data == NULL)
		return 0;
	ks_cursor_open(&c, ksp);
	c.is_histogram = c.is_histogram && with_computed;
	while ((p = next_pair(v)) != NULL && ks_cursor_next(&c, &p->name, &p->value))
		v->n++;
	return p == NULL ? -1 : 0;
}

int
ks_values_collect(struct ks_values *v, const kstat_t *ksp, bool with_class)
{
	return collect(v, ksp, with_class, true);
}

int
ks_values_collect_stored(struct ks_values *v, const kstat_t *ksp)
{
	return collect(v, ksp, false, false);
}

int
ks_values_collect_rates(struct ks_values *v, const struct ks_delta *d, kstat_ctl_t *kc,
    bool with_class)
{
	struct ks_delta_cursor c;
	struct ks_pair *p;

	if (add_header(v, d->now, with_class) != 0)
		return -1;
	ks_delta_cursor_open(&c, d, kc);
	while ((p = next_pair(v)) != NULL && ks_delta_cursor_next_rate(&c, false, &p->name, &p->value))
		v->n++;
	return p == NULL ? -1 : 0;
}

static int
compare_pairs(const void *a, const void *b)
{
	const struct ks_pair *x = a, *y = b;
	int order = ks_compare_nocase(x->name, y->name);

	/* Of equals, the later one first. */
	return order != 0 ? order : (x->order < y->order) - (x->order > y->order);
}

void
ks_values_sort(struct ks_values *v)
{
	for (size_t i = 0; i < v->n; i++)
		v->pair[i].order = (uint32_t)i;
	if (v->n > 1)
		qsort(v->pair, v->n, sizeof(v->pair[0]), compare_pairs);
}
