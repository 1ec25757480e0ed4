/*
 * blobstat.h - a statsblob as the data of a kstat: a RAW kstat with KSTAT_FLAG_STATSBLOB. Its data
 * section is the blob, ks_ndata bytes. Behind it, 8-byte-aligned, lie the descriptions of its VOIs
 * and a table of statistics, which are computed when the blob is read. So the decoder computes and
 * checks nothing, and the bytes may be copied anywhere.
 *
 * A capture has the statistics and not the blob: then ks_ndata is 0 and the table is the whole data section.
 *
 * Of a VOI "rtt", as far as its template has them:
 *   rtt_sum, rtt_max, rtt_min   max and min are absent until there is a sample
 *   rtt_count                   samples that its digest or histogram saw
 *   rtt_p50 .. rtt_p999         from its digest, or else its histogram; absent without samples
 *   rtt_buckets, rtt_bounds     the histogram: counts, and the lower bounds as numbers (as text, if
 *                               one is negative or has a fraction)
 *   rtt_oob                     samples that no bucket holds
 *
 * It takes work to compute what a blob holds: merging shards, walking a digest for each percentile. The decoder is
 * called for every statistic and cannot allocate, so the sources that read a blob do this once. The blob comes first,
 * so that ks_data of a C program is a struct statsblob. Names and units of VOIs travel with it, as a reader has no
 * template.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_BLOBSTAT_H
#define MODEL_BLOBSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/decode.h"
#include "model/meta.h"
#include "model/record.h"
#include "statsblob.h"

/* Describes a VOI, which a blob does not. Widths are fixed, because segments and recordings hold it. */
struct ks_blob_voi {
	int32_t id;
	char name[32]; /* texts are NUL-terminated and without control characters */
	char unit[24];
	char desc[68];
};

#define KS_BLOB_MOST_VOIS 4096u

/* Sets a description. Texts are cut to their fields; control characters become '_'; NULL is "". */
void ks_blob_voi_set(struct ks_blob_voi *v, int32_t id, const char *name, const char *unit,
    const char *desc);

/*
 * Returns how many bytes the name of a VOI may have, so that the names of all its statistics fit
 * KSTAT_STRLEN: 22 with a histogram (NAME_buckets), 24 with a digest (NAME_count), else 26.
 */
size_t ks_blob_voi_name_max(const struct statsblob *blob, int32_t id);

/* Returns whether n descriptions from an untrusted place are valid and in ascending order of their IDs. */
bool ks_blob_vois_check(const struct ks_blob_voi *vois, size_t n);

/*
 * Builds the data section of a blob that passed stats_blob_check(), with the n descriptions of
 * its VOIs. 0, or -1 with errno ENOMEM.
 */
int ks_blobstat_build(struct ks_record *r, const struct statsblob *blob,
    const struct ks_blob_voi *vois, size_t n);

/* A data section of statistics without a blob: start it, add to it, finish it. */
struct ks_blobstat_table {
	struct ks_buf stats, bytes;
};

#define KS_BLOBSTAT_TABLE_INIT { KS_BUF_INIT, KS_BUF_INIT }

void ks_blobstat_table_add(struct ks_blobstat_table *t, const char *name,
    const struct ks_value *v);

/* Moves the table to the record and frees it. 0, or -1 with errno ENOMEM. */
int ks_blobstat_table_finish(struct ks_blobstat_table *t, struct ks_record *r);

/*
 * Rebuilds a data section from the bytes of one: a blob is checked and its statistics are computed anew, a
 * table without a blob is checked. 0, or -1 with errno EBADMSG, EOPNOTSUPP (of another byte order or
 * version), ENOMEM.
 */
int ks_blobstat_rebuild(struct ks_record *r, const void *bytes, size_t n);

/* --- reading ------------------------------------------------------------------------ */

/* Returns whether the kstat holds a statsblob or its table. */
static inline bool
ks_blobstat_is(const kstat_t *ksp)
{
	return ksp->ks_type == KSTAT_TYPE_RAW && (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) != 0;
}

/* Returns the table in the data of such a kstat, for ks_blobstat_stat(); NULL if the kstat was not read. */
const void *ks_blobstat_find(const kstat_t *ksp);

/* Stores the i-th statistic; false behind the last. */
bool ks_blobstat_stat(const void *table, uint32_t i, const char **name, struct ks_value *v);

/* Returns the descriptions of the VOIs and stores their number. */
const struct ks_blob_voi *ks_blobstat_vois(const void *table, size_t *n);

/* Returns the metadata of a statistic, or NULL. It is valid in this thread until the next call. */
const struct ks_meta *ks_blobstat_meta(const kstat_t *ksp, const char *stat);

/* It points into the kstat's data. */
struct ks_blob_histogram {
	size_t n;                         /* buckets */
	struct ks_value buckets, bounds;  /* INTS; INTS or STRS */
	const char *bounds_name;          /* the statistic, which has the unit of the values */
	const char *text;                 /* of bound `at`, where they are STRS */
	size_t at;
};

/*
 * Returns the name of the VOI's statistic with this ending and stores its value; NULL if there is none. The
 * search begins at statistic number `from`, because the statistics of a VOI mostly lie side by side.
 */
const char *ks_blob_find(const kstat_t *ksp, const char *voi, size_t voi_len, const char *ending, uint32_t from,
    struct ks_value *v);

/*
 * Fills *h. False if the kstat is no statsblob that was read, or the VOI has no histogram with bounds. `from`
 * is as above.
 */
bool ks_blob_histogram_open(struct ks_blob_histogram *h, const kstat_t *ksp, const char *voi, size_t voi_len,
    uint32_t from);

/* Returns the number of values in bucket i < n. */
uint64_t ks_blob_histogram_count(const struct ks_blob_histogram *h, size_t i);

/* Stores the lower bound of bucket i < n: U64, or STRING. It is fast for ascending i. */
void ks_blob_histogram_bound(struct ks_blob_histogram *h, size_t i, struct ks_value *v);

#endif
