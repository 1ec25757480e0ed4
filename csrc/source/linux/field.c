/* field.c - see field.h. SPDX-License-Identifier: MIT */
#include "source/linux/field.h"

#include <stdbool.h>
#include <string.h>

void
ks_fields_add(struct ks_record *r, const struct ks_field *table, const struct ks_values *vals)
{
	for (size_t i = 0; table[i].meta.stat != NULL; i++) {
		const char *stat = table[i].meta.stat;
		uint64_t u = vals->v[i].u;

		if ((vals->have >> i & 1) == 0)
			continue;
		switch (table[i].data) {
		case KSTAT_DATA_CHAR:
			ks_named_chars(r, stat, vals->v[i].s, strlen(vals->v[i].s));
			break;
		case KSTAT_DATA_STRING:
			ks_named_string(r, stat, vals->v[i].s, strlen(vals->v[i].s));
			break;
		case KSTAT_DATA_INT32:
			ks_named_i32(r, stat, (int32_t)(uint32_t)u);
			break;
		case KSTAT_DATA_UINT32:
			ks_named_u32(r, stat, (uint32_t)u);
			break;
		case KSTAT_DATA_INT64:
			ks_named_i64(r, stat, (int64_t)u);
			break;
		default:
			ks_named_u64(r, stat, u);
			break;
		}
	}
}

void
ks_have_copy(struct ks_values *vals, size_t i, struct ks_texts *texts, struct ks_text t)
{
	size_t n;

	ks_text_trim(&t);
	n = ks_text_size(&t);
	if (n == 0 || n >= texts->size - texts->used)
		return;
	memcpy(texts->text + texts->used, t.p, n);
	texts->text[texts->used + n] = '\0';
	ks_have_text(vals, i, texts->text + texts->used);
	texts->used += n + 1;
}

const struct ks_meta *
ks_field_meta(const struct ks_field *table, const char *stat)
{
	for (; table->meta.stat != NULL; table++) {
		if (table->meta.stat[0] == stat[0] && strcmp(table->meta.stat, stat) == 0)
			return &table->meta;
	}
	return NULL;
}

static bool
has_key(const struct ks_field *f, const char *key, size_t n)
{
	/* Most begin otherwise. A damaged file may have a NUL in a name, at which strncmp() stops. */
	return n > 0 && f->key != NULL && f->key[0] == key[0] && strncmp(f->key, key, n) == 0 && strlen(f->key) == n;
}

size_t
ks_field_by_key(const struct ks_field *table, const char *key, size_t n, size_t hint)
{
	for (size_t i = hint; table[i].meta.stat != NULL; i++) {
		if (has_key(&table[i], key, n))
			return i;
	}
	for (size_t i = 0; i < hint; i++) {
		if (has_key(&table[i], key, n))
			return i;
	}
	return KS_NO_FIELD;
}
