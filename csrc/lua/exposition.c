/*
 * exposition.c - kstats as metrics, step by step, as a Lua object; and rows that Lua made.
 * SPDX-License-Identifier: MIT
 */
#include "metrics/exposition.h"

#include <string.h>

#include "chain/chain.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "metrics/names.h"
#include "metrics/writer.h"

#define EXPOSITION "kstat.exposition"
#define NAMES "kstat.metric_names"
#define WRITER "kstat.metrics"

struct exposition {
	struct ks_exposition *x; /* owned; NULL: it ended */
	struct ks_lua_chain *chain; /* NULL: rows */
	bool is_kept, ended;
};

static const char *const formats[] = { "prometheus", "openmetrics", "protobuf", NULL };

/* --- tables of names ----------------------------------------------------------------------------------- */

struct names {
	size_t n;
	struct ks_metric_group *group; /* behind this structure, and then their labels and names */
};

static const char *const types[] = { "untyped", "gauge", "counter", "histogram", "summary", NULL };

/* The divisor at an index of the stack; none: 1. */
static uint64_t
check_divisor(lua_State *L, int i)
{
	uint64_t per = lua_isnoneornil(L, i) ? 1 : ks_lua_checkbits(L, i);

	luaL_argcheck(L, per > 0, i, "a divisor of 0");
	return per;
}

/*
 * Puts a copy of the groups that no script reaches in their place: selectors stay where they are as long as the names,
 * and a metatable cannot give other arrays later. The array part of a copy keeps the texts of its rows.
 */
static void
copy_groups(lua_State *L)
{
	static const char *const fields[] = { "labels", "names", "selector", "fields", "fields_at", "also", "once" };
	size_t n = ks_lua_rawlen(L, 1);

	ks_lua_copyarray(L, 1);
	for (size_t i = 1; i <= n; i++) {
		lua_rawgeti(L, 1, (int)i);
		luaL_checktype(L, -1, LUA_TTABLE);
		lua_newtable(L);
		for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
			lua_getfield(L, 2, fields[f]);
			ks_lua_copyarray(L, 4);
			lua_setfield(L, 3, fields[f]);
		}
		lua_rawseti(L, 1, (int)i);
		lua_settop(L, 1);
	}
}

/* Pushes group i of the table at index 1 and its fields `labels` and `names`, and stores how many they are. */
static void
push_group(lua_State *L, size_t i, struct ks_metric_group *g)
{
	lua_rawgeti(L, 1, (int)i + 1);
	luaL_checktype(L, -1, LUA_TTABLE);
	g->also = ks_lua_flag(L, -1, "also");
	g->once = ks_lua_flag(L, -1, "once");
	lua_getfield(L, -1, "labels");
	lua_getfield(L, -2, "names");
	luaL_checktype(L, -1, LUA_TTABLE);
	luaL_checktype(L, -2, LUA_TTABLE);
	g->nlabels = ks_lua_rawlen(L, -2);
	g->n = ks_lua_rawlen(L, -1);
}

/* Where the group, its two arrays and a row of either are while the row is read. */
enum { GROUP = 3, LABELS, NAMES_OF_GROUP, ROW };

static void
push_row(lua_State *L, int array, size_t i)
{
	lua_settop(L, ROW - 1);
	lua_rawgeti(L, array, (int)i + 1);
	luaL_checktype(L, ROW, LUA_TTABLE);
}

/* Pushes a field of the row; false, and nothing, if that is false or nil. No metatable is asked. */
static bool
push_of_row(lua_State *L, const char *field)
{
	lua_pushstring(L, field);
	lua_rawget(L, ROW);
	if (lua_toboolean(L, -1))
		return true;
	lua_pop(L, 1);
	return false;
}

/* Returns a text of the row, which the group keeps, or `otherwise`. */
static const char *
text_of_row(lua_State *L, const char *field, const char *otherwise)
{
	if (push_of_row(L, field)) {
		luaL_checktype(L, -1, LUA_TSTRING);
		otherwise = lua_tostring(L, -1);
		lua_rawseti(L, GROUP, (int)ks_lua_rawlen(L, GROUP) + 1);
	}
	return otherwise;
}

