/*
 * publish.c - publishing kstats, as functions that lua/kstat/publish/ builds its objects from.
 *
 * A published kstat is a box with the kstat_t; its associated table is the segment's, which keeps the
 * segment's userdata alive. Segments are closed only when told so: counters that were handed out
 * go on counting when nobody refers to the segment any more.
 * SPDX-License-Identifier: MIT
 */
#include "provider/segment/publication.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kstat_provider.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/publish.h"
#include "lua/types.h"
#include "lua/value.h"

/* --- segments -------------------------------------------------------------------------------- */

struct ks_lua_segment *
ks_lua_checksegment(lua_State *L, int i)
{
	struct ks_lua_segment *s = luaL_checkudata(L, i, KS_LUA_SEGMENT);

	if (s->pub == NULL)
		luaL_error(L, "the segment is closed");
	return s;
}

/* open(name, private, shared) -> segment | nil, message, errno */
static int
segment_open(lua_State *L)
{
	size_t n;
	const char *name = luaL_checklstring(L, 1, &n);
	int flags = (lua_toboolean(L, 2) ? KSTAT_PUBLISH_PRIV : 0) |
	    (lua_toboolean(L, 3) ? KSTAT_PUBLISH_SHARED : 0);
	struct ks_lua_segment *s = ks_lua_newuserdata(L, sizeof(*s));

	ks_lua_setmetatable(L, KS_LUA_SEGMENT);
	lua_newtable(L);
	lua_pushvalue(L, -2);
	lua_rawseti(L, -2, 0);
	ks_lua_setuservalue(L, -2);
	/* With a NUL in it, it is no name at all. */
	s->pub = kstat_publish(strlen(name) == n ? name : "", flags);
	return s->pub != NULL ? 1 : ks_lua_fail(L);
}

static int
segment_path(lua_State *L)
{
	char path[PATH_MAX];

	kstat_publish_path(ks_lua_checksegment(L, 1)->pub, path, sizeof(path));
	lua_pushstring(L, path);
	return 1;
}

static int
segment_close(lua_State *L)
{
	struct ks_lua_segment *s = luaL_checkudata(L, 1, KS_LUA_SEGMENT);

	if (s->pub != NULL)
		ks_unpublish(s->pub, true);
	s->pub = NULL;
	return 0;
}

/* --- kstats ---------------------------------------------------------------------------------- */

struct ks_lua_published *
ks_lua_checkpublished(lua_State *L, int i)
{
	struct ks_lua_published *b = luaL_checkudata(L, i, KS_LUA_PUBLISHED);

	if (b->segment->pub == NULL)
		luaL_error(L, "the segment is closed");
	if (b->ksp == NULL)
		luaL_error(L, "the kstat was deleted");
	return b;
}

struct ks_lua_published *
ks_lua_newpublished(lua_State *L, struct ks_lua_segment *s)
{
	struct ks_lua_published *b = ks_lua_newuserdata(L, sizeof(*b));

	b->segment = s;
	ks_lua_getuservalue(L, 1);
	ks_lua_setuservalue(L, -2);
	ks_lua_setmetatable(L, KS_LUA_PUBLISHED);
	return b;
}

/* Replaces the table at index i, the last value, by the named fields of it, at i, i + 1, ... */
static void
spread(lua_State *L, int i, const char *const *fields)
{
	luaL_checktype(L, i, LUA_TTABLE);
	lua_settop(L, i);
	for (; *fields != NULL; fields++)
		lua_getfield(L, i, *fields);
	lua_remove(L, i);
}

/* create(segment, module, instance, name, class, flags, type, ndata) -> kstat | nil, ... */
static int
box_create(lua_State *L)
{
	struct ks_lua_segment *s = ks_lua_checksegment(L, 1);
	const char *module = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 4);
	const char *class_ = luaL_checkstring(L, 5);
	int instance = (int)ks_lua_checkinteger(L, 3);
	struct ks_lua_published *b = ks_lua_newpublished(L, s);

	b->ksp = kstat_publish_create(s->pub, module, instance, name, class_,
	    (uchar_t)ks_lua_checkinteger(L, 7), (uint_t)ks_lua_checkinteger(L, 8),
	    (uchar_t)ks_lua_checkinteger(L, 6));
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

