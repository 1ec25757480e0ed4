/*
 * restore.h - undoes what printing did to kstats: names of equal rank in reverse order, "class" among the
 * statistics, and members of C structures as single statistics. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_RESTORE_H
#define SOURCE_REPLAY_CAPTURE_RESTORE_H

#include <stdbool.h>

#include "source/replay/sample_store.h"

/* Compares names as kstat(8) sorts them: by bytes, upper case as lower case. */
int ks_capture_compare(const char *a, const char *b);

/* Compares two kstats as kstat(8) sorts them: module, instance, name. */
int ks_capture_compare_kstats(const struct ks_store *s, const struct ks_store_kstat *a,
    const struct ks_store_kstat *b);

/*
 * Restores a kstat whose values are the last ones of the store. `reversed`: values of equal names are in
 * reverse order. INTR, IO, TIMER and known RAW kstats get their values in the order of the structure's
 * fields; if these lack members, have others, or do not fit, the kstat becomes NAMED, so that what was
 * captured is shown and nothing is made up. A RAW kstat of unknown layout loses its values, except the
 * statistics of a statsblob.
 */
void ks_capture_restore(struct ks_store *s, struct ks_store_kstat *k, bool reversed);

/* Puts kstats of equal rank, which were printed in reverse order, back into theirs. */
void ks_capture_restore_order(struct ks_store *s);

#endif
