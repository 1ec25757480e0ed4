/*
 * statsblob.h - statistics gathering after stats(3): templates, blobs, histograms and
 * t-digests, ABI version 1, byte for byte.
 *
 * A template associates values of interest (VOIs) with statistics. A blob is a contiguous,
 * position-independent piece of memory made from a template; it may be unaligned, copied,
 * sent and stored. Templates are shared by all threads and live until the process ends;
 * blobs are not locked: a program that shares one between threads has to use a lock of its own.
 *
 * Stack: the functions use at most 26 KB; 32 KB with a digest of more than 128 centroids, and 56 KB with
 * one of more than 256. With more than 512 centroids they work in memory that they allocate, and so does
 * merging with more than 128. They do not fail for lack of memory: they then work on the stack, and use
 * 400 KB with more than 512 centroids; merging uses 48 KB with more than 128, 88 KB with more than 256 and
 * 640 KB with more than 512.
 *
 * Errors are errno values returned directly (0: success); functions that return an ID
 * return a negated errno. Functions that the manual page does not have are marked "Extension".
 * SPDX-License-Identifier: MIT
 */
#ifndef STATSBLOB_H
#define STATSBLOB_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kstat_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Linux has no "inappropriate type" error. */
#ifndef EFTYPE
#define EFTYPE EMEDIUMTYPE
#endif

#define STATS_ABI_V1 1
#define TPL_MAX_NAME_LEN 64 /* bytes, without the NUL */

enum { SB_UE = 0, SB_LE = 1, SB_BE = 2 }; /* statsblob.endian */

/* Data types of VOIs (INT_*, Q_*) and of statistics. The numbers are part of the ABI. */
enum vsd_dtype {
	VSD_DTYPE_VOISTATE = 0,
	VSD_DTYPE_INT_S32 = 1,
	VSD_DTYPE_INT_U32 = 2,
	VSD_DTYPE_INT_S64 = 3,
	VSD_DTYPE_INT_U64 = 4,
	VSD_DTYPE_INT_SLONG = 5,
	VSD_DTYPE_INT_ULONG = 6,
	VSD_DTYPE_Q_S32 = 7,
	VSD_DTYPE_Q_U32 = 8,
	VSD_DTYPE_Q_S64 = 9,
	VSD_DTYPE_Q_U64 = 10,
	VSD_DTYPE_CRHIST32 = 11,
	VSD_DTYPE_DRHIST32 = 12,
	VSD_DTYPE_DVHIST32 = 13,
	VSD_DTYPE_CRHIST64 = 14,
	VSD_DTYPE_DRHIST64 = 15,
	VSD_DTYPE_DVHIST64 = 16,
	VSD_DTYPE_TDGSTCLUST32 = 17,
	VSD_DTYPE_TDGSTCLUST64 = 18,
	VSD_NUM_DTYPES = 19
};

/* Statistic types; also the index of a VOI's statistic slot in a blob. */
enum voi_stype {
	VS_STYPE_VOISTATE = 0, /* previous value of a VOI with SB_VOI_RELUPDATE */
	VS_STYPE_SUM = 1,
	VS_STYPE_MAX = 2,
	VS_STYPE_MIN = 3,
	VS_STYPE_HIST = 4,
	VS_STYPE_TDGST = 5,
	VS_NUM_STYPES = 6
};

enum sb_str_fmt { SB_STRFMT_FREEFORM = 0, SB_STRFMT_JSON = 1, SB_STRFMT_NUM_FMTS = 2 };

/* stats_tpl_add_voistats() */
#define SB_VOI_RELUPDATE 0x0001 /* stats_voi_update_rel_*() may be used */

/* stats_blob_clone(), stats_blob_snapshot() */
#define SB_CLONE_RSTSRC        0x0001 /* snapshot: reset the source afterwards */
#define SB_CLONE_ALLOCDST      0x0002 /* allocate *dst */
#define SB_CLONE_USRDSTNOFAULT 0x0004 /* a plain copy in user space */
#define SB_CLONE_USRDST        0x0008 /* a plain copy in user space */

