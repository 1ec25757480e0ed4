/*
 * devstat_provide.c - kstat.core.devstat: the provider half, devices that a script counts itself.
 *
 * An entry belongs to its registry, which its associated table keeps. Finalizers run in any order at the end of a Lua
 * state, so that an entry asks the registry first whether it is still there. SPDX-License-Identifier: MIT
 */
#include "devstat/device.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define REGISTRY "kstat.devstat.registry"
#define ENTRY "kstat.devstat.entry"

struct registry {
	devstat_registry_t *reg; /* owned */
	struct devinfo dinfo;    /* owned */
};

struct entry {
	struct registry *registry;
	struct devstat *ds; /* the registry's; NULL: removed */
};

/* registry() -> an empty registry */
static int
new_registry(lua_State *L)
{
	struct registry *r = ks_lua_newuserdata(L, sizeof(*r));

	ks_lua_setmetatable(L, REGISTRY);
	r->reg = devstat_registry_create();
	return r->reg != NULL ? 1 : ks_lua_fail(L);
}

static int
free_registry(lua_State *L)
{
	struct registry *r = luaL_checkudata(L, 1, REGISTRY);

	devstat_registry_destroy(r->reg);
	r->reg = NULL;
	devstat_freedevs(&r->dinfo);
	return 0;
}

static struct registry *
check_registry(lua_State *L)
{
	struct registry *r = luaL_checkudata(L, 1, REGISTRY);

	if (r->reg == NULL)
		luaL_error(L, "the registry is closed");
	return r;
}

/* new_entry(registry, name, unit, fields): the fields are those of a device() */
static int
new_entry(lua_State *L)
{
	struct registry *r = check_registry(L);
	const char *name = luaL_checkstring(L, 2);
	int unit = ks_lua_checkint(L, 3);
	const struct devstat *made;
	struct entry *e;

	luaL_argcheck(L, unit >= 0, 3, "a number of a unit is not below 0");
	luaL_checktype(L, 4, LUA_TTABLE);
	made = ks_lua_pushdevice(L, 4);
	e = ks_lua_newuserdata(L, sizeof(*e));
	e->registry = r;
	lua_createtable(L, 1, 0);
	lua_pushvalue(L, 1);
	lua_rawseti(L, -2, 1);
	ks_lua_setuservalue(L, -2);
	ks_lua_setmetatable(L, ENTRY);
	e->ds = devstat_new_entry(r->reg, name, unit, made->block_size, made->block_size != 0 ? DEVSTAT_ALL_SUPPORTED :
	    DEVSTAT_BS_UNAVAILABLE, made->device_type, made->priority);
	return e->ds != NULL ? 1 : ks_lua_fail(L);
}

/* read_registry(registry) -> snapshot */
static int
read_registry(lua_State *L)
{
	struct registry *r = check_registry(L);
	struct statinfo stats = { .dinfo = &r->dinfo };
	int changed = devstat_registry_getdevs(r->reg, &stats);

	if (changed == -1)
		return ks_lua_fail(L);
	ks_lua_pushsnapshot(L, &stats, changed != 0);
	return 1;
}

static struct entry *
check_entry(lua_State *L)
{
	struct entry *e = luaL_checkudata(L, 1, ENTRY);

	if (e->registry->reg == NULL || e->ds == NULL)
		luaL_error(L, "the device was removed");
	return e;
}

/* The time at index i, which is in *t; NULL: there is none. */
static const struct bintime *
opt_time(lua_State *L, int i, struct bintime *t)
{
	luaL_argcheck(L, lua_isnoneornil(L, i) || ks_lua_tobintime(L, i, t), i, "seconds expected");
	return lua_isnoneornil(L, i) ? NULL : t;
}

/* entry:start_transaction([now]) */
static int
start_transaction(lua_State *L)
{
	struct entry *e = check_entry(L);
	struct bintime now;

	devstat_start_transaction(e->ds, opt_time(L, 2, &now));
	return 0;
}

/* entry:end_transaction(kind, bytes [, began [, now]]) */
static int
end_transaction(lua_State *L)
{
	static const char *const kinds[] = { "other", "read", "write", "free", NULL };
	struct entry *e = check_entry(L);
	int kind = luaL_checkoption(L, 2, NULL, kinds);
	uint64_t bytes = lua_isnoneornil(L, 3) ? 0 : ks_lua_checkbits(L, 3);
	struct bintime then, now;

	luaL_argcheck(L, bytes <= UINT32_MAX, 3, "bytes from 0 to 2^32-1 expected");
	devstat_end_transaction(e->ds, (uint32_t)bytes, DEVSTAT_TAG_NONE, (devstat_trans_flags)kind,
	    opt_time(L, 5, &now), opt_time(L, 4, &then));
	return 0;
}

static int
remove_entry(lua_State *L)
{
	struct entry *e = check_entry(L);

	devstat_remove_entry(e->registry->reg, e->ds);
	e->ds = NULL;
	return 0;
}

void
ks_lua_add_devstat_provide(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "new_entry", new_entry }, { "read_registry", read_registry }, { "registry", new_registry }, { NULL, NULL },
	};
	static const luaL_Reg entry_methods[] = {
		{ "start_transaction", start_transaction }, { "end_transaction", end_transaction },
		{ "remove", remove_entry }, { NULL, NULL },
	};

	ks_lua_newtype(L, REGISTRY, free_registry, NULL, NULL);
	ks_lua_newtype(L, ENTRY, NULL, NULL, entry_methods);
	ks_lua_addto(L, "devstat", functions);
}