/* The same of a text that each row has. */
static const char *
needed_text(lua_State *L, const char *field)
{
	const char *text = text_of_row(L, field, NULL);

	if (text == NULL)
		luaL_error(L, "a row of a table of names has no '%s'", field);
	return text;
}

/* Returns a pattern of the row, which the group keeps, or NULL. */
static const struct ks_pattern *
pattern_of_row(lua_State *L, const char *field)
{
	const struct ks_pattern *p = NULL;

	if (push_of_row(L, field)) {
		p = luaL_checkudata(L, -1, KS_LUA_PATTERN);
		lua_rawseti(L, GROUP, (int)ks_lua_rawlen(L, GROUP) + 1);
	}
	return p;
}

static void
fill_label(lua_State *L, size_t i, struct ks_metric_label *label)
{
	push_row(L, LABELS, i);
	*label = (struct ks_metric_label){ .name = needed_text(L, "name"), .from = needed_text(L, "from"),
		.part = text_of_row(L, "part", NULL), .keep = pattern_of_row(L, "keep"), .drop = pattern_of_row(L, "drop") };
}

static void
fill_name(lua_State *L, size_t i, struct ks_metric_name *name)
{
	static const char *const kinds[] = { "stat", "rounded", "one_more", "if", "not", "is", "always",
		"matching", "texts", NULL };

	push_row(L, NAMES_OF_GROUP, i);
	*name = (struct ks_metric_name){ .family = needed_text(L, "family"), .stat = needed_text(L, "stat"),
		.other = text_of_row(L, "other", ""), .labels = text_of_row(L, "labels", ""), .times = 1, .per = 1 };
	if (push_of_row(L, "times"))
		name->times = ks_lua_checkbits(L, -1);
	if (push_of_row(L, "per"))
		name->per = check_divisor(L, -1);
	if (push_of_row(L, "kind"))
		name->kind = (enum ks_metric_name_kind)luaL_checkoption(L, -1, NULL, kinds);
	name->type = (enum ks_metric_type)luaL_checkoption(L, push_of_row(L, "type") ? -1 : ROW, NULL, types);
}

/*
 * metric_names(groups) -> names for exposition(). A group has a selector, the arrays `labels` and `names`, and, if it
 * needs them, also, once, the pattern `fields` and fields_at. A label is { name =, from =, part =, keep =, drop = }, a
 * name { family =, stat =, type =, per =, times =, labels =, kind =, other = }. See metrics/names.h.
 */
static int
metric_names(lua_State *L)
{
	struct ks_metric_group one;
	struct ks_metric_label *label;
	struct ks_metric_name *name;
	struct names *names;
	size_t n, nlabels = 0, nnames = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	copy_groups(L);
	n = ks_lua_rawlen(L, 1);
	for (size_t i = 0; i < n; i++) {
		lua_settop(L, 1);
		push_group(L, i, &one);
		nlabels += one.nlabels;
		nnames += one.n;
	}
	lua_settop(L, 1);
	names = ks_lua_newuserdata(L, sizeof(*names) + n * sizeof(one) + nnames * sizeof(*name) +
	    nlabels * sizeof(*label));
	names->n = n;
	names->group = (struct ks_metric_group *)(names + 1);
	name = (struct ks_metric_name *)(names->group + n);
	label = (struct ks_metric_label *)(name + nnames);
	nnames = 0;
	for (size_t i = 0; i < n; i++, nnames += one.n) {
		push_group(L, i, &one);
		one.first = (uint32_t)nnames;
		one.label = label;
		one.name = name;
		for (size_t k = 0; k < one.nlabels; k++)
			fill_label(L, k, label++);
		for (size_t k = 0; k < one.n; k++)
			fill_name(L, k, name++);
		lua_getfield(L, GROUP, "selector");
		one.selector = &((struct ks_lua_selector *)luaL_checkudata(L, -1, KS_LUA_SELECTOR))->s;
		lua_getfield(L, GROUP, "fields");
		one.fields = lua_isnil(L, -1) ? NULL : luaL_checkudata(L, -1, KS_LUA_PATTERN);
		lua_getfield(L, GROUP, "fields_at");
		one.fields_at = (size_t)lua_tointeger(L, -1);
		names->group[i] = one;
		lua_settop(L, 2);
	}
	ks_lua_setmetatable(L, NAMES);
	ks_lua_setstate(L, 1, 0);
	return 1;
}