/* stats_blob_tostr() */
#define SB_TOSTR_OBJDUMP 0x00000001
#define SB_TOSTR_META    0x00000002

/* sb_visit.flags */
#define SB_IT_FIRST_CB      0x0001 /* the first callback of this visit */
#define SB_IT_LAST_CB       0x0002
#define SB_IT_FIRST_VOI     0x0004 /* concerns the first VOI visited */
#define SB_IT_LAST_VOI      0x0008
#define SB_IT_FIRST_VOISTAT 0x0010 /* the VOI's first statistic visited */
#define SB_IT_LAST_VOISTAT  0x0020
#define SB_IT_NULLVOI       0x0040 /* a vacant VOI slot (only if asked for) */
#define SB_IT_NULLVOISTAT   0x0080 /* a vacant statistic slot (only if asked for) */

/* Flags of histograms */
#define VSD_HIST_LBOUND_INF 0x00000001 /* one more bucket below the first */
#define VSD_HIST_UBOUND_INF 0x00000002 /* one more bucket above the last */

/*
 * The ABI has flexible arrays and unnamed unions, which C++ and C99 lack. These pragmas silence pedantic
 * compilers.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* The public head of a blob. Sizes are in bytes. */
struct statsblob {
	uint8_t abi;    /* STATS_ABI_V1 */
	uint8_t endian; /* SB_LE or SB_BE */
	uint16_t flags;
	uint16_t maxsz; /* of the memory that holds the blob */
	uint16_t cursz; /* of the blob */
	uint8_t opaque[];
};

struct statsblob_tpl; /* a registered template */
struct sbuf;

/*
 * Fixed-point (Q) words: the low three bits choose the fractional bits (0..7 for 2, 4, 6,
 * 8, 16, 32, 48, 64, limited to what the type can hold), the magnitude follows, the top
 * bit of the signed types is the sign.
 */
typedef int32_t s32q_t;
typedef uint32_t u32q_t;
typedef int64_t s64q_t;
typedef uint64_t u64q_t;

/* A statistic's data. Data in a blob is unaligned: use memcpy, or these packed forms. */
struct voistatdata;
struct voistatdata_int32 {
	union {
		int32_t s32;
		uint32_t u32;
	};
} __attribute__((packed));
struct voistatdata_int64 {
	union {
		int64_t s64;
		uint64_t u64;
	};
} __attribute__((packed));
struct voistatdata_numeric {
	union {
		int32_t s32;
		uint32_t u32;
		int64_t s64;
		uint64_t u64;
		long slong;
		unsigned long ulong;
		s32q_t sq32;
		u32q_t uq32;
		s64q_t sq64;
		u64q_t uq64;
	};
} __attribute__((packed));

/* Parameters of the constructors in statsblob_vss.h. */
enum hist_bkt_alloc { BKT_LIN, BKT_EXP, BKT_LINEXP, BKT_USR };
struct vss_hlpr_info; /* any of the following three */
struct vss_numeric_hlpr_info {
	uint32_t prec; /* fractional bits wanted; Q VOIs only */
};
struct vss_hist_bkt {
	uint64_t lb, ub; /* value (sign-extended) or Q word; DV and CR buckets use lb alone */
};
struct vss_hist_hlpr_info {
	enum hist_bkt_alloc scheme;
	uint32_t flags; /* VSD_HIST_* */
	uint64_t lb, ub;
	union {
		struct {
			uint64_t stepinc;
		} lin;
		struct {
			uint64_t stepbase, stepexp;
		} exp;
		struct {
			uint64_t nlinsteps, stepbase;
		} linexp;
		struct {
			const struct vss_hist_bkt *bkts;
			size_t nbkts;
		} usr;
	};
};
struct vss_tdgst_hlpr_info {
	uint32_t nctds; /* centroids, at least 1 */
	uint32_t prec;  /* fractional bits of the means */
};

