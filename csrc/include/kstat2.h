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

#ifdef __cplusplus
}
#endif

#endif /* KSTAT2_H */
