/*
 * record.h - what a source delivers when one kstat is read: the data section while it is built.
 *
 * The chain empties its record (ks_record_reset()), and the source appends data records in the order in which
 * the kstat has them. Until the record is finished, texts and arrays lie in the heap, and named records hold
 * their offsets there. In this state the record may still be changed: brought into a shape, hidden in part
 * (model/shape.h), cleaned. Then ks_record_finish() writes records and heap as one block, with pointers in
 * place of the offsets. A lack of memory is noticed once, by ks_record_failed(). The memory is kept for the
 * next read.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "kstat.h"

struct ks_record {
	struct ks_buf fixed; /* the data records */
	struct ks_buf heap;  /* strings and arrays that named records refer to by offset */
	uint_t ndata;        /* data records */
	hrtime_t snaptime;   /* when the data was taken */
	bool strings;        /* there are values of KSTAT_DATA_STRING or _STRS: KSTAT_FLAG_LONGSTRINGS */
	uint64_t walk;       /* of its reader: what a source copied for an earlier kstat of it is new enough; 0: none */
};

#define KS_RECORD_INIT { KS_BUF_INIT, KS_BUF_INIT, 0, 0, false, 0 }

/*
 * The bytes of a value of that KSTAT_DATA_* type inside a kstat_named_t, of which the rest is 0: programs read a
 * UINT32 through value.ul.
 */
size_t ks_named_width(uchar_t data_type);

/* True for types of values that kstats of illumos do not have. */
static inline bool
ks_named_is_foreign(uchar_t data_type)
{
	return data_type > KSTAT_DATA_UINT64 && data_type != KSTAT_DATA_STRING;
}

/* True for values that refer to a text or an array elsewhere. */
static inline bool
ks_named_is_reference(const kstat_named_t *kn)
{
	return kn->data_type == KSTAT_DATA_STRING || kn->data_type == KSTAT_DATA_INTS ||
	    kn->data_type == KSTAT_DATA_STRS;
}

/* Returns number i of an array, KSTAT_DATA_INTS, which need not be aligned. */
static inline uint64_t
ks_ints_at(const char *ints, size_t i)
{
	uint64_t n;

	memcpy(&n, ints + i * sizeof(n), sizeof(n));
	return n;
}

/* KSTAT_FLAG_LONGSTRINGS if one of n named values is of KSTAT_DATA_STRING or _STRS, else 0. */
uchar_t ks_named_flags(const kstat_named_t *kn, uint_t n);

void ks_record_free(struct ks_record *r);

/* The bytes that a text or an array of n bytes adds to the data section at most. */
static inline size_t
ks_named_room(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Empties the record for the next read; snaptime 0 means "now" to the chain. */
void ks_record_reset(struct ks_record *r);

/* Returns whether memory was lacking for an append. */
bool ks_record_failed(const struct ks_record *r);

/* Appends and returns a zeroed data record of size bytes; NULL without memory. */
void *ks_record_add(struct ks_record *r, size_t size);

/* Each appends a named value. Names are cut to 30 bytes. ks_record_failed() reports a lack of memory. */
void ks_named_i32(struct ks_record *r, const char *name, int32_t v);
void ks_named_u32(struct ks_record *r, const char *name, uint32_t v);
void ks_named_i64(struct ks_record *r, const char *name, int64_t v);
void ks_named_u64(struct ks_record *r, const char *name, uint64_t v);
void ks_named_double(struct ks_record *r, const char *name, double v);
/* KSTAT_DATA_CHAR, cut to 16 bytes. */
void ks_named_chars(struct ks_record *r, const char *name, const char *s, size_t n);
/* KSTAT_DATA_STRING of n bytes (cut at a NUL); s NULL: a null string. */
void ks_named_string(struct ks_record *r, const char *name, const char *s, size_t n);
/* Gives a data record of r, of KSTAT_DATA_STRING, its value: n bytes, cut at a NUL. */
void ks_record_set_string(struct ks_record *r, kstat_named_t *kn, const char *s, size_t n);
void ks_named_ints(struct ks_record *r, const char *name, const uint64_t *v, size_t n);
/* n bytes that hold NUL-terminated strings one after the other. */
void ks_named_strs(struct ks_record *r, const char *name, const char *s, size_t n);

/*
 * Makes text of unknown origin safe to print: in n bytes each byte of a character that may not be printed
 * (base/printable.h), except NUL, becomes '?'.
 */
void ks_clean_text(char *s, size_t n);

/* The same for all texts of a NAMED record that is not finished yet, and for its names unless they are our own. */
void ks_record_clean_texts(struct ks_record *r, bool with_names);

/* Removes the values of foreign types from a NAMED record that is not finished yet. */
void ks_record_make_plain(struct ks_record *r);

/* Returns the size of the finished data section in bytes. */
size_t ks_record_size(const struct ks_record *r);

/*
 * Writes the finished data section, ks_record_size() bytes, to `to` (8-byte aligned); named
 * values then point into it.
 */
void ks_record_finish(const struct ks_record *r, uchar_t type, void *to);

/*
 * Makes the pointers of a NAMED data section that was copied byte for byte from `from` to `to`
 * point into the copy.
 */
void ks_named_relocate(kstat_named_t *to, uint_t ndata, const void *from, size_t size);

#endif