struct voistatspec;
/*
 * Fills vss->iv (malloc'ed, freed by the caller), vsdsz and vs_dtype for a VOI of
 * voi_dtype. Returns 0 or an errno.
 */
typedef int (*vss_hlpr_fn)(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info);

/*
 * One statistic. Usually a STATS_VSS_*() initialiser makes it. To make it by hand, set hlpr to NULL, and iv
 * to the initial data of vsdsz bytes of type vs_dtype, which must fit stype and the VOI.
 */
struct voistatspec {
	vss_hlpr_fn hlpr;
	struct vss_hlpr_info *hlprinfo;
	struct voistatdata *iv;
	size_t vsdsz;
	uint32_t flags;
	enum vsd_dtype vs_dtype : 8;
	enum voi_stype stype : 8;
};

#define NVSS(vss_ar) (sizeof(vss_ar) / sizeof((vss_ar)[0]))

/* What stats_blob_visit() passes to its callback; valid during the call only. */
struct sb_visit {
	struct voistatdata *vs_data; /* unaligned, inside the blob; NULL if vacant */
	uint32_t tplhash;
	uint32_t flags; /* SB_IT_* */
	int16_t voi_id;
	int16_t vs_dsz; /* bytes at vs_data; as uint16_t */
	uint16_t vs_errs;
	enum vsd_dtype voi_dtype : 8;
	enum vsd_dtype vs_dtype : 8;
	int8_t vs_stype;
};

#pragma GCC diagnostic pop
typedef int (*stats_blob_visitcb_t)(struct sb_visit *sbv, void *usrctx);

struct stats_tpl_sample_rate {
	int32_t tpl_slot_id;
	uint32_t tpl_sample_pct; /* 0..100 */
};
enum stats_tpl_sr_cb_action {
	TPL_SR_UNLOCKED_GET,
	TPL_SR_RLOCKED_GET,
	TPL_SR_RUNLOCK,
	TPL_SR_PUT
};
/*
 * The owner of a list of rates. GET: store the list's address and count. RUNLOCK: undo a
 * RLOCKED_GET. PUT: make *rates, *nrates (malloc'ed) the list in force and return the
 * former one in the same variables; the caller frees it. Returns 0 or an errno.
 */
typedef int (*stats_tpl_sr_cb_t)(enum stats_tpl_sr_cb_action action,
    struct stats_tpl_sample_rate **rates, int *nrates, void *ctx);

#pragma GCC visibility push(default)

/* --- strings ------------------------------------------------------------------------ */

/*
 * The few sbuf(9) functions that users of stats_*_tostr() need. An sbuf is either of fixed
 * length, in the caller's memory, or grows (SBUF_AUTOEXTEND). Text that does not fit sets
 * the error ENOMEM, and so does a failed allocation.
 */
struct sbuf {
	char *s_buf;
	size_t s_size; /* bytes of memory, the NUL included */
	size_t s_len;
	int s_error;
	int s_flags;
};
#define SBUF_FIXEDLEN   0x0
#define SBUF_AUTOEXTEND 0x1

#define sbuf_new stats_sbuf_new
#define sbuf_new_auto() stats_sbuf_new(NULL, NULL, 0, SBUF_AUTOEXTEND)
#define sbuf_delete stats_sbuf_delete
#define sbuf_clear stats_sbuf_clear
#define sbuf_bcat stats_sbuf_bcat
#define sbuf_cat stats_sbuf_cat
#define sbuf_printf stats_sbuf_printf
#define sbuf_finish stats_sbuf_finish
#define sbuf_error stats_sbuf_error
#define sbuf_data stats_sbuf_data
#define sbuf_len stats_sbuf_len

/*
 * Makes an sbuf in *s (or a new one if s is NULL) over buf of length bytes (or allocated if
 * buf is NULL; 0: a default). NULL on lack of memory. Ends with sbuf_delete().
 */
