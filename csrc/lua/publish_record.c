/*
 * publish_record.c - what counts in published queues, timers and histograms: functions that hold the address
 * of the record, and addresses of functions for LuaJIT's FFI; see publish.c. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>

#include "kstat_blob.h"
#include "kstat_provider.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "provider/blob_layout.h"
#include "provider/segment/segment.h"

#define check_time(L, i) ((hrtime_t)ks_lua_checkbits(L, i))

/* op(self [, t]): a function of the library on the record of the upvalue, now or at the time t. */
#define AT_FUNCTION(library, op) \
	static int \
	library##_##op(lua_State *L) \
	{ \
		void *record = lua_touserdata(L, lua_upvalueindex(1)); \
 \
		return ks_lua_result(L, lua_isnoneornil(L, 2) ? kstat_##library##_##op(record) : \
		    kstat_##library##_##op##_at(record, check_time(L, 2))); \
	}

AT_FUNCTION(ioq, waitq_enter)
AT_FUNCTION(ioq, waitq_exit)
AT_FUNCTION(ioq, runq_enter)
AT_FUNCTION(ioq, runq_exit)
AT_FUNCTION(ioq, waitq_to_runq)
AT_FUNCTION(ioq, runq_back_to_waitq)
AT_FUNCTION(etimer, start)
AT_FUNCTION(etimer, stop)

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
	uint64_t bytes = lua_isnoneornil(L, 3) ? 0 : ks_lua_checkbits(L, 3);

	return ks_lua_result(L, lua_isnoneornil(L, 4) ? kstat_ioq_done(q, rw, bytes) :
	    kstat_ioq_done_at(q, rw, bytes, check_time(L, 4)));
}

/* count(self, "read" | "write", bytes) */
static int
queue_count(lua_State *L)
{
	return ks_lua_result(L, kstat_ioq_count(lua_touserdata(L, lua_upvalueindex(1)), check_rw(L, 2),
	    lua_isnoneornil(L, 3) ? 0 : ks_lua_checkbits(L, 3)));
}

/* The queue whose box is the upvalue. */
static kstat_t *
this_queue(lua_State *L)
{
	struct ks_lua_published *b = lua_touserdata(L, lua_upvalueindex(1));

	if (b->ksp == NULL || b->segment->pub == NULL)
		(void)luaL_error(L, "the queue was deleted");
	return b->ksp;
}

static hrtime_t
opt_token(lua_State *L, int i)
{
	return lua_isnoneornil(L, i) ? 0 : check_time(L, i);
}

static int
push_token(lua_State *L, hrtime_t token)
{
	if (token < 0)
		return ks_lua_fail(L);
	ks_lua_pushi64(L, token);
	return 1;
}

/* enter(self) -> token | nil, message, errno */
static int
queue_enter(lua_State *L)
{
	return push_token(L, kstat_queue_enter(this_queue(L)));
}

/* start(self [, token]) -> token | nil, message, errno */
static int
queue_start(lua_State *L)
{
	return push_token(L, kstat_queue_start(this_queue(L), opt_token(L, 2)));
}

/* finish(self, token | nil, "read" | "write", bytes) */
static int
queue_finish(lua_State *L)
{
	return ks_lua_result(L, kstat_queue_finish(this_queue(L), opt_token(L, 2), check_rw(L, 3),
	    lua_isnoneornil(L, 4) ? 0 : ks_lua_checkbits(L, 4)));
}

/* event(self, start, stop) */
static int
timer_event(lua_State *L)
{
	return ks_lua_result(L, kstat_etimer_event(lua_touserdata(L, lua_upvalueindex(1)), check_time(L, 2),
	    check_time(L, 3)));
}

/* The histogram whose box is the upvalue. */
static inline kstat2_t *
this_histogram(lua_State *L)
{
	struct ks_lua_published *b = lua_touserdata(L, lua_upvalueindex(1));

	if (b->ksp == NULL || (b->segment->pub == NULL && !b->is_process))
		(void)luaL_error(L, "the histogram was deleted");
	return b->ksp;
}

