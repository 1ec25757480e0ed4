/*
 * abi.h - ABI version 1 of a blob: header, VOI slots, statistic slots, data. The structs
 * are packed, so that a blob may lie at any address; they point into memory that the
 * blob's holder owns. SPDX-License-Identifier: MIT
 */
#ifndef STATS_ABI_H
#define STATS_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "statsblob.h"

#define KS_SB_MAX 65535 /* bytes; offsets have 16 bits */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KS_SB_ENDIAN SB_LE
#else
#define KS_SB_ENDIAN SB_BE
#endif

struct ks_sb {
	uint8_t abi, endian;
	uint16_t flags, maxsz, cursz;
	uint32_t tplhash;
	uint16_t stats_off;     /* of the statistic slots */
	uint16_t statsdata_off; /* of the statistics' data */
	int64_t created, lastrst; /* monotonic clock, seconds in 32.32 fixed point */
} __attribute__((packed, may_alias));

#define KS_VOI_REL 1 /* ks_voi.flags: has a previous-value record */

struct ks_voi {
	int16_t id; /* -1: vacant */
	uint8_t dtype;
	int8_t maxstat; /* the highest statistic slot; -1: none */
	uint16_t stats_off;
	uint16_t flags;
} __attribute__((packed, may_alias));

#define KS_VS_SET 1 /* ks_vs.flags: updated at least once */

struct ks_vs {
	int8_t stype; /* -1: vacant */
	uint8_t dtype;
	uint16_t data_off, dsz;
	uint8_t errs; /* failed updates, stops at 255 */
	uint8_t flags;
} __attribute__((packed, may_alias));

_Static_assert(sizeof(struct ks_sb) == 32, "blob header");
_Static_assert(sizeof(struct ks_voi) == 8 && sizeof(struct ks_vs) == 8, "slots");

/* What each data type is. */
struct ks_dtype {
	const char *name;
	uint8_t size; /* of a value; 0 for histograms and digests */
	bool is_signed, is_q;
	uint8_t stride; /* of a histogram bucket */
	uint8_t cntoff; /* of the count in a bucket */
	bool wide;      /* 64-bit counts */
};
extern const struct ks_dtype ks_dtypes[VSD_NUM_DTYPES];
extern const char *const ks_stypes[VS_NUM_STYPES];

#define KS_HIST_HDR 8u /* bytes before the first bucket */

static inline bool
ks_dtype_is_voi(unsigned dt)
{
	return dt >= VSD_DTYPE_INT_S32 && dt <= VSD_DTYPE_Q_U64;
}

static inline bool
ks_dtype_is_hist(unsigned dt)
{
	return dt >= VSD_DTYPE_CRHIST32 && dt <= VSD_DTYPE_DVHIST64;
}

static inline bool
ks_dtype_is_cr(unsigned dt)
{
	return dt == VSD_DTYPE_CRHIST32 || dt == VSD_DTYPE_CRHIST64;
}

static inline bool
ks_dtype_is_dr(unsigned dt)
{
	return dt == VSD_DTYPE_DRHIST32 || dt == VSD_DTYPE_DRHIST64;
}

static inline bool
ks_dtype_is_tdgst(unsigned dt)
{
	return dt == VSD_DTYPE_TDGSTCLUST32 || dt == VSD_DTYPE_TDGSTCLUST64;
}

static inline struct ks_sb *
ks_sb(const struct statsblob *sb)
{
	return (struct ks_sb *)(uintptr_t)sb;
}

/* Returns whether this library can work on the blob; the other members of its header are not checked. */
static inline bool
ks_sb_ok(const struct ks_sb *sb)
{
	return sb != NULL && sb->abi == STATS_ABI_V1 && sb->endian == KS_SB_ENDIAN;
}

static inline uint32_t
ks_sb_nvois(const struct ks_sb *sb)
{
	return (sb->stats_off - (uint32_t)sizeof(struct ks_sb)) / sizeof(struct ks_voi);
}

static inline struct ks_voi *
ks_sb_voi(const struct ks_sb *sb, uint32_t i)
{
	return (struct ks_voi *)((uintptr_t)sb + sizeof(struct ks_sb)) + i;
}

static inline struct ks_vs *
ks_sb_vs(const struct ks_sb *sb, const struct ks_voi *voi, int stype)
{
	return (struct ks_vs *)((uintptr_t)sb + voi->stats_off) + stype;
}

static inline unsigned char *
ks_sb_data(const struct ks_sb *sb, const struct ks_vs *vs)
{
	return (unsigned char *)(uintptr_t)sb + vs->data_off;
}

/* Returns the VOI, or NULL if there is none of that ID. */
static inline struct ks_voi *
ks_sb_find(const struct ks_sb *sb, int32_t id)
{
	struct ks_voi *v;

	if (id < 0 || (uint32_t)id >= ks_sb_nvois(sb))
		return NULL;
	v = ks_sb_voi(sb, (uint32_t)id);
	return v->id == id ? v : NULL;
}

/* Returns the statistic, or NULL if the VOI has none of that type. */
static inline struct ks_vs *
ks_sb_find_vs(const struct ks_sb *sb, const struct ks_voi *voi, int stype)
{
	struct ks_vs *vs;

	if (stype < 0 || stype > voi->maxstat)
		return NULL;
	vs = ks_sb_vs(sb, voi, stype);
	return vs->stype == stype ? vs : NULL;
}

static inline uint16_t
ks_ld16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
ks_ld32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
ks_ld64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void
ks_st32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void
ks_st64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Reads a value of a VOI's type, sign-extended to 64 bits; Q words keep their 64 bits. */
static inline uint64_t
ks_ldval(const void *p, unsigned dt)
{
	if (ks_dtypes[dt].size == 8)
		return ks_ld64(p);
	if (ks_dtypes[dt].is_signed)
		return (uint64_t)(int64_t)(int32_t)ks_ld32(p);
	return ks_ld32(p);
}

static inline void
ks_stval(void *p, unsigned dt, uint64_t v)
{
	if (ks_dtypes[dt].size == 8)
		ks_st64(p, v);
	else
		ks_st32(p, (uint32_t)v);
}

static inline void
ks_vs_err(struct ks_vs *vs)
{
	if (vs->errs < UINT8_MAX)
		vs->errs++;
}

/* Returns the number of buckets of a histogram of dsz bytes. */
static inline unsigned
ks_hist_nbkts(unsigned dt, size_t dsz)
{
	return (unsigned)((dsz - KS_HIST_HDR) / ks_dtypes[dt].stride);
}

static inline unsigned char *
ks_hist_bkt(const void *hist, unsigned dt, unsigned i)
{
	return (unsigned char *)(uintptr_t)hist + KS_HIST_HDR + (size_t)i * ks_dtypes[dt].stride;
}

static inline uint64_t
ks_hist_cnt(const void *hist, unsigned dt, unsigned i)
{
	const unsigned char *b = ks_hist_bkt(hist, dt, i) + ks_dtypes[dt].cntoff;

	return ks_dtypes[dt].wide ? ks_ld64(b) : ks_ld32(b);
}

static inline uint64_t
ks_hist_oob(const void *hist, unsigned dt)
{
	return ks_dtypes[dt].wide ? ks_ld64(hist) : ks_ld32(hist);
}

/* Stores several quantiles of a VOI, as stats_voi_quantile() does; NAN: there is none. */
void ks_voi_quantiles(const struct statsblob *sb, int32_t voi_id, const double *q, size_t n, double *value);

#endif
