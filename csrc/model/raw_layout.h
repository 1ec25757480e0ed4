/*
 * raw_layout.h - the C structures in the data of INTR, IO, TIMER and known RAW kstats (LP64, native byte
 * order) as tables: for the decoder, for sources that fill them, for replays.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RAW_LAYOUT_H
#define MODEL_RAW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "model/decode.h"

enum ks_raw_type { KS_RAW_U32, KS_RAW_I32, KS_RAW_U64, KS_RAW_NSEC /* int64_t */, KS_RAW_CHARS };

struct ks_raw_field {
	const char *name; /* NULL ends a table */
	uint16_t offset;  /* bytes from the start of the structure */
	uint8_t type;     /* enum ks_raw_type */
	uint16_t count;   /* bytes of KS_RAW_CHARS, else 1 */
};

struct ks_raw_layout {
	const char *key;  /* of a RAW kstat: "module:name" with their digits left out */
	size_t size;      /* of the structure, bytes */
	const struct ks_raw_field *fields;
};

/* Finds the layout of a RAW kstat by its module and name, digits ignored; NULL if unknown. */
const struct ks_raw_layout *ks_raw_layout_find(const char *module, const char *name);

/*
 * The layout of one data record of a kstat of that type; NULL for NAMED, and for RAW kstats that are not
 * known.
 */
const struct ks_raw_layout *ks_structure_find(uchar_t type, const char *module, const char *name);

/* The number of fields. */
size_t ks_raw_layout_count(const struct ks_raw_layout *l);

/*
 * Stores a value in the field of a structure: integers are cut to the field's width, strings to
 * its size.
 */
void ks_raw_set(void *structure, const struct ks_raw_field *f, const struct ks_value *v);

/* The same for an integer, by name; names that the layout lacks are ignored. */
void ks_raw_set_u64(void *structure, const struct ks_raw_layout *l, const char *name, uint64_t v);

#endif
