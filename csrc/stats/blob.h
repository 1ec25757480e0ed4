/* blob.h - what the files of this folder share about blobs. SPDX-License-Identifier: MIT */
#ifndef STATS_BLOB_H
#define STATS_BLOB_H

#include <stdint.h>

#include "stats/layout.h"

/* The monotonic clock as seconds in 32.32 fixed point. */
int64_t ks_sb_now(void);

#endif
