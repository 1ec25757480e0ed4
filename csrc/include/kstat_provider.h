/*
 * kstat_provider.h - a process's own statistics: kstat_create(9F) and its companions, the queue
 * and timer functions, and segments, which other processes can read.
 *
 * A kstat made by kstat_create() lives in this process, and chains of this process (kstat_open()) hold it. A
 * kstat made by kstat_publish_create() lives in a segment, and every reader on the host sees it.
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
 * dormant, and the next kstat_create() of the same kstat continues it).
 *
 * Before kstat_install() the caller may set ks_data (VIRTUAL), ks_update, ks_private, ks_snapshot
 * and ks_lock (a pthread_mutex_t *, held while the kstat is read or written):
 *   ks_update(ksp, KSTAT_READ) brings the data up to date before it is copied; with KSTAT_WRITE it
 *   applies data that was written to ks_data. It returns 0 or an errno value, which the reader or writer
 *   gets. Without ks_update a write to a WRITABLE kstat changes ks_data and nothing else. The memory that
 *   a STRING, INTS or STRS value points to belongs to the caller and may be constant: writing another
 *   value fails with EACCES, unless there is a ks_snapshot, which may accept it.
 *   ks_snapshot(ksp, buf, KSTAT_READ) copies ks_data_size bytes to buf in place of the default function;
 *   with KSTAT_WRITE it copies from buf.
 * Returns the kstat, or NULL: EINVAL a bad type, ndata or flag, EEXIST, ENOMEM.
 */
kstat_t *kstat_create(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uchar_t ks_type, uint_t ks_ndata, uchar_t ks_flags);

/*
 * Makes a kstat visible. Returns 0, or -1, and then nobody sees the kstat: EINVAL (VIRTUAL without
 * ks_data and ks_update, installed already, two statistics or timers of one name), ENOMEM; for a
 * published kstat also EINVAL (a name with a control character, a value without a name) and ENOSPC (the
 * segment is full). Names that ks_update (VAR_SIZE) or ks_snapshot produce at each read are not checked:
 * the caller keeps them different.
 */
int kstat_install(kstat_t *ksp);

/*
 * Removes the kstat from the chains and frees it; waits for reads under way. A PERSISTENT kstat
 * becomes dormant instead. A ks_update may call this for its own kstat. NULL does nothing.
 */
void kstat_delete(kstat_t *ksp);

/* The same by name, for kstats of kstat_create() only. Returns 0, or -1 with errno ENOENT. */
int kstat_delete_byname(const char *ks_module, int ks_instance, const char *ks_name);

/* A ks_update that does nothing and returns 0, as if there were no ks_update. */
int default_kstat_update(kstat_t *ksp, int rw);

/* Sets the name (cut to 30 bytes; NULL: none) and the type of a statistic, and its value to 0. knp NULL does nothing. */
void kstat_named_init(kstat_named_t *knp, const char *name, uchar_t data_type);

/*
 * Points a KSTAT_DATA_STRING at src, which still belongs to the caller (NULL: the null string).
 * Returns 0, or -1 with errno EINVAL: not a string.
 */
int kstat_named_setstr(kstat_named_t *knp, const char *src);

/* The same for KSTAT_DATA_INTS (n numbers) and KSTAT_DATA_STRS (size bytes of strings). */
int kstat_named_setints(kstat_named_t *knp, const uint64_t *src, size_t n);
int kstat_named_setstrs(kstat_named_t *knp, const char *src, size_t size);

/* Sets the name of a timer and clears it; as kstat_named_init(). */
void kstat_timer_init(kstat_timer_t *kt, const char *name);

/* --- queues: the caller holds the lock that protects *kiop ------------------------------ */

/*
 * A request enters or leaves the wait queue or the run queue, or moves between them (with one time
 * for both). Return 0, or -1 with errno EINVAL if the queue that the request leaves is empty; then nothing
 * changed. The `…_at` functions have the time as an argument, for tests, simulations and replay; they use it
 * as given, even if it runs backwards.
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

/*
 * Sets *copy to *kiop as a reader at time t sees it: sums of queues that are not empty include the time
 * up to t.
 */
int kstat_io_snapshot_at(const kstat_io_t *kiop, kstat_io_t *copy, hrtime_t t);

