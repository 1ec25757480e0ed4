/*
 * record.h - what a source delivers when one kstat is read: the data section being built,
 * and the builders of each type's data. Memory is reused from read to read.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"

struct ks_record {
	struct ks_buf fixed; /* the data records */
	struct ks_buf heap;  /* strings and arrays that named records refer to by offset */
	uint_t ndata;        /* data records */
	hrtime_t snaptime;   /* when the data was taken */
	bool strings;        /* there are values of KSTAT_DATA_STRING or _STRS: KSTAT_FLAG_LONGSTRINGS */
};

#define KS_RECORD_INIT { KS_BUF_INIT, KS_BUF_INIT, 0, 0, false }

/* KSTAT_FLAG_LONGSTRINGS if one of n named values is of KSTAT_DATA_STRING or _STRS, else 0. */
uchar_t ks_named_flags(const kstat_named_t *kn, uint_t n);

void ks_record_free(struct ks_record *r);

/* Empties the record for the next read; snaptime 0 means "now" to the chain. */
void ks_record_reset(struct ks_record *r);

/* True if an append failed for want of memory. */
bool ks_record_failed(const struct ks_record *r);

/* One more zeroed data record of size bytes; NULL without memory. */
void *ks_record_add(struct ks_record *r, size_t size);

/* One more named value. A name longer than 30 bytes is cut. Nothing to check: see ks_record_failed. */
void ks_named_i32(struct ks_record *r, const char *name, int32_t v);
void ks_named_u32(struct ks_record *r, const char *name, uint32_t v);
void ks_named_i64(struct ks_record *r, const char *name, int64_t v);
void ks_named_u64(struct ks_record *r, const char *name, uint64_t v);
void ks_named_double(struct ks_record *r, const char *name, double v);
/* KSTAT_DATA_CHAR; cut to 16 bytes. */
void ks_named_chars(struct ks_record *r, const char *name, const char *s, size_t n);
/* KSTAT_DATA_STRING of n bytes (cut at a NUL); s NULL: a null string. */
void ks_named_string(struct ks_record *r, const char *name, const char *s, size_t n);
void ks_named_ints(struct ks_record *r, const char *name, const uint64_t *v, size_t n);
/* n bytes that hold NUL-terminated strings one after the other. */
void ks_named_strs(struct ks_record *r, const char *name, const char *s, size_t n);

/*
 * Makes texts fit to be printed when a stranger wrote them: in n bytes each control character (below 0x20
 * but for NUL, and 0x7f) becomes '?'.
 */
void ks_clean_text(char *s, size_t n);

/* The same in all texts of a NAMED record that is not finished yet. */
void ks_record_clean_texts(struct ks_record *r);

/* Bytes that the finished data section takes. */
size_t ks_record_size(const struct ks_record *r);

/*
 * Writes the finished data section, ks_record_size() bytes, to `to` (8-byte aligned); named
 * values then point into it.
 */
void ks_record_finish(const struct ks_record *r, uchar_t type, void *to);

/*
 * After a NAMED data section was copied byte for byte from `from` to `to`: makes the pointers
 * of the copy point into the copy.
 */
void ks_named_relocate(kstat_named_t *to, uint_t ndata, const void *from, size_t size);

#endif
