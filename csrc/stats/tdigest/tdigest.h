/*
 * tdigest.h - a t-digest with fixed-point centroids that lives in the voistatdata of a
 * blob (data types TDGSTCLUST32 and TDGSTCLUST64) and nowhere else: no pointer, no
 * allocation, so that the bytes may be copied, shared and sent. The memory belongs to the
 * caller, may be unaligned, and only functions with a non-const argument change it.
 * SPDX-License-Identifier: MIT
 *
 * Values. A value is an int64_t in units of 2^-frac, two's complement, where frac is the
 * digest's number of fractional bits (ks_tdgst_frac); its magnitude is below 2^28 for
 * TDGSTCLUST32 and 2^60 for TDGSTCLUST64, fraction included. No value in that range is
 * ever refused.
 *
 * Memory is allocated only for digests of more than 512 nodes and for merging digests of more than
 * 128. Nothing fails for lack of memory; statsblob.h says what stack the functions need.
 *
 * Layout, in the byte order of the host:
 *	32: smplcnt u32 @0, compcnt u32 @4, six i16 @8, nodes of 16 bytes @20
 *	64: smplcnt u64 @0, compcnt u32 @8, six i16 @16, nodes of 24 bytes @32
 * The six are the number of nodes in use, the largest number of nodes, root, first free, least and greatest
 * node. A node has parent, left and right (i16), colour (i8), a spare byte, mu (s32 @8, s64 @8: a Q word of
 * three control bits, magnitude, sign) and cnt (i32 @12, i64 @16).
 */
#ifndef STATS_TDIGEST_TDIGEST_H
#define STATS_TDIGEST_TDIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds; the numbers are those of the data types in a blob. */
#define KS_TDGST32 17
#define KS_TDGST64 18

#define KS_TDGST_MAXCTDS 4094 /* more centroids do not fit a blob's 65535 bytes */

struct ks_tdgst_ctd {
	int64_t mu;   /* mean, in units of 2^-frac */
	uint64_t cnt; /* number of its samples; 0: a free slot */
	bool exact;   /* each of its samples had exactly this value */
};

/* Returns the bytes of a digest of n centroids; 0 if n is 0 or they exceed 65535 bytes. */
size_t ks_tdgst_size(int kind, size_t n);

/* Makes an empty digest of n centroids; the caller has checked n and the size with ks_tdgst_size(). */
void ks_tdgst_init(void *td, int kind, size_t n, unsigned prec);

/* Removes the samples; n and precision do not change. */
void ks_tdgst_reset(void *td, int kind);

/*
 * Checks whether size bytes from anywhere are a digest that may be passed to the other functions.
 * Returns 0, or EINVAL. Reads nothing outside of these bytes.
 */
int ks_tdgst_check(const void *td, size_t size, int kind);

uint64_t ks_tdgst_count(const void *td, int kind);   /* samples seen; saturates */
uint32_t ks_tdgst_compcnt(const void *td, int kind); /* lossy compressions; saturates */
size_t ks_tdgst_maxctds(const void *td, int kind);
unsigned ks_tdgst_frac(const void *td, int kind);

/*
 * Adds w samples (1 in the ordinary case; 0 adds none) of an integer value, or of a value
 * in units of 2^-frac. Returns 0, or EOVERFLOW if the value is beyond the kind's range.
 */
int ks_tdgst_add_s64(void *td, int kind, int64_t value, uint64_t w);
int ks_tdgst_add_u64(void *td, int kind, uint64_t value, uint64_t w);
int ks_tdgst_add_fix(void *td, int kind, int64_t value, uint64_t w);

enum ks_tdgst_as { KS_TDGST_SIGNED, KS_TDGST_UNSIGNED, KS_TDGST_FIXED };

/*
 * Adds one sample, as ks_tdgst_add_s64(), _u64() or _fix(), to a digest of `size` bytes in memory in which
 * others may write at any time. `shape` is a private digest of the same kind, size and precision. Nothing
 * that lies in td decides about an address: all but the ordinary case is done in a copy that was checked.
 * EBADMSG: td is no digest; it is unchanged.
 */
int ks_tdgst_add_checked(const void *shape, void *td, int kind, size_t size, int64_t value,
    enum ks_tdgst_as as);

/*
 * Adds the samples of src, which must not overlap dst and be of its kind. Precision and
 * number of centroids may differ. Returns 0, or EOVERFLOW if a value of src is beyond the range of
 * dst; then dst is unchanged.
 */
int ks_tdgst_merge(void *dst, const void *src, int kind);

/*
 * Stores up to max centroids in ctds, in ascending order. Returns how many there are
 * (at most maxctds; this is the nctds to print). Their counts add up to the sample count
 * until that exceeds 2^31-1 or 2^63-1 (then they are halved, see add.c).
 */
size_t ks_tdgst_ctds(const void *td, int kind, struct ks_tdgst_ctd *ctds, size_t max);

/*
 * As ks_tdgst_ctds(), in the order of the slots: always maxctds entries, free ones with
 * cnt 0. Up to three samples are in the order in which they came, more in ascending order.
 */
size_t ks_tdgst_slots(const void *td, int kind, struct ks_tdgst_ctd *ctds, size_t max);

/*
 * Stores the value below which the share q (0..1, clamped) of the samples lies, as a double in
 * units of 1; q = 0 and q = 1 are the exact extremes if there are four centroids or
 * more. Returns 0, EINVAL if q is not a number, ENOENT if there are no samples.
 */
int ks_tdgst_quantile(const void *td, int kind, double q, double *value);

/* Stores the share of samples at or below x (units of 1). EINVAL and ENOENT as above. */
int ks_tdgst_cdf(const void *td, int kind, double x, double *share);

/*
 * Returns how far the rank of quantile(q) may be from q, as a share (0..1): one and a half of the
 * scale function's cells below or above q, whichever is wider, and one sample; with fewer
 * than 40 centroids four cells; scale.c says how wide a cell is. Returns 0 if the digest is exact, 1 if
 * it is empty or q is not a number.
 *
 * This is a bound found by measuring, not by proof: in the 9,360 cases of spec/c/core_tdigest.c (4 to 400
 * centroids of both kinds, 7 kinds of data from lognormal to ascending and descending, 50 to 100,000
 * samples, 12 quantiles from 0 to 1) no error was above 0.54 of the bound, and in 1,512 cases with 64
 * digests merged none was above 0.51. The bound holds for samples whose order says nothing about their
 * values, and for ascending and descending samples.
 */
double ks_tdgst_bound(const void *td, int kind, double q);

/* The same for any digest of n centroids that has seen `total` samples and is not exact. */
double ks_tdgst_bound_of(size_t n, double total, double q);

#endif
