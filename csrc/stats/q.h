/*
 * q.h - arithmetic on fixed-point (Q) words: sign and magnitude, the three low bits choose
 * the precision. A word is passed as 64 bits, its type as a data type VSD_DTYPE_Q_*.
 * SPDX-License-Identifier: MIT
 */
#ifndef STATS_Q_H
#define STATS_Q_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define KS_Q_CTL 7u /* the control bits */

/* Returns the number of fractional bits of a word of type dt. */
unsigned ks_q_frac(unsigned dt, uint64_t word);

/* Returns the control bits for at least prec fractional bits. */
unsigned ks_q_ctl(unsigned prec);

/* Returns the value in units of 2^-frac, signed: at most 61 bits and the sign. */
int64_t ks_q_fix(unsigned dt, uint64_t word);

/* Makes the word of such a value with the control bits ctl; false if the value does not fit. */
bool ks_q_word(unsigned dt, unsigned ctl, int64_t fix, uint64_t *word);

/* Returns the least (or greatest) value of a type and precision. */
uint64_t ks_q_min(unsigned dt, unsigned ctl);
uint64_t ks_q_max(unsigned dt, unsigned ctl);

/*
 * Returns the limits that ABI v1 has in a template's initial image and in lower-infinite
 * buckets: three bits narrower than the type. Hashes depend on them.
 */
uint64_t ks_q_abi_min(unsigned dt, unsigned ctl);
uint64_t ks_q_abi_max(unsigned dt, unsigned ctl);

/*
 * Orders two words of a type: < 0, 0, > 0. Words of different precision are ordered by their integer parts,
 * then by the raw bits of the fraction.
 */
int ks_q_cmp(unsigned dt, uint64_t a, uint64_t b);

/* Adds v to *sum. ERANGE if its precision differs, EOVERFLOW; *sum is unchanged after an error. */
int ks_q_add(unsigned dt, uint64_t *sum, uint64_t v);

/*
 * Copies integer part and raw fraction bits of v to the precision of *to. EOVERFLOW if
 * either does not fit.
 */
int ks_q_copy(unsigned dt, uint64_t *to, uint64_t v);

/* Returns v as a double in whole units. */
double ks_q_double(unsigned dt, uint64_t word);

/* Appends a value in units of 2^-frac with exactly frac decimals. */
void ks_q_print_fix(struct ks_buf *b, int64_t fix, unsigned frac);
void ks_q_print(struct ks_buf *b, unsigned dt, uint64_t word);

#endif
