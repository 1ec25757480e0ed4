/*
 * state.h - what writer and reader of a recording both know: the kstats of the sample before,
 * their fields, and what each field is expected to be next. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_STATE_H
#define SOURCE_REPLAY_RECORDING_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/replay/recording/codec.h"

/*
 * Differences of a number with a unit are written in units, doubled; this odd one says that the exact
 * difference follows.
 */
#define KS_REC_NOT_IN_UNITS 1

/* A new kstat at the end; NULL with errno ENOMEM. */
struct ks_rec_kstat *ks_rec_add(struct ks_rec_state *s);

/* Frees names and fields. */
void ks_rec_clear(struct ks_rec_kstat *rk);

/* Derives the fields from the header and the names of its records. 0, or -1 with errno ENOMEM. */
int ks_rec_make_fields(struct ks_rec_kstat *rk);

/* True for NAMED and TIMER: their data records have names, which a definition lists. */
bool ks_rec_has_names(const kstat_t *k);

/* Bytes of the data records. */
size_t ks_rec_fixed_size(const kstat_t *k);

/* A difference of numbers of that width (4 or 8 bytes), sign-extended; a number, cut to it. */
uint64_t ks_rec_extend(uint64_t difference, unsigned width);
uint64_t ks_rec_cut(uint64_t value, unsigned width);

/* What a number is expected to be; and the value that it got. */
uint64_t ks_rec_expected(const struct ks_rec_field *f);
void ks_rec_set_number(struct ks_rec_field *f, uint64_t now);

/* Keeps a copy of n bytes, NULL for none. 0, or -1 with errno ENOMEM. */
int ks_rec_set_text(struct ks_rec_field *f, const char *p, uint32_t n);

#endif
