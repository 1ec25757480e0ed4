/*
 * raw_layout.h - the C structures in the data of INTR, IO, TIMER and known RAW kstats (LP64, native byte
 * order) as tables: for the decoder, for sources that fill them, for replays.
 *
 * A C structure cannot leave out a field that is not counted. So KS_RAW_MARKS bytes may follow a RAW structure, one
 * bit for each field: a set one hides the field, as the mark in the name of a NAMED record does (model/shape.h). The
 * decoder leaves such fields out. Programs in C, for which the size is that of their structure, get no marks.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RAW_LAYOUT_H
#define MODEL_RAW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "model/decode.h"
#include "model/record.h"

enum ks_raw_type { KS_RAW_U32, KS_RAW_I32, KS_RAW_U64, KS_RAW_NSEC /* int64_t */, KS_RAW_CHARS };

#define KS_RAW_MARKS 16 /* bytes behind a RAW structure: marks for 128 fields */

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

/* Returns whether the n-th field is hidden in data of that size. */
bool ks_raw_is_hidden(const struct ks_raw_layout *l, const void *data, size_t size, size_t n);

/*
 * Appends a structure full of zeros to a RAW record. If `marked`, marks follow it, which hide each field until
 * ks_raw_put() gives it a value. Returns false without memory.
 */
bool ks_raw_start(struct ks_record *r, const struct ks_raw_layout *l, bool marked);

/* Sets a field of that structure by its name, and shows it; names that the layout lacks are ignored. */
void ks_raw_put(struct ks_record *r, const struct ks_raw_layout *l, const char *name, const struct ks_value *v);
void ks_raw_put_u64(struct ks_record *r, const struct ks_raw_layout *l, const char *name, uint64_t v);

#endif
