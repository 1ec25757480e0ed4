/*
 * publish.c - publishing kstats, as functions that lua/kstat/publish/ builds its objects from.
 *
 * A published kstat is a box with the kstat_t; its associated table is the segment's, which keeps the
 * segment's userdata alive. Only close() closes a segment: its counters go on counting when no script
 * refers to the segment any more.
 * SPDX-License-Identifier: MIT
 */
#include "provider/segment/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kstat_provider.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

/* --- segments -------------------------------------------------------------------------------- */

struct ks_lua_segment *
ks_lua_checksegment(lua_State *L, int i)
{
	struct ks_lua_segment *s = luaL_checkudata(L, i, KS_LUA_SEGMENT);

	if (s->pub == NULL)
		luaL_error(L, s->is_process ? "kstats of this process alone have no segment, and are named, raw or histograms" :
		    "the segment is closed");
	return s;
}

/* The same, where also kstats of this process alone can be made. */
static struct ks_lua_segment *
check_maker(lua_State *L)
{
	struct ks_lua_segment *s = ks_lua_testudata(L, 1, KS_LUA_SEGMENT);

	return s != NULL && s->is_process ? s : ks_lua_checksegment(L, 1);
}

/* open(name, private, shared, capacity, process) -> segment | nil, message, errno; process: there is none */
static int
segment_open(lua_State *L)
{
	size_t n;
	const char *name = luaL_checklstring(L, 1, &n);
	int flags = (lua_toboolean(L, 2) ? KSTAT_PUBLISH_PRIV : 0) |
	    (lua_toboolean(L, 3) ? KSTAT_PUBLISH_SHARED : 0);
	struct ks_lua_segment *s;

	lua_settop(L, 5);
	s = ks_lua_newuserdata(L, sizeof(*s));
	ks_lua_setmetatable(L, KS_LUA_SEGMENT);
	ks_lua_setstate(L, 0, 0);
	s->is_process = lua_toboolean(L, 5);
	if (s->is_process)
		return 1;
	/* A name with a NUL in it is refused as an empty name is. */
	if (strlen(name) != n)
		name = "";
	s->pub = lua_isnil(L, 4) ? kstat_publish(name, flags) :
	    kstat_publish_sized(name, flags, (size_t)ks_lua_checkbits(L, 4));
	return s->pub != NULL ? 1 : ks_lua_fail(L);
}

static int
segment_path(lua_State *L)
{
	char path[PATH_MAX];

	kstat_publish_path(ks_lua_checksegment(L, 1)->pub, path, sizeof(path));
	lua_pushstring(L, path);
	return 1;
}

/* condemn(segment): the next open() of that name makes a new segment */
static int
segment_condemn(lua_State *L)
{
	ks_publish_condemn(ks_lua_checksegment(L, 1)->pub);
	return 0;
}

static int
segment_close(lua_State *L)
{
	struct ks_lua_segment *s = luaL_checkudata(L, 1, KS_LUA_SEGMENT);

	if (s->pub != NULL)
		ks_unpublish(s->pub, true);
	s->pub = NULL;
	s->is_process = false;
	return 0;
}

/* --- kstats ---------------------------------------------------------------------------------- */

struct ks_lua_published *
ks_lua_checkpublished(lua_State *L, int i)
{
	struct ks_lua_published *b = luaL_checkudata(L, i, KS_LUA_PUBLISHED);

	if (b->segment->pub == NULL && !b->segment->is_process)
		luaL_error(L, "the segment is closed");
	if (b->ksp == NULL)
		luaL_error(L, "the kstat was deleted");
	return b;
}

struct ks_lua_published *
ks_lua_newpublished(lua_State *L, struct ks_lua_segment *s)
{
	struct ks_lua_published *b = ks_lua_newuserdata(L, sizeof(*b));

	b->segment = s;
	b->is_process = s->is_process;
	ks_lua_getuservalue(L, 1);
	ks_lua_setuservalue(L, -2);
	ks_lua_setmetatable(L, KS_LUA_PUBLISHED);
	return b;
}

/* Replaces the table at index i, the last value, by the named fields of it, at i, i + 1, ... */
static void
spread(lua_State *L, int i, const char *const *fields)
{
	luaL_checktype(L, i, LUA_TTABLE);
	lua_settop(L, i);
	for (; *fields != NULL; fields++)
		lua_getfield(L, i, *fields);
	lua_remove(L, i);
}

