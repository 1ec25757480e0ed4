/*
 * recorder.h - writes the kstats of a chain to a recording, sample by sample. A file that exists is
 * continued behind its last whole sample. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_RECORDER_H
#define CHAIN_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "chain/selector.h"
#include "kstat.h"

struct ks_recorder;

/*
 * Opens the file for writing, with a lock that keeps other recorders out; nothing is written before the
 * first sample. Without a path it is a file in memory, which goes with the recorder; ks_recorder_path() names
 * it for readers in this process. NULL with errno: EEXIST it is a file of another kind, EWOULDBLOCK another
 * recorder writes it and did not end within a second, EBADMSG it is damaged, or what open() says.
 */
struct ks_recorder *ks_recorder_open(const char *path);

/*
 * Reads every shown kstat that matches any of the n selectors (0: all) and appends the sample.
 * 0, or -1 with errno, EINVAL if the chain replays this very file; what was written of an incomplete
 * sample is removed, and the next call tries again.
 */
int ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n);

/* The path by which a reader finds what was written. */
const char *ks_recorder_path(const struct ks_recorder *rec);

/* Samples written by this recorder, and the size of the file in bytes. */
uint64_t ks_recorder_samples(const struct ks_recorder *rec);
int64_t ks_recorder_size(const struct ks_recorder *rec);

/* Frees it; NULL is ignored. */
void ks_recorder_close(struct ks_recorder *rec);

#endif
