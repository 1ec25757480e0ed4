/*
 * devstat.c - kstat.core.devstat: devices, their list and figures. The interface for
 * scripts is lua/kstat/devstat/init.lua.
 *
 * A device is a userdata that holds a copy of its struct devstat, so that its counters stay
 * exact and immutable whatever the chain does next.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "devstat/bintime.h"
#include "devstat/device.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define LIST "kstat.devstat.list"

struct list {
	devstat_list_t *list; /* owned */
	struct ks_lua_chain *chain; /* kept alive by the associated table */
	struct devinfo dinfo; /* owned */
};

/* --- values ---------------------------------------------------------------------- */

bool
ks_lua_tobintime(lua_State *L, int i, struct bintime *t)
{
	lua_Number v = lua_tonumber(L, i), whole = floor(v);

	if (!lua_isnumber(L, i) || !(whole >= -0x1p62 && whole <= 0x1p62))
		return false;
	t->sec = (time_t)whole;
	t->frac = (uint64_t)ldexp(v - whole, 64);
	return true;
}

/* --- one device -------------------------------------------------------------------- */

/* Fields of a device that are numbers. */
struct number {
	const char *name;
	enum { COUNT32, COUNT64, SECONDS, NANOSECONDS } type; /* the latter two of a struct bintime */
	size_t offset;
};

/* Finds the field of this name, of one kind of transaction ("read_bytes") or of all of them. */
static bool
find_number(const char *name, struct number *found)
{
	static const char *const kinds[DEVSTAT_N_TRANS_FLAGS] = { "other", "read", "write", "free" };
	static const struct number of_kind[] = {
		{ "bytes", COUNT64, offsetof(struct devstat, bytes) },
		{ "ops", COUNT64, offsetof(struct devstat, operations) },
		{ "time", SECONDS, offsetof(struct devstat, duration) },
		{ "time_ns", NANOSECONDS, offsetof(struct devstat, duration) },
	};
	static const struct number of_all[] = {
		{ "number", COUNT32, offsetof(struct devstat, device_number) },
		{ "block_size", COUNT32, offsetof(struct devstat, block_size) },
		{ "busy_time", SECONDS, offsetof(struct devstat, busy_time) },
		{ "busy_time_ns", NANOSECONDS, offsetof(struct devstat, busy_time) },
		{ "creation_time", SECONDS, offsetof(struct devstat, creation_time) },
	};

	for (size_t kind = 0; kind < DEVSTAT_N_TRANS_FLAGS; kind++) {
		size_t n = strlen(kinds[kind]);

		for (size_t i = 0; strncmp(name, kinds[kind], n) == 0 && name[n] == '_' && i < 4; i++) {
			*found = of_kind[i];
			found->offset += kind * (found->type == COUNT64 ? sizeof(uint64_t) : sizeof(struct bintime));
			if (strcmp(name + n + 1, found->name) == 0)
				return true;
		}
	}
	for (size_t i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++) {
		*found = of_all[i];
		if (strcmp(name, found->name) == 0)
			return true;
	}
	return false;
}

static void
push_number(lua_State *L, const struct devstat *ds, const struct number *field)
{
	const void *at = (const char *)ds + field->offset;

	if (field->type == COUNT32)
		lua_pushinteger(L, (lua_Integer)*(const uint32_t *)at);
	else if (field->type == COUNT64)
		ks_lua_pushu64(L, *(const uint64_t *)at);
	else if (field->type == NANOSECONDS)
		ks_lua_pushu64(L, ks_bintime_ns(at));
	else
		lua_pushnumber(L, (lua_Number)ks_bintime_seconds(at));
}

static struct devstat *
push_device(lua_State *L, const struct devstat *ds)
{
	struct devstat *to = ks_lua_newuserdata(L, sizeof(*to));

	if (ds != NULL)
		*to = *ds;
	ks_lua_setmetatable(L, KS_LUA_DEVICE);
	return to;
}

static int
device_index(lua_State *L)
{
	const struct devstat *ds = luaL_checkudata(L, 1, KS_LUA_DEVICE);
	const char *field = lua_tostring(L, 2);
	char name[KSTAT_STRLEN];
	struct number number;

	if (lua_type(L, 2) != LUA_TSTRING)
		lua_pushnil(L);
	else if (strcmp(field, "block_size") == 0 && ds->block_size == 0)
		lua_pushnil(L); /* it is not known */
	else if (find_number(field, &number))
		push_number(L, ds, &number);
	else if (strcmp(field, "name") == 0)
		lua_pushstring(L, devstat_devname(ds, name));
	else if (strcmp(field, "device_name") == 0)
		lua_pushstring(L, ds->device_name);
	else if (strcmp(field, "unit") == 0)
		lua_pushinteger(L, ds->unit_number);
	else if (strcmp(field, "type") == 0)
		lua_pushstring(L, ks_devstat_type_word(ds->device_type, DEVSTAT_MATCH_TYPE));
	else if (strcmp(field, "interface") == 0)
		lua_pushstring(L, ks_devstat_type_word(ds->device_type, DEVSTAT_MATCH_IF));
	else if (strcmp(field, "pass") == 0)
		lua_pushboolean(L, (ds->device_type & DEVSTAT_TYPE_PASS) != 0);
	else if (strcmp(field, "priority") == 0)
		lua_pushinteger(L, (lua_Integer)ds->priority);
	else if (strcmp(field, "queue_length") == 0)
		ks_lua_pushu64(L, (uint32_t)(ds->start_count - ds->end_count));
	else
		lua_pushnil(L);
	return 1;
}

