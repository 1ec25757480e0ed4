/*
 * meta.h - what a statistic means: kind, semantic type, unit, one line of text.
 * Each source declares its statistics once, in tables of struct ks_meta, and the model those that it knows by itself;
 * the command's describe option, OpenMetrics and the documents all read them.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_META_H
#define MODEL_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"
#include "kstat2.h"

enum ks_kind {
	KS_KIND_COUNTER, /* grows; differences and rates make sense */
	KS_KIND_GAUGE,   /* goes up and down */
	KS_KIND_TEXT,
	KS_KIND_TIME /* a point in time, in nanoseconds of gethrtime() */
};

struct ks_meta {
	const char *stat;  /* the statistic; NULL ends a table */
	uint8_t kind;      /* enum ks_kind */
	uint8_t type;      /* kstat2_nv_metatype_t */
	uint32_t flags;    /* KSTAT2_NVMF_* */
	uint64_t scale;    /* value * scale (or / scale with FRACT) is in the base unit; 0 means 1 */
	const char *unit;  /* of the value as stored: "bytes", "pages", "ns", "ticks", "" for a plain count */
	const char *desc;  /* one line, no full stop */
};

/*
 * The initializers of struct ks_meta, for tables. KS_META: the unit is a base unit. KS_META_TIMES: the unit is
 * `times` base units. KS_META_PER: `per` of the unit are a base unit. The others are frequent cases.
 */
#define KS_META_OF(stat, kind, type, flags, scale, unit, desc) { stat, kind, type, flags, scale, unit, desc }
#define KS_META(stat, kind, type, unit, desc) KS_META_OF(stat, kind, type, 0, 1, unit, desc)
#define KS_META_TIMES(stat, kind, type, times, unit, desc) KS_META_OF(stat, kind, type, 0, times, unit, desc)
#define KS_META_PER(stat, kind, type, per, unit, desc) \
	KS_META_OF(stat, kind, type, KSTAT2_NVMF_FRACT, per, unit, desc)
#define KS_META_COUNTER(stat, desc) KS_META(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, "", desc)
#define KS_META_GAUGE(stat, desc) KS_META(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, "", desc)
#define KS_META_BYTES(stat, kind, desc) KS_META(stat, kind, KSTAT2_NVMT_BYTES, "bytes", desc)
#define KS_META_NSEC(stat, kind, type, desc) KS_META_PER(stat, kind, type, 1000000000, "ns", desc)
#define KS_META_TEXT(stat, desc) KS_META(stat, KS_KIND_TEXT, KSTAT2_NVMT_ID, "", desc)
/* A text that says how something is now, not what it is. */
#define KS_META_STATE(stat, desc) KS_META(stat, KS_KIND_TEXT, KSTAT2_NVMT_STATE, "", desc)
#define KS_META_END KS_META_OF(NULL, 0, 0, 0, 0, NULL, NULL)

/* Looks a statistic up in a table that a NULL stat ends; NULL if it is not there. */
const struct ks_meta *ks_meta_find(const struct ks_meta *table, const char *stat);

/* Metadata of a statistic of illumos that Linux does not count. */
extern const struct ks_meta ks_meta_not_counted;

/* Returns "counter", "gauge", "text" or "time". */
const char *ks_kind_name(uint8_t kind);

/*
 * Returns metadata that is the same for all sources: of crtime, snaptime and class, of the members
 * of INTR, IO and TIMER kstats, of histograms, of known RAW layouts and of statsblobs (where the
 * result is valid in this thread until the next call). NULL if unknown.
 */
const struct ks_meta *ks_meta_of_model(const kstat_t *ksp, const char *stat);

/*
 * Returns the metadata of a statistic that the decoder computes for a histogram, from those of its buckets,
 * which have the unit of the values; valid in this thread until the next call. NULL: it computes none of that
 * name.
 */
const struct ks_meta *ks_meta_of_values(const struct ks_meta *buckets, const char *stat);

/* Returns whether a statistic has a name that the header of each kstat has: class, crtime and snaptime. */
bool ks_meta_is_header(const char *stat);

/* Returns what a statistic is that every histogram has, but for its unit, or NULL. */
const struct ks_meta *ks_meta_of_histogram(const char *stat);

/* Returns whether a histogram has something of that name without labels: a statistic, or a key. */
bool ks_meta_has_histogram(const char *name);

#endif
