/*
 * kstat.c - one kstat as an object: of a live chain, of a sample, or of a difference. The first
 * holds the kstat's ID and finds it again after updates; the others refer to copies.
 *
 * A live kstat is read when it is first asked for a value. state[1] maps the IDs of kstats that were
 * read to true; kschain:update() reads those again and stores false where that failed, so that the
 * next question tries anew instead of answering from old data.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "chain/chain.h"
#include "chain/render.h"
#include "chain/write.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "model/blobstat.h"

/* --- objects ------------------------------------------------------------------- */

struct ks_lua_kstat *
ks_lua_checkkstat(lua_State *L, int i)
{
	return luaL_checkudata(L, i, KS_LUA_KSTAT);
}

static struct ks_lua_kstat *
push_kstat(lua_State *L, int state, enum ks_lua_origin origin)
{
	struct ks_lua_kstat *u;

	state = ks_lua_absindex(L, state);
	luaL_checkstack(L, 3, NULL);
	u = ks_lua_newuserdata(L, sizeof(*u));
	u->origin = origin;
	lua_pushvalue(L, state);
	ks_lua_setuservalue(L, -2);
	ks_lua_setmetatable(L, KS_LUA_KSTAT);
	return u;
}

void
ks_lua_pushlive(lua_State *L, int state, struct ks_lua_chain *chain, kstat_t *ksp)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_LIVE);

	u->chain = chain;
	u->head = *ksp;
	u->head.ks_next = NULL;
	u->head.ks_data = NULL; /* it is the chain's */
	u->ksp = ksp;
	u->seen = chain->updates;
}

void
ks_lua_pushsampled(lua_State *L, int state, struct ks_lua_sample *sample, const kstat_t *ksp)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_SAMPLED);

	u->chain = sample->chain;
	u->sample = sample;
	u->delta.now = ksp;
}

void
ks_lua_pushdiffering(lua_State *L, int state, const struct ks_lua_difference *d,
    const struct ks_delta *delta)
{
	struct ks_lua_kstat *u = push_kstat(L, state, KS_LUA_DIFFERING);

	u->chain = d->now->chain;
	u->sample = d->now;
	u->before = d->before;
	u->delta = *delta;
}

