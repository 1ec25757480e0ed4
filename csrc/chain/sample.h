/*
 * sample.h - an immutable copy of kstats at one moment: headers and data, with their own times.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_SAMPLE_H
#define CHAIN_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "kstat.h"
#include "model/decode.h"
#include "select/selector.h"

/*
 * A sample grows by copies, each read from the chain at that moment, and none of them changes: so it stays
 * good when the chain moves on, and after it was closed. It has no connection to the chain but the IDs of
 * kstats, by which it knows what existed when it was made and was not asked for.
 */
struct ks_sample {
	size_t n;
	/*
	 * Copies: headers and ks_data; in the order they were added. Samples of one moment may share them. ks_private: see
	 * ks_sample_time().
	 */
	kstat_t **ksp;
	hrtime_t taken;      /* ks_chain_now() when it was made */
	hrtime_t real;       /* gethrtime() when it was made, which differs from that beside a recorded tree */
	int64_t time_of_day, seconds; /* as ks_chain_time_of_day() has them */
	size_t cap;
	size_t size;         /* of the copies, in bytes */
	kid_t next_kid;      /* all kstats that the chain had when it was made have lower IDs */
	struct ks_table index; /* the first of each module, instance and name */
	struct ks_table later; /* by kid, the others: a capture may hold several of one name */
	struct ks_sample *left; /* owned, of what a step begins with: what left within it, as it was last; see below */
	bool carried;           /* ks_sample_carry() made it */
};

/* An empty sample of this moment. Owned by the caller. NULL with errno ENOMEM. */
struct ks_sample *ks_sample_new(kstat_ctl_t *kc);

/*
 * Reads one kstat and adds the copy, which it returns; one that is there already is returned as it
 * is. A kstat that cannot be read is added without data. NULL with errno ENOMEM.
 */
const kstat_t *ks_sample_add(struct ks_sample *s, kstat_ctl_t *kc, kstat_t *ksp);

/*
 * Adds the kstats that an earlier sample of the chain has and that still exist, and those that came since and any of
 * the selectors matches. If the earlier one has all that the selectors match, so has this one. is_same: the earlier one
 * is of the same sample of a replay, so that its copies are good. 0, or -1 with errno.
 */
int ks_sample_add_as(struct ks_sample *s, kstat_ctl_t *kc, const struct ks_sample *earlier, bool is_same,
    const struct ks_selector *const *selectors, size_t n);

/* Adds the copies of another sample whose kstats it does not have, by their names. 0, or -1 with errno ENOMEM. */
int ks_sample_share(struct ks_sample *s, const struct ks_sample *from);

/* Adds a copy of another sample, in place of one of its name. 0, or -1 with errno ENOMEM. */
int ks_sample_replace(struct ks_sample *s, kstat_t *copy);

void ks_sample_free(struct ks_sample *s);

/*
 * Returns when the sample was made, on the clock of a copy that is in a sample of the same chain: `real` if its
 * ks_private is not NULL, else `taken`.
 */
hrtime_t ks_sample_time(const struct ks_sample *s, const kstat_t *copy);

/* The copy of the same kstat (by its ID), or NULL. Constant time. */
const kstat_t *ks_sample_find(const struct ks_sample *s, const kstat_t *ksp);

/* The first copy with this module, instance and name, or NULL. Constant time. */
const kstat_t *ks_sample_lookup(const struct ks_sample *s, const char *module, int instance,
    const char *name);

/* The same kstat of an earlier sample, or else one with its name: it was created anew. NULL: it has none. */
const kstat_t *ks_sample_counterpart(const struct ks_sample *before, const kstat_t *now);

/* Whether a kstat of the chain was there when the sample was made, and the sample does not have it. */
bool ks_sample_lacks(const struct ks_sample *s, const kstat_t *ksp);

/*
 * What a counter of 32 or 64 bits counted between two readings. It is continued where it passed its width. A
 * counter that fell otherwise counted 0: the kernel corrects some of its times backwards, so a fall does not
 * show that counting began anew. The signed form is for times, which are continued above their largest value.
 */
uint64_t ks_counted(uint64_t prev, uint64_t now, unsigned bits);
uint64_t ks_counted_signed(int64_t prev, int64_t now, unsigned bits);

/*
 * How far a statistic came from `prev` to `now` (values of the same statistic of two samples).
 * `reset` is true if the kstat was created anew in between (other crtime): then the difference
 * is what it counted since. Counters are as in ks_counted(). Returns false, and stores nothing, if the values
 * are not numbers.
 */
bool ks_value_delta(const struct ks_value *prev, const struct ks_value *now, bool counter,
    bool reset, struct ks_value *out);

/* A number as a double, times in seconds; false for everything else. */
bool ks_value_number(const struct ks_value *v, double *number);

/* --- carry.c: steps of the past ------------------------------------------------------------------------- */

/*
 * What a step begins with that has reached the sample `now`, at which the chain is; `before` is the sample before that,
 * and `begin` what the step began with so far. The difference from what is returned to any later sample is the sum of the
 * differences from one sample to the next: where a counter began anew or fell between the two, or nothing is counted
 * between them (is_cut), the counters of the new begin are those of `now` less what was counted until then, and its
 * times are as far before it as was recorded. What left and comes again has counted what it had when it left; `begin`
 * notes it. `begin` itself if it serves. A statsblob that began anew counts from there. NULL with errno ENOMEM.
 */
struct ks_sample *ks_sample_carry(kstat_ctl_t *kc, struct ks_sample *begin, const struct ks_sample *before,
    const struct ks_sample *now, bool is_cut);

#endif