/* add(self, value), add_value(self, value) */
static int
latency_add(lua_State *L)
{
	kstat2_t *ksp = this_histogram(L);

#if KS_LUA_INTEGERS
	int is_integer;
	lua_Integer v = lua_tointegerx(L, 2, &is_integer);

	if (is_integer && v >= 0)
		return ks_lua_result(L, kstat2_hist_add_value(ksp, (uint64_t)v));
#endif
	return ks_lua_result(L, kstat2_hist_add_double(ksp, luaL_checknumber(L, 2)));
}

/* add_since(self, start): the time since now() returned start */
static int
latency_add_since(lua_State *L)
{
	return ks_lua_result(L, kstat_latency_stop(this_histogram(L), check_time(L, 2)));
}

/* now() -> ns of kstat_latency_start() */
static int
latency_now(lua_State *L)
{
	ks_lua_pushi64(L, kstat_latency_start());
	return 1;
}

static const luaL_Reg queue_functions[] = {
	{ "waitq_enter", ioq_waitq_enter },
	{ "waitq_exit", ioq_waitq_exit },
	{ "runq_enter", ioq_runq_enter },
	{ "runq_exit", ioq_runq_exit },
	{ "waitq_to_runq", ioq_waitq_to_runq },
	{ "runq_back_to_waitq", ioq_runq_back_to_waitq },
	{ "done", queue_done },
	{ "count", queue_count },
	{ NULL, NULL }
};

static const luaL_Reg request_functions[] = {
	{ "enter", queue_enter },
	{ "start", queue_start },
	{ "finish", queue_finish },
	{ NULL, NULL }
};

static const luaL_Reg histogram_functions[] = {
	{ "add_value", latency_add },
	{ NULL, NULL }
};

static const luaL_Reg latency_functions[] = {
	{ "add", latency_add },
	{ "add_since", latency_add_since },
	{ NULL, NULL }
};

static const luaL_Reg timer_functions[] = {
	{ "start", etimer_start },
	{ "stop", etimer_stop },
	{ "event", timer_event },
	{ NULL, NULL }
};

/* latency(kstat) -> true | nil, message, errno: see kstat_publish_queue_latency() */
static int
box_latency(lua_State *L)
{
	return ks_lua_result(L, kstat_publish_queue_latency(ks_lua_checkpublished(L, 1)->ksp));
}

/* add_counts(kstat, counts, sum) -> true | nil, message, errno: counts from 1 on; what is not there is 0 */
static int
box_add_counts(lua_State *L)
{
	kstat2_t *ksp = ks_lua_checkpublished(L, 1)->ksp;
	uint64_t sum = ks_lua_checkbits(L, 3), *counts;
	lua_Number most = 0;

	for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
		lua_Number i = lua_type(L, 4) == LUA_TNUMBER ? lua_tonumber(L, 4) : 0;

		if (i < 1 || i > KSTAT2_HIST_MAX_BUCKETS || i != floor(i))
			return ks_lua_failwith(L, EINVAL, "add_counts: an array of counts expected");
		most = i > most ? i : most;
	}
	counts = ks_lua_newuserdata(L, ((size_t)most + 1) * sizeof(*counts));
	for (int i = 0; i < (int)most; i++) {
		lua_rawgeti(L, 2, i + 1);
		if (lua_tonumber(L, -1) < 0)
			return ks_lua_failwith(L, EINVAL, "counts[%d]: 0 or more expected, not %.14g", i + 1, lua_tonumber(L, -1));
		counts[i] = lua_isnil(L, -1) ? 0 : ks_lua_checkbits(L, lua_gettop(L));
		lua_pop(L, 1);
	}
	return ks_lua_result(L, kstat2_hist_add_counts(ksp, counts, (uint32_t)most, sum));
}

