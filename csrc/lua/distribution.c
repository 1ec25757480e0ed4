/*
 * distribution.c - what a histogram counted, as a value: it subtracts, merges, and knows its quantiles. It
 * never changes. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "model/distribution.h"
#include "output/distribution.h"

struct kstat_hist **
ks_lua_newdistribution(lua_State *L)
{
	struct kstat_hist **d = ks_lua_newuserdata(L, sizeof(*d));

	ks_lua_setmetatable(L, KS_LUA_DISTRIBUTION);
	return d;
}

int
ks_lua_madedistribution(lua_State *L, const struct kstat_hist *d)
{
	if (d == NULL)
		return ks_lua_fail(L);
	(void)lua_gc(L, LUA_GCSTEP, (int)((d->layout.n * sizeof(uint64_t) + sizeof(*d)) / 1024 + 1));
	return 1;
}

static struct kstat_hist *
check(lua_State *L, int i)
{
	struct kstat_hist **d = luaL_checkudata(L, i, KS_LUA_DISTRIBUTION);

	luaL_argcheck(L, *d != NULL, i, "a distribution that was collected");
	return *d;
}

static int
distribution_gc(lua_State *L)
{
	struct kstat_hist **d = luaL_checkudata(L, 1, KS_LUA_DISTRIBUTION);

	kstat_hist_free(*d);
	*d = NULL;
	return 0;
}

static void
push_number(lua_State *L, double v)
{
	if (isnan(v))
		lua_pushnil(L);
	else
		lua_pushnumber(L, v);
}

/* quantile(d, q, ...) -> a value for each; nil without values */
static int
distribution_quantile(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);
	int n = lua_gettop(L);

	luaL_checkstack(L, n, "too many quantiles");
	for (int i = 2; i <= n || i == 2; i++) {
		double q = luaL_checknumber(L, i);

		luaL_argcheck(L, q >= 0 && q <= 1, i, "a quantile is a share from 0 to 1");
		push_number(L, kstat_hist_quantile(d, q));
	}
	return lua_gettop(L) - n;
}

/* share(d, value) -> what part of all values is at most that; nil without values */
static int
distribution_share(lua_State *L)
{
	push_number(L, kstat_hist_share(check(L, 1), luaL_checknumber(L, 2)));
	return 1;
}

/* buckets(d) -> { { low =, high =, count = }, ... }: those that hold values */
static int
distribution_buckets(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);
	double low, high;
	int n = 0;

	lua_newtable(L);
	for (uint32_t i = 0; i < d->layout.n; i++) {
		uint64_t count = ks_dist_count(d, i);

		if (count == 0)
			continue;
		ks_dist_bounds(d, i, &low, &high);
		lua_createtable(L, 0, 3);
		ks_lua_setnumber(L, "low", low);
		ks_lua_setnumber(L, "high", high);
		ks_lua_setu64(L, "count", count);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* core.bucket_arrays(d, n) -> counts, lows, highs of the first n buckets, empty ones too */
static int
bucket_arrays(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);
	lua_Number n = luaL_checknumber(L, 2);
	double low, high;

	n = n >= 0 && n < d->layout.n ? n : d->layout.n;
	lua_settop(L, 1);
	for (int i = 0; i < 3; i++)
		lua_createtable(L, (int)n, 0);
	for (int i = 0; i < (int)n; i++) {
		ks_dist_bounds(d, (uint32_t)i, &low, &high);
		ks_lua_pushu64(L, ks_dist_count(d, (uint32_t)i));
		lua_rawseti(L, 2, i + 1);
		lua_pushnumber(L, low);
		lua_rawseti(L, 3, i + 1);
		lua_pushnumber(L, high);
		lua_rawseti(L, 4, i + 1);
	}
	return 3;
}

/* --- two of them -------------------------------------------------------------------------- */

/*
 * Pushes a copy of the first argument that `change` brought together with the second, or nil, message, errno.
 */
static int
combine(lua_State *L, int (*change)(kstat_hist_t *, const kstat_hist_t *))
{
	const struct kstat_hist *a = check(L, 1), *b = check(L, 2);
	struct kstat_hist **d = ks_lua_newdistribution(L);

	*d = kstat_hist_copy(a);
	return *d == NULL || change(*d, b) != 0 ? ks_lua_fail(L) : ks_lua_madedistribution(L, *d);
}