/* The kstat in the chain; NULL with errno ENXIO if it is gone. Raises if the chain is closed. */
static kstat_t *
find_live(lua_State *L, struct ks_lua_kstat *u)
{
	if (u->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	if (u->seen != u->chain->updates) {
		u->ksp = ks_chain_find(u->chain->kc, u->head.ks_kid);
		u->seen = u->chain->updates;
	}
	if (u->ksp == NULL)
		return ks_fail_null(ENXIO, "%s:%d:%s is gone", u->head.ks_module,
		    u->head.ks_instance, u->head.ks_name);
	return u->ksp;
}

/* Header fields; of a live kstat those it had last. */
static const kstat_t *
head_of(lua_State *L, struct ks_lua_kstat *u)
{
	if (u->origin == KS_LUA_LIVE) {
		if (u->chain->kc != NULL && find_live(L, u) != NULL) {
			u->head.ks_snaptime = u->ksp->ks_snaptime;
			u->head.ks_ndata = u->ksp->ks_ndata;
		}
		return &u->head;
	}
	if (u->sample->s == NULL || (u->before != NULL && u->before->s == NULL))
		luaL_error(L, "the sample was collected");
	return u->delta.now;
}

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

/* --- walking the statistics of any of the three ------------------------------------ */

struct walk {
	struct ks_lua_kstat *u;
	const kstat_t *ksp;
	int header; /* class, crtime, snaptime come first: 0 to 2; 3 is behind them */
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
	w->header = with_header ? 0 : 3;
	w->ksp = head_of(L, u);
	if (u->origin == KS_LUA_LIVE) {
		kstat_t *ksp = find_live(L, u);

		if (ksp == NULL)
			rc = -1;
		else if (!was_read(L, i, ksp))
			rc = read_live(L, i, u, ksp);
		w->ksp = rc == 0 ? ksp : &u->head;
	}
	if (u->origin == KS_LUA_DIFFERING)
		ks_delta_cursor_open(&w->delta, &u->delta, u->chain->kc);
	else
		ks_cursor_open(&w->cursor, w->ksp);
	return rc;
}

static bool
walk_next(struct walk *w, const char **name, struct ks_value *v)
{
	static const char *const names[] = { "class", "crtime", "snaptime" };

	if (w->header < 3) {
		*name = names[w->header];
		*v = (struct ks_value){ .kind = KS_VALUE_TIME, .bits = 64, .i64 = w->ksp->ks_crtime };
		switch (w->header++) {
		case 0:
			v->kind = KS_VALUE_STRING;
			v->str = w->ksp->ks_class;
			v->len = (uint32_t)strlen(v->str);
			return true;
		case 1:
			return true;
		default:
			if (w->ksp->ks_data != NULL) {
				v->i64 = w->ksp->ks_snaptime;
				return true;
			}
		}
	}
	if (w->u->origin == KS_LUA_DIFFERING)
		return ks_delta_cursor_next(&w->delta, name, v);
	return ks_cursor_next(&w->cursor, name, v);
}

/* Finds one statistic; one in the data comes before the header's of the same name. */
static bool
walk_find(struct walk *w, const char *stat, struct ks_value *v)
{
	struct walk start = *w;
	const char *name;

	w->header = 3;
	while (walk_next(w, &name, v)) {
		if (strcmp(name, stat) == 0)
			return true;
	}
	*w = start;
	while (w->header < 3 && walk_next(w, &name, v)) {
		if (strcmp(name, stat) == 0)
			return true;
	}
	return false;
}

/*
 * The statistic named at index 2 of the kstat at index 1. 1 if found, 0 if there is none (nil is
 * on the stack then), -1 if the kstat cannot be read (errno); class and crtime are known even so.
 */
static int
find_value(lua_State *L, struct ks_value *v)
{
	struct walk w;
	size_t n;
	const char *stat;

	(void)ks_lua_checkkstat(L, 1);
	stat = luaL_checklstring(L, 2, &n);
	if (walk_open(L, 1, &w, true) != 0) {
		int err = errno;
		bool known = err != ENXIO && strlen(stat) == n && walk_find(&w, stat, v);

		errno = err;
		return known ? 1 : -1;
	}
	if (strlen(stat) == n && walk_find(&w, stat, v))
		return 1;
	lua_pushnil(L);
	return 0;
}

/* --- methods --------------------------------------------------------------------- */

static int
kstat_method_read(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	kstat_t *ksp;

	luaL_argcheck(L, u->origin == KS_LUA_LIVE, 1, "a sample does not change");
	ksp = find_live(L, u);
	if (ksp == NULL || read_live(L, 1, u, ksp) != 0)
		return ks_lua_fail(L);
	lua_settop(L, 1);
	return 1;
}

static int
kstat_get(lua_State *L)
{
	struct ks_value v;
	int found = find_value(L, &v);

	if (found < 0)
		return ks_lua_fail(L);
	if (found > 0)
		ks_lua_pushvalue(L, &v);
	return 1;
}

static int
kstat_exact(lua_State *L)
{
	struct ks_value v;
	int found = find_value(L, &v);

	if (found < 0)
		return ks_lua_fail(L);
	if (found > 0)
		ks_lua_pushexact(L, &v);
	return 1;
}

static int
kstat_halves(lua_State *L)
{
	struct ks_value v;
	int found = find_value(L, &v);
	int n;

	if (found < 0)
		return ks_lua_fail(L);
	if (found == 0)
		return 1;
	n = ks_lua_pushhalves(L, &v);
	if (n == 0) {
		ks_lua_pushvalue(L, &v);
		n = 1;
	}
	return n;
}

static int
kstat_ns(lua_State *L)
{
	struct ks_value v;
	int found = find_value(L, &v);

	if (found < 0)
		return ks_lua_fail(L);
	if (found > 0) {
		if (v.kind != KS_VALUE_NSEC && v.kind != KS_VALUE_TIME)
			return ks_lua_failwith(L, EINVAL, "%.30s is not a time", lua_tostring(L, 2));
		ks_lua_pushi64(L, v.i64);
	}
	return 1;
}

static int
kstat_text(lua_State *L)
{
	struct ks_value v;
	int found = find_value(L, &v);

	if (found < 0)
		return ks_lua_fail(L);
	if (found > 0) {
		struct ks_buf *b = &ks_lua_checkkstat(L, 1)->chain->text;

		ks_buf_reset(b);
		ks_render_value(b, &v);
		if (b->failed)
			return ks_lua_failwith(L, ENOMEM, "out of memory for a value");
		lua_pushlstring(L, b->len > 0 ? b->data : "", b->len);
	}
	return 1;
}

static bool
is_header(const char *name)
{
	return strcmp(name, "class") == 0 || strcmp(name, "crtime") == 0 ||
	    strcmp(name, "snaptime") == 0;
}

/*
 * Enters everything into the table at index t. Of statistics of one name the first counts, as it
 * does to get(); but one in the data stands before the header's.
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
	lua_pushnil(L);
	while (lua_next(L, 2) != 0) {
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

static bool
wanted(const struct ks_selector *const *selectors, size_t n, const kstat_t *ksp, const char *stat)
{
	for (size_t i = 0; i < n; i++) {
		if (ks_selector_matches_stat(selectors[i], stat) && ks_selector_matches(selectors[i], ksp))
			return true;
	}
	return n == 0;
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
		if (wanted(selectors, nsel, w.ksp, name) && ks_values_add(values, name, &v) != 0)
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

/* Pushes a value if it is a number; uint64 beyond what integers hold as the nearest double. */
static bool
push_number(lua_State *L, const struct ks_value *v)
{
	switch (v->kind) {
	case KS_VALUE_STRING:
	case KS_VALUE_INTS:
	case KS_VALUE_STRS:
		return false;
	default:
		if (v->kind == KS_VALUE_U64 && v->u64 > INT64_MAX)
			lua_pushnumber(L, (lua_Number)v->u64);
		else
			ks_lua_pushvalue(L, v);
		return true;
	}
}

/*
 * numbers(kstat, selectors, names, values, rates) -> n: the statistics in the data that are numbers
 * and that any of the selectors wants (none: all), in stored order, as two arrays. With rates the
 * counters of a difference as their change per second. Nothing if the kstat cannot be read.
 */
static int
kstat_numbers(lua_State *L)
{
	const struct ks_selector *const *selectors;
	struct walk w;
	const char *name;
	struct ks_value v;
	bool rates = lua_toboolean(L, 5);
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
	while (rates ? ks_delta_cursor_next_rate(&w.delta, &name, &v) : walk_next(&w, &name, &v)) {
		if (!wanted(selectors, nsel, w.ksp, name) || !push_number(L, &v))
			continue;
		lua_rawseti(L, 4, ++n);
		lua_pushstring(L, name);
		lua_rawseti(L, 3, n);
	}
	ks_chain_warn_of_selectors(w.u->chain->kc, selectors, nsel);
	lua_pushinteger(L, n);
	return 1;
}

static const char *
semantic_type(uint8_t type)
{
	static const char *const names[] = { "unknown", "id", "count", "epoch", "duration",
		"accumulated time", "percent", "address", "celsius", "rpm", "volt", "watt", "ampere",
		"bytes", "bits", "state", "hertz", "flags", "limit" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

static int
kstat_meta(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	const kstat_t *ksp = head_of(L, u);
	const struct ks_meta *m;
	lua_Number scale;

	if (u->origin == KS_LUA_LIVE && u->chain->kc != NULL && u->ksp != NULL)
		ksp = u->ksp;
	if (u->chain->kc != NULL)
		m = ks_chain_meta(u->chain->kc, ksp, stat);
	else
		m = ks_meta_of_model(ksp, stat);
	if (m == NULL) {
		lua_pushnil(L);
		return 1;
	}
	scale = m->scale == 0 ? 1 : (lua_Number)m->scale;
	lua_createtable(L, 0, 5);
	lua_pushstring(L, ks_kind_name(m->kind));
	lua_setfield(L, -2, "kind");
	lua_pushstring(L, semantic_type(m->type));
	lua_setfield(L, -2, "type");
	lua_pushstring(L, m->unit != NULL ? m->unit : "");
	lua_setfield(L, -2, "unit");
	lua_pushnumber(L, m->flags & KSTAT2_NVMF_FRACT ? 1 / scale : scale);
	lua_setfield(L, -2, "scale");
	lua_pushstring(L, m->desc != NULL ? m->desc : "");
	lua_setfield(L, -2, "description");
	return 1;
}

static int
kstat_method_write(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);
	struct ks_values *values = &u->chain->values;
	kstat_t *ksp;

	luaL_argcheck(L, u->origin == KS_LUA_LIVE, 1, "a sample does not change");
	luaL_checktype(L, 2, LUA_TTABLE);
	ksp = find_live(L, u);
	if (ksp == NULL)
		return ks_lua_fail(L);
	values->n = 0;
	lua_pushnil(L);
	while (lua_next(L, 2) != 0) {
		struct ks_value v;

		luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, 2, "statistics have names");
		luaL_argcheck(L, ks_lua_tovalue(L, -1, &v), 2, "values are numbers or strings");
		if (ks_values_add(values, lua_tostring(L, -2), &v) != 0)
			return ks_lua_fail(L);
		lua_pop(L, 1);
	}
	if (ks_write_values(u->chain->kc, ksp, values->pair, values->n) < 0)
		return ks_lua_fail(L);
	lua_settop(L, 1);
	return 1;
}

/* --- differences ----------------------------------------------------------------- */

static struct ks_lua_kstat *
check_differing(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);

	luaL_argcheck(L, u->origin == KS_LUA_DIFFERING, 1,
	    "only a difference of two samples has rates");
	(void)head_of(L, u);
	return u;
}

