/*
 * recorder.h - writes the kstats of a chain to a recording, sample by sample. A file that exists is
 * continued behind its last whole sample. SPDX-License-Identifier: MIT
 */
#ifndef OUTPUT_RECORDER_H
#define OUTPUT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "chain/sample.h"
#include "kstat.h"
#include "select/selector.h"
#include "source/replay/recording/directory.h"

struct ks_recorder;

/*
 * Opens the file for writing, with a lock that keeps other recorders out; nothing is written before the
 * first sample. Without a path it is a file in memory, which goes with the recorder; ks_recorder_path() names
 * it for readers in this process. NULL with errno: EEXIST it is a file of another kind, EWOULDBLOCK another
 * recorder writes it and did not end within a second, EBADMSG it is damaged, or what open() says.
 */
struct ks_recorder *ks_recorder_open(const char *path);

/*
 * Opens a directory of recordings (directory.h), into which a thread writes. NULL with errno, as
 * ks_rec_dir_open() has it.
 */
struct ks_recorder *ks_recorder_open_directory(const char *path, const struct ks_rec_limits *limits);

/*
 * Reads every shown kstat that matches any of the n selectors (0: all) and appends the sample.
 * 0, or -1 with errno, EINVAL if the chain replays this very file; what was written of an incomplete
 * sample is removed, and the next call tries again. Into a directory it is written later: 0 says that it was read, or
 * that it was dropped because too many wait, and the status says the rest. Those of a replay are never dropped.
 */
int ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n);

/*
 * The same of n copies of a sample of the chain, which are put in order: appends them as they are, at the time of the
 * sample. What the statistics of a kstat mean is known while the chain has it.
 */
int ks_recorder_add_copies(struct ks_recorder *rec, kstat_ctl_t *kc, const struct ks_sample *s, const kstat_t **copy,
    size_t n);

#define KS_REC_MOST_HOSTS 256

/* A machine whose kstats go to a recording of several. */
struct ks_rec_host {
	kstat_ctl_t *kc;  /* a replay; NULL: its recording ended */
	const char *name; /* of those of its kstats that have no name of a machine yet */
	int64_t shift;    /* ns: its crtimes and snaptimes become later by that, so that all are on one clock */
};

/*
 * The same with the kstats of several machines, in one sample of the latest of their times. The machines stay the
 * same, in the same order, from one sample to the next.
 */
int ks_recorder_add_hosts(struct ks_recorder *rec, const struct ks_rec_host *hosts, size_t nhosts,
    const struct ks_selector *const *selectors, size_t n);

/* The path by which a reader finds what was written. */
const char *ks_recorder_path(const struct ks_recorder *rec);

/* What became of the samples; of a file the size, the samples, and that nothing waits. */
void ks_recorder_status(const struct ks_recorder *rec, struct ks_rec_status *to);

/* Writes what waits; the status is the last one then, and nothing is to be added any more. */
void ks_recorder_end(struct ks_recorder *rec);

/* Writes what waits, and frees it; NULL is ignored. */
void ks_recorder_close(struct ks_recorder *rec);

#endif
