/*
 * types.h - the userdata of the binding and how functions get at them.
 *
 * Ownership: chains and samples own C memory, which close or __gc frees; the userdata is valid and
 * closed before anything is opened. Every object has one associated table, its state:
 *   chain       [0] the chain itself, [1] the IDs of kstats that were read (see kstat.c), [2] the
 *               selectors of what it holds, [3] the array of them that C looks at
 *   sample      [0] the sample itself, [1] its chain
 *   difference  [0] itself, [1] the later sample, [2] the earlier one
 *   kstat       shares the state of what it came from, and so keeps it alive; [7] of that finds it again
 * The Lua half keeps its own things in the table `notes` of it (core.notes()); scripts reach nothing else there.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_TYPES_H
#define LUA_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "chain/delta.h"
#include "chain/sample.h"
#include "chain/selection.h"
#include "chain/values.h"
#include "kstat_provider.h"
#include "lua/compat.h"

#define KS_LUA_CHAIN "kstat.chain"
#define KS_LUA_SAMPLE "kstat.sample"
#define KS_LUA_DIFFERENCE "kstat.difference"
#define KS_LUA_KSTAT "kstat.kstat"
#define KS_LUA_DISTRIBUTION "kstat.distribution"
#define KS_LUA_SELECTOR "kstat.selector"
#define KS_LUA_PATTERN "kstat.pattern"
#define KS_LUA_BLOB "kstat.blob"

struct ks_lua_chain {
	kstat_ctl_t *kc;         /* owned; NULL: closed */
	uint64_t updates;        /* counted; pointers into the chain are valid until the next one */
	uint32_t number;         /* no other chain of the Lua state has it */
	struct ks_values values; /* scratch; owned */
};

struct ks_lua_sample {
	struct ks_sample *s;        /* owned; NULL: collected */
	struct ks_lua_chain *chain; /* kept alive by the state */
	uint64_t updates;           /* those of the chain when it was made */
	size_t counted;             /* bytes of it that the collector of garbage knows of */
	bool frozen;                /* false: it adds a kstat when a script first asks for it */
	bool complete;              /* it was made of selectors, and never added what a script asked for */
};

struct ks_lua_difference {
	struct ks_lua_sample *now;
	struct ks_lua_sample *before; /* NULL: since creation, or `alone` */
	bool alone;                   /* there is no interval */
};

enum ks_lua_origin { KS_LUA_LIVE, KS_LUA_SAMPLED, KS_LUA_DIFFERING };

struct ks_lua_kstat {
	enum ks_lua_origin origin;
	struct ks_lua_chain *chain;
	/* SAMPLED: delta.now; DIFFERING: all of delta. */
	struct ks_lua_sample *sample;
	struct ks_lua_sample *before; /* may be NULL */
	struct ks_delta delta;
	/* LIVE, of others there is no memory for it: the header as it was found; ksp is valid while chain->updates == seen. */
	kstat_t head;
	kstat_t *ksp; /* NULL: it is gone */
	uint64_t seen;
};

struct ks_lua_selector {
	struct ks_selector s;
};

/* Each returns the argument at index i, or raises. Chains must be open, samples not collected. */
struct ks_lua_chain *ks_lua_checkchain(lua_State *L, int i);
struct ks_lua_sample *ks_lua_checksample(lua_State *L, int i);
struct ks_lua_difference *ks_lua_checkdifference(lua_State *L, int i);
struct ks_lua_kstat *ks_lua_checkkstat(lua_State *L, int i);
struct ks_lua_kstat *ks_lua_checkdiffering(lua_State *L, int i); /* a kstat of a difference */

/* "chain", "sample", "difference", "kstat", "selector", "distribution" or "closed"; NULL for another value at index i. */
const char *ks_lua_kind(lua_State *L, int i);

/* The kstat in the chain; NULL with errno ENXIO if it is gone. Raises if the chain is closed. */
kstat_t *ks_lua_findlive(lua_State *L, struct ks_lua_kstat *u);

/* The header of a kstat; of a live one that is gone, its last. Raises if the sample was collected. */
const kstat_t *ks_lua_head(lua_State *L, struct ks_lua_kstat *u);

/*
 * New kstat objects, pushed; `state` is the index of the state that they share.
 */
void ks_lua_pushlive(lua_State *L, int state, struct ks_lua_chain *chain, kstat_t *ksp);
void ks_lua_pushsampled(lua_State *L, int state, struct ks_lua_sample *sample, const kstat_t *ksp);
void ks_lua_pushdiffering(lua_State *L, int state, const struct ks_lua_difference *d,
    const struct ks_delta *delta);

/* An empty selection, pushed as a userdata that frees it. */
struct ks_selection *ks_lua_newselection(lua_State *L);

/*
 * The selectors in the array at index i (nil: none) as a C array that lives in a userdata, pushed.
 */
const struct ks_selector *const *ks_lua_checkselectors(lua_State *L, int i, size_t *n);

/* --- where kstats are looked for (find.c) ------------------------------------------------------- */

struct ks_lua_place {
	struct ks_lua_chain *chain;
	struct ks_lua_sample *sample;         /* NULL: the chain itself */
	struct ks_lua_difference *difference; /* NULL: the kstats of the sample as they are */
	bool whole; /* the difference has all kstats of its later sample, some of them without an interval */
};

/* True while kstats can be added to the sample: its chain is open and was not updated since. */
bool ks_lua_can_grow(const struct ks_lua_sample *u);

/* The chain, sample or difference at index i. */
void ks_lua_checkplace(lua_State *L, int i, struct ks_lua_place *p);

/* The first kstat of the place, or NULL; ks_lua_next() returns those after it, in the order of the chain. *i counts. */
kstat_t *ks_lua_first(const struct ks_lua_place *p, size_t *i);
kstat_t *ks_lua_next(const struct ks_lua_place *p, const kstat_t *ksp, size_t *i);

/*
 * Stores the kstats of a place that any of the selectors matches, in the order of kstat(8). Returns 0, or how many
 * values it pushed: nil, message, errno; or false and a message if one was not read during the tick of the sample.
 */
int ks_lua_selectfrom(lua_State *L, const struct ks_lua_place *p, const struct ks_selector *const *selectors, size_t n,
    struct ks_selection *sel);

/*
 * Stores the copy and the earlier one of a kstat that was found in *delta (of a chain: the kstat itself). Returns 1;
 * 0 if the place has none; -1 with errno.
 */
int ks_lua_resolve(const struct ks_lua_place *p, kstat_t *ksp, struct ks_delta *delta);

/* --- distributions (distribution.c) -------------------------------------------------------------- */

struct kstat_hist;

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

/* --- kstat.core.devstat (devstat.c) ------------------------------------------------------------- */

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

/* --- kstats that are published (publish.c) ------------------------------------------------------ */

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