/* --- kstats -------------------------------------------------------------------------------------------- */

/*
 * exposition(chain, selectors or names, format[, kept]) -> exposition | nil, message, errno. One that is kept may begin
 * again after its end. Its uservalue keeps the chain, the selectors or names, and the array of selectors that C has.
 */
static int
exposition_open(lua_State *L)
{
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	const struct names *names = ks_lua_testudata(L, 2, NAMES);
	enum ks_metric_format format = (enum ks_metric_format)luaL_checkoption(L, 3, NULL, formats);
	bool is_kept = lua_toboolean(L, 4);
	const struct ks_selector *const *selectors = NULL;
	struct exposition *e;
	size_t n = 0;

	lua_settop(L, 3);
	ks_lua_copyarray(L, 2);
	if (names == NULL)
		selectors = ks_lua_checkselectors(L, 2, &n);
	else
		lua_pushnil(L);
	e = ks_lua_newuserdata(L, sizeof(*e));
	e->chain = c;
	e->is_kept = is_kept;
	ks_lua_setmetatable(L, EXPOSITION);
	lua_createtable(L, 3, 0);
	for (int i = 1; i <= 3; i++) {
		lua_pushvalue(L, i == 3 ? 4 : i);
		lua_rawseti(L, -2, i);
	}
	ks_lua_setuservalue(L, -2);
	e->x = names != NULL ? ks_exposition_open_named(c->kc, names->group, names->n, format) :
	    ks_exposition_open(c->kc, n > 0 ? selectors : all, n > 0 ? n : 1, format);
	return e->x != NULL ? 1 : ks_lua_fail(L);
}

/*
 * rows(path, module, names, counted, format) -> exposition | nil, message, errno: of the rows in a file, see
 * metrics/rows.h. Its uservalue keeps the module and the names.
 */
static int
exposition_rows(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *module = luaL_checkstring(L, 2);
	const struct names *names = luaL_checkudata(L, 3, NAMES);
	lua_Integer counted = ks_lua_checkinteger(L, 4);
	enum ks_metric_format format = (enum ks_metric_format)luaL_checkoption(L, 5, NULL, formats);
	struct exposition *e;

	luaL_argcheck(L, counted >= 0, 4, "a number of groups expected");
	lua_settop(L, 5);
	e = ks_lua_newuserdata(L, sizeof(*e));
	ks_lua_setmetatable(L, EXPOSITION);
	lua_createtable(L, 2, 0);
	for (int i = 1; i <= 2; i++) {
		lua_pushvalue(L, i + 1);
		lua_rawseti(L, -2, i);
	}
	ks_lua_setuservalue(L, -2);
	e->x = ks_exposition_open_rows(path, module, names->group, names->n, (size_t)counted, format);
	return e->x != NULL ? 1 : ks_lua_fail(L);
}

static int
exposition_gc(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	ks_exposition_free(e->x);
	e->x = NULL;
	return 0;
}

/* step(exposition[, all]) -> text (which may be empty), or all that is left | nothing at the end | nil, message, errno */
static int
exposition_step(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);
	bool all = lua_toboolean(L, 2);
	struct ks_buf *b;
	int rc;

	if (e->ended)
		return 0;
	if (e->x == NULL || (e->chain != NULL && e->chain->kc == NULL))
		luaL_error(L, "the %s is closed", e->x == NULL ? "exposition" : "kstat chain");
	b = ks_lua_scratch(L);
	do
		rc = ks_exposition_step(e->x, b);
	while (rc > 0 && all);
	if (rc < 0)
		return ks_lua_fail(L);
	e->ended = rc == 0;
	if (e->ended && !e->is_kept && e->chain != NULL) {
		ks_exposition_free(e->x);
		e->x = NULL;
	}
	return ks_lua_pushscratch(L, b);
}