struct sbuf *stats_sbuf_new(struct sbuf *s, char *buf, size_t length, int flags);
void stats_sbuf_delete(struct sbuf *s);
void stats_sbuf_clear(struct sbuf *s); /* removes text and error */
int stats_sbuf_bcat(struct sbuf *s, const void *p, size_t n); /* 0, or -1: see sbuf_error */
int stats_sbuf_cat(struct sbuf *s, const char *str);
int stats_sbuf_printf(struct sbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int stats_sbuf_finish(struct sbuf *s);     /* terminates the text; 0, or -1 with errno */
int stats_sbuf_error(const struct sbuf *s); /* 0 or the first error */
char *stats_sbuf_data(struct sbuf *s);      /* the text, NUL-terminated; s keeps it */
ptrdiff_t stats_sbuf_len(const struct sbuf *s); /* bytes, or -1 after an error */

/* --- templates ---------------------------------------------------------------------- */

/*
 * Registers an empty template and returns its slot ID. -EINVAL: the name is longer than
 * TPL_MAX_NAME_LEN bytes or contains a quote before a ':' or '=' (specs would be ambiguous),
 * or flags is not 0. -ENOMEM: no memory, or no name. -EEXIST.
 */
int stats_tpl_alloc(const char *name, uint32_t flags);

/*
 * The slot ID of the newest template with this name and hash; a NULL name matches any, a
 * hash of 0 beside a name matches any. -ESRCH if there is none.
 */
int stats_tpl_fetch_allocid(const char *name, uint32_t hash);

/* Extension: as above for a template spec: "NAME":HASH, "NAME" or :HASH, quotes optional. */
int stats_tpl_fetch_spec(const char *spec, size_t len);

/* Stores the template in slot tpl_id, which lives as long as the process. ENOENT. */
int stats_tpl_fetch(int tpl_id, struct statsblob_tpl **tpl);

/* Copies the name to buf. EOVERFLOW: len bytes do not hold it and a NUL. ENOENT. */
int stats_tpl_id2name(uint32_t tpl_id, char *buf, size_t len);

/* Extension: stores the template's hash, which blobs made from now on hold. ENOENT. */
int stats_tpl_id2hash(uint32_t tpl_id, uint32_t *hash);

/* Extension: appends all templates in normative form, commas between. EINVAL, or buf's error. */
int stats_tpl_list(struct sbuf *buf);

/*
 * Adds VOI voi_id (0..) with nvss statistics. flags: SB_VOI_RELUPDATE. EINVAL: bad
 * arguments. EFBIG: blobs would exceed 65535 bytes. EOPNOTSUPP: the VOI exists. EEXIST:
 * another VOI has the name (any number of VOIs may have an empty one). ENOMEM. Blobs that were made before
 * do not change.
 */
int stats_tpl_add_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
    enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss, uint32_t flags);

/* The helper constructors behind STATS_VSS_*(). 0, EINVAL, EFBIG or ENOMEM. */
int stats_vss_numeric_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info);
int stats_vss_hist_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info);
int stats_vss_tdgst_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
    struct vss_hlpr_info *info);

/*
 * Reads and sets a list of sampling rates as text, "NAME":HASH=PERCENT separated by commas.
 * cb is its owner; ctxsz bytes of zeroed memory are passed to cb as ctx (NULL if 0).
 * Get: oldbuf and *oldlen (bytes there; on return bytes needed, the NUL included); with
 * oldbuf NULL *oldlen becomes an upper bound. Set: newlen bytes at newtext (NULL: none).
 * EINVAL: malformed, or more than 100 % together. ESRCH: no such template. ENOMEM: oldbuf
 * is too small, or no memory. After an error the list is unchanged.
 */
int stats_tpl_sample_rates(stats_tpl_sr_cb_t cb, size_t ctxsz, char *oldbuf, size_t *oldlen,
    const char *newtext, size_t newlen);

