/* distribution.h - distributions as Lua values. SPDX-License-Identifier: MIT */
#ifndef LUA_DISTRIBUTION_H
#define LUA_DISTRIBUTION_H

#include "lua/compat.h"
#include "model/distribution.h"

/*
 * Pushes nothing yet but room for a distribution, whose owner the userdata is: fill *room, or leave it NULL.
 * Before anything is allocated, so that an error of Lua leaks nothing.
 */
struct kstat_hist **ks_lua_newdistribution(lua_State *L);

/*
 * Returns 1 if the distribution was made, else what ks_lua_fail() returns. The collector of garbage gets to know of its
 * memory, which it does not count: without this a loop holds tens of thousands of old ones.
 */
int ks_lua_madedistribution(lua_State *L, const struct kstat_hist *d);

#endif