static int
device_tostring(lua_State *L)
{
	char name[KSTAT_STRLEN];

	lua_pushstring(L, devstat_devname(luaL_checkudata(L, 1, KS_LUA_DEVICE), name));
	return 1;
}

/* Raises unless the field's value, on top of the stack, is of that type. */
static void
check_field(lua_State *L, const char *field, int type)
{
	if (type == LUA_TNUMBER ? !lua_isnumber(L, -1) : lua_type(L, -1) != type)
		luaL_error(L, "field '%s' of a device: %s expected, got %s", field,
		    lua_typename(L, type), luaL_typename(L, -1));
}

/* The whole number on top, which a field holds; raises if it is none from 0 to most. */
static uint64_t
check_count(lua_State *L, const char *field, uint64_t most)
{
	uint64_t v;

	check_field(L, field, LUA_TNUMBER);
	if (!ks_lua_tobits(L, -1, &v) || lua_tonumber(L, -1) < 0 || v > most)
		luaL_error(L, "field '%s' of a device: a whole number from 0 to %s expected", field,
		    most == UINT64_MAX ? "2^64-1" : most == INT64_MAX ? "2^63-1" : most == UINT32_MAX ? "2^32-1" : "4095");
	return v;
}

/* Enters the number on top. */
static void
set_number(lua_State *L, struct devstat *ds, const struct number *field, const char *name)
{
	void *at = (char *)ds + field->offset;

	if (field->type == COUNT32) {
		*(uint32_t *)at = (uint32_t)check_count(L, name, UINT32_MAX);
	} else if (field->type == COUNT64) {
		*(uint64_t *)at = check_count(L, name, UINT64_MAX);
	} else if (field->type == NANOSECONDS) {
		*(struct bintime *)at = ks_bintime_of_ns((int64_t)check_count(L, name, INT64_MAX));
	} else {
		check_field(L, name, LUA_TNUMBER);
		if (!ks_lua_tobintime(L, -1, at))
			luaL_error(L, "field '%s' of a device: seconds expected", name);
	}
}

static void
set_word(lua_State *L, struct devstat *ds, devstat_match_flags field)
{
	size_t n;
	const char *s;
	const struct devstat_match_table *word;

	check_field(L, field == DEVSTAT_MATCH_IF ? "interface" : "type", LUA_TSTRING);
	s = lua_tolstring(L, -1, &n);
	word = ks_devstat_word(s, n);
	if (word == NULL || word->match_field != field)
		luaL_error(L, "unknown %s '%s'", field == DEVSTAT_MATCH_IF ? "interface" :
		    "device type", s);
	ds->device_type |= word->type;
}

/* Enters one field of the table that describes a device; key at -2, value at -1. */
static void
set_field(lua_State *L, struct devstat *ds, unsigned int *queue)
{
	const char *field = lua_tostring(L, -2);
	struct number number;

	if (strcmp(field, "type") == 0) {
		set_word(L, ds, DEVSTAT_MATCH_TYPE);
	} else if (strcmp(field, "interface") == 0) {
		set_word(L, ds, DEVSTAT_MATCH_IF);
	} else if (strcmp(field, "pass") == 0) {
		if (lua_toboolean(L, -1))
			ds->device_type |= DEVSTAT_TYPE_PASS;
	} else if (strcmp(field, "name") != 0) {
		if (find_number(field, &number))
			set_number(L, ds, &number, field);
		else if (strcmp(field, "priority") == 0)
			ds->priority = (devstat_priority)check_count(L, field, DEVSTAT_PRIORITY_MAX);
		else if (strcmp(field, "queue_length") == 0)
			*queue = (unsigned int)check_count(L, field, UINT32_MAX);
		else
			luaL_error(L, "a device has no field '%s'; expected: name, number, type, interface, pass, priority, "
			    "block_size, queue_length, busy_time[_ns], creation_time, "
			    "{read|write|free|other}_{bytes|ops|time|time_ns}", field);
	}
}

