/*
 * values.h - all statistics of one kstat as people see them: class, crtime and snaptime beside
 * those in the data, and their order. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_VALUES_H
#define CHAIN_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "chain/delta.h"
#include "model/decode.h"

struct ks_pair {
	const char *name; /* points into the kstat */
	uint32_t order;   /* scratch of ks_values_sort() */
	struct ks_value value;
};

/* A reusable list; the values point into the kstat that they come from. */
struct ks_values {
	struct ks_pair *pair; /* owned */
	size_t n;
	size_t cap;
};

void ks_values_free(struct ks_values *v);

/*
 * Collects class, crtime, snaptime (the last only if the kstat was read) and then the data's
 * statistics, in stored order. with_class false leaves out class. 0, or -1 with errno ENOMEM.
 */
int ks_values_collect(struct ks_values *v, const kstat_t *ksp, bool with_class);

/* The same without its class, and without what is computed for a histogram, which takes time. */
int ks_values_collect_stored(struct ks_values *v, const kstat_t *ksp);

/*
 * The same of what happened between two samples: counters as their change per second, everything else
 * as it is in the later one, see ks_delta_cursor_next_rate(). kc: where metadata is asked for.
 */
int ks_values_collect_rates(struct ks_values *v, const struct ks_delta *d, kstat_ctl_t *kc,
    bool with_class);

/* Adds one pair at the end; the name is not copied. 0, or -1 with errno ENOMEM. */
int ks_values_add(struct ks_values *v, const char *name, const struct ks_value *value);

/* Sorts by name without case; of equals, the one collected later first. */
void ks_values_sort(struct ks_values *v);

/* --- write.c -------------------------------------------------------------------------------------------- */

/*
 * Reads a NAMED kstat, gives the n statistics their new values and writes it with kstat_write(): all
 * or nothing. Integers accept any number that they can hold exactly, strings accept strings.
 * Returns the KCID, or -1 with errno: EACCES not writable, ENOENT no such statistic, ERANGE the
 * value does not fit, EINVAL the wrong kind of value (a string with a NUL in it is one) or not a NAMED kstat,
 * and those of kstat_read() and kstat_write().
 */
kid_t ks_write_values(kstat_ctl_t *kc, kstat_t *ksp, const struct ks_pair *pairs, size_t n);

#endif
