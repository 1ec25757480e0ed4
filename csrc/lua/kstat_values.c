/*
 * kstat_values.c - the values of one kstat's statistics, of a live chain, of a sample, or of a difference.
 *
 * A live kstat is read when it is first asked for a value. state[1] maps the IDs of kstats that were
 * read to true; kschain:update() reads those again and stores false where that failed, so that the
 * next question reads anew instead of answering from old data.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "model/blobstat.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "model/meta.h"
#include "output/render.h"

/* Reads and remembers it: state[1] of the kstat at index i. 0, or -1 with errno. */
static int
read_live(lua_State *L, int i, struct ks_lua_kstat *u, kstat_t *ksp)
{
	int rc = kstat_read(u->chain->kc, ksp, NULL) < 0 ? -1 : 0;
	int err = errno;

	ks_lua_getuservalue(L, i);
	lua_rawgeti(L, -1, 1);
	lua_pushboolean(L, rc == 0);
	lua_rawseti(L, -2, ksp->ks_kid);
	lua_pop(L, 2);
	errno = err;
	return rc;
}

static bool
was_read(lua_State *L, int i, const kstat_t *ksp)
{
	bool yes;

	ks_lua_getuservalue(L, i);
	lua_rawgeti(L, -1, 1);
	lua_rawgeti(L, -1, ksp->ks_kid);
	yes = lua_toboolean(L, -1);
	lua_pop(L, 3);
	return yes;
}

static int
kstat_read_again(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	kstat_t *ksp;

	luaL_argcheck(L, u->origin == KS_LUA_LIVE, 1, "a sample does not change");
	ksp = ks_lua_findlive(L, u);
	if (ksp == NULL || read_live(L, 1, u, ksp) != 0)
		return ks_lua_fail(L);
	lua_settop(L, 1);
	return 1;
}

/* --- walking the statistics of any of the three ------------------------------------ */

#define HEADERS 4

struct walk {
	struct ks_lua_kstat *u;
	const kstat_t *ksp;
	int header; /* class, crtime, snaptime, host come first: 0 to 3; HEADERS is behind them */
	bool differs; /* it has the differences, in `delta`; else the values, in `cursor` */
	struct ks_cursor cursor;
	struct ks_delta_cursor delta;
};

/*
 * Starts at the first statistic of the kstat at index i, reading a live one if it was not yet.
 * -1 with errno if it cannot be read; then only class and crtime come.
 */
static int
walk_open(lua_State *L, int i, struct walk *w, bool with_header)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, i);
	int rc = 0;

	w->u = u;
	w->header = with_header ? 0 : HEADERS;
	w->ksp = ks_lua_head(L, u);
	w->differs = u->origin == KS_LUA_DIFFERING;
	if (u->origin == KS_LUA_LIVE) {
		kstat_t *ksp = ks_lua_findlive(L, u);

		if (ksp == NULL)
			rc = -1;
		else if (!was_read(L, i, ksp))
			rc = read_live(L, i, u, ksp);
		w->ksp = rc == 0 ? ksp : &u->head;
	}
	if (w->differs)
		ks_delta_cursor_open(&w->delta, &u->delta, u->chain->kc);
	else
		ks_cursor_open(&w->cursor, w->ksp);
	return rc;
}

/* Stores number i of what the header says; false if it does not say that. */
static bool
header_value(const struct walk *w, int i, const char **name, struct ks_value *v)
{
	static const char *const names[HEADERS] = { "class", "crtime", "snaptime", "host" };
	const char *text = i == 0 ? w->ksp->ks_class : NULL;

	if (i == 3 && w->u->chain->kc != NULL)
		text = ks_chain_host(w->u->chain->kc, w->ksp);
	*name = names[i];
	*v = (struct ks_value){ .kind = text != NULL ? KS_VALUE_STRING : KS_VALUE_TIME, .bits = 64 };
	if (text != NULL) {
		v->str = text;
		v->len = (uint32_t)strlen(text);
		return true;
	}
	v->i64 = i == 1 ? w->ksp->ks_crtime : w->ksp->ks_snaptime;
	return i == 1 || (i == 2 && w->ksp->ks_data != NULL);
}

static bool
walk_next(struct walk *w, const char **name, struct ks_value *v)
{
	while (w->header < HEADERS) {
		if (header_value(w, w->header++, name, v))
			return true;
	}
	if (w->differs)
		return ks_delta_cursor_next(&w->delta, name, v);
	return ks_cursor_next(&w->cursor, name, v);
}