struct devstat *
ks_lua_pushdevice(lua_State *L, int t)
{
	struct devstat *ds;
	kstat_t named;
	unsigned int queue = 0;
	uint64_t ended = 0;

	ds = push_device(L, NULL);
	memset(&named, 0, sizeof(named));
	lua_getfield(L, t, "name");
	if (!lua_isnil(L, -1)) {
		check_field(L, "name", LUA_TSTRING);
		strncpy(named.ks_name, lua_tostring(L, -1), sizeof(named.ks_name) - 1);
	}
	lua_pop(L, 1);
	ks_device_set_name(ds, &named);
	lua_pushnil(L);
	while (lua_next(L, t) != 0) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "a device has named fields only");
		set_field(L, ds, &queue);
		lua_pop(L, 1);
	}
	if ((ds->device_type & DEVSTAT_TYPE_IF_MASK) == 0)
		ds->device_type |= DEVSTAT_TYPE_IF_OTHER;
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		ended += ds->operations[i];
	ds->end_count = (unsigned int)ended;
	ds->start_count = ds->end_count + queue;
	return ds;
}

/* device(table) -> device, from the fields that a device has. */
static int
new_device(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	(void)ks_lua_pushdevice(L, 1);
	return 1;
}

/* is_device(anything) -> whether it is one. */
static int
is_device(lua_State *L)
{
	lua_pushboolean(L, ks_lua_testudata(L, 1, KS_LUA_DEVICE) != NULL);
	return 1;
}

/* The device at index i; a table there is replaced by the device that it describes. */
static struct devstat *
check_device(lua_State *L, int i)
{
	if (lua_istable(L, i)) {
		(void)ks_lua_pushdevice(L, i);
		lua_replace(L, i);
	}
	return luaL_checkudata(L, i, KS_LUA_DEVICE);
}

/*
 * The devices and the time that are arguments 1 to 3 of compute() and text(). Returns the
 * device to compare with, which is *baseline or NULL; *backwards tells whether a counter went back.
 */
static struct devstat *
check_interval(lua_State *L, struct devstat *baseline, bool *backwards)
{
	const struct devstat *cur = check_device(L, 1);

	(void)luaL_checknumber(L, 3);
	*backwards = false;
	if (lua_isnoneornil(L, 2))
		return NULL;
	*backwards = devstat_baseline(cur, check_device(L, 2), baseline) != 0;
	return baseline;
}

/* compute(current, previous or nil, etime) -> table of all figures. */
static int
compute(lua_State *L)
{
	struct devstat baseline, *cur, *prev;
	lua_Number etime;
	bool backwards;

	prev = check_interval(L, &baseline, &backwards);
	cur = lua_touserdata(L, 1);
	etime = lua_tonumber(L, 3);
	lua_createtable(L, 0, DSM_MAX);
	for (int m = DSM_NONE + 1; m < DSM_MAX; m++) {
		uint64_t u = 0;
		long double f = 0;
		const char *name = devstat_metric_name((devstat_metric)m);

		switch (devstat_metric_type((devstat_metric)m)) {
		case 'u':
			(void)devstat_compute_statistics(cur, prev, etime, (devstat_metric)m, &u,
			    DSM_NONE);
			ks_lua_setu64(L, name, u);
			break;
		case 'f':
			(void)devstat_compute_statistics(cur, prev, etime, (devstat_metric)m, &f,
			    DSM_NONE);
			ks_lua_setnumber(L, name, (lua_Number)f);
			break;
		default:
			break;
		}
	}
	if (backwards)
		ks_lua_setboolean(L, "backwards", 1);
	return 1;
}

/*
 * text(current, previous or nil, etime, figure, decimals, scale or 1) -> the figure times scale,
 * rounded once, from all the digits there are.
 */
static int
text(lua_State *L)
{
	struct devstat baseline, *prev;
	const char *figure = luaL_checkstring(L, 4);
	int decimals = ks_lua_checkint(L, 5), m = DSM_NONE + 1, n;
	lua_Number scale = luaL_optnumber(L, 6, 1);
	long double v = 0;
	uint64_t u = 0;
	bool backwards, integer;
	char buf[400];

	prev = check_interval(L, &baseline, &backwards);
	luaL_argcheck(L, decimals >= 0 && decimals <= 20, 5, "0 to 20 decimals");
	luaL_argcheck(L, scale >= -1e9 && scale <= 1e9, 6, "scale out of range");
	while (m < DSM_MAX && (devstat_metric_name((devstat_metric)m) == NULL ||
	    strcmp(devstat_metric_name((devstat_metric)m), figure) != 0))
		m++;
	luaL_argcheck(L, m < DSM_MAX, 4, "no such figure");
	integer = devstat_metric_type((devstat_metric)m) == 'u';
	(void)devstat_compute_statistics(lua_touserdata(L, 1), prev, lua_tonumber(L, 3),
	    (devstat_metric)m, integer ? (void *)&u : (void *)&v, DSM_NONE);
	n = snprintf(buf, sizeof(buf), "%.*Lf", decimals, (integer ? (long double)u : v) * scale);
	lua_pushlstring(L, buf, n > 0 && (size_t)n < sizeof(buf) ? (size_t)n : 0);
	return 1;
}

