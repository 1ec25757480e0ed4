/*
 * metric_family.h - the families of metrics of an exposition: their names, types and units, which follow from the
 * metadata of statistics. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_METRIC_FAMILY_H
#define CHAIN_METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "model/decode.h"
#include "model/meta.h"

enum ks_metric_type {
	KS_METRIC_UNKNOWN,
	KS_METRIC_GAUGE,
	KS_METRIC_COUNTER,
	KS_METRIC_HISTOGRAM,
	KS_METRIC_INFO
};

/* From a value as it is stored to its base unit: a factor and a divisor. */
struct ks_metric_unit {
	const char *base; /* "seconds", "bytes", ...; "": none */
	uint64_t times, per;
	char text[24];    /* `base` points here if the unit is its publisher's own */
};

struct ks_metric_family {
	uint32_t name;      /* offset of the text in struct ks_metric_families; without _total */
	uint32_t name_len;
	uint32_t unit;      /* offset of the text; "": none */
	uint32_t help;      /* offset of the text */
	uint32_t samples;   /* its user's count */
	uint32_t last;      /* its user's: the last kstat with a sample, plus 1 */
	uint64_t times, per;
	uint64_t key;       /* hash of what distinguishes the family */
	uint32_t module, stat; /* offsets of the texts that it was made of */
	uint8_t type;       /* enum ks_metric_type */
};

/* All of them; zeros are an empty collection. */
struct ks_metric_families {
	struct ks_metric_family *family; /* owned */
	size_t n, cap;
	struct ks_buf text;
	struct ks_table by_key, by_name;
};

/* Whether names of metrics and labels may hold this byte. */
static inline bool
ks_is_metric_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void ks_metric_families_free(struct ks_metric_families *f);

/* Stores the base unit of a statistic, and how its value gets there. m may be NULL. */
void ks_metric_unit_of(const struct ks_meta *m, struct ks_metric_unit *unit);

/*
 * Returns the number of the family of a module's statistic (without the ending that the type adds), which it makes
 * if there is none yet. help "": it has the names of the statistic and of the module. KS_NO_SLOT with errno ENOMEM.
 */
uint32_t ks_metric_family(struct ks_metric_families *f, const char *module, const char *stat, size_t stat_len,
    enum ks_metric_type type, const struct ks_metric_unit *unit, const char *help);

static inline const char *
ks_metric_text(const struct ks_metric_families *f, uint32_t at)
{
	return f->text.data + at;
}

/*
 * Appends a text with its backslashes and line feeds escaped, and its quotes if they are to be. What is not UTF-8, and
 * control characters, become the replacement character.
 */
void ks_metric_escape(struct ks_buf *b, const char *s, size_t n, bool quotes);

/* Appends value * times / per: a whole number or a decimal fraction exactly, else the nearest double. */
void ks_metric_number(struct ks_buf *b, const struct ks_value *v, uint64_t times, uint64_t per);

#endif