/* --- timers: the caller holds the lock that protects *kt --------------------------------- */

/* An event begins, or ends; a second start replaces the first. Return 0, or -1 with errno EINVAL. */
int kstat_timer_start(kstat_timer_t *kt);
int kstat_timer_stop(kstat_timer_t *kt);
int kstat_timer_start_at(kstat_timer_t *kt, hrtime_t t);
int kstat_timer_stop_at(kstat_timer_t *kt, hrtime_t t);

#define KSTAT_TIMER_START(kt) kstat_timer_start(kt)
#define KSTAT_TIMER_STOP(kt) kstat_timer_stop(kt)

/* --- publishing: kstats that every reader on the host sees ------------------------------------ */

typedef struct kstat_pub kstat_pub_t;

#define KSTAT_PUBLISH_NAME_MAX 63 /* bytes of a publication's name */

#define KSTAT_PUBLISH_PRIV 1   /* only the same user can read it (mode 0600, else 0644) */
#define KSTAT_PUBLISH_SHARED 2 /* if another process publishes that name, join its segment */

/*
 * Opens the segment of that name (1 to KSTAT_PUBLISH_NAME_MAX letters, digits, '-', '_' and '.', not
 * first) in $KSTAT_DIR, else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat, else /dev/shm/kstat-UID.
 * Children of fork() share the segment and continue to update it. For a name that this process (or its
 * parent, before the fork) published already, the function returns the same segment again, unless another
 * process that shares it wrote into it what does not belong there: then the file is replaced by a new segment, and
 * what the process still has of the old one counts where no reader sees it. If the
 * publishing process calls exec() and creates the same kstats again, their values continue. The segment
 * that a dead process left under the name is replaced, except its PERSISTENT kstats, which wait to be
 * created again. (While another process looks into a dead one's memory, as ps does, the kernel keeps the
 * locks of the dead one: this function then waits, a second at most, and readers still see the kstats of
 * the dead process.) When the last process that holds the segment exits, its file is removed, unless it
 * has PERSISTENT kstats. Returns NULL with errno: EINVAL a bad name; EBUSY another process publishes it;
 * ENOTDIR the path is no directory; ELOOP it is a link to one; EACCES the directory belongs to neither
 * this user nor root, or anybody may remove files from it; ENOSPC; ...
 */
kstat_pub_t *kstat_publish(const char *name, int flags);

/*
 * The same, and a segment that has to be made may grow to so many bytes (64 KiB to 1 GiB; kstat_publish() takes
 * 64 MiB). Storage is taken as kstats are created, so a large size costs nothing by itself. A segment that is there
 * already keeps its size. EINVAL also: the size is out of range.
 */
kstat_pub_t *kstat_publish_sized(const char *name, int flags, size_t size);

/* Copies the path of the segment's file to buf; the path is valid until kstat_unpublish(). pub NULL: an empty text. */
void kstat_publish_path(const kstat_pub_t *pub, char *buf, size_t size);

/*
 * Undoes one kstat_publish(). The last one frees the segment's kstats and, if no other process holds
 * it, removes the file.
 */
void kstat_unpublish(kstat_pub_t *pub);

#define KSTAT_GC_PERSISTENT 1 /* also those that hold PERSISTENT kstats */

/*
 * Removes the segments of dead processes that this user may remove, and calls `removed` (may be NULL) for
 * each. Other files are not touched, whatever they are called. Returns the number of removed files, or
 * -1.
 */
int kstat_publish_gc(int flags, void (*removed)(const char *path, void *arg), void *arg);

/*
 * As kstat_create(), in a segment; VIRTUAL and VAR_SIZE are not possible. The values of a WRITABLE NAMED
 * kstat can be written by whoever may write to the file, its texts and arrays by the file's owner, in the
 * room that kstat_named_store() has. Before kstat_install() the caller fills in ks_data: the names, types
 * and first values of NAMED, the names of timers, the bytes of RAW. After it ks_data is NULL, and the
 * functions below change the values. If the same kstat is created again (a reload), its values continue;
 * if its layout changed, they start again.
 */
kstat_t *kstat_publish_create(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uchar_t ks_type, uint_t ks_ndata,
    uchar_t ks_flags);

