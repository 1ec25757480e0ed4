/* sampling_rate.h - lists of sampling rates as text. SPDX-License-Identifier: MIT */
#ifndef STATS_SAMPLING_RATE_H
#define STATS_SAMPLING_RATE_H

#include <stddef.h>

#include "statsblob.h"

struct ks_rates {
	struct stats_tpl_sample_rate *list; /* from malloc(), freed by its user */
	int n;
};

/*
 * Appends the rates in the text to *r, which must be zeroed. 0, or EINVAL, ESRCH, ENOMEM as in
 * stats_tpl_sample_rates(); *r is incomplete then.
 */
int ks_rates_parse(const char *text, size_t len, struct ks_rates *r);

#endif
