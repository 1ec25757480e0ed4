/* value.c - see value.h. SPDX-License-Identifier: MIT */
#include "lua/value.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "lua/core.h"

static uint64_t
int_at(const struct ks_value *v, uint32_t i)
{
	uint64_t u;

	memcpy(&u, v->str + i * sizeof(u), sizeof(u));
	return u;
}

static void
push_ints(lua_State *L, const struct ks_value *v)
{
	luaL_checkstack(L, 4, NULL);
	lua_createtable(L, (int)v->len, 0);
	for (uint32_t i = 0; i < v->len; i++) {
		ks_lua_pushu64(L, int_at(v, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
}

static void
push_strs(lua_State *L, const struct ks_value *v)
{
	int n = 0;

	luaL_checkstack(L, 4, NULL);
	lua_newtable(L);
	for (uint32_t at = 0, len; at < v->len; at += len + 1) {
		len = (uint32_t)strnlen(v->str + at, v->len - at);
		lua_pushlstring(L, v->str + at, len);
		lua_rawseti(L, -2, ++n);
	}
}

int
ks_lua_pushvalue(lua_State *L, const struct ks_value *v)
{
	switch (v->kind) {
	case KS_VALUE_I64:
		ks_lua_pushi64(L, v->i64);
		break;
	case KS_VALUE_U64:
		ks_lua_pushu64(L, v->u64);
		break;
	case KS_VALUE_DOUBLE:
		lua_pushnumber(L, v->d);
		break;
	case KS_VALUE_NSEC:
	case KS_VALUE_TIME:
		ks_lua_pushseconds(L, v->i64);
		break;
	case KS_VALUE_INTS:
		push_ints(L, v);
		break;
	case KS_VALUE_STRS:
		push_strs(L, v);
		break;
	default:
		lua_pushlstring(L, v->str, v->len);
		break;
	}
	return 1;
}

bool
ks_lua_pushnumber(lua_State *L, const struct ks_value *v)
{
	switch (v->kind) {
	case KS_VALUE_STRING:
	case KS_VALUE_INTS:
	case KS_VALUE_STRS:
		return false;
	default:
		if (v->kind == KS_VALUE_U64 && v->u64 > INT64_MAX)
			lua_pushnumber(L, (lua_Number)v->u64);
		else
			(void)ks_lua_pushvalue(L, v);
		return true;
	}
}

static bool
is_integer(const struct ks_value *v)
{
	return v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_U64 || v->kind == KS_VALUE_NSEC ||
	    v->kind == KS_VALUE_TIME;
}

int
ks_lua_pushexact(lua_State *L, const struct ks_value *v)
{
#if KS_LUA_INTEGERS
	if (is_integer(v))
		lua_pushinteger(L, (lua_Integer)v->i64);
#else
	char text[KS_NUMBER_MAX];

	if (is_integer(v))
		lua_pushlstring(L, text, v->kind == KS_VALUE_U64 ? ks_format_u64(text, v->u64) :
		    ks_format_i64(text, v->i64));
#endif
	else
		(void)ks_lua_pushvalue(L, v);
	return 1;
}

int
ks_lua_pushhalves(lua_State *L, const struct ks_value *v)
{
	if (!is_integer(v))
		return ks_lua_pushvalue(L, v);
	lua_pushnumber(L, (lua_Number)(v->u64 >> 32));
	lua_pushnumber(L, (lua_Number)(v->u64 & UINT32_MAX));
	lua_pushboolean(L, v->kind != KS_VALUE_U64);
	return 3;
}

bool
ks_lua_tovalue(lua_State *L, int i, struct ks_value *v)
{
	size_t len;

	memset(v, 0, sizeof(*v));
	switch (lua_type(L, i)) {
	case LUA_TNUMBER:
#if KS_LUA_INTEGERS
		if (lua_isinteger(L, i)) {
			v->kind = KS_VALUE_I64;
			v->i64 = lua_tointeger(L, i);
			return true;
		}
#endif
		v->kind = KS_VALUE_DOUBLE;
		v->d = lua_tonumber(L, i);
		return true;
	case LUA_TSTRING:
		v->kind = KS_VALUE_STRING;
		v->str = lua_tolstring(L, i, &len);
		v->len = (uint32_t)len;
		return true;
	default:
		return false;
	}
}

bool
ks_lua_toexact(lua_State *L, int i, struct ks_value *v)
{
	bool ok = ks_lua_tovalue(L, i, v);

	if (ok && v->kind == KS_VALUE_DOUBLE && v->d > -0x1p53 && v->d < 0x1p53 && v->d == (double)(int64_t)v->d) {
		v->i64 = (int64_t)v->d;
		v->kind = KS_VALUE_I64;
	}
	return ok;
}

bool
ks_lua_tobits(lua_State *L, int i, uint64_t *bits)
{
	lua_Number n;

#if KS_LUA_INTEGERS
	int whole;

	*bits = (uint64_t)lua_tointegerx(L, i, &whole);
	if (whole)
		return true;
#endif
	n = lua_tonumber(L, i);
	if (!(n >= -0x1p63 && n < 0x1p64) || n != floor(n) || !lua_isnumber(L, i))
		return false;
	*bits = n < 0 ? (uint64_t)(int64_t)n : (uint64_t)n;
	return true;
}

uint64_t
ks_lua_checkbits(lua_State *L, int i)
{
	uint64_t bits;
	lua_Number n;

	if (ks_lua_tobits(L, i, &bits))
		return bits;
	n = luaL_checknumber(L, i);
	luaL_argcheck(L, n >= -0x1p63 && n < 0x1p64, i, "number out of range");
	ks_lua_checkwhole(L, n, i);
	return 0;
}

uint64_t
ks_lua_tocount(lua_State *L, int i)
{
	lua_Number v;

#if KS_LUA_INTEGERS
	if (lua_isinteger(L, i))
		return (uint64_t)lua_tointeger(L, i);
#endif
	v = lua_tonumber(L, i);
	return v >= 0 && v < 0x1p64 ? (uint64_t)v : 0;
}

int
ks_lua_checkint(lua_State *L, int i)
{
	lua_Number v = luaL_checknumber(L, i);

	luaL_argcheck(L, v >= -0x1p31 && v < 0x1p31, i, "number out of range");
	ks_lua_checkwhole(L, v, i);
	return (int)v;
}

/* --- text --------------------------------------------------------------------------------- */

#define SCRATCH "kstat.scratch"
#define SCRATCH_KEPT ((size_t)1 << 20) /* bytes; a larger buffer is freed after use */

static const char scratch_key; /* its address is the key of the registry */

static int
scratch_gc(lua_State *L)
{
	ks_buf_free(luaL_checkudata(L, 1, SCRATCH));
	return 0;
}

struct ks_buf *
ks_lua_scratch(lua_State *L)
{
	struct ks_buf *b;

	lua_pushlightuserdata(L, (void *)&scratch_key);
	lua_rawget(L, LUA_REGISTRYINDEX);
	b = lua_touserdata(L, -1);
	lua_pop(L, 1);
	ks_buf_reset(b);
	return b;
}

int
ks_lua_pushscratch(lua_State *L, struct ks_buf *b)
{
	if (b->failed)
		return luaL_error(L, "out of memory for a text");
	lua_pushlstring(L, b->len > 0 ? b->data : "", b->len);
	if (b->cap > SCRATCH_KEPT)
		ks_buf_free(b);
	return 1;
}

/*
 * tostring(number) -> its shortest text: an integer's digits, 3 for 3.0. format_unsigned() takes an
 * integer's 64 bits as unsigned.
 */
static int
format(lua_State *L, bool is_unsigned)
{
	char text[KS_NUMBER_MAX];
	size_t n;

	luaL_checktype(L, 1, LUA_TNUMBER);
#if KS_LUA_INTEGERS
	if (lua_isinteger(L, 1)) {
		int64_t v = lua_tointeger(L, 1);

		n = is_unsigned ? ks_format_u64(text, (uint64_t)v) : ks_format_i64(text, v);
	} else
#endif
	{
		lua_Number d = lua_tonumber(L, 1);

		n = is_unsigned && d >= 0 && d < 0x1p64 && d == (lua_Number)(uint64_t)d ?
		    ks_format_u64(text, (uint64_t)d) : ks_format_number(text, d);
	}
	lua_pushlstring(L, text, n);
	return 1;
}

static int
value_tostring(lua_State *L)
{
	return format(L, false);
}

static int
format_unsigned(lua_State *L)
{
	return format(L, true);
}

/* gethrtime() -> nanoseconds of a clock that never steps back */
static int
value_gethrtime(lua_State *L)
{
	ks_lua_pushi64(L, gethrtime());
	return 1;
}

/* hrtime() -> the same in seconds */
static int
value_hrtime(lua_State *L)
{
	ks_lua_pushseconds(L, gethrtime());
	return 1;
}

void
ks_lua_add_value(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "tostring", value_tostring },
		{ "format_unsigned", format_unsigned },
		{ "gethrtime", value_gethrtime },
		{ "hrtime", value_hrtime },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, SCRATCH, scratch_gc, NULL, NULL);
	lua_pushlightuserdata(L, (void *)&scratch_key);
	(void)ks_lua_newuserdata(L, sizeof(struct ks_buf));
	ks_lua_setmetatable(L, SCRATCH);
	lua_rawset(L, LUA_REGISTRYINDEX);
}