/*
 * Returns 1 if a kstat of that name is installed in the segment, by whatever process that shares it, 0 if there is
 * none; -1 with errno EINVAL a name too long, EAGAIN, EIO. Creating a kstat that exists with the same layout joins it.
 */
int kstat_publish_exists(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name);

/*
 * Deletes the kstat of that name for good, whoever created it, PERSISTENT or not. Returns 1, or 0 if there is none; -1
 * with errno as kstat_publish_exists(). Its creators' kstat_t stay valid: see kstat_publish_crtime().
 */
int kstat_publish_remove(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name);

/*
 * Returns the address of the kstat's time of creation (hrtime_t) in the segment, or NULL with errno EINVAL. The number
 * changes when a process that shares the segment deletes the kstat, and differs from that of any other kstat. What is
 * counted in a deleted kstat is lost, so whoever lets other processes delete compares the number with the one it
 * had after kstat_install() before it counts, and creates the kstat again if they differ. The address is valid as long
 * as the segment.
 */
const volatile hrtime_t *kstat_publish_crtime(const kstat_t *ksp);

/* As kstat2_create_histogram(), in a segment. KSTAT2_MF_PRIV needs KSTAT_PUBLISH_PRIV (EPERM). */
kstat2_t *kstat2_publish_histogram(kstat_pub_t *pub, const char *ks_pseg[], uint32_t ks_npseg,
    kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type, uint64_t scale,
    kstat2_nv_metaflag_t md_flags, uint64_t range_min, uint64_t range_max, uint64_t stepping,
    uint32_t ks_flags, const char *desc, kstat2_metaflag_t ks_mflags);

/*
 * Creates a distribution of times or sizes: a published histogram of the type KSTAT2_NVHIST_EXPONENTIAL, whose
 * percentiles can be had of any interval and any group of publishers. md says what is measured, as kstat2_set_md()
 * (NULL: a time in nanoseconds). scale: 0 to 8, buckets grow by 2^(2^-scale); -1: 5, with which a percentile is wrong by
 * at most 1.1 %. lowest, highest: the range that has buckets; 0: 1 us and 1,000 s for times, else 1 and 2^40. What is
 * outside counts in the end buckets and in out_of_range. ks_class NULL: "histogram". ks_flags: KSTAT_FLAG_PERSISTENT
 * or 0. kstat_install(), kstat2_hist_add_value(), kstat_latency_stop() go with it. NULL with errno EINVAL, ENOMEM.
 */
kstat2_t *kstat_publish_latency(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uchar_t ks_flags, const kstat2_md_t *md, int scale, uint64_t lowest, uint64_t highest);

/*
 * Call this before kstat_install(). It gives a published histogram a text, at most 255 bytes, that says whose values it
 * counts: a key of expressions (`p99 by (route) of answers`) and a label of metrics. It never changes. Returns
 * 0, or -1 with errno EINVAL (histograms have a key or a statistic of that name, or this one a label), ENOMEM.
 */
int kstat_publish_label(kstat2_t *ksp, const char *name, const char *value);

/*
 * Call this before kstat_install(). It gives a NAMED kstat n rows of counters (at most 1024), each on
 * cache lines of its own; readers see the sums. Integers described as gauges (kstat2_set_md()) still have
 * one value, unless KSTAT2_NVMF_PARTS is among their flags. Unsigned integers that nobody describes are counters to
 * readers. Returns 0, or -1 with errno EINVAL.
 */
int kstat_publish_shards(kstat_t *ksp, uint_t n);

/*
 * Call this before kstat_install(). It sets a text that says what the bytes of a RAW kstat are (at most
 * 31 bytes). With `memory` kstat_publish_memory() returns the address of the bytes themselves, and
 * readers may see any mixture of updates; otherwise kstat_raw_store() replaces the bytes.
 */
int kstat_publish_layout(kstat_t *ksp, const char *layout, int memory);

/* Returns the bytes of such a kstat, 64-byte-aligned, or NULL with errno EINVAL. */
void *kstat_publish_memory(kstat_t *ksp);

/* --- counters ---------------------------------------------------------------------------------- */