static uint64_t
check_u64(lua_State *L, int i)
{
#if KS_LUA_INTEGERS
	if (lua_isinteger(L, i))
		return (uint64_t)lua_tointeger(L, i);
#endif
	lua_Number n = luaL_checknumber(L, i);

	/* Beyond what an integer holds there is nothing right to convert to. */
	luaL_argcheck(L, n > -9223372036854775809.0 && n < 18446744073709551616.0, i,
	    "number out of range");
	ks_lua_checkwhole(L, n, i);
	return n < 0 ? (uint64_t)(int64_t)n : (uint64_t)n;
}

/*
 * histogram(segment, module, instance, name, class, flags, { type =, meta =, scale =, range_min =, range_max =,
 * stepping =, md_flags =, flags =, desc = }) -> kstat | nil, ...
 */
static int
box_histogram(lua_State *L)
{
	static const char *const fields[] = { "type", "meta", "scale", "range_min", "range_max", "stepping",
		"md_flags", "flags", "desc", NULL };
	struct ks_lua_segment *s = ks_lua_checksegment(L, 1);
	char instance[24];
	const char *pseg[4] = { luaL_checkstring(L, 5), luaL_checkstring(L, 2), instance,
		luaL_checkstring(L, 4) };
	struct ks_lua_published *b;

	(void)snprintf(instance, sizeof(instance), "%d", (int)ks_lua_checkinteger(L, 3));
	/* A name of digits alone would be taken for the instance. */
	if (pseg[3][strspn(pseg[3], "0123456789")] == '\0')
		return luaL_argerror(L, 4, "the name of a histogram is not a number");
	spread(L, 7, fields);
	b = ks_lua_newpublished(L, s);
	b->ksp = kstat2_publish_histogram(s->pub, pseg, 4, (kstat2_nv_hist_type_t)ks_lua_checkinteger(L, 7),
	    (kstat2_nv_metatype_t)ks_lua_checkinteger(L, 8), check_u64(L, 9),
	    (kstat2_nv_metaflag_t)ks_lua_checkinteger(L, 13), check_u64(L, 10), check_u64(L, 11),
	    check_u64(L, 12), (int)ks_lua_checkinteger(L, 6), luaL_optstring(L, 15, NULL),
	    (kstat2_metaflag_t)ks_lua_checkinteger(L, 14));
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

/* A value of the template: text stays alive in the associated table of the kstat's own. */
static void
set_value(lua_State *L, kstat_named_t *kn, int i)
{
	size_t n;
	const char *text;
	uint64_t bits;

	switch (kn->data_type) {
	case KSTAT_DATA_CHAR:
		text = luaL_checklstring(L, i, &n);
		luaL_argcheck(L, n <= sizeof(kn->value.c), i, "at most 16 bytes");
		memcpy(kn->value.c, text, n);
		break;
	case KSTAT_DATA_STRING:
	case KSTAT_DATA_INTS:
	case KSTAT_DATA_STRS:
		break; /* stored when the kstat is installed */
	case KSTAT_DATA_FLOAT:
		kn->value.f = (float)luaL_checknumber(L, i);
		break;
	case KSTAT_DATA_DOUBLE:
		kn->value.d = luaL_checknumber(L, i);
		break;
	default:
		bits = check_u64(L, i);
		kn->value.ui64 = bits;
		if (kn->data_type == KSTAT_DATA_INT32 || kn->data_type == KSTAT_DATA_UINT32)
			kn->value.ui32 = (uint32_t)bits;
	}
}

/* named(kstat, index, name, data_type [, value]): index from 0 */
static int
box_named(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	lua_Integer i = ks_lua_checkinteger(L, 2);
	const char *name = luaL_checkstring(L, 3);
	kstat_named_t *kn = b->ksp->ks_data;

	luaL_argcheck(L, kn != NULL && b->ksp->ks_type == KSTAT_TYPE_NAMED && i >= 0 &&
	    i < (lua_Integer)b->ksp->ks_ndata, 2, "no such value");
	luaL_argcheck(L, *name != '\0' && strlen(name) < KSTAT_STRLEN, 3, "1 to 30 bytes expected");
	kstat_named_init(&kn[i], name, (uchar_t)ks_lua_checkinteger(L, 4));
	if (!lua_isnoneornil(L, 5))
		set_value(L, &kn[i], 5);
	return 0;
}

/* text(kstat, index, bytes): the first value of a text or array; the caller keeps it till install() */
static int
box_text(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	lua_Integer i = ks_lua_checkinteger(L, 2);
	kstat_named_t *kn = b->ksp->ks_data;
	size_t n;
	const char *text = luaL_checklstring(L, 3, &n);

	luaL_argcheck(L, kn != NULL && b->ksp->ks_type == KSTAT_TYPE_NAMED && i >= 0 &&
	    i < (lua_Integer)b->ksp->ks_ndata, 2, "no such value");
	kn[i].value.string.addr.ptr = (char *)(uintptr_t)text;
	kn[i].value.string.len = (uint32_t)(n + (kn[i].data_type == KSTAT_DATA_STRING));
	return 0;
}

/* timer(kstat, index, name): index from 0 */
static int
box_timer(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	lua_Integer i = ks_lua_checkinteger(L, 2);
	const char *name = luaL_checkstring(L, 3);

	luaL_argcheck(L, b->ksp->ks_data != NULL && b->ksp->ks_type == KSTAT_TYPE_TIMER && i >= 0 &&
	    i < (lua_Integer)b->ksp->ks_ndata, 2, "no such timer");
	luaL_argcheck(L, *name != '\0' && strlen(name) < KSTAT_STRLEN, 3, "1 to 30 bytes expected");
	kstat_timer_init(&KSTAT_TIMER_PTR(b->ksp)[i], name);
	return 0;
}

/* describe(kstat, stat, { meta =, kind =, scale =, flags =, unit =, desc = }) -> true | nil, ... */
static int
box_describe(lua_State *L)
{
	static const char *const fields[] = { "meta", "kind", "scale", "flags", "unit", "desc", NULL };
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	kstat2_md_t md = { 0 };

	spread(L, 3, fields);
	md.md_type = (kstat2_nv_metatype_t)ks_lua_checkinteger(L, 3);
	md.md_kind = (kstat2_nv_metakind_t)ks_lua_checkinteger(L, 4);
	md.md_scale = check_u64(L, 5);
	md.md_flags = (kstat2_nv_metaflag_t)ks_lua_checkinteger(L, 6);
	md.md_unit = luaL_optstring(L, 7, NULL);
	md.md_desc = luaL_optstring(L, 8, NULL);
	if (kstat2_set_md(b->ksp, stat, &md) != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

static int
box_shards(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);

	if (kstat_publish_shards(b->ksp, (uint_t)ks_lua_checkinteger(L, 2)) != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

static int
box_install(lua_State *L)
{
	if (kstat_install(ks_lua_checkpublished(L, 1)->ksp) != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

static int
box_delete(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);

	kstat_delete(b->ksp);
	b->ksp = NULL;
	return 0;
}

/* store(kstat, stat, text | nil) -> true | nil, ... */
static int
box_store(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	size_t n = 0;
	const char *text = lua_isnoneornil(L, 3) ? NULL : luaL_checklstring(L, 3, &n);

	if (kstat_named_store(b->ksp, stat, text, n) != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

/* --- queues, timers, histograms: closures over their address --------------------------------------- */

/* True, or nil, message, errno. */
static int
done(lua_State *L, int rc)
{
	if (rc != 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, 1);
	return 1;
}

static hrtime_t
check_time(lua_State *L, int i)
{
#if KS_LUA_INTEGERS
	return (hrtime_t)luaL_checkinteger(L, i);
#else
	lua_Number n = luaL_checknumber(L, i);

	luaL_argcheck(L, n > -9223372036854775809.0 && n < 9223372036854775808.0, i,
	    "number out of range");
	ks_lua_checkwhole(L, n, i);
	return (hrtime_t)n;
#endif
}

/* op(self [, t]) */
#define QUEUE_FUNCTION(op) \
	static int \
	queue_##op(lua_State *L) \
	{ \
		kstat_ioq_t *q = lua_touserdata(L, lua_upvalueindex(1)); \
 \
		return done(L, lua_isnoneornil(L, 2) ? kstat_ioq_##op(q) : \
		    kstat_ioq_##op##_at(q, check_time(L, 2))); \
	}

QUEUE_FUNCTION(waitq_enter)
QUEUE_FUNCTION(waitq_exit)
QUEUE_FUNCTION(runq_enter)
QUEUE_FUNCTION(runq_exit)
QUEUE_FUNCTION(waitq_to_runq)
QUEUE_FUNCTION(runq_back_to_waitq)

/* 0 for "read", 1 for "write". */
static int
check_rw(lua_State *L, int i)
{
	static const char *const names[] = { "read", "write", NULL };

	return luaL_checkoption(L, i, NULL, names);
}

/* done(self, "read" | "write", bytes [, t]) */
static int
queue_done(lua_State *L)
{
	kstat_ioq_t *q = lua_touserdata(L, lua_upvalueindex(1));
	int rw = check_rw(L, 2);
	uint64_t bytes = lua_isnoneornil(L, 3) ? 0 : check_u64(L, 3);

	return done(L, lua_isnoneornil(L, 4) ? kstat_ioq_done(q, rw, bytes) :
	    kstat_ioq_done_at(q, rw, bytes, check_time(L, 4)));
}

/* count(self, "read" | "write", bytes) */
static int
queue_count(lua_State *L)
{
	return done(L, kstat_ioq_count(lua_touserdata(L, lua_upvalueindex(1)), check_rw(L, 2),
	    lua_isnoneornil(L, 3) ? 0 : check_u64(L, 3)));
}

/* start(self [, t]), stop(self [, t]), event(self, start, stop) */
static int
timer_start(lua_State *L)
{
	kstat_etimer_t *kt = lua_touserdata(L, lua_upvalueindex(1));

	return done(L, lua_isnoneornil(L, 2) ? kstat_etimer_start(kt) :
	    kstat_etimer_start_at(kt, check_time(L, 2)));
}

static int
timer_stop(lua_State *L)
{
	kstat_etimer_t *kt = lua_touserdata(L, lua_upvalueindex(1));

	return done(L, lua_isnoneornil(L, 2) ? kstat_etimer_stop(kt) :
	    kstat_etimer_stop_at(kt, check_time(L, 2)));
}

static int
timer_event(lua_State *L)
{
	return done(L, kstat_etimer_event(lua_touserdata(L, lua_upvalueindex(1)), check_time(L, 2),
	    check_time(L, 3)));
}

/* add_value(self, value); the upvalue is the kstat's box */
static int
histogram_add(lua_State *L)
{
	struct ks_lua_published *b = lua_touserdata(L, lua_upvalueindex(1));
	uint64_t v = check_u64(L, 2);

	if (b->ksp == NULL || b->segment->pub == NULL)
		return luaL_error(L, "the histogram was deleted");
	return done(L, kstat2_hist_add_value(b->ksp, v));
}

static const luaL_Reg queue_functions[] = {
	{ "waitq_enter", queue_waitq_enter },
	{ "waitq_exit", queue_waitq_exit },
	{ "runq_enter", queue_runq_enter },
	{ "runq_exit", queue_runq_exit },
	{ "waitq_to_runq", queue_waitq_to_runq },
	{ "runq_back_to_waitq", queue_runq_back_to_waitq },
	{ "done", queue_done },
	{ "count", queue_count },
	{ NULL, NULL }
};

static const luaL_Reg timer_functions[] = {
	{ "start", timer_start },
	{ "stop", timer_stop },
	{ "event", timer_event },
	{ NULL, NULL }
};

/* Enters functions with the value on top as their upvalue into the table at index 2. */
static void
enter_functions(lua_State *L, const luaL_Reg *f)
{
	for (; f->name != NULL; f++) {
		lua_pushvalue(L, -1);
		lua_pushcclosure(L, f->func, 1);
		lua_setfield(L, 2, f->name);
	}
}

/*
 * methods(kstat, table [, timer]): enters the functions of its kind into the table -> pointer to the
 * record | nil, message, errno
 */
static int
box_methods(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	void *record;

	luaL_checktype(L, 2, LUA_TTABLE);
	if (b->ksp->ks_type == KSTAT_TYPE_IO) {
		record = kstat_ioq(b->ksp);
		lua_pushlightuserdata(L, record);
		if (record != NULL)
			enter_functions(L, queue_functions);
	} else if (b->ksp->ks_type == KSTAT_TYPE_TIMER) {
		record = kstat_etimer(b->ksp, luaL_checkstring(L, 3));
		lua_pushlightuserdata(L, record);
		if (record != NULL)
			enter_functions(L, timer_functions);
	} else {
		record = b;
		lua_pushvalue(L, 1);
		lua_pushcclosure(L, histogram_add, 1);
		lua_setfield(L, 2, "add_value");
		lua_pushlightuserdata(L, b->ksp);
	}
	return record != NULL ? 1 : ks_lua_fail(L);
}

/* --- for LuaJIT's FFI ---------------------------------------------------------------------------------- */

/* What a call through the FFI left: failure(errno) -> nil, message, errno */
static int
failure(lua_State *L)
{
	errno = (int)ks_lua_checkinteger(L, 1);
	return ks_lua_fail(L);
}

static void
atomic_add(kstat_counter_t *c, uint64_t n)
{
	kstat_counter_add(c, n);
}

static void
atomic_max(kstat_counter_t *c, uint64_t n)
{
	kstat_counter_max(c, n);
}

/* An address of a function, which C does not let one convert. */
#define ADDRESS(name, function) do { \
		void (*f_)(void) = (void (*)(void))(function); \
		void *p_; \
		_Static_assert(sizeof(f_) == sizeof(p_), "function addresses"); \
		memcpy(&p_, &f_, sizeof(p_)); \
		lua_pushlightuserdata(L, p_); \
		lua_setfield(L, -2, name); \
	} while (0)

/* functions() -> table of addresses, by the names of kstat_provider.h */
static int
functions(lua_State *L)
{
	lua_newtable(L);
	ADDRESS("add", atomic_add);
	ADDRESS("max", atomic_max);
	ADDRESS("waitq_enter", kstat_ioq_waitq_enter);
	ADDRESS("waitq_exit", kstat_ioq_waitq_exit);
	ADDRESS("runq_enter", kstat_ioq_runq_enter);
	ADDRESS("runq_exit", kstat_ioq_runq_exit);
	ADDRESS("waitq_to_runq", kstat_ioq_waitq_to_runq);
	ADDRESS("runq_back_to_waitq", kstat_ioq_runq_back_to_waitq);
	ADDRESS("waitq_enter_at", kstat_ioq_waitq_enter_at);
	ADDRESS("waitq_exit_at", kstat_ioq_waitq_exit_at);
	ADDRESS("runq_enter_at", kstat_ioq_runq_enter_at);
	ADDRESS("runq_exit_at", kstat_ioq_runq_exit_at);
	ADDRESS("waitq_to_runq_at", kstat_ioq_waitq_to_runq_at);
	ADDRESS("runq_back_to_waitq_at", kstat_ioq_runq_back_to_waitq_at);
	ADDRESS("done", kstat_ioq_done);
	ADDRESS("done_at", kstat_ioq_done_at);
	ADDRESS("count", kstat_ioq_count);
	ADDRESS("start", kstat_etimer_start);
	ADDRESS("stop", kstat_etimer_stop);
	ADDRESS("start_at", kstat_etimer_start_at);
	ADDRESS("stop_at", kstat_etimer_stop_at);
	ADDRESS("event", kstat_etimer_event);
	ADDRESS("add_value", kstat2_hist_add_value);
	lua_pushlightuserdata(L, &ks_forks);
	lua_setfield(L, -2, "forks");
	return 1;
}

/* --- cleaning ---------------------------------------------------------------------------------------------- */

static void
note_removed(const char *path, void *arg)
{
	lua_State *L = arg;

	lua_pushstring(L, path);
	lua_rawseti(L, -2, (int)ks_lua_rawlen(L, -2) + 1);
}

/* gc(persistent_too) -> {path, ...} | nil, message, errno */
static int
clean(lua_State *L)
{
	int flags = lua_toboolean(L, 1) ? KSTAT_GC_PERSISTENT : 0;

	lua_newtable(L);
	return kstat_publish_gc(flags, note_removed, L) < 0 ? ks_lua_fail(L) : 1;
}

static const luaL_Reg segment_meta[] = {
	{ "__close", segment_close },
	{ NULL, NULL }
};

static const luaL_Reg no_meta[] = { { NULL, NULL } };

static const luaL_Reg module_functions[] = {
	{ "open", segment_open },
	{ "path", segment_path },
	{ "close", segment_close },
	{ "create", box_create },
	{ "histogram", box_histogram },
	{ "named", box_named },
	{ "text", box_text },
	{ "timer", box_timer },
	{ "describe", box_describe },
	{ "shards", box_shards },
	{ "install", box_install },
	{ "delete", box_delete },
	{ "store", box_store },
	{ "methods", box_methods },
	{ "failure", failure },
	{ "functions", functions },
	{ "gc", clean },
	{ NULL, NULL }
};

void
ks_lua_add_publish(lua_State *L)
{
	ks_lua_newtype(L, KS_LUA_SEGMENT, segment_meta);
	ks_lua_newtype(L, KS_LUA_PUBLISHED, no_meta);
	lua_pop(L, 2);
	lua_newtable(L);
	ks_lua_setfuncs(L, module_functions);
	ks_lua_add_publish_codes(L);
	ks_lua_add_publish_counter(L);
	ks_lua_add_publish_blob(L);
	lua_setfield(L, -2, "publish");
}