/* compute_etime(now, before or nil) -> seconds */
static int
compute_etime(lua_State *L)
{
	struct bintime t[2];

	luaL_argcheck(L, ks_lua_tobintime(L, 1, &t[0]), 1, "seconds expected");
	luaL_argcheck(L, lua_isnoneornil(L, 2) || ks_lua_tobintime(L, 2, &t[1]), 2, "seconds expected");
	lua_pushnumber(L, (lua_Number)devstat_compute_etime(&t[0], lua_isnoneornil(L, 2) ? NULL : &t[1]));
	return 1;
}

/* --- reading the list ---------------------------------------------------------------- */

void
ks_lua_pushsnapshot(lua_State *L, const struct statinfo *stats, bool changed)
{
	lua_createtable(L, stats->dinfo->numdevs, 8);
	for (int i = 0; i < stats->dinfo->numdevs; i++) {
		(void)push_device(L, &stats->dinfo->devices[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "devices");
	ks_lua_setinteger(L, "generation", (lua_Integer)stats->dinfo->generation);
	ks_lua_setboolean(L, "changed", changed);
	ks_lua_setnumber(L, "snap_time", (lua_Number)stats->snap_time);
}

/* list(chain) -> the devices of that chain, as a list that keeps its generation. */
static int
new_list(lua_State *L)
{
	struct ks_lua_chain *chain = ks_lua_checkchain(L, 1);
	struct list *l = ks_lua_newuserdata(L, sizeof(*l));

	ks_lua_setmetatable(L, LIST);
	l->chain = chain;
	l->list = devstat_list_open(chain->kc);
	if (l->list == NULL)
		return ks_lua_fail(L);
	ks_lua_setstate(L, 1, 0);
	return 1;
}

static int
free_list(lua_State *L)
{
	struct list *l = luaL_checkudata(L, 1, LIST);

	devstat_list_close(l->list);
	l->list = NULL;
	devstat_freedevs(&l->dinfo);
	return 0;
}

/*
 * read(list) -> the devices that the chain holds now, as an array with the fields devices (the
 * array itself), generation, changed, snap_time, cp_time, tk_nin, tk_nout.
 */
static int
read_list(lua_State *L)
{
	static const char *const states[CPUSTATES] = { "user", "nice", "sys", "intr", "idle" };
	struct list *l = luaL_checkudata(L, 1, LIST);
	struct statinfo stats = { .dinfo = &l->dinfo };
	struct ks_devstat_extra extra;
	int changed;

	if (l->list == NULL || l->chain->kc == NULL)
		return luaL_argerror(L, 1, "the chain is closed");
	changed = ks_devstat_list_read(l->list, &stats, &extra);
	if (changed == -1)
		return ks_lua_fail(L);
	ks_lua_pushsnapshot(L, &stats, changed != 0);
	if (extra.cpu) {
		lua_createtable(L, 0, CPUSTATES);
		for (int i = 0; i < CPUSTATES; i++)
			ks_lua_setu64(L, states[i], (uint64_t)stats.cp_time[i]);
		lua_setfield(L, -2, "cp_time");
	}
	if (extra.tty) {
		ks_lua_setu64(L, "tk_nin", (uint64_t)stats.tk_nin);
		ks_lua_setu64(L, "tk_nout", (uint64_t)stats.tk_nout);
	}
	return 1;
}

/*
 * fixed(number, decimals) -> its text as C prints it. LuaJIT rounds ties its own way.
 */
static int
fixed(lua_State *L)
{
	char buf[400];
	int decimals = ks_lua_checkint(L, 2);
	int n;

	luaL_argcheck(L, decimals >= 0 && decimals <= 20, 2, "0 to 20 decimals");
	n = snprintf(buf, sizeof(buf), "%.*f", decimals, luaL_checknumber(L, 1));
	lua_pushlstring(L, buf, (size_t)n);
	return 1;
}

void
ks_lua_add_devstat(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "compute", compute }, { "compute_etime", compute_etime }, { "device", new_device },
		{ "fixed", fixed }, { "is_device", is_device }, { "list", new_list }, { "read", read_list }, { "text", text }, { NULL, NULL },
	};
	static const luaL_Reg device_meta[] = {
		{ "__index", device_index }, { "__tostring", device_tostring }, { NULL, NULL },
	};

	ks_lua_newtype(L, KS_LUA_DEVICE, NULL, device_meta, NULL);
	ks_lua_newtype(L, LIST, free_list, NULL, NULL);
	ks_lua_addto(L, "devstat", functions);
}