/* An operator has one result, so that a failure is raised. */
static int
operate(lua_State *L, int (*change)(kstat_hist_t *, const kstat_hist_t *))
{
	if (combine(L, change) == 3)
		return luaL_error(L, "%s", lua_tostring(L, -2));
	return 1;
}

static int
distribution_merge(lua_State *L)
{
	return combine(L, kstat_hist_merge);
}

static int
distribution_add(lua_State *L)
{
	return operate(L, kstat_hist_merge);
}

static int
distribution_sub(lua_State *L)
{
	return operate(L, kstat_hist_subtract);
}

static int
distribution_eq(lua_State *L)
{
	lua_pushboolean(L, ks_dist_equal(check(L, 1), check(L, 2)));
	return 1;
}

static int
distribution_tostring(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);
	struct ks_buf *b = ks_lua_scratch(L);

	ks_buf_addf(b, "%s: %" PRIu64 " values", d->name, d->count);
	return ks_lua_pushscratch(L, b);
}

/* otlp(d, start, end) -> bytes | nil, message, errno: see ks_otlp_add() */
static int
distribution_otlp(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);
	uint64_t start = ks_lua_checkbits(L, 2), end = ks_lua_checkbits(L, 3);
	struct ks_buf *b = ks_lua_scratch(L);

	if (lua_tonumber(L, 2) < 0 || lua_tonumber(L, 3) < 0)
		return ks_lua_failwith(L, EINVAL, "otlp: nanoseconds since 1970 expected, which are not below 0");
	return ks_otlp_add(b, d, start, end) != 0 ? ks_lua_fail(L) : ks_lua_pushscratch(L, b);
}

/* --- fields ------------------------------------------------------------------------------- */

static void
push_sum(lua_State *L, const struct kstat_hist *d)
{
	struct ks_value sum;

	if (ks_dist_sum(d, &sum))
		(void)ks_lua_pushvalue(L, &sum);
	else
		lua_pushnil(L);
}

static void
push_end(lua_State *L, const struct kstat_hist *d, const struct ks_value *v)
{
	if (d->count > 0 && (d->digest == NULL || d->has_min))
		(void)ks_lua_pushvalue(L, v);
	else
		lua_pushnil(L);
}

static void
push_field(lua_State *L, const struct kstat_hist *d, const char *key)
{
	if (strcmp(key, "count") == 0)
		ks_lua_pushu64(L, d->count);
	else if (strcmp(key, "sum") == 0)
		push_sum(L, d);
	else if (strcmp(key, "min") == 0)
		push_end(L, d, &d->min);
	else if (strcmp(key, "max") == 0)
		push_end(L, d, &d->max);
	else if (strcmp(key, "mean") == 0)
		push_number(L, kstat_hist_mean(d));
	else if (strcmp(key, "out_of_range") == 0)
		ks_lua_pushu64(L, d->out_of_range);
	else if (strcmp(key, "unit") == 0)
		lua_pushstring(L, d->unit);
	else if (strcmp(key, "name") == 0)
		lua_pushstring(L, d->name);
	else if (strcmp(key, "since_creation") == 0)
		lua_pushboolean(L, d->digest != NULL);
	else
		lua_pushnil(L);
}

/* Upvalue 1: the table of methods. */
static int
distribution_index(lua_State *L)
{
	const struct kstat_hist *d = check(L, 1);

	lua_settop(L, 2);
	lua_pushvalue(L, 2);
	lua_rawget(L, lua_upvalueindex(1));
	if (lua_isnil(L, 3) && lua_type(L, 2) == LUA_TSTRING)
		push_field(L, d, lua_tostring(L, 2));
	return 1;
}

void
ks_lua_add_distribution(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__add", distribution_add },
		{ "__sub", distribution_sub },
		{ "__eq", distribution_eq },
		{ "__tostring", distribution_tostring },
		{ NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "quantile", distribution_quantile },
		{ "share", distribution_share },
		{ "buckets", distribution_buckets },
		{ "merge", distribution_merge },
		{ "otlp", distribution_otlp },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, KS_LUA_DISTRIBUTION, distribution_gc, meta, NULL);
	luaL_getmetatable(L, KS_LUA_DISTRIBUTION);
	lua_newtable(L);
	ks_lua_setfuncs(L, methods);
	lua_pushcclosure(L, distribution_index, 1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	ks_lua_setfunction(L, "bucket_arrays", bucket_arrays);
}
