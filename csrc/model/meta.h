/*
 * meta.h - what a statistic means: kind, semantic type, unit, one line of text.
 * Each source declares its statistics once, in tables of struct ks_meta; the command's
 * describe option, OpenMetrics and the documents all read them.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_META_H
#define MODEL_META_H

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
	uint64_t scale;    /* value * scale (or / scale with FRACT) is in the base unit; 0 and 1: as it is */
	const char *unit;  /* of the value as stored: "bytes", "pages", "ns", "ticks", "" for a plain count */
	const char *desc;  /* one line, no full stop */
};

/* Looks a statistic up in a table that a NULL stat ends; NULL if it is not there. */
const struct ks_meta *ks_meta_find(const struct ks_meta *table, const char *stat);

/*
 * Metadata that follows from the model alone: crtime, snaptime and class of any kstat, the
 * members of INTR, IO and TIMER kstats, of histograms, and of known RAW layouts and statsblobs (the
 * answer about those is the thread's, until the next call). NULL if unknown.
 */
const struct ks_meta *ks_meta_of_model(const kstat_t *ksp, const char *stat);

/* "counter", "gauge", "text", "time". */
const char *ks_kind_name(uint8_t kind);

#endif