/* A number of a published NAMED or INTR kstat, in shared memory. */
typedef struct kstat_counter {
	uint64_t kc_value;
} kstat_counter_t;

/*
 * Returns the number itself, which any thread and process may change. Statistics of type FLOAT and DOUBLE
 * hold a double; those of INTR kstats are hard, soft, watchdog, spurious and multiple_service. NULL with
 * errno ENOENT no such statistic, EINVAL it is not a number, or not installed.
 */
kstat_counter_t *kstat_counter(kstat_t *ksp, const char *stat);

/*
 * Returns this thread's own part of a sharded number, on cache lines that nobody else writes. If there
 * are no shards, or none is free, it returns the number of kstat_counter(); *own, if own is not NULL, is
 * 1 for an own part and 0 otherwise. The part belongs to the calling thread: another thread, or the child
 * of a fork, has to call the function itself. The part of a thread that died goes, with its value, to the
 * next thread that calls.
 */
kstat_counter_t *kstat_counter_own(kstat_t *ksp, const char *stat, int *own);

/*
 * Removes from a sharded number the parts of threads that died, and stores their sum in *taken: after
 * a crash, the share of the dead in a gauge such as "requests in flight". Call it before
 * kstat_counter_own(), which may return such a part. Returns 0, or -1 with errno as kstat_counter().
 */
int kstat_counter_reclaim(kstat_t *ksp, const char *stat, int64_t *taken);

/* Each is a single atomic operation (max and add_double repeat it if others interfere). */
static __inline__ void
kstat_counter_add(kstat_counter_t *c, uint64_t n)
{
	(void)__atomic_fetch_add(&c->kc_value, n, __ATOMIC_RELAXED);
}

static __inline__ uint64_t
kstat_counter_get(const kstat_counter_t *c)
{
	return __atomic_load_n(&c->kc_value, __ATOMIC_RELAXED);
}

/* Do not use this for sharded numbers: readers see the sum of their parts. */
static __inline__ void
kstat_counter_set(kstat_counter_t *c, uint64_t v)
{
	__atomic_store_n(&c->kc_value, v, __ATOMIC_RELAXED);
}

static __inline__ void
kstat_counter_max(kstat_counter_t *c, uint64_t v)
{
	uint64_t now = kstat_counter_get(c);

	while (v > now && !__atomic_compare_exchange_n(&c->kc_value, &now, v, 1, __ATOMIC_RELAXED,
	    __ATOMIC_RELAXED))
		continue;
}

static __inline__ void
kstat_counter_set_double(kstat_counter_t *c, double v)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &v, sizeof(bits));
	kstat_counter_set(c, bits);
}