/* create(segment, module, instance, name, class, flags, type, ndata) -> kstat | nil, ... */
static int
box_create(lua_State *L)
{
	struct ks_lua_segment *s = check_maker(L);
	const char *module = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 4);
	const char *class_ = luaL_checkstring(L, 5);
	int instance = (int)ks_lua_checkinteger(L, 3);
	uchar_t flags = (uchar_t)ks_lua_checkinteger(L, 6), type = (uchar_t)ks_lua_checkinteger(L, 7);
	uint_t n = (uint_t)ks_lua_checkinteger(L, 8);
	struct ks_lua_published *b;

	if (type != KSTAT_TYPE_NAMED && type != KSTAT_TYPE_RAW)
		(void)ks_lua_checksegment(L, 1);
	b = ks_lua_newpublished(L, s);
	b->ksp = s->is_process ? kstat_create(module, instance, name, class_, type, n, flags) :
	    kstat_publish_create(s->pub, module, instance, name, class_, type, n, flags);
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

/* Stores the n counts of the array at index i: all, or none where one of them is missing. */
static void
store_buckets(lua_State *L, uint64_t *buckets, size_t n, int i)
{
	for (size_t at = 0; buckets != NULL && at < n; at++) {
		lua_rawgeti(L, i, (int)at + 1);
		luaL_argcheck(L, lua_isnumber(L, -1) && lua_tonumber(L, -1) >= 0, i, "counts are whole numbers from 0 on");
		lua_pop(L, 1);
	}
	for (size_t at = 0; buckets != NULL && at < n; at++) {
		lua_rawgeti(L, i, (int)at + 1);
		__atomic_store_n(&buckets[at], ks_lua_checkbits(L, -1), __ATOMIC_RELAXED);
		lua_pop(L, 1);
	}
}

/*
 * histogram(segment, module, instance, name, class, flags, { type =, meta =, scale =, range_min =, range_max =,
 * stepping =, md_flags =, flags =, desc =, buckets = }) -> kstat | nil, ...; buckets: an array of counts, of a kstat of
 * this process alone
 */
static int
box_histogram(lua_State *L)
{
	static const char *const fields[] = { "type", "meta", "scale", "range_min", "range_max", "stepping",
		"md_flags", "flags", "desc", "buckets", NULL };
	struct ks_lua_segment *s = check_maker(L);
	size_t n = 0;
	char instance[24];
	const char *pseg[4] = { luaL_checkstring(L, 5), luaL_checkstring(L, 2), instance,
		luaL_checkstring(L, 4) };
	struct ks_lua_published *b;

	(void)snprintf(instance, sizeof(instance), "%d", (int)ks_lua_checkinteger(L, 3));
	/* The library reads a name of digits alone as the instance. */
	if (pseg[3][strspn(pseg[3], "0123456789")] == '\0')
		return luaL_argerror(L, 4, "the name of a histogram is not a number");
	spread(L, 7, fields);
	b = ks_lua_newpublished(L, s);
#define HISTOGRAM (kstat2_nv_hist_type_t)ks_lua_checkinteger(L, 7), (kstat2_nv_metatype_t)ks_lua_checkinteger(L, 8), \
	    ks_lua_checkbits(L, 9), (kstat2_nv_metaflag_t)ks_lua_checkinteger(L, 13)
#define RANGE ks_lua_checkbits(L, 10), ks_lua_checkbits(L, 11), ks_lua_checkbits(L, 12), \
	    (uint32_t)ks_lua_checkinteger(L, 6), luaL_optstring(L, 15, NULL), (kstat2_metaflag_t)ks_lua_checkinteger(L, 14)
	if (lua_istable(L, 16)) {
		n = ks_lua_rawlen(L, 16);
		luaL_argcheck(L, n > 0 && n <= KSTAT2_HIST_MAX_BUCKETS, 16, "buckets: 1 to 65535 counts expected");
		b->buckets = calloc(n, sizeof(*b->buckets));
		store_buckets(L, b->buckets, n, 16);
	}
	b->ksp = s->is_process ? kstat2_create_histogram(pseg, 4, 0, HISTOGRAM, b->buckets, (uint16_t)n, RANGE) :
	    kstat2_publish_histogram(s->pub, pseg, 4, HISTOGRAM, RANGE);
	b->nbuckets = (uint32_t)n;
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

/*
 * distribution(segment, module, instance, name, class, flags, { meta =, factor =, md_flags =, unit =, desc =, scale =,
 * lowest =, highest =, dense = }) -> kstat | nil, ...: see kstat_publish_latency(); factor: md_scale
 */
static int
box_distribution(lua_State *L)
{
	static const char *const fields[] = { "meta", "factor", "md_flags", "unit", "desc", "scale", "lowest",
		"highest", "dense", NULL };
	struct ks_lua_segment *s = ks_lua_checksegment(L, 1);
	const char *module = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 4);
	const char *class_ = luaL_checkstring(L, 5);
	struct ks_lua_published *b;
	kstat2_md_t md = { 0 };

	spread(L, 7, fields);
	md.md_type = (kstat2_nv_metatype_t)ks_lua_checkinteger(L, 7);
	md.md_scale = ks_lua_checkbits(L, 8);
	md.md_flags = (kstat2_nv_metaflag_t)ks_lua_checkinteger(L, 9);
	md.md_unit = luaL_optstring(L, 10, NULL);
	md.md_desc = luaL_optstring(L, 11, NULL);
	b = ks_lua_newpublished(L, s);
	b->ksp = kstat_publish_latency(s->pub, module, (int)ks_lua_checkinteger(L, 3), name, class_,
	    (uchar_t)ks_lua_checkinteger(L, 6), &md, (int)ks_lua_checkinteger(L, 12), ks_lua_checkbits(L, 13),
	    ks_lua_checkbits(L, 14));
	if (b->ksp != NULL && lua_toboolean(L, 15))
		ks_publish_dense(b->ksp);
	return b->ksp != NULL ? 1 : ks_lua_fail(L);
}

