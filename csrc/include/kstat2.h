/*
 * kstat2.h - metadata of statistics and histogram kstats, after kstat2_md(9S) and
 * kstat2_create_histogram(9F). SPDX-License-Identifier: MIT
 */
#ifndef KSTAT2_H
#define KSTAT2_H

#include "kstat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a number means (kstat2_md(9S)). */
typedef enum kstat2_nv_metatype {
	KSTAT2_NVMT_UNKNOWN = 0,
	KSTAT2_NVMT_ID,      /* an identifier */
	KSTAT2_NVMT_CNT,     /* a count of things or events */
	KSTAT2_NVMT_T_EPOCH, /* time since 1970 */
	KSTAT2_NVMT_T_REL,   /* a duration */
	KSTAT2_NVMT_T_ACC,   /* accumulated time */
	KSTAT2_NVMT_PCT,     /* percent */
	KSTAT2_NVMT_ADDR,    /* an address */
	KSTAT2_NVMT_TEMP_C,  /* degrees Celsius */
	KSTAT2_NVMT_RPM,     /* rotations a minute */
	KSTAT2_NVMT_VOLT,
	KSTAT2_NVMT_WATT,
	KSTAT2_NVMT_CURR,    /* ampere */
	KSTAT2_NVMT_BYTES,
	KSTAT2_NVMT_BITS,
	KSTAT2_NVMT_STATE,   /* one of a few states */
	KSTAT2_NVMT_FREQ,    /* hertz */
	KSTAT2_NVMT_FLAGS,   /* a bit field */
	KSTAT2_NVMT_LIMIT    /* an upper or lower limit */
} kstat2_nv_metatype_t;

#define KSTAT_NVMT_BYTES KSTAT2_NVMT_BYTES
#define KSTAT_NVMT_T_REL KSTAT2_NVMT_T_REL
#define KSTAT_NVMT_COUNT KSTAT2_NVMT_CNT

typedef uint32_t kstat2_nv_metaflag_t;
#define KSTAT2_NVMF_NONE 0u
#define KSTAT2_NVMF_FRACT 1u /* the scale divides: value / scale is in the base unit */
#define KSTAT2_NVMF_PARTS 2u /* a gauge that is kept in parts which add up: kstat_publish_shards() */
/*
 * The kstat has this statistic for programs in C only: illumos has it. Its value is 0 because Linux does not count
 * it, or because it could not be read this time, or it counts for the whole machine. kstat(8), Lua and all formats
 * leave it out.
 */
#define KSTAT2_NVMF_NOT_COUNTED 4u

/* What a number does over time. DEFAULT: what its metatype usually does. */
typedef enum kstat2_nv_metakind {
	KSTAT2_NVMK_DEFAULT = 0,
	KSTAT2_NVMK_COUNTER, /* grows; differences and rates make sense */
	KSTAT2_NVMK_GAUGE,   /* goes up and down */
	KSTAT2_NVMK_TEXT,
	KSTAT2_NVMK_TIME     /* a point in time, nanoseconds of gethrtime() */
} kstat2_nv_metakind_t;

/* Types of values that a kstat_named_t may hold besides those of kstat(3KSTAT). */
#define KSTAT2_NVVT_INTS KSTAT_DATA_INTS
#define KSTAT2_NVVT_STRS KSTAT_DATA_STRS

/* The metadata of one statistic. */
typedef struct kstat2_md {
	kstat2_nv_metatype_t md_type;
	kstat2_nv_metaflag_t md_flags; /* KSTAT2_NVMF_* */
	kstat2_nv_metakind_t md_kind;
	uint64_t md_scale;   /* value * scale, or value / scale with FRACT, is in the base unit; 0: 1 */
	const char *md_unit; /* of the value as stored, such as "pages"; NULL: follows from the rest */
	const char *md_desc; /* one line, no full stop; NULL: none */
} kstat2_md_t;

#pragma GCC visibility push(default)