/* Finds one statistic; one in the data comes before the header's of the same name. */
static bool
walk_find(struct walk *w, const char *stat, struct ks_value *v)
{
	const char *name;

	if (w->differs ? ks_delta_get(&w->delta, stat, v) :
	    ks_cursor_seek(&w->cursor, stat) && ks_cursor_next(&w->cursor, &name, v))
		return true;
	while (w->header < HEADERS && walk_next(w, &name, v)) {
		if (strcmp(name, stat) == 0)
			return true;
	}
	return false;
}

/* --- some statistics ------------------------------------------------------------------- */

/*
 * The statistics named from index 2 on of the kstat at index 1 that the walk w began at, as `push` has them; nil for
 * what there is not; nil, message, errno if the kstat cannot be read (`failed`, an errno); class and crtime are known
 * even so.
 */
static int
push_named(lua_State *L, const struct walk *w, int failed, int (*push)(lua_State *, const struct ks_value *))
{
	int i = 2, last = lua_gettop(L), pushed = 0;

	luaL_checkstack(L, last + 3, "too many statistics");
	do {
		struct walk at = *w;
		struct ks_value v;
		size_t n;
		const char *stat = luaL_checklstring(L, i, &n);

		if (failed != ENXIO && strlen(stat) == n && walk_find(&at, stat, &v)) {
			pushed += push(L, &v);
		} else if (failed != 0) {
			errno = failed;
			return ks_lua_fail(L);
		} else {
			lua_pushnil(L);
			pushed++;
		}
	} while (++i <= last);
	return pushed;
}

/* k:bytes() -> those of a RAW kstat */
static int
kstat_bytes(lua_State *L)
{
	struct walk w;

	if (walk_open(L, 1, &w, false) != 0)
		return ks_lua_fail(L);
	if (w.ksp->ks_type != KSTAT_TYPE_RAW || w.ksp->ks_data == NULL)
		return ks_lua_failwith(L, EINVAL, "%s:%d:%s has no bytes that are known", w.ksp->ks_module,
		    w.ksp->ks_instance, w.ksp->ks_name);
	lua_pushlstring(L, w.ksp->ks_data, w.ksp->ks_data_size);
	return 1;
}

static int
push_statistics(lua_State *L, int (*push)(lua_State *, const struct ks_value *))
{
	struct walk w;
	int failed = walk_open(L, 1, &w, true) != 0 ? errno : 0;

	return push_named(L, &w, failed, push);
}

/*
 * levels(kstat, statistic, ...) -> what get() of the kstat of a difference's later sample, k:now(), returns: without an
 * object for that, as a screen asks hundreds of kstats.
 */
static int
kstat_levels(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkdiffering(L, 1);
	struct walk w = { .u = u, .ksp = u->delta.now };

	ks_cursor_open(&w.cursor, w.ksp);
	return push_named(L, &w, 0, ks_lua_pushvalue);
}

/*
 * figure(kstat, statistic, what) -> a statistic of a difference as expressions have it, a number or a text: what 0: as it
 * is now, 1: its change, 2: its rate; nil if there is none
 */
static int
kstat_figure(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkdiffering(L, 1);
	const char *stat = luaL_checkstring(L, 2), *name;
	lua_Integer what = luaL_checkinteger(L, 3);
	struct ks_delta_cursor delta;
	struct ks_cursor now;
	struct ks_value v;

	if (what == 0) {
		ks_cursor_open(&now, u->delta.now);
		if (!ks_cursor_seek(&now, stat) || !ks_cursor_next(&now, &name, &v))
			return 0;
	} else {
		ks_delta_cursor_open(&delta, &u->delta, u->chain->kc);
		v = (struct ks_value){ .kind = KS_VALUE_DOUBLE, .bits = 64 };
		if (what == 1 ? !ks_delta_get(&delta, stat, &v) : !ks_delta_rate(&delta, stat, &v.d))
			return 0;
	}
	if (v.kind == KS_VALUE_STRING)
		lua_pushlstring(L, v.str, v.len);
	else if (!ks_lua_pushnumber(L, &v))
		return 0;
	return 1;
}

static int
push_ns(lua_State *L, const struct ks_value *v)
{
	if (v->kind != KS_VALUE_NSEC && v->kind != KS_VALUE_TIME)
		return ks_lua_failwith(L, EINVAL, "%.30s is not a time", lua_tostring(L, 2));
	ks_lua_pushi64(L, v->i64);
	return 1;
}

static int
push_text(lua_State *L, const struct ks_value *v)
{
	struct ks_buf *b = ks_lua_scratch(L);

	ks_render_value(b, v);
	return ks_lua_pushscratch(L, b);
}

#define STATISTIC(name, push) \
	static int \
	kstat_##name(lua_State *L) \
	{ \
		return push_statistics(L, push); \
	}