/* label(kstat, name, text) -> true | nil, ...: see kstat_publish_label() */
static int
box_label(lua_State *L)
{
	return ks_lua_result(L, kstat_publish_label(ks_lua_checkpublished(L, 1)->ksp, luaL_checkstring(L, 2),
	    luaL_checkstring(L, 3)));
}

/* Enters the value at index i; texts and arrays are entered by text(). */
static void
set_value(lua_State *L, kstat_named_t *kn, int i)
{
	size_t n;
	const char *text;
	uint64_t bits;

	switch (kn->data_type) {
	case KSTAT_DATA_CHAR:
		text = luaL_checklstring(L, i, &n);
		luaL_argcheck(L, n <= sizeof(kn->value.c), i, "at most 16 bytes");
		memcpy(kn->value.c, text, n);
		break;
	case KSTAT_DATA_STRING:
	case KSTAT_DATA_INTS:
	case KSTAT_DATA_STRS:
		break; /* see text() */
	case KSTAT_DATA_FLOAT:
		kn->value.f = (float)luaL_checknumber(L, i);
		break;
	case KSTAT_DATA_DOUBLE:
		kn->value.d = luaL_checknumber(L, i);
		break;
	default:
		bits = ks_lua_checkbits(L, i);
		kn->value.ui64 = bits;
		if (kn->data_type == KSTAT_DATA_INT32 || kn->data_type == KSTAT_DATA_UINT32)
			kn->value.ui32 = (uint32_t)bits;
	}
}

/* The index at 2, from 0, of a record of the kstat, which must have this type; problem: what is raised. */
static lua_Integer
check_index(lua_State *L, const kstat_t *ksp, int type, const char *problem)
{
	lua_Integer i = ks_lua_checkinteger(L, 2);

	luaL_argcheck(L, ksp->ks_data != NULL && ksp->ks_type == type && i >= 0 &&
	    i < (lua_Integer)ksp->ks_ndata, 2, problem);
	return i;
}

/* The name at index 3 of a value or a timer. */
static const char *
check_stat(lua_State *L)
{
	const char *name = luaL_checkstring(L, 3);

	luaL_argcheck(L, *name != '\0' && strlen(name) < KSTAT_STRLEN, 3, "1 to 30 bytes expected");
	return name;
}

/* named(kstat, index, name, data_type [, value]): index from 0 */
static int
box_named(lua_State *L)
{
	const kstat_t *ksp = ks_lua_checkpublished(L, 1)->ksp;
	kstat_named_t *kn = KSTAT_NAMED_PTR(ksp) + check_index(L, ksp, KSTAT_TYPE_NAMED, "no such value");

	kstat_named_init(kn, check_stat(L), (uchar_t)ks_lua_checkinteger(L, 4));
	if (!lua_isnoneornil(L, 5))
		set_value(L, kn, 5);
	return 0;
}

