/*
 * carry.h - steps of the past: several intervals between samples become one difference. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_CARRY_H
#define CHAIN_CARRY_H

#include <stdbool.h>

#include "chain/sample.h"
#include "kstat.h"

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