/*
 * Programs written for kstat(3KSTAT) stop where a value has a type that they do not know. A chain that a C program
 * opens therefore leaves out of NAMED kstats the values of types that no kstat of illumos has: KSTAT_DATA_INTS
 * (the buckets of histograms), _STRS, _FLOAT and _DOUBLE. After this call kstat_read() returns these, too, and for each
 * histogram count, sum, min, max, mean, p50, p90, p99 and p999, as far as there were values.
 * Returns 0, or -1 with errno EINVAL: no handle.
 */
int kstat2_all_types(kstat_ctl_t *kc);

/*
 * Describes one statistic of a kstat that was created but not yet installed. The texts are
 * copied. Returns 0, or -1 with errno EINVAL (installed already, or no such metatype), ENOMEM, or ENOENT: a
 * NAMED kstat, or a histogram, has no such statistic. The name is checked once all values of the kstat have
 * names; for a kstat that is VAR_SIZE or has a ks_snapshot, and for other types, any name is accepted.
 */
int kstat2_set_md(kstat_t *ksp, const char *stat, const kstat2_md_t *md);

/*
 * Stores in *md the metadata of one statistic of a kstat of the chain, whoever provides the kstat;
 * crtime, snaptime and class have metadata, too. md_kind is never DEFAULT, md_scale never 0, md_unit
 * never NULL ("": none); md_desc is NULL if there is none. The texts stay valid until the next call with
 * kc, or its kstat_chain_update() or kstat_close(). Some metadata of histograms and statsblobs are known
 * only after kstat_read(). Returns 0, or -1 with errno ENOENT (the statistic has no metadata), ENXIO (the
 * kstat is gone), EINVAL, ENOMEM; *md is then unchanged.
 */
int kstat2_get_md(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat, kstat2_md_t *md);

/* --- histograms: kstat2_create_histogram(9F) ------------------------------------- */

typedef kstat_t kstat2_t;
typedef int zoneid_t; /* there are no zones; every value means "visible" */
#ifndef ALL_ZONES
#define ALL_ZONES (-1)
#endif
#ifndef GLOBAL_ZONEID
#define GLOBAL_ZONEID 0
#endif

typedef enum kstat2_nv_hist_type {
	KSTAT2_NVHIST_LINEAR = 0, /* buckets of `stepping` between range_min and range_max */
	KSTAT2_NVHIST_LOG2,       /* powers of two, 65 buckets */
	KSTAT2_NVHIST_LOG10,      /* powers of ten, 21 buckets */
	KSTAT2_NVHIST_LOG10_LIN,  /* `stepping` buckets in each power of ten, as DTrace's llquantize() */
	KSTAT2_NVHIST_EXPONENTIAL /* 2^stepping buckets in each power of two, as OTLP's and Prometheus's native ones */
} kstat2_nv_hist_type_t;

#define KSTAT2_HIST_MAX_BUCKETS 65535 /* of any histogram */
#define KSTAT2_HIST_OPEN_BUCKETS 1024 /* of a linear one whose range_max is 0; the last one holds the rest */

/* ks_flags */
#define KSTAT2_FLAG_PERSISTENT KSTAT_FLAG_PERSISTENT /* kstat2_delete() leaves it dormant */
#define KSTAT2_FLAG_GZ_VIS 0x10000u                  /* accepted; there are no zones */

/* ks_mflags */
typedef uint32_t kstat2_metaflag_t;
#define KSTAT2_MF_NONE 0u
#define KSTAT2_MF_STABLE 1u /* will not go away without notice */
#define KSTAT2_MF_PRIV 2u   /* sensitive: only in segments that their owner alone can read */