/*
 * Selects a template ID by its rate, or -1. With a seed the choice depends on its bytes
 * alone; without one (NULL) each choice is random. A template with a rate of p is chosen in p of 100 cases.
 *
 * With seeds this is true only if they are long enough, because the hash of the ABI is 33 h + byte. Seeds
 * of up to 4 bytes all choose the first template with a rate above 0, and seeds that differ only in their
 * last 4 bytes all choose the same one. With 100 rates of 1 %, random seeds of 5 bytes choose each in 0
 * to 14 % of the cases, of 6 bytes in 0.84 to 1.3 %, of 7 bytes in 1 %; of digits 9 are needed. Enough
 * bytes must follow those that differ, whatever they are: the addresses 10.0.0.0 to 10.0.255.255 as text
 * choose each in 0 to 17 % of the cases, and with 8 blanks appended in 0.96 to 1.05 %. So append 8
 * constant bytes to any seed.
 */
int stats_tpl_sample_rollthedice(struct stats_tpl_sample_rate *rates, int nrates,
    void *seed_bytes, size_t seed_len);

/* --- blobs -------------------------------------------------------------------------- */

/* Returns a new blob of template tpl_id; NULL if there is no such template or no memory. */
struct statsblob *stats_blob_alloc(uint32_t tpl_id, uint32_t flags);

/*
 * Makes a blob in memory of sb->maxsz bytes. EINVAL: sb is NULL, or no such template.
 * EOVERFLOW: the blob does not fit; sb->cursz then says how many bytes it needs.
 */
int stats_blob_init(struct statsblob *sb, uint32_t tpl_id, uint32_t flags);

/* Extension: bytes a blob of this template needs. ENOENT. */
int stats_tpl_blobsize(uint32_t tpl_id, size_t *size);

/*
 * Copies src to *dst, memory of dstmaxsz bytes whose maxsz field is not changed; with
 * SB_CLONE_ALLOCDST to new memory. EINVAL. ENOMEM. EOVERFLOW: src is larger than dstmaxsz;
 * the head is written, so that (*dst)->cursz says how many bytes are needed.
 */
int stats_blob_clone(struct statsblob **dst, size_t dstmaxsz, struct statsblob *src,
    uint32_t flags);

/* As clone; with SB_CLONE_RSTSRC src is reset after a successful copy. */
int stats_blob_snapshot(struct statsblob **dst, size_t dstmaxsz, struct statsblob *src,
    uint32_t flags);

/* Frees a blob that alloc, clone or snapshot allocated; NULL is allowed. */
void stats_blob_destroy(struct statsblob *sb);

/*
 * Extension: checks whether the len bytes at p, which may come from anywhere and be unaligned, are
 * a blob that may be passed to the other functions. 0; EINVAL: malformed; EOPNOTSUPP: a blob of
 * the other byte order or of another ABI version. Reads nothing outside the len bytes.
 */
int stats_blob_check(const void *p, size_t len);

/* Extension: resets all statistics of a blob, as SB_CLONE_RSTSRC does. EINVAL. */
int stats_blob_reset(struct statsblob *sb);

/*
 * Extension: adds src's statistics to dst: sums, extremes, bucket counts, digests; both of
 * one template (EINVAL if not, with dst unchanged). Previous values of relative updates stay those of dst.
 * A fixed-point sum that would overflow is not changed, but counted in errs; the rest is merged, and the
 * function returns EOVERFLOW. It never fails for lack of memory. As with updates, an integer sum and the
 * counts of histograms wrap, those of 32 bits at 2^32; a digest's count of samples stays at 2^32-1
 * (TDGSTCLUST64: 2^63-1), and its weights are halved before they reach 2^31 (2^63), so that quantiles can
 * still be computed. None of these is an error: to add up many blobs, use the 64-bit forms.
 */
int stats_blob_merge(struct statsblob *dst, const struct statsblob *src);

/* --- updates ------------------------------------------------------------------------ */

/*
 * Feeds a value to all statistics of a VOI. _rel adds the value to the previous one first
 * (VOIs with SB_VOI_RELUPDATE). The suffix must be the VOI's data type. EINVAL: it is not,
 * or there is no such VOI. EOVERFLOW, ERANGE: one of the statistics could not include the value and counted
 * it in its errs; the others include it. A relative update of a Q VOI and the functions below also return
 * ERANGE if the VOI's type does not have the value; then nothing was counted.
 */
