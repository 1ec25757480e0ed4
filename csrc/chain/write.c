/* write.c - see values.h. SPDX-License-Identifier: MIT */
#include "chain/values.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "chain/sample.h"

/* A whole number as its sign and its magnitude. */
static bool
whole(const struct ks_value *v, bool *negative, uint64_t *magnitude)
{
	switch (v->kind) {
	case KS_VALUE_I64:
		*negative = v->i64 < 0;
		*magnitude = v->i64 < 0 ? -(uint64_t)v->i64 : (uint64_t)v->i64;
		return true;
	case KS_VALUE_U64:
		*negative = false;
		*magnitude = v->u64;
		return true;
	case KS_VALUE_DOUBLE:
		if (!(v->d > -0x1p63 && v->d < 0x1p64) || v->d != trunc(v->d))
			return false;
		*negative = v->d < 0;
		*magnitude = (uint64_t)(v->d < 0 ? -v->d : v->d);
		return true;
	default:
		return false;
	}
}

static int
set_integer(kstat_named_t *kn, const struct ks_value *v)
{
	bool negative;
	uint64_t magnitude, limit;
	bool is_signed = kn->data_type == KSTAT_DATA_INT32 || kn->data_type == KSTAT_DATA_INT64;
	bool narrow = kn->data_type == KSTAT_DATA_INT32 || kn->data_type == KSTAT_DATA_UINT32;

	if (!whole(v, &negative, &magnitude))
		return ks_fail(EINVAL, "%.30s: not a whole number", kn->name);
	limit = narrow ? UINT32_MAX : UINT64_MAX;
	if (is_signed)
		limit = limit / 2 + negative;
	if (magnitude > limit || (negative && !is_signed))
		return ks_fail(ERANGE, "%.30s: the number does not fit", kn->name);
	if (negative)
		magnitude = -magnitude;
	if (narrow)
		kn->value.ui32 = (uint32_t)magnitude;
	else
		kn->value.ui64 = magnitude;
	return 0;
}

static int
set_double(kstat_named_t *kn, const struct ks_value *v)
{
	double d;

	if (!ks_value_number(v, &d))
		return ks_fail(EINVAL, "%.30s: not a number", kn->name);
	if (kn->data_type == KSTAT_DATA_FLOAT)
		kn->value.f = (float)d;
	else
		kn->value.d = d;
	return 0;
}

static int
set_text(kstat_named_t *kn, const struct ks_value *v)
{
	if (v->kind != KS_VALUE_STRING)
		return ks_fail(EINVAL, "%.30s: not a string", kn->name);
	if (kn->data_type == KSTAT_DATA_CHAR) {
		if (v->len > sizeof(kn->value.c))
			return ks_fail(ERANGE, "%.30s: longer than %zu bytes", kn->name, sizeof(kn->value.c));
		memset(kn->value.c, 0, sizeof(kn->value.c));
		memcpy(kn->value.c, v->str, v->len);
	} else {
		if (memchr(v->str, '\0', v->len) != NULL)
			return ks_fail(EINVAL, "%.30s: a string that has a NUL in it", kn->name);
		/* The writer only reads through the pointer, and the text is NUL-terminated. */
		KSTAT_NAMED_STR_PTR(kn) = (char *)(uintptr_t)v->str;
		KSTAT_NAMED_STR_BUFLEN(kn) = v->len + 1;
	}
	return 0;
}

static int
set_named(kstat_named_t *kn, const struct ks_value *v)
{
	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
	case KSTAT_DATA_UINT32:
	case KSTAT_DATA_INT64:
	case KSTAT_DATA_UINT64:
		return set_integer(kn, v);
	case KSTAT_DATA_FLOAT:
	case KSTAT_DATA_DOUBLE:
		return set_double(kn, v);
	case KSTAT_DATA_CHAR:
	case KSTAT_DATA_STRING:
		return set_text(kn, v);
	default:
		return ks_fail(EINVAL, "%.30s: arrays cannot be written", kn->name);
	}
}

static int
set_all(const kstat_t *ksp, kstat_named_t *named, const struct ks_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint_t at = 0;

		while (at < ksp->ks_ndata && strncmp(named[at].name, pairs[i].name, KSTAT_STRLEN) != 0)
			at++;
		if (at == ksp->ks_ndata)
			return ks_fail(ENOENT, "%s:%d:%s has no statistic %s", ksp->ks_module,
			    ksp->ks_instance, ksp->ks_name, pairs[i].name);
		if (set_named(&named[at], &pairs[i].value) != 0)
			return -1;
	}
	return 0;
}

kid_t
ks_write_values(kstat_ctl_t *kc, kstat_t *ksp, const struct ks_pair *pairs, size_t n)
{
	kstat_named_t *copy;
	kid_t id = -1;

	if (!(ksp->ks_flags & KSTAT_FLAG_WRITABLE))
		return ks_fail(EACCES, "%s:%d:%s is not writable", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	if (ksp->ks_type != KSTAT_TYPE_NAMED)
		return ks_fail(EINVAL, "%s:%d:%s: only named statistics can be written one by one",
		    ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	if (kstat_read(kc, ksp, NULL) < 0)
		return -1;
	copy = malloc(ksp->ks_data_size + 1);
	if (copy == NULL)
		return ks_fail(ENOMEM, "out of memory for the data of %s:%d:%s", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	memcpy(copy, ksp->ks_data, ksp->ks_data_size);
	if (set_all(ksp, copy, pairs, n) == 0)
		id = kstat_write(kc, ksp, copy);
	free(copy);
	return id;
}
