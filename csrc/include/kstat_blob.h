/*
 * kstat_blob.h - statsblobs as kstats: distributions that many threads and processes update, and
 * that kstat(8) and every reader see as statistics.
 *
 * A statsblob kstat is a RAW one with KSTAT_FLAG_STATSBLOB. Read (kstat_read()), its ks_data is the
 * blob, ks_ndata bytes, checked and ready for stats_*(); kstat(8) and scripts see of a VOI "rtt"
 * rtt_sum, rtt_max, rtt_min, rtt_count, rtt_p50, rtt_p90, rtt_p99, rtt_p999, rtt_buckets, rtt_bounds and
 * rtt_oob, as far as its template has them. Replayed from a JSON capture it has these and no
 * blob: ks_ndata is 0.
 *
 *     kstat_t *k = kstat_publish_statsblob(pub, "shop", 0, "latency", "misc", tpl, 1, 0);
 *     kstat_blob_describe(k, 0, "us", "time to answer a request");
 *     kstat_install(k);
 *     kstat_blob_t *b = kstat_blob(k);
 *     ...
 *     kstat_blob_update_int(b, 0, microseconds, false);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_BLOB_H
#define KSTAT_BLOB_H

#include <stdbool.h>

#include "kstat_provider.h"
#include "statsblob.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct kstat_blob kstat_blob_t;

/*
 * A kstat of this process, or in a segment, with an empty blob of template tpl_id as it is now. With
 * several shards (1 to 64) it holds as many blobs; each thread updates the one that its ID chooses, so
 * that they do not wait for each other, and readers get them merged. Flags: 0, or for a published one
 * KSTAT_FLAG_PERSISTENT. Nobody sees it before kstat_install(); kstat_delete() ends it. Creating a
 * published one again goes on with its values, if template and descriptions are the same.
 * Readers see names of at most 30 bytes, so that the name of a VOI has at most 22 with a histogram
 * (NAME_buckets), 24 with a digest (NAME_count), 26 with neither; one without a name is called voiID.
 * NULL with errno: EINVAL no such template, one without VOIs or with a name that is too long, occurs
 * twice or has control characters, a bad flag or number of shards, or shards and a
 * VOI with SB_VOI_RELUPDATE (what is added to is one previous value, not one a shard); EEXIST, ENOMEM.
 */
kstat_t *kstat_create_statsblob(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags);
kstat_t *kstat_publish_statsblob(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags);

/*
 * Before kstat_install(): what a VOI's values are measured in ("us"; at most 23 bytes count) and what they
 * are (one line; at most 67 bytes). NULL: nothing. 0, or -1 with errno EINVAL.
 */
int kstat_blob_describe(kstat_t *ksp, int32_t voi_id, const char *unit, const char *desc);

/*
 * The blob of a statsblob kstat that was installed, until kstat_delete(); NULL with errno EINVAL, or EIO: others
 * that share the segment overwrote it.
 */
kstat_blob_t *kstat_blob(kstat_t *ksp);

/* The ID of the VOI of that name, or -1 with errno ENOENT. */
int32_t kstat_blob_voi(const kstat_blob_t *b, const char *name);

/*
 * Feeds a value to a VOI, as stats_voi_update_int(), _uint() and _dbl(); with `rel` relative to
 * the previous one. Any thread and, of a published one, any process that shares the segment (fork); no
 * system call. A process that dies on any instruction of it leaves all that was committed before.
 * 0, or -1 with errno: EINVAL no such VOI, or not for rel; ERANGE not a value of its type (nothing
 * was counted); EOVERFLOW one statistic could not take it; EAGAIN as kstat_ioq_waitq_enter(); EIO the
 * memory was overwritten.
 */
int kstat_blob_update_int(kstat_blob_t *b, int32_t voi_id, int64_t v, bool rel);
int kstat_blob_update_uint(kstat_blob_t *b, int32_t voi_id, uint64_t v, bool rel);
int kstat_blob_update_dbl(kstat_blob_t *b, int32_t voi_id, double v, bool rel);

/* Adds a private blob of the same template, in one change. 0, or -1 with errno EINVAL, EOVERFLOW, ... */
int kstat_blob_merge(kstat_blob_t *b, const struct statsblob *from);

/*
 * Makes it a copy of a private blob of the same template; of shards, the others are reset one after the
 * other. NULL resets it. 0, or -1 with errno EINVAL, EAGAIN, EIO.
 */
int kstat_blob_store(kstat_blob_t *b, const struct statsblob *from);

/* A private copy, merged of all shards, for stats_blob_destroy(). 0, or -1 with errno EAGAIN, ENOMEM, EIO. */
int kstat_blob_copy(kstat_blob_t *b, struct statsblob **copy);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