#define STATS_VOI_UPDATE_DECL_(sfx, type)                                                \
	int stats_voi_update_abs_##sfx(struct statsblob *sb, int32_t voi_id, type voival); \
	int stats_voi_update_rel_##sfx(struct statsblob *sb, int32_t voi_id, type voival);
STATS_VOI_UPDATE_DECL_(s32, int32_t)
STATS_VOI_UPDATE_DECL_(u32, uint32_t)
STATS_VOI_UPDATE_DECL_(s64, int64_t)
STATS_VOI_UPDATE_DECL_(u64, uint64_t)
STATS_VOI_UPDATE_DECL_(slong, long)
STATS_VOI_UPDATE_DECL_(ulong, unsigned long)
STATS_VOI_UPDATE_DECL_(sq32, s32q_t)
STATS_VOI_UPDATE_DECL_(uq32, u32q_t)
STATS_VOI_UPDATE_DECL_(sq64, s64q_t)
STATS_VOI_UPDATE_DECL_(uq64, u64q_t)

/*
 * Extension: the same for a program that does not know the VOI's type when it is compiled. For a VOI of any
 * integer type v is the value (ERANGE if it does not fit), for a Q VOI v is a number of whole units.
 */
int stats_voi_update_int(struct statsblob *sb, int32_t voi_id, int64_t v, kstat_bool_t rel);
int stats_voi_update_uint(struct statsblob *sb, int32_t voi_id, uint64_t v, kstat_bool_t rel);
/*
 * Integer VOIs: v must be whole. Q VOIs: v is rounded to the VOI's precision. ERANGE, also if v is not a
 * number.
 */
int stats_voi_update_dbl(struct statsblob *sb, int32_t voi_id, double v, kstat_bool_t rel);

/* --- reading ------------------------------------------------------------------------ */

/*
 * Stores the address of a statistic's data in the blob, their type and size; retdtype and
 * retvsdsz may be NULL. EINVAL: bad arguments, or no such statistic.
 */
int stats_voistat_fetch_dptr(struct statsblob *sb, int32_t voi_id, enum voi_stype stype,
    enum vsd_dtype *retdtype, struct voistatdata **retvsd, size_t *retvsdsz);

/* Stores the value of a simple statistic. EINVAL as above; EFTYPE: it has another type. */
#define STATS_VOISTAT_FETCH_DECL_(sfx, type)                                             \
	int stats_voistat_fetch_##sfx(struct statsblob *sb, int32_t voi_id,               \
	    enum voi_stype stype, type *ret);
STATS_VOISTAT_FETCH_DECL_(s32, int32_t)
STATS_VOISTAT_FETCH_DECL_(u32, uint32_t)
STATS_VOISTAT_FETCH_DECL_(s64, int64_t)
STATS_VOISTAT_FETCH_DECL_(u64, uint64_t)
STATS_VOISTAT_FETCH_DECL_(slong, long)
STATS_VOISTAT_FETCH_DECL_(ulong, unsigned long)
STATS_VOISTAT_FETCH_DECL_(sq32, s32q_t)
STATS_VOISTAT_FETCH_DECL_(uq32, u32q_t)
STATS_VOISTAT_FETCH_DECL_(sq64, s64q_t)
STATS_VOISTAT_FETCH_DECL_(uq64, u64q_t)

/* Calls func for each VOI and statistic until it returns non-zero. 0, or EINVAL. */
int stats_blob_visit(struct statsblob *sb, stats_blob_visitcb_t func, void *usrctx);

/*
 * Extension: as stats_blob_visit, and also for vacant slots: a vacant VOI once, with
 * SB_IT_NULLVOI and voi_id its index; a vacant statistic with SB_IT_NULLVOISTAT.
 */
int stats_blob_visit_all(struct statsblob *sb, stats_blob_visitcb_t func, void *usrctx);

/*
 * Renders a blob into buf; flags: SB_TOSTR_*. EINVAL: bad arguments, or META and no
 * registered template has the blob's hash. Else sbuf_error(buf).
 */
