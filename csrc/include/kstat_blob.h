/*
 * kstat_blob.h - statsblobs as kstats: distributions that many threads and processes update, and
 * that kstat(8) and every reader see as statistics.
 *
 * A statsblob kstat is a RAW kstat with KSTAT_FLAG_STATSBLOB. After kstat_read() its ks_data is the blob,
 * ks_ndata bytes, checked and ready for stats_*(). For a VOI "rtt" kstat(8) and scripts see the
 * statistics rtt_sum, rtt_max, rtt_min, rtt_count, rtt_p50, rtt_p90, rtt_p99, rtt_p999, rtt_buckets,
 * rtt_bounds and rtt_oob, as far as its template has them. A kstat of a JSON capture has these statistics
 * and no
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
 * Create a kstat of this process, or in a segment, with an empty blob of template tpl_id as it is now.
 * With several shards (1 to 64) the kstat holds as many blobs. Each thread updates the blob that its ID
 * chooses, so that threads do not wait for each other, and readers get the blobs merged. Flags: 0, or for
 * a published kstat KSTAT_FLAG_PERSISTENT. Nobody sees the kstat before kstat_install(); kstat_delete()
 * removes it. If a published kstat is created again with the same template and descriptions, its values
 * continue. Readers see names of at most 30 bytes. So the name of a VOI may have 22 bytes with a
 * histogram (NAME_buckets), 24 with a digest (NAME_count), 26 with neither; a VOI without a name is
 * called voiID. Return NULL with errno: EINVAL no such template; a template without VOIs, or with a name
 * that is too long, occurs twice or has control characters; a bad flag or number of shards; or shards and
 * a VOI with SB_VOI_RELUPDATE (a relative update adds to one previous value, but each shard would have
 * its own); EEXIST, ENOMEM.
 */
kstat_t *kstat_create_statsblob(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags);
kstat_t *kstat_publish_statsblob(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags);

/*
 * Call this before kstat_install(). Sets the unit of a VOI's values ("us"; cut to 23 bytes) and their
 * description (one line; cut to 67 bytes). NULL: none. Returns 0, or -1 with errno EINVAL.
 */
int kstat_blob_describe(kstat_t *ksp, int32_t voi_id, const char *unit, const char *desc);

/*
 * The blob of a statsblob kstat that was installed, until kstat_delete(); NULL with errno EINVAL. What others
 * that share the segment overwrote before, and what cannot be recovered, starts anew.
 */
kstat_blob_t *kstat_blob(kstat_t *ksp);

/* Returns the ID of the VOI of that name, or -1 with errno ENOENT. */
int32_t kstat_blob_voi(const kstat_blob_t *b, const char *name);

/*
 * Feed a value to a VOI, as stats_voi_update_int(), _uint() and _dbl(); with `rel` relative to the
 * previous one. Any thread may call these functions and, for a published kstat, any process that shares
 * the segment (fork). They make no system call. If a process dies at any instruction of them, all earlier
 * updates are kept. Return 0, or -1 with errno: EINVAL no such VOI, or not for rel; ERANGE not a value of
 * its type (nothing was counted); EOVERFLOW one statistic could not include it; EAGAIN as
 * kstat_ioq_waitq_enter(); EIO the memory was overwritten.
 */
int kstat_blob_update_int(kstat_blob_t *b, int32_t voi_id, int64_t v, kstat_bool_t rel);
int kstat_blob_update_uint(kstat_blob_t *b, int32_t voi_id, uint64_t v, kstat_bool_t rel);
int kstat_blob_update_dbl(kstat_blob_t *b, int32_t voi_id, double v, kstat_bool_t rel);

/*
 * Adds a private blob of the same template, in one change. Returns 0, or -1 with errno EINVAL, EOVERFLOW,
 * ...
 */
int kstat_blob_merge(kstat_blob_t *b, const struct statsblob *from);

/*
 * Replaces the contents by those of a private blob of the same template (NULL: by none). If there are
 * shards, the others are reset one after the other. Returns 0, or -1 with errno EINVAL, EAGAIN, EIO.
 */
int kstat_blob_store(kstat_blob_t *b, const struct statsblob *from);

/*
 * Makes a private copy, with all shards merged; free it with stats_blob_destroy(). Returns 0, or -1 with
 * errno EAGAIN, ENOMEM, EIO.
 */
int kstat_blob_copy(kstat_blob_t *b, struct statsblob **copy);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
