/* sampling_rate.h - lists of sampling rates as text. SPDX-License-Identifier: MIT */
#ifndef STATS_SAMPLING_RATE_H
#define STATS_SAMPLING_RATE_H

#include <stddef.h>

#include "statsblob.h"

struct ks_rates {
	struct stats_tpl_sample_rate *list; /* malloc'ed; the holder frees it */
	int n;
};

/*
 * Appends what the text says to *r, which starts zeroed. 0, or EINVAL, ESRCH, ENOMEM as
 * stats_tpl_sample_rates() has them; *r is then incomplete.
 */
int ks_rates_parse(const char *text, size_t len, struct ks_rates *r);

#endif