int stats_blob_tostr(struct statsblob *sb, struct sbuf *buf, enum sb_str_fmt fmt,
    uint32_t flags);

/*
 * Renders one statistic's data of vsd_sz bytes, of a VOI of voi_dtype. EINVAL, or
 * sbuf_error(buf).
 */
int stats_voistatdata_tostr(const struct voistatdata *vsd, enum vsd_dtype voi_dtype,
    enum vsd_dtype vsd_dtype, size_t vsd_sz, enum sb_str_fmt fmt, struct sbuf *buf,
    int objdump);

/*
 * Extension: distributions. Each uses the VOI's t-digest, or its histogram if it has none.
 * EINVAL: neither, or bad arguments. ENOENT: no samples.
 *
 * quantile: the value below which the share q (0..1) of the samples lies. From a histogram
 * it is interpolated in its bucket, limited by MIN and MAX if the VOI has them. *err (may be
 * NULL) becomes the largest possible error: the width of the values that the bucket
 * holds, or infinite if they have no bound or the width is not known (fixed-point bounds or statistics of
 * several precisions). User buckets may overlap and be unsorted; the values that a bucket holds are those
 * that it would count. Out-of-bucket samples are not part of the distribution. For a
 * digest *err is NaN, because its error is bounded in rank: see stats_voi_rank_error().
 * cdf: the share of samples at or below x. count: the number of samples.
 */
int stats_voi_quantile(const struct statsblob *sb, int32_t voi_id, double q, double *value,
    double *err);
int stats_voi_cdf(const struct statsblob *sb, int32_t voi_id, double x, double *share);
int stats_voi_count(const struct statsblob *sb, int32_t voi_id, uint64_t *count);

/*
 * Extension: how exact the quantiles of a digest are. A digest returns for q a value whose true rank differs
 * from q by at most this bound, a share of the samples: with 0.001 the 99th percentile lies between
 * the 98.9th and the 99.1th.
 *
 * stats_tdgst_error_bound(): the bound for any digest of nctds centroids that has seen so many samples;
 * NAN if nctds is 0 or over 4094, or q not in 0..1. For 1e6 samples it is, in percent of the samples:
 *
 *	centroids  p1       p10      p50      p90      p99      p99.9    p99.99
 *	20         100      100      100      83       11       1.3      0.15
 *	50         4.4      8.6      11       4.9      0.95     0.15     0.021
 *	100        2.0      4.4      5.6      2.4      0.45     0.066    0.0088
 *	200        0.84     2.1      2.8      1.2      0.20     0.029    0.0038
 *	500        0.30     0.81     1.1      0.46     0.075    0.010    0.0014
 *	1000       0.13     0.40     0.54     0.22     0.037    0.0050   0.00077
 *	2000       0.065    0.20     0.27     0.11     0.019    0.0026   0.00043
 *
 * The bound was found by measuring: in 9,360 cases (4 to 400 centroids, 7 kinds of data, 50 to 100,000
 * samples, 12 quantiles) the error was at most 0.54 of the bound, in 1,512 cases with 64 digests merged
 * at most 0.51; mostly it is a hundredth. The bound holds for samples whose order says nothing about
 * their values, and for ascending and descending samples; with an order made to mislead the error may
 * exceed it. The bound does not use that the greatest samples are kept as they are (as many as there are
 * centroids; from 100 centroids on, an eighth as many), so that the highest quantiles are exact. A digest
 * that merged nothing, because it has seen no more distinct values than it has centroids, is exact, too.
 *
 * stats_voi_rank_error(): the bound for a VOI's digest as it is, 0 while the digest is exact. EINVAL: bad
 * arguments, or the VOI has no digest. ENOENT: no samples.
 */
double stats_tdgst_error_bound(uint32_t nctds, uint64_t samples, double q);
int stats_voi_rank_error(const struct statsblob *sb, int32_t voi_id, double q, double *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#include "statsblob_vss.h"

#endif