/* again(exposition) -> exposition | nil, message, errno: begins again one that is kept */
static int
exposition_again(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	luaL_argcheck(L, e->chain != NULL, 1, "an exposition of a chain expected");
	if (e->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	luaL_argcheck(L, e->x != NULL, 1, "an exposition that is kept expected");
	e->ended = false;
	lua_settop(L, 1);
	return ks_exposition_again(e->x) == 0 ? 1 : ks_lua_fail(L);
}

/* bound(exposition, most): at most so many samples of what processes publish from now on */
static int
exposition_bound(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);
	lua_Integer most = ks_lua_checkinteger(L, 2);

	luaL_argcheck(L, most > 0, 2, "above 0 expected");
	if (e->x != NULL)
		ks_exposition_bound(e->x, (size_t)most);
	return 0;
}

/* left_out(exposition) -> how many kstats the bound had no room for */
static int
exposition_left_out(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	lua_pushinteger(L, e->x != NULL ? (lua_Integer)ks_exposition_left_out(e->x) : 0);
	return 1;
}

/* costs(exposition) -> an array with the time (ns) and the samples of each group of its names in turn */
static int
exposition_costs(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);
	const struct ks_group_cost *cost = e->x != NULL ? ks_exposition_costs(e->x) : NULL;
	const struct names *names;

	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, -1, 2);
	names = ks_lua_testudata(L, -1, NAMES);
	lua_newtable(L);
	for (size_t i = 0; names != NULL && cost != NULL && i < names->n; i++) {
		lua_pushinteger(L, (lua_Integer)cost[i].ns);
		lua_rawseti(L, -2, 2 * (int)i + 1);
		lua_pushinteger(L, (lua_Integer)cost[i].samples);
		lua_rawseti(L, -2, 2 * (int)i + 2);
	}
	return 1;
}

/* left_out(chain) -> about how many published statistics are not in it, because their users publish too many */
static int
chain_left_out(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_chain_left_out(ks_lua_checkchain(L, 1)->kc));
	return 1;
}

/* rows(exposition) -> how many rows with labels there are, complete as the samples */
static int
exposition_count_rows(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	lua_pushinteger(L, e->x != NULL ? (lua_Integer)ks_exposition_rows(e->x) : 0);
	return 1;
}

static int
exposition_samples(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);

	lua_pushinteger(L, e->x != NULL ? (lua_Integer)ks_exposition_samples(e->x) : 0);
	return 1;
}

/* exposition_format(accept) -> format, media type: what the header Accept of a request wants; nil: there is none */
static int
exposition_format(lua_State *L)
{
	enum ks_metric_format format = ks_metric_negotiate(luaL_optstring(L, 1, NULL));

	lua_pushstring(L, formats[format]);
	lua_pushstring(L, ks_metric_media_type(format));
	return 2;
}

/* --- rows of Lua --------------------------------------------------------------------------------------- */

struct writer {
	struct ks_metric_writer w;
	struct ks_buf text, family; /* what was added; the name of the family, a NUL, and its head */
};

/*
 * metrics(format) -> writer of the families and samples that its methods add. All return the bytes of text that it
 * has then, so that a caller may send it in pieces.
 */
static int
metrics_new(lua_State *L)
{
	enum ks_metric_format format = (enum ks_metric_format)luaL_checkoption(L, 1, NULL, formats);
	struct writer *u = ks_lua_newuserdata(L, sizeof(*u));

	u->w.format = format;
	ks_lua_setmetatable(L, WRITER);
	return 1;
}

static int
metrics_gc(lua_State *L)
{
	struct writer *u = luaL_checkudata(L, 1, WRITER);

	ks_metric_writer_free(&u->w);
	ks_buf_free(&u->text);
	ks_buf_free(&u->family);
	return 0;
}

/* Every method has the writers' metatable as its upvalue, by which it knows them faster than by name. */
static struct writer *
check_writer(lua_State *L)
{
	struct writer *u = lua_touserdata(L, 1);

	if (u == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1)))
		luaL_argerror(L, 1, "a writer of metrics expected");
	lua_pop(L, 1);
	u->w.out = &u->text;
	return u;
}

static int
push_length(lua_State *L, const struct writer *u)
{
	lua_pushinteger(L, (lua_Integer)(u->text.len + u->w.message.len));
	return 1;
}

