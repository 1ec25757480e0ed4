/* publish.h - what the files of the publishing binding share. SPDX-License-Identifier: MIT */
#ifndef LUA_PUBLISH_H
#define LUA_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat_provider.h"
#include "lua/compat.h"

#define KS_LUA_SEGMENT "kstat.segment"
#define KS_LUA_PUBLISHED "kstat.published"

struct ks_lua_segment {
	kstat_pub_t *pub; /* NULL: closed, or kstats of this process alone */
	bool is_process;  /* the latter */
};

struct ks_lua_published {
	kstat_t *ksp; /* NULL: deleted */
	struct ks_lua_segment *segment;
	bool is_process;   /* it is a kstat of this process alone, which goes with the object */
	uint32_t nbuckets; /* of buckets */
	uint64_t *buckets; /* owned: counts that a script gives; NULL: the library counts */
};

/* The segment at index i; raises if it is closed. */
struct ks_lua_segment *ks_lua_checksegment(lua_State *L, int i);

/* The kstat at index i; raises if it was deleted, or its segment closed. */
struct ks_lua_published *ks_lua_checkpublished(lua_State *L, int i);

/* Pushes a new one, without a kstat yet; the segment is at index 1. */
struct ks_lua_published *ks_lua_newpublished(lua_State *L, struct ks_lua_segment *s);

#endif
