/*
 * codes.c - the names that Lua has for the types and kinds of published kstats, each with its number.
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include "kstat2.h"
#include "lua/compat.h"
#include "lua/core.h"

struct code {
	const char *name;
	int number;
};

static const struct code types[] = {
	{ "named", KSTAT_TYPE_NAMED }, { "intr", KSTAT_TYPE_INTR }, { "io", KSTAT_TYPE_IO },
	{ "timer", KSTAT_TYPE_TIMER }, { "raw", KSTAT_TYPE_RAW }, { NULL, 0 }
};

static const struct code data_types[] = {
	{ "char", KSTAT_DATA_CHAR }, { "int32", KSTAT_DATA_INT32 }, { "uint32", KSTAT_DATA_UINT32 },
	{ "int64", KSTAT_DATA_INT64 }, { "uint64", KSTAT_DATA_UINT64 }, { "float", KSTAT_DATA_FLOAT },
	{ "double", KSTAT_DATA_DOUBLE }, { "string", KSTAT_DATA_STRING }, { "ints", KSTAT_DATA_INTS },
	{ "strs", KSTAT_DATA_STRS }, { NULL, 0 }
};

static const struct code metatypes[] = {
	{ "unknown", KSTAT2_NVMT_UNKNOWN }, { "id", KSTAT2_NVMT_ID }, { "cnt", KSTAT2_NVMT_CNT },
	{ "t_epoch", KSTAT2_NVMT_T_EPOCH }, { "t_rel", KSTAT2_NVMT_T_REL }, { "t_acc", KSTAT2_NVMT_T_ACC },
	{ "pct", KSTAT2_NVMT_PCT }, { "addr", KSTAT2_NVMT_ADDR }, { "temp_c", KSTAT2_NVMT_TEMP_C },
	{ "rpm", KSTAT2_NVMT_RPM }, { "volt", KSTAT2_NVMT_VOLT }, { "watt", KSTAT2_NVMT_WATT },
	{ "curr", KSTAT2_NVMT_CURR }, { "bytes", KSTAT2_NVMT_BYTES }, { "bits", KSTAT2_NVMT_BITS },
	{ "state", KSTAT2_NVMT_STATE }, { "freq", KSTAT2_NVMT_FREQ }, { "flags", KSTAT2_NVMT_FLAGS },
	{ "limit", KSTAT2_NVMT_LIMIT }, { NULL, 0 }
};

static const struct code kinds[] = {
	{ "counter", KSTAT2_NVMK_COUNTER }, { "gauge", KSTAT2_NVMK_GAUGE }, { "text", KSTAT2_NVMK_TEXT },
	{ "time", KSTAT2_NVMK_TIME }, { NULL, 0 }
};

static const struct code histograms[] = {
	{ "linear", KSTAT2_NVHIST_LINEAR }, { "log2", KSTAT2_NVHIST_LOG2 },
	{ "log10", KSTAT2_NVHIST_LOG10 }, { "log10_lin", KSTAT2_NVHIST_LOG10_LIN },
	{ "exponential", KSTAT2_NVHIST_EXPONENTIAL }, { NULL, 0 }
};

static void
set_codes(lua_State *L, const char *field, const struct code *code)
{
	lua_newtable(L);
	for (; code->name != NULL; code++)
		ks_lua_setinteger(L, code->name, code->number);
	lua_setfield(L, -2, field);
}

void
ks_lua_add_publish_codes(lua_State *L)
{
	lua_getfield(L, -1, "publish");
	set_codes(L, "types", types);
	set_codes(L, "data_types", data_types);
	set_codes(L, "metatypes", metatypes);
	set_codes(L, "kinds", kinds);
	set_codes(L, "histograms", histograms);
	lua_pop(L, 1);
}
