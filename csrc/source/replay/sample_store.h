/*
 * sample_store.h - one sample of a replay in memory: its kstats, their statistics, and the texts of both.
 * Both readers fill it, and so does the writer of recordings, which compares each sample with the one
 * before.
 *
 * It is a few arrays that only grow: kstats name their values, and both name their texts, by numbers and
 * offsets, which stay good when the arrays move. Pointers into it are good until the next addition. An
 * addition that fails is remembered, as in a ks_buf: the caller looks at ks_store_failed() once the sample is
 * complete.
 *
 * The first kstat of an array is built beside the sample and replaces it when it is complete, so that damage in the
 * next sample never costs the current one. doc/captures.md says what captures may hold and what becomes of it.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_SAMPLE_STORE_H
#define SOURCE_REPLAY_SAMPLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/raw_layout.h"
#include "model/record.h"

#define KS_STORE_NULL UINT32_MAX /* the offset of a null string, and of a text that is not there */

/* Types of values beside KSTAT_DATA_*, which are below 32. */
#define KS_STORE_HIDDEN 0x80 /* added to the type of a hidden statistic in the definition of a recorded kstat */
#define KS_STORE_EVENT 0xfe /* the name of an event in TIMER data: the first value of each record */
#define KS_STORE_BYTES 0xff /* the whole data section of a statsblob (model/blobstat.h) */

/*
 * One statistic of a NAMED kstat, or one field of a structure. Numbers of 32 bits are in the lower half
 * of u64, a KSTAT_DATA_FLOAT as its bits.
 */
struct ks_store_value {
	uint32_t name; /* offset in the text; of NAMED kstats and of statistics of statsblobs */
	uint8_t type;  /* KSTAT_DATA_*, KS_STORE_* */
	uint8_t width; /* bytes of a number, 4 or 8; 0: it is a text or an array */
	bool hidden;   /* it is for programs in C only (model/shape.h, model/raw_layout.h) */
	union {
		uint64_t u64;
		int64_t i64;
		double d;
		struct {
			uint32_t at; /* offset in the text; KS_STORE_NULL: a null string */
			uint32_t len; /* bytes */
		};
	};
};

/* What a statistic means: a struct ks_meta, with offsets in the text instead of pointers. */
struct ks_store_meta {
	uint64_t scale;
	uint32_t stat, unit, desc;
	uint32_t flags;
	uint32_t count; /* of the first statistic of a kstat: how many follow each other; of others 0 */
	uint8_t kind, type;
};

/* Returns the number that lies at a place in `width` bytes, 4 or 8; stores one. */
static inline uint64_t
ks_store_load(const void *at, unsigned width)
{
	uint32_t narrow;
	uint64_t wide;

	if (width == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static inline void
ks_store_put(void *to, uint64_t v, unsigned width)
{
	uint32_t narrow = (uint32_t)v;

	memcpy(to, width == sizeof(narrow) ? (const void *)&narrow : &v, width);
}

struct ks_store_kstat {
	hrtime_t crtime, snaptime;
	hrtime_t base; /* only recordings use it: what the next snaptime is expected from */
	uint32_t module, name, class_; /* offsets in the text */
	uint32_t first, nvalues;       /* its values; of a structure in the order of the fields */
	uint32_t meta; /* the number of its first struct ks_store_meta plus 1; 0: none is known */
	int instance;
	uint_t ndata;  /* data records */
	uint32_t publisher, uid, pid; /* of a published kstat: an offset in the text, and two numbers */
	uint32_t host; /* of a kstat of one of several machines: an offset in the text */
	kid_t kid;     /* only the writer of recordings uses it */
	uint8_t type;  /* KSTAT_TYPE_* */
	uint8_t flags; /* KSTAT_FLAG_* */
	uint8_t lane;  /* only recordings use it: a hash of the class */
	bool published, has_host;
	bool fresh;    /* only recordings use it: no base is known yet */
	bool still;    /* only the reader of recordings uses it: none of its numbers is expected to move */
	bool readable; /* false: it could not be read when the sample was taken */
};

struct ks_store {
	struct ks_buf text;           /* NUL-terminated texts, arrays of 8-byte numbers */
	struct ks_store_kstat *kstat; /* owned, like the values */
	struct ks_store_value *value;
	struct ks_store_meta *meta; /* kstats whose statistics mean the same share theirs */
	size_t nkstats, kstat_cap, nvalues, value_cap, nmetas, meta_cap;
	size_t most;    /* bytes that the sample may take; 0: any number */
	bool failed;    /* an addition failed: no memory, or too large */
	bool too_large; /* it would exceed `most`, or 4 GB of text */
};

#define KS_STORE_TOO_LARGE "a sample is larger than KSTAT_SAMPLE_MAX allows"

void ks_store_free(struct ks_store *s);

/* Empties the store and keeps its memory. */
void ks_store_reset(struct ks_store *s);

/* Makes `to` hold what `from` holds, at the same offsets. */
void ks_store_copy(struct ks_store *to, const struct ks_store *from);

/* True if an addition failed. */
static inline bool
ks_store_failed(const struct ks_store *s)
{
	return s->failed || s->text.failed;
}

/* The text at an offset. */
static inline const char *
ks_store_text(const struct ks_store *s, uint32_t at)
{
	return s->text.data + at;
}

/* The values of a kstat; never NULL. */
static inline struct ks_store_value *
ks_store_values(const struct ks_store *s, const struct ks_store_kstat *k)
{
	static struct ks_store_value none;

	return k->nvalues > 0 ? s->value + k->first : &none;
}

/* Aligns the end of the text for numbers. */
void ks_store_align(struct ks_store *s);

/* Appends n bytes and a NUL to the text. Returns their offset, or KS_STORE_NULL after a failure. */
uint32_t ks_store_add_text(struct ks_store *s, const char *p, size_t n);

/* Appends a number to an array in the text; false after a failure. */
bool ks_store_add_number(struct ks_store *s, uint64_t u);

/* Appends a kstat, a value, what a statistic means, with texts that were added. False after a failure. */
bool ks_store_add_kstat(struct ks_store *s, const struct ks_store_kstat *k);
bool ks_store_add_value(struct ks_store *s, const struct ks_store_value *v);
bool ks_store_add_meta(struct ks_store *s, const struct ks_store_meta *m);

/* True for a statsblob, whose data section is one value. */
static inline bool
ks_store_is_statsblob(const struct ks_store_kstat *k)
{
	return k->type == KSTAT_TYPE_RAW && (k->flags & KSTAT_FLAG_STATSBLOB) != 0;
}

/* The structure that the data records of a kstat are; NULL for NAMED, statsblobs and unknown RAW data. */
const struct ks_raw_layout *ks_store_layout(const struct ks_store *s, const struct ks_store_kstat *k);

/*
 * The size of the data of a kstat, bytes; 0 for a statsblob, whose statistics are known from a read. *nforeign is
 * increased by the number of values that ks_record_make_plain() removes.
 */
size_t ks_store_data_size(const struct ks_store *s, const struct ks_store_kstat *k, uint_t *nforeign);

/*
 * Builds the data of a readable kstat. 0, or -1 with errno EBADMSG (a damaged statsblob), EOPNOTSUPP (one of
 * another byte order or version) or ENOMEM.
 */
int ks_store_read(const struct ks_store *s, const struct ks_store_kstat *k, struct ks_record *r);

#endif
