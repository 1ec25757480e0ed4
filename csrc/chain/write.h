/*
 * write.h - new values for some statistics of a kstat. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_WRITE_H
#define CHAIN_WRITE_H

#include <stddef.h>

#include "chain/values.h"
#include "kstat.h"

/*
 * Reads a NAMED kstat, gives the n statistics their new values and writes it with kstat_write(): all
 * or nothing. Integers accept any number that they can hold exactly, strings accept strings.
 * Returns the KCID, or -1 with errno: EACCES not writable, ENOENT no such statistic, ERANGE the
 * value does not fit, EINVAL the wrong kind of value (a string with a NUL in it is one) or not a NAMED kstat,
 * and those of kstat_read() and kstat_write().
 */
kid_t ks_write_values(kstat_ctl_t *kc, kstat_t *ksp, const struct ks_pair *pairs, size_t n);

#endif