/*
 * Creates a histogram kstat of this process: a NAMED kstat with buckets (an array), type, range_min,
 * range_max, stepping, and of all values the sum (modulo 2^64), min, max, and out_of_range: how many had no bucket
 * of their own. The path has four segments: class, module and, in either order, the
 * instance (the numeric one) and the name. With three segments the instance is 0.
 *
 *   LINEAR     bucket 0 holds values below range_min (with range_min 0, exactly 0), then come
 *              steps of `stepping`, the last bucket holds range_max and above. Only buckets up to
 *              the highest used one are shown. With range_max 0 the range is open, and there are
 *              KSTAT2_HIST_OPEN_BUCKETS.
 *   LOG10_LIN  range_min and range_max are powers of ten (0 to 18); the first bucket holds values below
 *              10^range_min, the last one values from 10^(range_max + 1) on.
 *   EXPONENTIAL  range_min and range_max are the lowest and the highest value, `stepping` is the scale s (0 to 8).
 *              Bucket 0 holds exactly 0; the others hold the values above 2^(i/2^s) up to and including
 *              2^((i+1)/2^s), from the one that holds range_min (at least 1) to the one that holds range_max. A
 *              value that is in none of them counts in the nearest, and in out_of_range.
 *
 * content_type, scale and md_flags say what the bucket ranges measure. `buckets`, if not NULL, are
 * num_buckets counts that the caller owns and may update; there must be as many as the layout has, and they
 * must exist until kstat2_delete(); the kstat then has the first five values alone. desc is copied.
 *
 * Returns NULL with errno: EINVAL (steps that do not divide the range, range_min above range_max, zero
 * stepping, too many buckets, a path without a name, ...; kstat_errmsg() says which), EEXIST, ENOMEM.
 */
kstat2_t *kstat2_create_histogram(const char *ks_pseg[], uint32_t ks_npseg,
    zoneid_t ks_zone, kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type,
    uint64_t scale, kstat2_nv_metaflag_t md_flags, uint64_t *buckets, uint16_t num_buckets,
    uint64_t range_min, uint64_t range_max, uint64_t stepping, uint32_t ks_flags,
    const char *desc, kstat2_metaflag_t ks_mflags);

/* As kstat_install() and kstat_delete(). */
int kstat2_install(kstat2_t *ksp);
void kstat2_delete(kstat2_t *ksp);

/*
 * Counts a value. Any thread, and for a published histogram any process, may call it at any
 * time; no count is lost. Returns 0, or -1 with errno EINVAL (not a histogram), EAGAIN (published: another
 * process kept it locked for a second).
 */
int kstat2_hist_add_value(kstat2_t *ksp, uint64_t value);

/*
 * The same for a number with a fraction, which is cut off. What is negative, not a number, or 2^64 and more is refused
 * (EINVAL), and counted in out_of_range alone.
 */
int kstat2_hist_add_double(kstat2_t *ksp, double value);

/*
 * Adds counts that were made elsewhere, as by a program in the kernel: counts[i] values to bucket i, for n buckets (at most
 * as many as there are). sum: of all these values; 0: not known, the middles of the buckets are taken; one that they cannot
 * have is brought to the nearest that they can. min and max become bounds of buckets, out_of_range stays. A reader may see a
 * part of the buckets, whose sum then fits them. Returns 0, or -1 with errno EINVAL and nothing changed (not a histogram, or
 * one of supplied buckets; too many buckets; one that no whole number is in; 2^63 values and more), EAGAIN.
 */
int kstat2_hist_add_counts(kstat2_t *ksp, const uint64_t *counts, uint32_t n, uint64_t sum);

/*
 * Counts the time since kstat_latency_start(), which returned `start`, in the histogram's own unit: it counts a
 * time, KSTAT2_NVMT_T_REL, of a whole number of nanoseconds (1 us is a scale of 1000000 with KSTAT2_NVMF_FRACT).
 * Operations may overlap, and end in another thread or process. Returns 0, or -1 with errno EINVAL (not a histogram, not
 * of times; a start that has not come yet is refused, and counted in out_of_range), EAGAIN.
 */
hrtime_t kstat_latency_start(void);
int kstat_latency_stop(kstat2_t *ksp, hrtime_t start);

/*
 * Stores the least and the greatest value of bucket i (from 0) of a histogram kstat of a chain that was
 * read (kstat_read()), in its own unit; the last bucket ends at 2^64-1. A linear histogram shows buckets
 * up to the highest used one only; this function knows the bounds of the others, too. Returns 0, or -1
 * with errno EINVAL: not a histogram, not read, or no such bucket.
 */
int kstat2_hist_bounds(const kstat2_t *ksp, uint32_t i, uint64_t *low, uint64_t *high);

/* --- distributions: what histograms counted ------------------------------------------ */