/*
 * methods(kstat, table [, which]): enters the functions of its kind into the table -> pointer to the
 * record, to the kstat | nil, message, errno; which: of a timer the name, of a histogram true for a latency
 */
static int
box_methods(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	void *record;

	luaL_checktype(L, 2, LUA_TTABLE);
	if (b->ksp->ks_type == KSTAT_TYPE_IO) {
		record = kstat_ioq(b->ksp);
		lua_pushvalue(L, 1);
		ks_lua_setclosures(L, 2, request_functions, 1);
		lua_pushlightuserdata(L, record);
		if (record != NULL)
			ks_lua_setclosures(L, 2, queue_functions, 1);
	} else if (b->ksp->ks_type == KSTAT_TYPE_TIMER) {
		record = kstat_etimer(b->ksp, luaL_checkstring(L, 3));
		lua_pushlightuserdata(L, record);
		if (record != NULL)
			ks_lua_setclosures(L, 2, timer_functions, 1);
	} else {
		record = b;
		lua_pushvalue(L, 1);
		ks_lua_setclosures(L, 2, lua_toboolean(L, 3) ? latency_functions : histogram_functions, 1);
		lua_pushlightuserdata(L, b->ksp);
	}
	if (record == NULL)
		return ks_lua_fail(L);
	lua_pushlightuserdata(L, b->ksp);
	return 2;
}

/* --- for LuaJIT's FFI ---------------------------------------------------------------------------------- */

/* failure(errno) -> nil, message, errno, after a call through the FFI that failed */
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

static void
atomic_add_double(kstat_counter_t *c, double v)
{
	kstat_counter_add_double(c, v);
}

/* Times as doubles, since LuaJIT makes an object of each 64-bit integer: exact for 104 days, then by 2 ns. */
static double
latency_now_double(void)
{
	return (double)kstat_latency_start();
}

static int
latency_add_since_double(kstat2_t *ksp, double start)
{
	return kstat_latency_stop(ksp, (hrtime_t)start);
}

#define ADDRESS(name, function) ks_lua_setaddress(L, name, (void (*)(void))(function))

/* functions() -> table of addresses, by the names of kstat_provider.h */
static int
functions(lua_State *L)
{
	lua_newtable(L);
	ADDRESS("add", atomic_add);
	ADDRESS("add_double", atomic_add_double);
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
	ADDRESS("enter", kstat_queue_enter);
	ADDRESS("start_request", kstat_queue_start);
	ADDRESS("finish", kstat_queue_finish);
	ADDRESS("done", kstat_ioq_done);
	ADDRESS("done_at", kstat_ioq_done_at);
	ADDRESS("count", kstat_ioq_count);
	ADDRESS("start", kstat_etimer_start);
	ADDRESS("stop", kstat_etimer_stop);
	ADDRESS("start_at", kstat_etimer_start_at);
	ADDRESS("stop_at", kstat_etimer_stop_at);
	ADDRESS("event", kstat_etimer_event);
	ADDRESS("add_value", kstat2_hist_add_value);
	ADDRESS("add_number", kstat2_hist_add_double);
	ADDRESS("add_since", latency_add_since_double);
	ADDRESS("now", latency_now_double);
	ADDRESS("blob_update", kstat_blob_update_dbl);
	ADDRESS("blob_update_int", kstat_blob_update_int);
	ADDRESS("blob_update_uint", kstat_blob_update_uint);
	lua_pushlightuserdata(L, &ks_forks);
	lua_setfield(L, -2, "forks");
	return 1;
}

void
ks_lua_add_publish_record(lua_State *L)
{
	static const luaL_Reg module_functions[] = {
		{ "add_counts", box_add_counts },
		{ "latency", box_latency },
		{ "methods", box_methods },
		{ "now", latency_now },
		{ "failure", failure },
		{ "functions", functions },
		{ NULL, NULL }
	};

	ks_lua_addto(L, "publish", module_functions);
}
