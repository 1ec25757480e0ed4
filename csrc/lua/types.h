/*
 * types.h - the userdata of the binding and how functions get at them.
 *
 * Ownership: chains and samples own C memory, which close or __gc frees; the userdata is valid and
 * closed before anything is opened. Every object has one associated table, its state:
 *   chain       [0] the chain itself, [1] the IDs of kstats that were read (see kstat.c), [2] the
 *               selectors of what it holds, [3] the array of them that C looks at
 *   sample      [0] the sample itself, [1] its chain
 *   difference  [0] itself, [1] the later sample, [2] the earlier one
 *   kstat       shares the state of what it came from, and so keeps it alive
 * The Lua half keeps its own things in there under string keys.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_TYPES_H
#define LUA_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "chain/delta.h"
#include "chain/figures.h"
#include "chain/columns.h"
#include "chain/sample.h"
#include "chain/selector.h"
#include "chain/values.h"
#include "kstat.h"
#include "lua/compat.h"

#define KS_LUA_CHAIN "kstat.chain"
#define KS_LUA_SAMPLE "kstat.sample"
#define KS_LUA_DIFFERENCE "kstat.difference"
#define KS_LUA_KSTAT "kstat.kstat"
#define KS_LUA_SELECTOR "kstat.selector"
#define KS_LUA_FIGURES "kstat.figures"
#define KS_LUA_LAYOUT "kstat.layout"

struct ks_lua_chain {
	kstat_ctl_t *kc;         /* owned; NULL: closed */
	uint64_t updates;        /* pointers into the chain hold while this stays the same */
	struct ks_values values; /* scratch; owned */
	struct ks_buf text;      /* scratch; owned */
};

struct ks_lua_sample {
	struct ks_sample *s;        /* owned; NULL: collected */
	struct ks_lua_chain *chain; /* kept alive by the state */
	uint64_t updates;           /* those of the chain when it was made */
	bool frozen;                /* else it reads what it is asked for */
};

struct ks_lua_difference {
	struct ks_lua_sample *now;
	struct ks_lua_sample *before; /* NULL: since creation */
};

enum ks_lua_origin { KS_LUA_LIVE, KS_LUA_SAMPLED, KS_LUA_DIFFERING };

struct ks_lua_kstat {
	enum ks_lua_origin origin;
	struct ks_lua_chain *chain;
	/* LIVE: what it was when it was found; the pointer holds while chain->updates == seen. */
	kstat_t head;
	kstat_t *ksp; /* NULL: it is gone */
	uint64_t seen;
	/* SAMPLED: delta.now; DIFFERING: all of delta. */
	struct ks_lua_sample *sample;
	struct ks_lua_sample *before; /* may be NULL */
	struct ks_delta delta;
};

struct ks_lua_selector {
	struct ks_selector s;
};

/* The argument at index i, or an error that says what is wrong with it. Chains must be open. */
struct ks_lua_chain *ks_lua_checkchain(lua_State *L, int i);
struct ks_lua_difference *ks_lua_checkdifference(lua_State *L, int i);
struct ks_lua_kstat *ks_lua_checkkstat(lua_State *L, int i);

/* "chain", "sample", "difference", "kstat", "selector", "figures", or "closed"; NULL for any other value at index i. */
const char *ks_lua_kind(lua_State *L, int i);

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

/*
 * What identifies a kstat, at indexes i to i + 2: module, instance and name, each nil for any.
 * False if nothing can have such a name.
 */
struct ks_lua_name {
	const char *module;
	const char *name;
	bool any_instance;
	int instance;
};
bool ks_lua_checkname(lua_State *L, int i, struct ks_lua_name *name);
/* What happened to the kstat with the name at index i: 1, 0 if there is none, -1 with errno. */
int ks_lua_find_delta(lua_State *L, const struct ks_lua_difference *d, int i, struct ks_delta *delta);
/*
 * Selects in the chain of a growing sample, and takes in what that finds, or in what the sample holds: the
 * kstats found are copies either way. 0, or -1 with errno.
 */
int ks_lua_select_in(struct ks_lua_sample *u, const struct ks_selector *const *selectors, size_t n,
    struct ks_selection *sel);
/* What happened to a kstat of the later sample; false: it is not in the difference. */
bool ks_lua_open_delta(const struct ks_lua_difference *d, const kstat_t *now, struct ks_delta *delta);
bool ks_lua_hasname(const struct ks_lua_name *name, const kstat_t *ksp);

#endif