static int
kstat_rate(lua_State *L)
{
	struct ks_lua_kstat *u = check_differing(L);
	double rate;

	if (ks_delta_rate(&u->delta, u->chain->kc, luaL_checkstring(L, 2), &rate))
		lua_pushnumber(L, rate);
	else
		lua_pushnil(L);
	return 1;
}

/* now(kstat), before(kstat): the two ends; before() is nil where everything since creation counts. */
static int
kstat_now(lua_State *L)
{
	struct ks_lua_kstat *u = check_differing(L);

	lua_settop(L, 1);
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, 2, 1);
	ks_lua_getuservalue(L, 3);
	ks_lua_pushsampled(L, 4, u->sample, u->delta.now);
	return 1;
}

static int
kstat_before(lua_State *L)
{
	struct ks_lua_kstat *u = check_differing(L);

	lua_settop(L, 1);
	if (u->delta.prev == NULL) {
		lua_pushnil(L);
		return 1;
	}
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, 2, 2);
	ks_lua_getuservalue(L, 3);
	ks_lua_pushsampled(L, 4, u->before, u->delta.prev);
	return 1;
}

/* --- fields ------------------------------------------------------------------------ */

static const char *
type_name(const kstat_t *k)
{
	static const char *const names[KSTAT_NUM_TYPES] = { "raw", "named", "intr", "io", "timer" };

	return k->ks_type < KSTAT_NUM_TYPES ? names[k->ks_type] : "unknown";
}

