/*
 * shape.h - the shape of a NAMED kstat: which data records it always has, in which order, and of which types.
 *
 * The records of illumos are complete for programs in C, which use positions and do not check what a lookup
 * returns. A statistic that is in the shape and has no value now, because Linux does not count it or because its
 * file cannot be read, is there with the value 0. Such a data record is hidden: the decoder (model/decode.h)
 * leaves it out, so that everybody else sees only what is counted. It is marked in the last byte of its name,
 * which is behind the NUL; a program in C does not notice the mark, and it is copied wherever the record is.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_SHAPE_H
#define MODEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "kstat.h"
#include "model/record.h"

static inline bool
ks_named_is_hidden(const kstat_named_t *kn)
{
	return kn->name[KSTAT_STRLEN - 1] != '\0';
}

/* Hides a data record, unless its name leaves no room for the mark. */
static inline void
ks_named_hide(kstat_named_t *kn)
{
	if (kn->name[KSTAT_STRLEN - 2] == '\0')
		kn->name[KSTAT_STRLEN - 1] = 1;
}

/* Hides the data records of a NAMED record from the given number on: they are for programs in C. */
void ks_record_hide(struct ks_record *r, uint_t first);

/* Removes the hidden data records of a NAMED record, which nobody but such programs sees. */
void ks_record_drop_hidden(struct ks_record *r);

/* Returns the hidden data record of a NAMED kstat that was read, or NULL if it has none of that name. */
const kstat_named_t *ks_named_find_hidden(const kstat_t *ksp, const char *stat);

struct ks_shape {
	kstat_named_t *v; /* hidden ones; owned */
	size_t n, cap;
	size_t nstrings; /* how many are, or may become, of KSTAT_DATA_STRING */
	bool has_texts; /* some statistics are texts */
	bool retypes;   /* a statistic that was added is listed with another type */
};

#define KS_SHAPE_INIT { NULL, 0, 0, 0, false, false }

void ks_shape_free(struct ks_shape *s);

/*
 * Appends a data record, unless one of the first `listed` has that name already, with that type or another one, or the name is so long that it
 * cannot be hidden. Returns false without memory.
 */
bool ks_shape_add(struct ks_shape *s, size_t listed, const char *name, size_t len, uchar_t data_type);

/*
 * Appends a list of ks_illumos_stats(). The letters of the types: c KSTAT_DATA_CHAR, s STRING, i INT32, u UINT32,
 * I INT64, U UINT64. Returns false without memory.
 */
bool ks_shape_add_list(struct ks_shape *s, const char *list);

/* True if the shape has a statistic of that name. */
bool ks_shape_has(const struct ks_shape *s, const char *stat);

/*
 * Brings a NAMED record that is not finished yet into the shape: into its order, with its types, and with hidden
 * data records for those that are missing. Those that the shape lacks follow at the end. Integers become as wide as
 * the shape says; if `exact`, a value that does not fit keeps its own type. So do texts that are too long for
 * KSTAT_DATA_CHAR, and values of another kind.
 */
void ks_shape_apply(const struct ks_shape *s, struct ks_record *r, bool exact);

/* Gives a NAMED record that is not finished yet the types of the shape, with those integers cut to them, and no more. */
void ks_shape_retype(const struct ks_shape *s, struct ks_record *r);

#endif