STATISTIC(get, ks_lua_pushvalue)
STATISTIC(exact, ks_lua_pushexact)
STATISTIC(halves, ks_lua_pushhalves)
STATISTIC(ns, push_ns)
STATISTIC(text, push_text)

/* distribution(kstat, voi) -> what the histogram, or that of a statsblob's VOI, counted; or nil, message, errno */
static int
kstat_distribution(lua_State *L)
{
	const char *voi = luaL_optstring(L, 2, NULL);
	const kstat_t *before = NULL;
	const struct ks_meta *meta;
	struct kstat_hist **d;
	struct walk w;

	if (walk_open(L, 1, &w, false) != 0)
		return ks_lua_fail(L);
	if (w.differs && w.u->delta.alone)
		return ks_lua_failwith(L, ENXIO, "%s:%d:%s has no interval", w.ksp->ks_module, w.ksp->ks_instance,
		    w.ksp->ks_name);
	if (w.differs && !w.u->delta.reset)
		before = w.u->delta.prev;
	meta = ks_chain_meta(w.u->chain->kc, w.ksp, "buckets");
	d = ks_lua_newdistribution(L);
	*d = ks_dist_read(w.ksp, before, voi, meta != NULL ? meta->unit : NULL);
	return ks_lua_madedistribution(L, *d);
}

/* --- all statistics -------------------------------------------------------------------- */

static bool
is_header(const char *name)
{
	return ks_meta_is_header(name) || strcmp(name, "host") == 0;
}

/*
 * Enters everything into the table at index t. Of statistics of one name the first counts, as it
 * does to get(); but one in the data comes before the header's.
 */
static void
fill(lua_State *L, struct walk *w, int t)
{
	const char *name;
	struct ks_value v;

	while (walk_next(w, &name, &v)) {
		lua_pushstring(L, name);
		lua_pushvalue(L, -1);
		lua_rawget(L, t);
		if (!lua_isnil(L, -1) && !is_header(name)) {
			lua_pop(L, 2);
			continue;
		}
		lua_pop(L, 1);
		ks_lua_pushvalue(L, &v);
		lua_rawset(L, t);
	}
}

static int
kstat_data(lua_State *L)
{
	struct walk w;

	if (walk_open(L, 1, &w, true) != 0)
		return ks_lua_fail(L);
	lua_newtable(L);
	fill(L, &w, lua_gettop(L));
	return 1;
}

/*
 * fill(kstat, table): makes the table hold exactly what data() returns, or class and crtime if
 * the kstat cannot be read. Returns false if it is gone: then the table stays as it is.
 */
static int
kstat_fill(lua_State *L)
{
	struct walk w;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	if (walk_open(L, 1, &w, true) != 0 && errno == ENXIO) {
		lua_pushboolean(L, 0);
		return 1;
	}
	for (lua_pushnil(L); lua_next(L, 2) != 0;) {
		lua_pop(L, 1);
		lua_pushvalue(L, -1);
		lua_pushnil(L);
		lua_rawset(L, 2);
	}
	fill(L, &w, 2);
	lua_pushboolean(L, 1);
	return 1;
}

/*
 * list(kstat, names, values) -> n: the statistics in the data, in stored order, as two arrays.
 */
static int
kstat_list(lua_State *L)
{
	struct walk w;
	const char *name;
	struct ks_value v;
	int n = 0;

	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_checktype(L, 3, LUA_TTABLE);
	if (walk_open(L, 1, &w, false) != 0)
		return ks_lua_fail(L);
	while (walk_next(&w, &name, &v)) {
		n++;
		lua_pushstring(L, name);
		lua_rawseti(L, 2, n);
		ks_lua_pushvalue(L, &v);
		lua_rawseti(L, 3, n);
	}
	lua_pushinteger(L, n);
	return 1;
}

/*
 * blob(kstat) -> the bytes of its statsblob, the IDs of its VOIs by name | nil, message, errno
 */
static int
kstat_blob_bytes(lua_State *L)
{
	const struct ks_blob_voi *vois;
	struct walk w;
	const void *table;
	size_t n;

	if (walk_open(L, 1, &w, false) != 0)
		return ks_lua_fail(L);
	table = ks_blobstat_is(w.ksp) ? ks_blobstat_find(w.ksp) : NULL;
	if (table == NULL)
		return ks_lua_failwith(L, EINVAL, "not a statsblob");
	if (w.ksp->ks_ndata == 0)
		return ks_lua_failwith(L, ENODATA, "a capture has a statsblob's statistics, not the blob");
	lua_pushlstring(L, w.ksp->ks_data, w.ksp->ks_ndata);
	vois = ks_blobstat_vois(table, &n);
	lua_createtable(L, 0, (int)n);
	while (n-- > 0) {
		lua_pushinteger(L, vois[n].id);
		lua_setfield(L, -2, vois[n].name);
	}
	return 2;
}

