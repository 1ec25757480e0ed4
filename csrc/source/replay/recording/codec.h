/*
 * codec.h - one sample of a recording as bytes, and back. Writer and reader keep the same
 * state: the kstats of the sample before. A sample says which kstats left, changed shape and came,
 * and by how much each number differs from what the samples before it let expect.
 *
 * All integers are varints (base/varint.h), signed ones folded. A sample is
 *     the steps of the time of day and of the time of the sample,
 *     the number of kstats that left, and of each its distance from the one before,
 *     the number that changed shape, and of each the distance and the new definition,
 *     the number that came, and their definitions,
 *     a count of fields that are as expected, then (difference, count) pairs.
 * The fields of a kstat are its state (readable or not), its snaptime, and the numbers and strings of
 * its data section (of a statsblob the data section as one string). The difference of a string is followed by its length plus one and its bytes; that
 * of a number whose values have a power of ten in common is in units of it (state.c).
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_CODEC_H
#define SOURCE_REPLAY_RECORDING_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/record.h"

enum ks_rec_kind {
	KS_REC_INT,   /* a number of `width` bytes at `offset` */
	KS_REC_CHARS, /* text with room for `width` bytes at `offset` */
	KS_REC_HEAP,  /* a string or an array that the named record refers to */
	KS_REC_DATA   /* the whole data section, of a statsblob (model/blobstat.h) */
};

/* One field of the data section: where it lies, and what it was in the sample before. */
struct ks_rec_field {
	uint32_t offset; /* in the data records */
	uint16_t width;
	uint8_t kind;    /* enum ks_rec_kind */
	uint32_t len;    /* bytes at text */
	uint64_t value;
	uint64_t step;   /* by how much the value is expected to change */
	uint64_t last;   /* by how much it changed last */
	int64_t unit;    /* what divides it, a power of ten; for numbers */
	char *text;      /* owned; NULL: none */
};

struct ks_rec_kstat {
	kstat_t k;                  /* the header; ks_data stays NULL */
	uint64_t readable;          /* 0 or 1 */
	uint64_t snaptime;
	kstat_named_t *named;       /* NAMED, TIMER: names and types of its records; owned */
	struct ks_rec_field *field; /* owned */
	size_t nfields;
};

struct ks_rec_state {
	struct ks_rec_kstat *kstat; /* in the order in which they came; owned */
	size_t n, cap;
	uint64_t time_of_day; /* ns since 1970 */
	uint64_t taken;       /* ns of gethrtime() */
};

void ks_rec_state_free(struct ks_rec_state *s);

/* Forgets everything: what a keyframe starts from. */
void ks_rec_state_reset(struct ks_rec_state *s);


/*
 * Appends the bytes of a sample of n kstats to `out` and makes it the state. The kstats come
 * in the order of their ks_kid; ks_data NULL: it could not be read. 0, or -1 with errno ENOMEM (the state is then useless until reset).
 */
int ks_rec_encode(struct ks_rec_state *s, const kstat_t *const *k, size_t n, int64_t time_of_day,
    int64_t taken, struct ks_buf *out);

/* Makes the sample of these bytes the state. 0, or -1 with errno EBADMSG or ENOMEM and a message. */
int ks_rec_decode(struct ks_rec_state *s, const void *bytes, size_t n);

/* Rebuilds the data section of one kstat. 0, or -1 with errno EBADMSG (a damaged blob), ENOMEM. */
int ks_rec_build(const struct ks_rec_kstat *rk, struct ks_record *r);

#endif