/* text(kstat, index, bytes): the first value of a text or array; the caller keeps it until install() */
static int
box_text(lua_State *L)
{
	const struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const kstat_t *ksp = b->ksp;
	kstat_named_t *kn = KSTAT_NAMED_PTR(ksp) + check_index(L, ksp, KSTAT_TYPE_NAMED, "no such value");
	size_t n;
	const char *text = luaL_checklstring(L, 3, &n);

	luaL_argcheck(L, !b->is_process, 3, "a kstat of this process alone would go on pointing to it");
	kn->value.string.addr.ptr = (char *)(uintptr_t)text;
	kn->value.string.len = (uint32_t)(n + (kn->data_type == KSTAT_DATA_STRING));
	return 0;
}

/* timer(kstat, index, name): index from 0 */
static int
box_timer(lua_State *L)
{
	const kstat_t *ksp = ks_lua_checkpublished(L, 1)->ksp;
	kstat_timer_t *kt = KSTAT_TIMER_PTR(ksp) + check_index(L, ksp, KSTAT_TYPE_TIMER, "no such timer");

	kstat_timer_init(kt, check_stat(L));
	return 0;
}

/* describe(kstat, stat, { meta =, kind =, scale =, flags =, unit =, desc = }) -> true | nil, ... */
static int
box_describe(lua_State *L)
{
	static const char *const fields[] = { "meta", "kind", "scale", "flags", "unit", "desc", NULL };
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	kstat2_md_t md = { 0 };

	spread(L, 3, fields);
	md.md_type = (kstat2_nv_metatype_t)ks_lua_checkinteger(L, 3);
	md.md_kind = (kstat2_nv_metakind_t)ks_lua_checkinteger(L, 4);
	md.md_scale = ks_lua_checkbits(L, 5);
	md.md_flags = (kstat2_nv_metaflag_t)ks_lua_checkinteger(L, 6);
	md.md_unit = luaL_optstring(L, 7, NULL);
	md.md_desc = luaL_optstring(L, 8, NULL);
	return ks_lua_result(L, kstat2_set_md(b->ksp, stat, &md));
}

/* put(kstat, index, value) -> true: of a kstat of this process alone; index from 0 */
static int
box_put(lua_State *L)
{
	const kstat_t *ksp = ks_lua_checkpublished(L, 1)->ksp;

	set_value(L, KSTAT_NAMED_PTR(ksp) + check_index(L, ksp, KSTAT_TYPE_NAMED, "no such value"), 3);
	return ks_lua_result(L, 0);
}

/* bytes(kstat, bytes) -> true | nil, ...: of a RAW kstat, all of them; until install(), too */
static int
box_bytes(lua_State *L)
{
	kstat_t *ksp = ks_lua_checkpublished(L, 1)->ksp;
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);

	if (ksp->ks_type != KSTAT_TYPE_RAW || n != ksp->ks_ndata)
		return ks_lua_failwith(L, EINVAL, "%s:%d:%s has %d bytes, not %d", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, (int)ksp->ks_ndata, (int)n);
	if (ksp->ks_data == NULL)
		return ks_lua_result(L, kstat_raw_store(ksp, bytes));
	memcpy(ksp->ks_data, bytes, n);
	return ks_lua_result(L, 0);
}

/* layout(kstat, text) -> true | nil, ...: see kstat_publish_layout() */
static int
box_layout(lua_State *L)
{
	return ks_lua_result(L, kstat_publish_layout(ks_lua_checkpublished(L, 1)->ksp, luaL_checkstring(L, 2), 0));
}

/* set_buckets(kstat, array) -> true: gives a histogram made with buckets other counts */
static int
box_set_buckets(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);

	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_argcheck(L, b->buckets != NULL && ks_lua_rawlen(L, 2) == b->nbuckets, 2, "as many counts as at first expected");
	store_buckets(L, b->buckets, b->nbuckets, 2);
	return ks_lua_result(L, 0);
}

/* shards(kstat, n, dense) -> true | nil, ...: see ks_publish_dense() */
static int
box_shards(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);

	if (lua_toboolean(L, 3))
		ks_publish_dense(b->ksp);
	return ks_lua_result(L, kstat_publish_shards(b->ksp, (uint_t)ks_lua_checkinteger(L, 2)));
}

static int
box_install(lua_State *L)
{
	return ks_lua_result(L, kstat_install(ks_lua_checkpublished(L, 1)->ksp));
}

