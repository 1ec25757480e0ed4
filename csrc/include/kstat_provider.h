/*
 * kstat_provider.h - a process's own statistics: kstat_create(9F) and its companions, the queue
 * and timer functions, and segments in which other processes see them.
 *
 * A kstat made by kstat_create() lives in this process; its chain (kstat_open()) shows it. One
 * made by kstat_publish_create() lives in a segment, and every reader on the host sees it.
 * Functions may be called from any thread unless they say otherwise. Times are hrtime_t:
 * nanoseconds of gethrtime(). Failures set errno, and kstat_errmsg() says more.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_PROVIDER_H
#define KSTAT_PROVIDER_H

#include "kstat.h"
#include "kstat2.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* --- creating ------------------------------------------------------------------- */

/*
 * Creates a kstat; nobody sees it before kstat_install(). Names longer than 30 bytes are cut; a
 * NULL or empty name becomes module and instance ("sd0"). ndata: records, for RAW bytes.
 * Flags: VIRTUAL (the caller sets ks_data), VAR_SIZE (with VIRTUAL: ks_ndata and ks_data_size may
 * change in ks_update), WRITABLE, PERSISTENT (not with VIRTUAL; after kstat_delete() the data stays,
 * dormant, and the next kstat_create() of the same kstat finds it).
 *
 * Before kstat_install() the caller may set ks_data (VIRTUAL), ks_update, ks_private, ks_snapshot
 * and ks_lock (a pthread_mutex_t *, held while the kstat is read or written):
 *   ks_update(ksp, KSTAT_READ) brings the data up to date before it is copied; with KSTAT_WRITE it
 *   takes over data that was written to ks_data. It returns 0 or an errno value, which reaches
 *   the reader or writer; without it a WRITABLE kstat simply takes new data.
 *   ks_snapshot(ksp, buf, KSTAT_READ) copies ks_data_size bytes to buf in place of the default,
 *   with KSTAT_WRITE from buf.
 * Returns the kstat, or NULL: EINVAL a bad type, ndata or flag, EEXIST, ENOMEM.
 */
kstat_t *kstat_create(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uchar_t ks_type, uint_t ks_ndata, uchar_t ks_flags);

/*
 * Makes a kstat visible. 0, or -1: EINVAL (VIRTUAL without ks_data and ks_update, installed
 * already); for a published kstat also ENOSPC (the segment is full).
 */
int kstat_install(kstat_t *ksp);

/*
 * Takes the kstat from the chains and frees it; waits for reads under way. A PERSISTENT one
 * becomes dormant instead. May be called from its own ks_update. NULL does nothing.
 */
void kstat_delete(kstat_t *ksp);

/* The same by name. 0, or -1 with errno ENOENT. Only kstats of kstat_create(). */
int kstat_delete_byname(const char *ks_module, int ks_instance, const char *ks_name);

/* Names a statistic (cut to 30 bytes), gives it its type and sets it to 0. */
void kstat_named_init(kstat_named_t *knp, const char *name, uchar_t data_type);

/*
 * Points a KSTAT_DATA_STRING at src, which stays the caller's (NULL: the null string).
 * 0, or -1 with errno EINVAL: not a string.
 */
int kstat_named_setstr(kstat_named_t *knp, const char *src);

/* The same for KSTAT_DATA_INTS (n numbers) and KSTAT_DATA_STRS (size bytes of strings). */
int kstat_named_setints(kstat_named_t *knp, const uint64_t *src, size_t n);
int kstat_named_setstrs(kstat_named_t *knp, const char *src, size_t size);

/* Names a timer and clears it. */
void kstat_timer_init(kstat_timer_t *kt, const char *name);

/* --- queues: the caller holds the lock that protects *kiop ------------------------------ */

/*
 * A request enters or leaves the wait queue or the run queue, or moves between them (one time
 * for both). 0, or -1 with errno EINVAL, and nothing changed: the queue it leaves is empty.
 * `…_at` takes the time, for tests, simulations and replay; it is used as given, also if it
 * runs backwards.
 */
int kstat_waitq_enter(kstat_io_t *kiop);
int kstat_waitq_exit(kstat_io_t *kiop);
int kstat_runq_enter(kstat_io_t *kiop);
int kstat_runq_exit(kstat_io_t *kiop);
int kstat_waitq_to_runq(kstat_io_t *kiop);
int kstat_runq_back_to_waitq(kstat_io_t *kiop);
int kstat_waitq_enter_at(kstat_io_t *kiop, hrtime_t t);
int kstat_waitq_exit_at(kstat_io_t *kiop, hrtime_t t);
int kstat_runq_enter_at(kstat_io_t *kiop, hrtime_t t);
int kstat_runq_exit_at(kstat_io_t *kiop, hrtime_t t);
int kstat_waitq_to_runq_at(kstat_io_t *kiop, hrtime_t t);
int kstat_runq_back_to_waitq_at(kstat_io_t *kiop, hrtime_t t);

/* *copy as a reader at time t sees *kiop: queues that are not empty are brought up to t. */
int kstat_io_snapshot_at(const kstat_io_t *kiop, kstat_io_t *copy, hrtime_t t);

/* --- timers: the caller holds the lock that protects *kt --------------------------------- */

/* An event begins, or ends; a second start replaces the first. 0, or -1 with errno EINVAL. */
int kstat_timer_start(kstat_timer_t *kt);
int kstat_timer_stop(kstat_timer_t *kt);
int kstat_timer_start_at(kstat_timer_t *kt, hrtime_t t);
int kstat_timer_stop_at(kstat_timer_t *kt, hrtime_t t);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* KSTAT_PROVIDER_H */
