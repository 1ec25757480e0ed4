/*
 * restore_named.c - gives the statistics of a NAMED kstat that illumos has the order and the types that its kernel
 * gives them, which a capture does not tell. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "model/illumos.h"
#include "source/replay/capture/restore.h"

/* True if an integer of a capture is one of that type. */
static bool
is_in_range(const struct ks_store_value *v, uchar_t type)
{
	bool is_unsigned = v->type == KSTAT_DATA_UINT64;

	if (v->type != KSTAT_DATA_INT64 && !is_unsigned)
		return false;
	switch (type) {
	case KSTAT_DATA_INT32:
		return is_unsigned ? v->u64 <= INT32_MAX : v->i64 >= INT32_MIN && v->i64 <= INT32_MAX;
	case KSTAT_DATA_UINT32:
		return is_unsigned && v->u64 <= UINT32_MAX;
	case KSTAT_DATA_INT64:
		return !is_unsigned || v->u64 <= INT64_MAX;
	case KSTAT_DATA_UINT64:
		return is_unsigned;
	default:
		return false;
	}
}

/* Gives a value the type; one that does not fit keeps its own. */
static void
set_type(struct ks_store_value *v, uchar_t type)
{
	size_t room = ks_named_width(KSTAT_DATA_CHAR);

	if (type == KSTAT_DATA_CHAR && v->type == KSTAT_DATA_STRING && v->len <= room) {
		v->type = type;
	} else if (is_in_range(v, type)) {
		v->type = type;
		v->width = (uint8_t)ks_named_width(type);
	}
}

/* Appends the values of the shape, all of them hidden. */
static bool
add_shape(struct ks_store *s, const struct ks_shape *shape)
{
	for (size_t i = 0; i < shape->n; i++) {
		struct ks_store_value v = { .type = shape->v[i].data_type, .hidden = true };

		v.width = (uint8_t)(ks_named_width(v.type) <= sizeof(v.u64) ? ks_named_width(v.type) : 0);
		if (ks_store_add_value(s, &v) == NULL)
			return false;
	}
	return true;
}

/* Names the values that the capture does not have; texts are empty. */
static bool
name_hidden(struct ks_store *s, struct ks_store_value *v, const struct ks_shape *shape)
{
	for (size_t i = 0; i < shape->n; i++) {
		const char *name = shape->v[i].name;

		if (!v[i].hidden)
			continue;
		v[i].name = ks_store_add_text(s, name, strlen(name));
		if (v[i].width == 0)
			v[i].at = ks_store_add_text(s, "", 0);
	}
	return !ks_store_failed(s);
}

void
ks_capture_restore_named(struct ks_store *s, struct ks_store_kstat *k)
{
	size_t n = k->nvalues, next = 0;
	const struct ks_shape *shape;
	struct ks_store_value *placed;

	if (ks_illumos_shape(ks_store_text(s, k->module), ks_store_text(s, k->name), ks_store_text(s, k->class_),
	    &shape) != 0)
		s->failed = true;
	if (ks_store_failed(s) || shape == NULL || !add_shape(s, shape))
		return;
	for (size_t i = 0; i < n; i++) {
		struct ks_store_value v = s->value[k->first + i];
		char name[KSTAT_STRLEN] = "";
		size_t at;

		(void)strncpy(name, ks_store_text(s, v.name), sizeof(name) - 1);
		at = ks_shape_find(shape, name, &next);
		placed = &s->value[k->first + n + at];
		if (at < shape->n && placed->hidden) {
			set_type(&v, placed->type);
			*placed = v;
		} else if (ks_store_add_value(s, &v) == NULL) {
			return;
		}
	}
	if (!name_hidden(s, &s->value[k->first + n], shape))
		return;
	s->nvalues -= n;
	k->nvalues = (uint32_t)(s->nvalues - k->first);
	memmove(&s->value[k->first], &s->value[k->first + n], k->nvalues * sizeof(*s->value));
}