/*
 * Counts of values by bucket, of a histogram kstat or of a VOI of a statsblob: since its creation, of an
 * interval, or of several of them. A copy: it stays when the chain moves on. Values are in the unit of the
 * kstat. One thread at a time.
 */
typedef struct kstat_hist kstat_hist_t;

/*
 * Returns the distribution of a kstat of the chain that was read (kstat_read()) after kstat2_all_types(), since
 * its creation; voi names a VOI of a statsblob and is NULL for a histogram. To be freed with kstat_hist_free().
 * NULL with errno EINVAL (no histogram, or one that does not fit; not read; no kstat2_all_types()), ENOENT (no such
 * VOI, or one without histogram and digest), ENXIO (the kstat is gone), ENOMEM.
 */
kstat_hist_t *kstat_hist_read(kstat_ctl_t *kc, const kstat_t *ksp, const char *voi);

/* Returns a copy; NULL with errno ENOMEM. */
kstat_hist_t *kstat_hist_copy(const kstat_hist_t *hist);

/* Frees what the two returned; NULL: does nothing. */
void kstat_hist_free(kstat_hist_t *hist);

/*
 * Takes away what an earlier reading of the same kstat had counted: what remains is of the interval between
 * the two. If the kstat was created anew in between, all of it is. Returns 0, or -1 with errno EINVAL and
 * nothing changed: other unit, other buckets, or a digest, which knows only what was since creation.
 */
int kstat_hist_subtract(kstat_hist_t *hist, const kstat_hist_t *earlier);

/*
 * Adds the counts of another distribution, exactly. Exponential ones of different scales merge at the coarser
 * one; all others need the same buckets. Returns 0, or -1 with errno EINVAL and nothing changed: other unit
 * (kstat_errmsg() names both), other buckets, or 2^64 values and more; ENOMEM.
 */
int kstat_hist_merge(kstat_hist_t *hist, const kstat_hist_t *other);

/* Returns how many values there are. */
uint64_t kstat_hist_count(const kstat_hist_t *hist);

/*
 * Returns the value below which the share q (0 to 1) of all values lies. It is wrong by at most the width of
 * a bucket; in an exponential histogram by at most (2^(2^-scale) - 1) / (2^(2^-scale) + 1) of itself: 1.1 %
 * at scale 5. NAN with errno ENOENT (no values) or EINVAL.
 */
double kstat_hist_quantile(const kstat_hist_t *hist, double q);

/*
 * Returns which share of all values is at most `value`, 0 to 1; NAN with errno ENOENT (no values) or EINVAL.
 */
double kstat_hist_share(const kstat_hist_t *hist, double value);

/*
 * Returns the sum, the mean, the least and the greatest of all values; NAN without values. They are exact if
 * they were counted and are of all values since creation; else they are estimated from the buckets (of an
 * interval: least and greatest).
 */
double kstat_hist_sum(const kstat_hist_t *hist);
double kstat_hist_mean(const kstat_hist_t *hist);
double kstat_hist_min(const kstat_hist_t *hist);
double kstat_hist_max(const kstat_hist_t *hist);

/* --- paths and URIs --------------------------------------------------------------- */

/* What a path names: the arguments of kstat_lookup(), and the class. */
typedef struct kstat2_path {
	char p_class[KSTAT_STRLEN];
	char p_module[KSTAT_STRLEN];
	int p_instance;
	char p_name[KSTAT_STRLEN];
} kstat2_path_t;

/*
 * Reads "kstat:/misc/my_drv/1/data_in", or the path without "kstat:": class, module, and of the
 * last two segments the numeric one as the instance. 0, or -1 with errno EINVAL.
 */
int kstat2_parse_uri(const char *uri, kstat2_path_t *path);

/* The same for segments. */
int kstat2_parse_path(const char *const ks_pseg[], uint32_t ks_npseg, kstat2_path_t *path);

/* Returns the kstat that a URI names, as kstat_lookup(); its class must match. NULL: EINVAL, ENOENT. */
kstat_t *kstat2_lookup_uri(kstat_ctl_t *kc, const char *uri);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* KSTAT2_H */
