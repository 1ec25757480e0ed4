/* known_meta.h - metadata of the statistics that the model knows by itself. SPDX-License-Identifier: MIT */
#ifndef MODEL_KNOWN_META_H
#define MODEL_KNOWN_META_H

#include <stdbool.h>

#include "model/meta.h"

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