static __inline__ void
kstat_counter_add_double(kstat_counter_t *c, double v)
{
	uint64_t bits = kstat_counter_get(c), sum;
	double d;

	do {
		__builtin_memcpy(&d, &bits, sizeof(d));
		d += v;
		__builtin_memcpy(&sum, &d, sizeof(sum));
	} while (!__atomic_compare_exchange_n(&c->kc_value, &bits, sum, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* --- text, arrays, bytes -------------------------------------------------------------------------- */

/*
 * Replaces the value of a CHAR, STRING, INTS or STRS statistic of a published kstat by n bytes (NULL: the
 * null string). There is room for as many bytes as the value had at kstat_install(), at least 64 (CHAR:
 * 16). Readers see as '?' each byte of control characters, of characters that turn the direction of the
 * text around, and of text that is not UTF-8. Returns 0, or -1 with errno ENOENT, EINVAL, ENOSPC, EAGAIN.
 */
int kstat_named_store(kstat_t *ksp, const char *stat, const void *value, size_t n);

/* Replaces all ks_data_size bytes of a published RAW kstat. Returns 0, or -1 with errno EINVAL, EAGAIN. */
int kstat_raw_store(kstat_t *ksp, const void *bytes);

/* --- I/O queues and timers that threads and processes share ------------------------------------------ */

typedef struct kstat_ioq kstat_ioq_t;
typedef struct kstat_etimer kstat_etimer_t;

#define KSTAT_IO_READ 0
#define KSTAT_IO_WRITE 1

/* Returns the queue of a published IO kstat, valid as long as the kstat; NULL with errno EINVAL. */
kstat_ioq_t *kstat_ioq(kstat_t *ksp);

/*
 * As the functions without "ioq", but any thread and any process may call them without a lock. Return 0,
 * or -1 with errno EINVAL (the queue to leave is empty; nothing changed), or EAGAIN (a stopped process
 * has held the record for a second, or a signal handler interrupted an update of the same record).
 */
int kstat_ioq_waitq_enter(kstat_ioq_t *q);
int kstat_ioq_waitq_exit(kstat_ioq_t *q);
int kstat_ioq_runq_enter(kstat_ioq_t *q);
int kstat_ioq_runq_exit(kstat_ioq_t *q);
int kstat_ioq_waitq_to_runq(kstat_ioq_t *q);
int kstat_ioq_runq_back_to_waitq(kstat_ioq_t *q);
int kstat_ioq_waitq_enter_at(kstat_ioq_t *q, hrtime_t t);
int kstat_ioq_waitq_exit_at(kstat_ioq_t *q, hrtime_t t);
int kstat_ioq_runq_enter_at(kstat_ioq_t *q, hrtime_t t);
int kstat_ioq_runq_exit_at(kstat_ioq_t *q, hrtime_t t);
int kstat_ioq_waitq_to_runq_at(kstat_ioq_t *q, hrtime_t t);
int kstat_ioq_runq_back_to_waitq_at(kstat_ioq_t *q, hrtime_t t);

/*
 * Leaves the run queue and counts one operation of so many bytes, in one change. rw: KSTAT_IO_READ or
 * KSTAT_IO_WRITE; any other is EINVAL, and nothing changed.
 */
int kstat_ioq_done(kstat_ioq_t *q, int rw, uint64_t bytes);
int kstat_ioq_done_at(kstat_ioq_t *q, int rw, uint64_t bytes, hrtime_t t);

/* Counts one operation of so many bytes, rw as above; the queues stay as they are. */
int kstat_ioq_count(kstat_ioq_t *q, int rw, uint64_t bytes);

/*
 * How long single requests take. The functions above know how many requests are in a queue, and so the mean of their
 * times; percentiles need the times of each. Call kstat_publish_queue_latency() before kstat_install(): beside the queue
 * NAME (at most 25 bytes) it publishes NAME,wait and NAME,svc, two exponential histograms of the class histogram (1 us
 * to 1,000 s in ns, scale 5), which are installed and deleted with the queue. 0, or -1 with errno EINVAL, ENOMEM.
 */
int kstat_publish_queue_latency(kstat_t *ksp);

/*
 * A request enters the wait queue, goes on into service, and leaves it as kstat_ioq_done() says. The first two return a
 * token, which whoever has the request keeps and passes to the next: the time, in ns of gethrtime(). The token 0 says
 * that nobody knows: kstat_queue_start() then takes a request that did not wait, and kstat_queue_finish() counts no
 * time. Requests may overtake each other, and each step may be another thread's or process's. A request that gives up
 * leaves by kstat_ioq_waitq_exit() or kstat_ioq_runq_exit(), without a time. Any published IO kstat may be used so; one
 * without latency counts requests alone. -1 with errno as the functions above; EINVAL also: a token below 0.
 */
hrtime_t kstat_queue_enter(kstat_t *ksp);
hrtime_t kstat_queue_start(kstat_t *ksp, hrtime_t token);
int kstat_queue_finish(kstat_t *ksp, hrtime_t token, int rw, uint64_t bytes);

/* Returns a timer of a published TIMER kstat, by name (NULL: the first); NULL with errno EINVAL, ENOENT. */
kstat_etimer_t *kstat_etimer(kstat_t *ksp, const char *name);
int kstat_etimer_start(kstat_etimer_t *kt);
int kstat_etimer_stop(kstat_etimer_t *kt);
int kstat_etimer_start_at(kstat_etimer_t *kt, hrtime_t t);
int kstat_etimer_stop_at(kstat_etimer_t *kt, hrtime_t t);

/*
 * Counts a whole event in one change: several may be under way at once, each with its own start.
 * Call gethrtime() when an event starts.
 */
int kstat_etimer_event(kstat_etimer_t *kt, hrtime_t start, hrtime_t stop);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* KSTAT_PROVIDER_H */