static int
box_delete(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);

	kstat_delete(b->ksp);
	b->ksp = NULL;
	free(b->buckets);
	b->buckets = NULL;
	return 0;
}

/* store(kstat, stat, text | nil) -> true | nil, ... */
static int
box_store(lua_State *L)
{
	struct ks_lua_published *b = ks_lua_checkpublished(L, 1);
	const char *stat = luaL_checkstring(L, 2);
	size_t n = 0;
	const char *text = lua_isnoneornil(L, 3) ? NULL : luaL_checklstring(L, 3, &n);

	return ks_lua_result(L, kstat_named_store(b->ksp, stat, text, n));
}

/* exists(segment, module, instance, name), remove(the same) -> boolean | nil, message, errno */
static int
by_name(lua_State *L, int (*function)(kstat_pub_t *, const char *, int, const char *))
{
	int rc = function(ks_lua_checksegment(L, 1)->pub, luaL_checkstring(L, 2),
	    (int)ks_lua_checkinteger(L, 3), luaL_checkstring(L, 4));

	if (rc < 0)
		return ks_lua_fail(L);
	lua_pushboolean(L, rc);
	return 1;
}

static int
segment_exists(lua_State *L)
{
	return by_name(L, kstat_publish_exists);
}

static int
segment_remove(lua_State *L)
{
	return by_name(L, kstat_publish_remove);
}

/* crtime(kstat) -> pointer to the number of kstat_publish_crtime() | nil, message, errno */
static int
box_crtime(lua_State *L)
{
	const volatile hrtime_t *crtime = kstat_publish_crtime(ks_lua_checkpublished(L, 1)->ksp);

	if (crtime == NULL)
		return ks_lua_fail(L);
	lua_pushlightuserdata(L, (void *)(uintptr_t)crtime);
	return 1;
}

/* What the process keeps of a kstat goes with the box; readers go on seeing the kstat, but one of this process alone. */
static int
box_gc(lua_State *L)
{
	struct ks_lua_published *b = luaL_checkudata(L, 1, KS_LUA_PUBLISHED);

	if (b->is_process)
		kstat_delete(b->ksp);
	else if (b->ksp != NULL && b->segment->pub != NULL)
		ks_published_forget((struct ks_provider *)b->ksp);
	free(b->buckets);
	b->buckets = NULL;
	b->ksp = NULL;
	return 0;
}

/* --- cleaning ---------------------------------------------------------------------------------------------- */

static void
note_removed(const char *path, void *arg)
{
	lua_State *L = arg;

	lua_pushstring(L, path);
	lua_rawseti(L, -2, (int)ks_lua_rawlen(L, -2) + 1);
}

/* gc(persistent_too) -> {path, ...} | nil, message, errno */
static int
clean(lua_State *L)
{
	int flags = lua_toboolean(L, 1) ? KSTAT_GC_PERSISTENT : 0;

	lua_newtable(L);
	return kstat_publish_gc(flags, note_removed, L) < 0 ? ks_lua_fail(L) : 1;
}

static const luaL_Reg segment_meta[] = {
	{ "__close", segment_close },
	{ NULL, NULL }
};

static const luaL_Reg module_functions[] = {
	{ "open", segment_open },
	{ "path", segment_path },
	{ "condemn", segment_condemn },
	{ "close", segment_close },
	{ "create", box_create },
	{ "histogram", box_histogram },
	{ "distribution", box_distribution },
	{ "label", box_label },
	{ "named", box_named },
	{ "text", box_text },
	{ "timer", box_timer },
	{ "describe", box_describe },
	{ "shards", box_shards },
	{ "put", box_put },
	{ "bytes", box_bytes },
	{ "layout", box_layout },
	{ "set_buckets", box_set_buckets },
	{ "install", box_install },
	{ "delete", box_delete },
	{ "forget", box_gc },
	{ "store", box_store },
	{ "exists", segment_exists },
	{ "remove", segment_remove },
	{ "crtime", box_crtime },
	{ "gc", clean },
	{ NULL, NULL }
};

void
ks_lua_add_publish(lua_State *L)
{
	ks_lua_newtype(L, KS_LUA_SEGMENT, NULL, segment_meta, NULL);
	ks_lua_newtype(L, KS_LUA_PUBLISHED, box_gc, NULL, NULL);
	ks_lua_addto(L, "publish", module_functions);
}
