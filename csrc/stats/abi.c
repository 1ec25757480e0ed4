/* abi.c - the tables of data and statistic types. SPDX-License-Identifier: MIT */
#include "stats/abi.h"

const struct ks_dtype ks_dtypes[VSD_NUM_DTYPES] = {
	[VSD_DTYPE_VOISTATE] = { "VOISTATE", 8, false, false, 0, 0, false },
	[VSD_DTYPE_INT_S32] = { "INT_S32", 4, true, false, 0, 0, false },
	[VSD_DTYPE_INT_U32] = { "INT_U32", 4, false, false, 0, 0, false },
	[VSD_DTYPE_INT_S64] = { "INT_S64", 8, true, false, 0, 0, false },
	[VSD_DTYPE_INT_U64] = { "INT_U64", 8, false, false, 0, 0, false },
	[VSD_DTYPE_INT_SLONG] = { "INT_SLONG", sizeof(long), true, false, 0, 0, false },
	[VSD_DTYPE_INT_ULONG] = { "INT_ULONG", sizeof(long), false, false, 0, 0, false },
	[VSD_DTYPE_Q_S32] = { "Q_S32", 4, true, true, 0, 0, false },
	[VSD_DTYPE_Q_U32] = { "Q_U32", 4, false, true, 0, 0, false },
	[VSD_DTYPE_Q_S64] = { "Q_S64", 8, true, true, 0, 0, false },
	[VSD_DTYPE_Q_U64] = { "Q_U64", 8, false, true, 0, 0, false },
	[VSD_DTYPE_CRHIST32] = { "CRHIST32", 0, false, false, 16, 8, false },
	[VSD_DTYPE_DRHIST32] = { "DRHIST32", 0, false, false, 24, 16, false },
	[VSD_DTYPE_DVHIST32] = { "DVHIST32", 0, false, false, 16, 8, false },
	[VSD_DTYPE_CRHIST64] = { "CRHIST64", 0, false, false, 16, 8, true },
	[VSD_DTYPE_DRHIST64] = { "DRHIST64", 0, false, false, 24, 16, true },
	[VSD_DTYPE_DVHIST64] = { "DVHIST64", 0, false, false, 16, 8, true },
	[VSD_DTYPE_TDGSTCLUST32] = { "TDGSTCLUST32", 0, false, false, 0, 0, false },
	[VSD_DTYPE_TDGSTCLUST64] = { "TDGSTCLUST64", 0, false, false, 0, 0, true },
};

const char *const ks_stypes[VS_NUM_STYPES] = { "VOISTATE", "SUM", "MAX", "MIN", "HIST", "TDGST" };