/* snaptime: nil before the first read. */
static void
push_snaptime(lua_State *L, const kstat_t *k, void (*push)(lua_State *, int64_t))
{
	if (k->ks_snaptime == 0)
		lua_pushnil(L);
	else
		push(L, k->ks_snaptime);
}

/* publisher, publisher_pid: nil where there is none, or where it is not known any more. */
static void
push_publisher(lua_State *L, struct ks_lua_kstat *u, bool name)
{
	const kstat_t *k = head_of(L, u);
	uint32_t pid = 0;
	const char *publisher = u->chain->kc != NULL ? ks_chain_publisher(u->chain->kc, k, &pid) : NULL;

	if (publisher != NULL && name)
		lua_pushstring(L, publisher);
	else if (publisher != NULL && pid != 0)
		lua_pushinteger(L, (lua_Integer)pid);
	else
		lua_pushnil(L);
}

static void
push_field(lua_State *L, struct ks_lua_kstat *u, const char *key)
{
	const kstat_t *k = head_of(L, u);

	if (strcmp(key, "module") == 0)
		lua_pushstring(L, k->ks_module);
	else if (strcmp(key, "instance") == 0)
		lua_pushinteger(L, k->ks_instance);
	else if (strcmp(key, "name") == 0)
		lua_pushstring(L, k->ks_name);
	else if (strcmp(key, "class") == 0)
		lua_pushstring(L, k->ks_class);
	else if (strcmp(key, "type") == 0)
		lua_pushstring(L, type_name(k));
	else if (strcmp(key, "crtime") == 0)
		ks_lua_pushseconds(L, k->ks_crtime);
	else if (strcmp(key, "crtime_ns") == 0)
		ks_lua_pushi64(L, k->ks_crtime);
	else if (strcmp(key, "snaptime") == 0)
		push_snaptime(L, k, ks_lua_pushseconds);
	else if (strcmp(key, "snaptime_ns") == 0)
		push_snaptime(L, k, ks_lua_pushi64);
	else if (strcmp(key, "writable") == 0)
		lua_pushboolean(L, k->ks_flags & KSTAT_FLAG_WRITABLE);
	else if (strcmp(key, "publisher") == 0 || strcmp(key, "publisher_pid") == 0)
		push_publisher(L, u, key[sizeof("publisher") - 1] == '\0');
	else if (u->origin == KS_LUA_DIFFERING && strcmp(key, "elapsed") == 0)
		ks_lua_pushseconds(L, u->delta.elapsed);
	else if (u->origin == KS_LUA_DIFFERING && strcmp(key, "elapsed_ns") == 0)
		ks_lua_pushi64(L, u->delta.elapsed);
	else if (u->origin == KS_LUA_DIFFERING && strcmp(key, "reset") == 0)
		lua_pushboolean(L, u->delta.reset);
	else
		lua_pushnil(L);
}

