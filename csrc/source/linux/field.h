/*
 * field.h - tables of the statistics of a NAMED kstat: one table describes them and builds them. A reader
 * collects values, continuing those of narrow counters; statistics without a value are absent from the kstat.
 *
 * The field that comes next is looked at first: without that a sample takes 5 % more instructions.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_FIELD_H
#define SOURCE_LINUX_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"
#include "model/meta.h"
#include "model/record.h"
#include "source/linux/text.h"

struct ks_field {
	struct ks_meta meta; /* meta.stat NULL ends a table */
	uchar_t data;        /* KSTAT_DATA_* */
	const char *key;     /* the name in a file of named values; NULL if read otherwise */
};

/*
 * The initializers of struct ks_field, for tables: those of struct ks_meta (model/meta.h) with the data type.
 * The _K forms have a key.
 */
#define KS_COUNT_K(stat, data, key, desc) { KS_META_COUNTER(stat, desc), data, key }
#define KS_COUNT(stat, data, desc) KS_COUNT_K(stat, data, NULL, desc)
#define KS_GAUGE_K(stat, data, key, desc) { KS_META_GAUGE(stat, desc), data, key }
#define KS_GAUGE(stat, data, desc) KS_GAUGE_K(stat, data, NULL, desc)
#define KS_UNITS(stat, kind, type, data, unit, desc) { KS_META(stat, kind, type, unit, desc), data, NULL }
#define KS_FRACT(stat, kind, type, data, per, unit, desc) \
	{ KS_META_PER(stat, kind, type, per, unit, desc), data, NULL }
#define KS_NSEC(stat, desc) \
	{ KS_META_NSEC(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, desc), KSTAT_DATA_UINT64, NULL }
#define KS_BYTES_K(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_COUNTER, desc), KSTAT_DATA_UINT64, key }
#define KS_BYTES(stat, desc) KS_BYTES_K(stat, NULL, desc)
#define KS_AMOUNT_K(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_GAUGE, desc), KSTAT_DATA_UINT64, key }
#define KS_AMOUNT(stat, desc) KS_AMOUNT_K(stat, NULL, desc)
#define KS_TEXT(stat, data, desc) { KS_META_TEXT(stat, desc), data, NULL }
#define KS_TEXT_STATE(stat, data, desc) { KS_META_STATE(stat, desc), data, NULL }
#define KS_ID(stat, data, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, data, "", desc)
#define KS_STATE_K(stat, key, desc) \
	{ KS_META(stat, KS_KIND_GAUGE, KSTAT2_NVMT_STATE, "", desc), KSTAT_DATA_UINT32, key }
#define KS_STATE(stat, desc) KS_STATE_K(stat, NULL, desc)
#define KS_FIELD_END { KS_META_END, 0, NULL }

#define KS_VALUES_MAX 64 /* fields that can have a value: bits of ks_values.have */

#define KS_FIELDS_FIT(table) \
	_Static_assert(sizeof(table) / sizeof((table)[0]) - 1 <= KS_VALUES_MAX, #table " has too many fields")

/*
 * A table of the same file whose values are collected in struct ks_values, as a part names it. KS_FIELDS_FIT() is
 * for such tables of other files.
 */
#define KS_TABLE(table) ((table) + 0 * sizeof(struct { KS_FIELDS_FIT(table); char unused; }))

/* The values of a table's fields, by position in the table. Texts must stay until they are added. */
struct ks_values {
	uint64_t have; /* which fields have a value, one bit each */
	union {
		uint64_t u;
		const char *s;
	} v[KS_VALUES_MAX];
};

_Static_assert(KS_VALUES_MAX <= 8 * sizeof(((struct ks_values *)0)->have), "a value needs a bit");

static inline void
ks_have(struct ks_values *vals, size_t i, uint64_t v)
{
	vals->v[i].u = v;
	vals->have |= 1ULL << i;
}

static inline void
ks_have_text(struct ks_values *vals, size_t i, const char *s)
{
	vals->v[i].s = s;
	vals->have |= 1ULL << i;
}

/* Room for the texts among the values; one that does not fit is left out. */
struct ks_texts {
	char *text;
	size_t size, used;
};

/* Sets a value to a copy of a text without the blanks at its ends; an empty text is no value. */
void ks_have_copy(struct ks_values *vals, size_t i, struct ks_texts *texts, struct ks_text t);

/* Sets a value, or adds to it if it was set before. */
static inline void
ks_have_more(struct ks_values *vals, size_t i, uint64_t v)
{
	ks_have(vals, i, (vals->have >> i & 1) != 0 ? vals->v[i].u + v : v);
}

/* Adds the statistics that have values to the record, in the order of the table. */
void ks_fields_add(struct ks_record *r, const struct ks_field *table, const struct ks_values *vals);

const struct ks_meta *ks_field_meta(const struct ks_field *table, const char *stat);

#define KS_NO_FIELD SIZE_MAX

/*
 * Returns the position of the field with that key of n bytes, or KS_NO_FIELD. Fastest if the field is at `hint` or
 * soon behind it: files have their names in a steady order, mostly that of the table.
 */
size_t ks_field_by_key(const struct ks_field *table, const char *key, size_t n, size_t hint);

/*
 * Counters that the kernel keeps in fewer bits than we do are continued: milliseconds of disks, cells of
 * /proc/interrupts. What is kept of one from one reading to the next; all zeros before the first:
 */
struct ks_widened {
	bool known;
	uint64_t raw, value; /* as the file had it last; continued */
};

/*
 * Returns what a counter of 32 bits, or a sum of such counters, stands at if it is continued when it passes its
 * width. The first reading counts as it is. A counter that fell otherwise counted nothing.
 */
static inline uint64_t
ks_widen(struct ks_widened *w, uint64_t now)
{
	uint32_t step = (uint32_t)now - (uint32_t)w->raw;

	if (!w->known)
		w->value = now;
	else if (now >= w->raw)
		w->value += now - w->raw;
	else if (step <= INT32_MAX)
		w->value += step;
	w->raw = now;
	w->known = true;
	return w->value;
}

#endif
