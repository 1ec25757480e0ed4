/*
 * decode.h - the one decoder: turns the data of any kstat into (statistic, value) pairs.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"

enum ks_value_kind {
	KS_VALUE_I64,
	KS_VALUE_U64,
	KS_VALUE_DOUBLE,
	KS_VALUE_STRING, /* str, len bytes, not necessarily NUL-terminated */
	KS_VALUE_NSEC,   /* i64: a time inside IO and TIMER data */
	KS_VALUE_TIME,   /* i64: crtime, snaptime */
	KS_VALUE_INTS,   /* str points at len uint64_t, maybe unaligned */
	KS_VALUE_STRS    /* str points at NUL-terminated strings, len bytes in all */
};

struct ks_value {
	uint8_t kind; /* enum ks_value_kind */
	uint8_t bits; /* width of an integer as stored, 32 or 64: where a counter wraps */
	uint32_t len;
	union {
		int64_t i64;
		uint64_t u64;
		double d;
		const char *str;
	};
};

/* Walks the statistics of one kstat in the order in which they are stored. */
struct ks_cursor {
	const kstat_t *ksp;
	const void *layout; /* RAW: its struct ks_raw_layout, or a table of blobstat.h; NULL if unknown */
	const char *data;
	size_t size;
	uint_t record; /* data record and member that come next */
	uint_t member;
	bool is_histogram;    /* it has the statistics of model/distribution.h behind those that are stored */
	uint8_t computed;     /* how many of these were passed */
	bool was_computed;    /* the statistic that came last is one of them */
	const kstat_t *since; /* they are of the time since this earlier reading; NULL: since creation */
};

/*
 * Starts at the first statistic of ksp->ks_data, which must stay until the walk ends. A kstat
 * that was never read, and a RAW one of unknown layout, have no statistics.
 */
void ks_cursor_open(struct ks_cursor *c, const kstat_t *ksp);

/*
 * The same, with the statistics that are computed for a histogram of what was counted since an earlier
 * reading, which must stay, too.
 */
void ks_cursor_open_since(struct ks_cursor *c, const kstat_t *ksp, const kstat_t *since);

/* The same for a later reading of a kstat, with the layout of the cursor that an earlier one had. */
void ks_cursor_open_like(struct ks_cursor *c, const void *layout, const kstat_t *ksp);

/*
 * Stores the next statistic's name (valid as long as the data; 30 bytes and a NUL at most) and value; false
 * at the end. Named statistics with an empty name, and hidden ones (model/shape.h), are skipped.
 */
bool ks_cursor_next(struct ks_cursor *c, const char **name, struct ks_value *v);

/*
 * Moves to the next statistic of that name, which ks_cursor_next() then stores. False, at the end, if there
 * is none.
 */
bool ks_cursor_seek(struct ks_cursor *c, const char *stat);

/* Returns whether kstat(8) shows this kstat: not a RAW one of unknown layout, and none named kstat_*. */
bool ks_is_shown(const kstat_t *ksp);

#endif