/* Upvalue 1: the table of methods. */
static int
kstat_index(lua_State *L)
{
	struct ks_lua_kstat *u = ks_lua_checkkstat(L, 1);

	lua_settop(L, 2);
	lua_pushvalue(L, 2);
	lua_rawget(L, lua_upvalueindex(1));
	if (!lua_isnil(L, 3) || lua_type(L, 2) != LUA_TSTRING)
		return 1;
	push_field(L, u, lua_tostring(L, 2));
	return 1;
}

static int
kstat_newindex(lua_State *L)
{
	(void)ks_lua_checkkstat(L, 1);
	return luaL_error(L, "kstats are written with k:write{statistic = value}");
}

static int
kstat_tostring(lua_State *L)
{
	const kstat_t *k = head_of(L, ks_lua_checkkstat(L, 1));

	lua_pushfstring(L, "%s:%d:%s", k->ks_module, k->ks_instance, k->ks_name);
	return 1;
}

/* The same kstat of the same moment. */
static int
kstat_eq(lua_State *L)
{
	struct ks_lua_kstat *a = ks_lua_checkkstat(L, 1);
	struct ks_lua_kstat *b = ks_lua_testudata(L, 2, KS_LUA_KSTAT);

	lua_pushboolean(L, b != NULL && a->origin == b->origin && a->chain == b->chain &&
	    a->head.ks_kid == b->head.ks_kid && a->delta.now == b->delta.now &&
	    a->delta.prev == b->delta.prev);
	return 1;
}

void
ks_lua_add_kstat(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__newindex", kstat_newindex },
		{ "__tostring", kstat_tostring },
		{ "__eq", kstat_eq },
		{ NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "read", kstat_method_read },
		{ "get", kstat_get },
		{ "exact", kstat_exact },
		{ "ns", kstat_ns },
		{ "text", kstat_text },
		{ "data", kstat_data },
		{ "meta", kstat_meta },
		{ "write", kstat_method_write },
		{ "rate", kstat_rate },
		{ "now", kstat_now },
		{ "before", kstat_before },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "fill", kstat_fill },
		{ "list", kstat_list },
		{ "blob", kstat_blob_bytes },
		{ "collect", kstat_collect },
		{ "numbers", kstat_numbers },
		{ "halves", kstat_halves },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, KS_LUA_KSTAT, meta);
	lua_newtable(L);
	ks_lua_setfuncs(L, methods);
	lua_pushvalue(L, -1);
	lua_setfield(L, -4, "kstat_methods");
	lua_pushcclosure(L, kstat_index, 1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}
