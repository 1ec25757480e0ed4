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

#endif