/*
 * collect(kstat, selectors, names, values) -> n: what kstat(8) would print for the kstat: the
 * statistics that any of the selectors wants (none: all), class, crtime and snaptime among them, in
 * its order. A kstat that cannot be read has class and crtime, one that is gone nothing.
 */
static int
kstat_collect(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	struct ks_values *values = &u->chain->values;
	const struct ks_selector *const *selectors;
	struct walk w;
	const char *name;
	struct ks_value v;
	size_t nsel;

	luaL_checktype(L, 3, LUA_TTABLE);
	luaL_checktype(L, 4, LUA_TTABLE);
	lua_settop(L, 4);
	selectors = ks_lua_checkselectors(L, 2, &nsel);
	if (walk_open(L, 1, &w, true) != 0 && errno == ENXIO) {
		lua_pushinteger(L, 0);
		return 1;
	}
	values->n = 0;
	while (walk_next(&w, &name, &v)) {
		if (ks_selector_any_matches_stat(selectors, nsel, w.ksp, name) && ks_values_add(values, name, &v) != 0)
			return luaL_error(L, "%s", kstat_errmsg());
	}
	ks_chain_warn_of_selectors(u->chain->kc, selectors, nsel);
	ks_values_sort(values);
	for (size_t i = 0; i < values->n; i++) {
		lua_pushstring(L, values->pair[i].name);
		lua_rawseti(L, 3, (int)i + 1);
		ks_lua_pushvalue(L, &values->pair[i].value);
		lua_rawseti(L, 4, (int)i + 1);
	}
	lua_pushinteger(L, (lua_Integer)values->n);
	return 1;
}

/* Whether a number in the data of a histogram says how its buckets are laid out. */
static bool
is_layout(const char *name)
{
	return strcmp(name, "range_min") == 0 || strcmp(name, "range_max") == 0 || strcmp(name, "stepping") == 0;
}

/*
 * numbers(kstat, selectors, names, values, rates) -> n: the statistics in the data that are numbers
 * and that any of the selectors wants (none: all), in stored order, as two arrays, but for those that lay
 * out a histogram. With rates only the counters of a difference, as their change per second. Nothing if
 * the kstat cannot be read.
 */
static int
kstat_numbers(lua_State *L)
{
	const struct ks_selector *const *selectors;
	struct walk w;
	const char *name;
	struct ks_value v;
	bool rates = lua_toboolean(L, 5), histogram;
	size_t nsel;
	int n = 0;

	luaL_checktype(L, 3, LUA_TTABLE);
	luaL_checktype(L, 4, LUA_TTABLE);
	lua_settop(L, 4);
	selectors = ks_lua_checkselectors(L, 2, &nsel);
	if (walk_open(L, 1, &w, false) != 0) {
		lua_pushinteger(L, 0);
		return 1;
	}
	luaL_argcheck(L, !rates || w.u->origin == KS_LUA_DIFFERING, 1,
	    "only a difference of two samples has rates");
	histogram = ks_histstat_is(w.ksp);
	while (rates ? ks_delta_cursor_next_rate(&w.delta, true, &name, &v) : walk_next(&w, &name, &v)) {
		if (!ks_selector_any_matches_stat(selectors, nsel, w.ksp, name) || (histogram && is_layout(name)) ||
		    !ks_lua_pushnumber(L, &v))
			continue;
		lua_rawseti(L, 4, ++n);
		lua_pushstring(L, name);
		lua_rawseti(L, 3, n);
	}
	ks_chain_warn_of_selectors(w.u->chain->kc, selectors, nsel);
	lua_pushinteger(L, n);
	return 1;
}

void
ks_lua_add_kstat_values(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "read", kstat_read_again },
		{ "get", kstat_get },
		{ "exact", kstat_exact },
		{ "ns", kstat_ns },
		{ "text", kstat_text },
		{ "bytes", kstat_bytes },
		{ "data", kstat_data },
		{ "distribution", kstat_distribution },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "fill", kstat_fill },
		{ "list", kstat_list },
		{ "blob", kstat_blob_bytes },
		{ "collect", kstat_collect },
		{ "numbers", kstat_numbers },
		{ "halves", kstat_halves },
		{ "levels", kstat_levels },
		{ "figure", kstat_figure },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	lua_getfield(L, -1, "kstat_methods");
	ks_lua_setfuncs(L, methods);
	lua_pop(L, 1);
}
