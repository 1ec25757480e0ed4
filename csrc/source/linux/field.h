/*
 * field.h - the statistics of a NAMED kstat, declared once: the table that describes them is
 * the one that builds them. A reader collects values; what it could not find stays absent.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_FIELD_H
#define SOURCE_LINUX_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "kstat.h"
#include "model/meta.h"
#include "model/record.h"

struct ks_field {
	struct ks_meta meta; /* meta.stat NULL ends a table */
	uchar_t data;        /* KSTAT_DATA_* */
	const char *key;     /* the name in a file of named values; NULL if read otherwise */
};

/* Shorthand for tables: statistic, data type, one line; _K forms have a key. */
#define KS_COUNT_K(stat, data, key, desc) \
	{ { stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, 0, 1, "", desc }, data, key }
#define KS_COUNT(stat, data, desc) KS_COUNT_K(stat, data, NULL, desc)
#define KS_GAUGE_K(stat, data, key, desc) \
	{ { stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, 0, 1, "", desc }, data, key }
#define KS_GAUGE(stat, data, desc) KS_GAUGE_K(stat, data, NULL, desc)
#define KS_UNITS(stat, kind, type, data, unit, desc) \
	{ { stat, kind, type, 0, 1, unit, desc }, data, NULL }
#define KS_FRACT(stat, kind, type, data, per, unit, desc) \
	{ { stat, kind, type, KSTAT2_NVMF_FRACT, per, unit, desc }, data, NULL }
#define KS_NSEC(stat, desc) \
	KS_FRACT(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT_DATA_UINT64, 1000000000, "ns", desc)
#define KS_BYTES(stat, desc) \
	KS_UNITS(stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT64, "bytes", desc)
#define KS_TEXT(stat, data, desc) \
	{ { stat, KS_KIND_TEXT, KSTAT2_NVMT_ID, 0, 1, "", desc }, data, NULL }
#define KS_FIELD_END { { NULL, 0, 0, 0, 0, NULL, NULL }, 0, NULL }

#define KS_VALUES_MAX 64

/* Values of a table's fields, by position in the table. Texts must stay until they are added. */
struct ks_values {
	uint64_t have; /* one bit per field of the table, and no others */
	union {
		uint64_t u;
		const char *s;
	} v[KS_VALUES_MAX];
};

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

/* Adds a value to one that may be there already. */
static inline void
ks_have_more(struct ks_values *vals, size_t i, uint64_t v)
{
	ks_have(vals, i, (vals->have >> i & 1) != 0 ? vals->v[i].u + v : v);
}

/* Adds the statistics that have values to the record, in the order of the table. */
void ks_fields_add(struct ks_record *r, const struct ks_field *table, const struct ks_values *vals);

const struct ks_meta *ks_field_meta(const struct ks_field *table, const char *stat);

#endif
