/* devstat.h - what the files of kstat.core.devstat share. SPDX-License-Identifier: MIT */
#ifndef LUA_DEVSTAT_H
#define LUA_DEVSTAT_H

#include <lua.h>
#include <stdbool.h>

struct bintime;
struct devstat;
struct statinfo;

#define KS_LUA_DEVICE "kstat.devstat.device" /* a struct devstat */

/* Stores the seconds at index i; false if there are none. */
bool ks_lua_tobintime(lua_State *L, int i, struct bintime *t);

/* Pushes a device made of the table at index t, and returns it; raises for a field that makes no sense. */
struct devstat *ks_lua_pushdevice(lua_State *L, int t);

/* Pushes the devices as an array with the fields devices (the array itself), generation, changed, snap_time. */
void ks_lua_pushsnapshot(lua_State *L, const struct statinfo *stats, bool changed);

#endif
