/*
 * restore.h - from the statistics that a capture names back to the C structures of
 * INTR, IO, TIMER and known RAW kstats. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_RESTORE_H
#define SOURCE_REPLAY_CAPTURE_RESTORE_H

#include <stdbool.h>

#include "source/replay/capture/capture_sample.h"

/*
 * Appends the structure (TIMER: structures) of a kstat that is being built to the sample's
 * text and makes the kstat refer to it. If its statistics are not exactly the structure's, or
 * do not fit, returns false with k->type KSTAT_TYPE_NAMED. RAW of unknown layout has no data, but
 * for the statistics of a statsblob, which stay as they are (false).
 */
bool ks_capture_encode(struct ks_capture_sample *s, struct ks_capture_kstat *k);

#endif
