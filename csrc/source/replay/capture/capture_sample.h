/*
 * capture_sample.h - one sample of a capture in memory: the kstats of one array, packed into
 * three arenas that the next sample reuses. The next sample grows behind the current one and
 * takes its place when its first kstat is complete, so damage never leaves less than there was.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_CAPTURE_SAMPLE_H
#define SOURCE_REPLAY_CAPTURE_CAPTURE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/decode.h"
#include "model/record.h"

#define KS_CAPTURE_NULL SIZE_MAX /* as `at` of a string: a null string */

/* One statistic as the capture has it. */
struct ks_capture_value {
	size_t name; /* offset in the text, NUL-terminated, like every string there */
	union {
		uint64_t u64;
		int64_t i64;
		double d;
		size_t at; /* STRING, INTS, STRS: offset in the text */
	};
	uint32_t len; /* bytes of STRING and STRS, elements of INTS */
	uint8_t kind; /* enum ks_value_kind: I64, U64, DOUBLE, STRING, INTS, STRS */
};

struct ks_capture_kstat {
	size_t module, name, class_; /* offsets in the text */
	size_t first, nvalues;       /* NAMED: its values */
	size_t data, size;           /* other types: bytes at an offset in the text */
	hrtime_t crtime, snaptime;
	int instance;
	uint_t ndata;
	uint8_t type;  /* KSTAT_TYPE_* */
	uint8_t flags; /* KSTAT_FLAG_* */
	bool readable; /* false: the command that made the capture could not read it */
	bool ordered;  /* its statistics came in the order in which kstat(8) prints */
	bool ties;     /* and some names differ in case only, or not at all */
};

struct ks_capture_sample {
	struct ks_buf text;
	struct ks_buf values; /* struct ks_capture_value */
	struct ks_buf kstats; /* struct ks_capture_kstat */
	size_t old_text, old_values, old_kstats; /* what of them is the sample before */
	bool ordered, ties; /* of the kstats, as in struct ks_capture_kstat */
};

#define KS_CAPTURE_SAMPLE_INIT { KS_BUF_INIT, KS_BUF_INIT, KS_BUF_INIT, 0, 0, 0, true, false }

void ks_capture_sample_free(struct ks_capture_sample *s);

/* The number of kstats. While the next sample is built: those that are complete, of both. */
size_t ks_capture_sample_count(const struct ks_capture_sample *s);

/* The i-th kstat, and a string of the text. */
const struct ks_capture_kstat *ks_capture_sample_kstat(const struct ks_capture_sample *s,
    size_t i);
const char *ks_capture_sample_text(const struct ks_capture_sample *s, size_t at);

/* --- building ---------------------------------------------------------------- */

/* The next sample starts. */
void ks_capture_sample_start(struct ks_capture_sample *s);

/* The next kstat starts: *k is set to what a kstat without any members is. */
void ks_capture_sample_begin(struct ks_capture_sample *s, struct ks_capture_kstat *k);

/* Appends n bytes and a NUL to the text; the offset, or KS_CAPTURE_NULL without memory. */
size_t ks_capture_sample_add_text(struct ks_capture_sample *s, const char *p, size_t n);

/* Aligns the end of the text for numbers. */
void ks_capture_sample_align(struct ks_capture_sample *s);

/* Appends a value to the kstat that was begun. */
void ks_capture_sample_add_value(struct ks_capture_sample *s, struct ks_capture_kstat *k,
    const struct ks_capture_value *v);

/*
 * The kstat is complete: its statistics are brought into the form of its type. INTR, IO, TIMER
 * and known RAW data that lacks members, or has others, or whose numbers do not fit the C
 * structure, becomes NAMED, so that what was captured is shown and nothing is made up.
 */
void ks_capture_sample_end(struct ks_capture_sample *s, struct ks_capture_kstat *k);

/* Forgets the kstat that was begun. */
void ks_capture_sample_drop(struct ks_capture_sample *s, const struct ks_capture_kstat *k);

/*
 * The array ended, or will not go on: what is complete becomes the sample. With `only_if_any`,
 * the sample before stays if nothing is; then false. Kstats that the command printed in its
 * order, which reverses ties, are put back into theirs.
 */
bool ks_capture_sample_finish(struct ks_capture_sample *s, bool only_if_any);

/* True if an append failed for want of memory. */
bool ks_capture_sample_failed(const struct ks_capture_sample *s);

/* --- reading ------------------------------------------------------------------ */

/* The data of the i-th kstat, which must be readable. */
void ks_capture_sample_read(const struct ks_capture_sample *s, size_t i, struct ks_record *r);

/* Order of kstat(8): bytes without case. */
int ks_capture_compare(const char *a, const char *b);

#endif