/* family(writer, name, type[, help[, unit]]): begins a family, see ks_metric_add_head() */
static int
metrics_family(lua_State *L)
{
	struct writer *u = check_writer(L);
	size_t n;
	const char *name = luaL_checklstring(L, 2, &n);
	enum ks_metric_type type = (enum ks_metric_type)luaL_checkoption(L, 3, NULL, types);

	ks_buf_reset(&u->family);
	ks_buf_add(&u->family, name, n + 1);
	ks_metric_add_head(&u->family, u->w.format, name, type, luaL_optstring(L, 5, ""), luaL_optstring(L, 4, ""));
	if (u->family.failed)
		return luaL_error(L, "out of memory for metrics");
	ks_metric_family(&u->w, u->family.data, n, type, u->family.data + n + 1, u->family.len - n - 1);
	return push_length(L, u);
}

/* add(writer, labels, value[, labels of this sample[, divisor[, time]]]): adds a sample, see ks_metric_line() */
static int
metrics_add(lua_State *L)
{
	struct writer *u = check_writer(L);
	size_t n;
	const char *labels = luaL_checklstring(L, 2, &n);
	double time = luaL_optnumber(L, 6, 0);
	uint64_t per = check_divisor(L, 5);
	struct ks_metric_value m;
	struct ks_value v;

	luaL_argcheck(L, u->family.len > 0, 1, "no family was begun");
	luaL_checktype(L, 3, LUA_TNUMBER);
	(void)ks_lua_toexact(L, 3, &v);
	ks_metric_scale(&v, 1, per, &m);
	ks_metric_line(&u->w, KS_PART_VALUE, labels, n, luaL_optstring(L, 4, ""), &m,
	    lua_isnoneornil(L, 6) ? NULL : &time);
	return push_length(L, u);
}

/* text(writer[, last]) -> what was added since the last call. last: the whole ends here. */
static int
metrics_text(lua_State *L)
{
	struct writer *u = check_writer(L);

	ks_metric_flush(&u->w);
	if (lua_toboolean(L, 2))
		ks_metric_end(&u->w);
	if (u->text.failed)
		return luaL_error(L, "out of memory for metrics");
	lua_pushlstring(L, u->text.data != NULL ? u->text.data : "", u->text.len);
	ks_buf_reset(&u->text);
	return 1;
}

/* metric_labels(name, value, ...) -> the text of these labels */
static int
metric_labels(lua_State *L)
{
	struct ks_buf *b = ks_lua_scratch(L);

	for (int i = 1, n = lua_gettop(L); i < n; i += 2) {
		size_t len;
		const char *value = luaL_checklstring(L, i + 1, &len);

		ks_metric_add_label(b, 0, luaL_checkstring(L, i), value, len);
	}
	return ks_lua_pushscratch(L, b);
}

static const luaL_Reg methods[] = {
	{ "step", exposition_step },
	{ "again", exposition_again },
	{ "samples", exposition_samples },
	{ "rows", exposition_count_rows },
	{ "close", exposition_gc },
	{ "bound", exposition_bound },
	{ "left_out", exposition_left_out },
	{ "costs", exposition_costs },
	{ NULL, NULL },
};

static const luaL_Reg writer_methods[] = {
	{ "family", metrics_family },
	{ "add", metrics_add },
	{ "text", metrics_text },
	{ NULL, NULL },
};

void
ks_lua_add_exposition(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "exposition", exposition_open },
		{ "left_out", chain_left_out },
		{ "exposition_format", exposition_format },
		{ "metric_labels", metric_labels },
		{ "metric_names", metric_names },
		{ "metrics", metrics_new },
		{ "rows", exposition_rows },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, EXPOSITION, exposition_gc, NULL, methods);
	ks_lua_newtype(L, NAMES, NULL, NULL, NULL);
	ks_lua_newtype(L, WRITER, metrics_gc, NULL, NULL);
	luaL_getmetatable(L, WRITER);
	lua_newtable(L);
	lua_pushvalue(L, -2);
	ks_lua_setclosures(L, lua_gettop(L) - 1, writer_methods, 1);
	lua_pop(L, 1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	ks_lua_setfuncs(L, functions);
}
