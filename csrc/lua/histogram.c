/*
 * histogram.c - which values the buckets of a kstat2 histogram hold. SPDX-License-Identifier: MIT
 */
#include "model/histogram.h"

#include <errno.h>

#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"

/* Stores the unsigned number at index i. False if it is none. */
static bool
to_bound(lua_State *L, int i, uint64_t *bound)
{
	lua_Number v = luaL_checknumber(L, i);

#if KS_LUA_INTEGERS
	if (lua_isinteger(L, i)) {
		*bound = (uint64_t)lua_tointeger(L, i);
		return true;
	}
#endif
	if (!(v >= 0 && v < 18446744073709551616.0))
		return false;
	*bound = (uint64_t)v;
	return true;
}

/*
 * histogram_bounds(type, range_min, range_max, stepping, n) -> lows, highs | nil, message, errno:
 * the least and the greatest value of each of the first n buckets, as floats. The arguments come from
 * a kstat's data, so bad ones are no mistake of the script and do not raise.
 */
static int
histogram_bounds(lua_State *L)
{
	size_t size;
	const char *name = luaL_checklstring(L, 1, &size);
	uint64_t range_min, range_max, stepping;
	lua_Number n = luaL_checknumber(L, 5);
	struct ks_hist_layout l;
	int type = ks_hist_type_parse(name, size);

	if (type < 0)
		return ks_lua_failwith(L, EINVAL, "there is no histogram of type '%.40s'", name);
	if (!to_bound(L, 2, &range_min) || !to_bound(L, 3, &range_max) || !to_bound(L, 4, &stepping))
		return ks_lua_failwith(L, EINVAL, "the range of a histogram is not of unsigned numbers");
	if (ks_hist_layout_init(&l, (kstat2_nv_hist_type_t)type, range_min, range_max, stepping) != 0)
		return ks_lua_fail(L);
	if (!(n >= 0 && n <= l.n))
		n = l.n;
	lua_createtable(L, (int)n, 0);
	lua_createtable(L, (int)n, 0);
	for (uint32_t i = 0; i < (uint32_t)n; i++) {
		uint64_t low, high;

		ks_hist_bounds(&l, i, &low, &high);
		lua_pushnumber(L, (lua_Number)low);
		lua_rawseti(L, -3, (int)i + 1);
		lua_pushnumber(L, (lua_Number)high);
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 2;
}

void
ks_lua_add_histogram(lua_State *L)
{
	ks_lua_setfunction(L, "histogram_bounds", histogram_bounds);
}
