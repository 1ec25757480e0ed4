/* chain.c - an open chain as a Lua object. SPDX-License-Identifier: MIT */
#include "chain/chain.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/when.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"
#include "source/replay/files.h"
#include "source/replay/replay.h"
#include "source/sources.h"

#define CHAINS "kstat.chains" /* in the registry: how many chains were opened */

/* --- opening and closing ------------------------------------------------------------ */

/* A field of the table at index 1 as text that stays valid while it is on the stack; NULL: it is not there. */
static const char *
text_field(lua_State *L, const char *name)
{
	lua_getfield(L, 1, name);
	if (!lua_isnil(L, -1) && !lua_isstring(L, -1))
		luaL_error(L, "field '%s': string expected, got %s", name, luaL_typename(L, -1));
	return lua_tostring(L, -1);
}

static double
number_field(lua_State *L, const char *name)
{
	double number;

	lua_getfield(L, 1, name);
	number = lua_tonumber(L, -1);
	lua_pop(L, 1);
	return number;
}

/* user_name(uid) -> text | nil. */
static int
user_name(lua_State *L)
{
	lua_Number uid = luaL_checknumber(L, 1);
	const struct passwd *user = uid >= 0 && uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;

	lua_pushstring(L, user != NULL ? user->pw_name : NULL);
	return 1;
}

/* Stores the number of a user, which text at the top of the stack names or is; false: there is no such user. */
static bool
user_number(lua_State *L, uint32_t *uid)
{
	const char *name = luaL_checkstring(L, -1), *digits = name;
	const struct passwd *user = getpwnam(name);
	uint64_t number;

	if (user == NULL && (ks_scan_u64(&digits, name + strlen(name), &number) != 0 || *digits != '\0' ||
	    number >= UINT32_MAX))
		return false;
	*uid = user != NULL ? user->pw_uid : (uint32_t)number;
	return true;
}

/* user_number(text) -> number of the user whom the text names or whose number it is | nil. */
static int
find_user(lua_State *L)
{
	uint32_t uid;

	lua_settop(L, 1);
	if (!user_number(L, &uid))
		return 0;
	ks_lua_pushu64(L, uid);
	return 1;
}

/*
 * The numbers of the users in the field `trust`, in memory that is pushed; without the field NULL, and a nil is pushed.
 * If there is no user of a name, it is left at the top, and *n is SIZE_MAX.
 */
static const uint32_t *
trusted_users(lua_State *L, size_t *n)
{
	uint32_t *uids;
	size_t count;

	*n = 0;
	lua_getfield(L, 1, "trust");
	if (lua_isnil(L, -1))
		return NULL;
	luaL_checktype(L, -1, LUA_TTABLE);
	count = ks_lua_rawlen(L, -1);
	uids = ks_lua_newuserdata(L, (count + 1) * sizeof(*uids));
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -2, (int)i + 1);
		if (!user_number(L, &uids[i])) {
			*n = SIZE_MAX;
			return uids;
		}
		lua_pop(L, 1);
	}
	*n = count;
	return uids;
}

/* Opens the chain that the table at index 1 describes. */
static kstat_ctl_t *
open_described(lua_State *L, const struct ks_only *only)
{
	struct ks_past past = { .paths = text_field(L, "capture"), .from = text_field(L, "from"),
		.to = text_field(L, "to"), .at = text_field(L, "at"), .host = text_field(L, "host") };
	const char *proc = text_field(L, "proc"), *sys = text_field(L, "sys");

	past.interval = (int64_t)(number_field(L, "interval") * (double)KS_NANOSEC);
	if (past.paths != NULL || past.from != NULL || past.to != NULL || past.at != NULL || past.host != NULL)
		return ks_chain_open_replay(&past, only);
	if (proc != NULL || sys != NULL)
		return ks_chain_open_source(ks_source_linux_open(proc, sys), only);
	return ks_chain_open(only);
}

/*
 * open(t) -> chain | nil, message, errno. Fields of t, all optional: capture, a path a line, with from and to, or at and
 * interval (seconds), and host (struct ks_past); proc and
 * sys, directories in place of the machine's; published, true for only what processes publish and false
 * for all but that; only, an array of selectors that bounds the chain; also, one of selectors that add kstats which
 * are only listed for those who ask for them; args, true for KS_ARGS_ALL and false for KS_ARGS_NONE; everybody, machine
 * and trust, an array of users' names or numbers: see struct ks_only. The chain's state keeps the selectors and the
 * users.
 */
static int
chain_open(lua_State *L)
{
	struct ks_lua_chain *c;
	struct ks_only only = { .n = 0 };

	lua_settop(L, 1);
	if (lua_isnil(L, 1)) {
		lua_newtable(L);
		lua_replace(L, 1);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_getfield(L, 1, "only");
	ks_lua_copyarray(L, 2);
	lua_newtable(L);
	c = ks_lua_newuserdata(L, sizeof(*c));
	ks_lua_setmetatable(L, KS_LUA_CHAIN);
	lua_getfield(L, LUA_REGISTRYINDEX, CHAINS);
	c->number = (uint32_t)lua_tointeger(L, -1);
	lua_pushinteger(L, (lua_Integer)c->number + 1);
	lua_setfield(L, LUA_REGISTRYINDEX, CHAINS);
	lua_pop(L, 1);
	ks_lua_setstate(L, 3, 2);
	ks_lua_getuservalue(L, -1);
	only.selector = ks_lua_checkselectors(L, 2, &only.n);
	lua_rawseti(L, -2, 3);
	lua_getfield(L, 1, "also");
	ks_lua_copyarray(L, lua_gettop(L));
	only.also = ks_lua_checkselectors(L, lua_gettop(L), &only.nalso);
	lua_rawseti(L, 5, 4);
	lua_rawseti(L, 5, 5); /* the selectors themselves */
	lua_getfield(L, 1, "published");
	only.published = lua_toboolean(L, -1);
	only.plain = only.published || ks_lua_flag(L, 1, "everybody");
	lua_getfield(L, 1, "args");
	only.args = lua_isnil(L, -1) ? KS_ARGS_NAMED : lua_toboolean(L, -1) ? KS_ARGS_ALL : KS_ARGS_NONE;
	lua_pop(L, 1);
	only.machine = ks_lua_flag(L, 1, "machine") || (lua_isboolean(L, -1) && !only.published);
	only.trusted = trusted_users(L, &only.ntrusted);
	if (only.ntrusted == SIZE_MAX)
		return ks_lua_failwith(L, EINVAL, "trust: there is no user '%.60s'", lua_tostring(L, -1));
	lua_rawseti(L, 5, 6);
	c->kc = open_described(L, &only);
	if (c->kc == NULL && (errno == EMFILE || errno == ENFILE)) {
		(void)lua_gc(L, LUA_GCCOLLECT, 0); /* chains that nobody closed have descriptors */
		c->kc = open_described(L, &only);
	}
	if (c->kc == NULL)
		return ks_lua_fail(L);
	lua_settop(L, 4);
	return 1;
}

static int
chain_close(lua_State *L)
{
	struct ks_lua_chain *c = luaL_checkudata(L, 1, KS_LUA_CHAIN);

	if (c->kc != NULL)
		(void)kstat_close(c->kc);
	c->kc = NULL;
	ks_values_free(&c->values);
	return 0;
}

static int
chain_tostring(lua_State *L)
{
	struct ks_lua_chain *c = luaL_checkudata(L, 1, KS_LUA_CHAIN);

	if (c->kc == NULL)
		lua_pushliteral(L, "kstat chain (closed)");
	else
		lua_pushfstring(L, "kstat chain (%d kstats)", (int)ks_chain_length(c->kc));
	return 1;
}

static int
chain_len(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_chain_length(ks_lua_checkchain(L, 1)->kc));
	return 1;
}

/* --- updating ------------------------------------------------------------------------ */

static void
push_changes(lua_State *L, const struct ks_change *change, size_t n, bool added)
{
	int found = 0;

	lua_newtable(L);
	for (size_t i = 0; i < n; i++) {
		if (change[i].added != added)
			continue;
		lua_createtable(L, 0, 3);
		ks_lua_setstring(L, "module", change[i].module);
		ks_lua_setinteger(L, "instance", change[i].instance);
		ks_lua_setstring(L, "name", change[i].name);
		lua_rawseti(L, -2, ++found);
	}
}

/* Reads everything again that was read; state[1] is the table at index t. */
static void
read_again(lua_State *L, struct ks_lua_chain *c, int t)
{
	lua_pushnil(L);
	while (lua_next(L, t) != 0) {
		kid_t kid = (kid_t)lua_tointeger(L, -2);
		kstat_t *ksp = ks_chain_find(c->kc, kid);

		lua_pop(L, 1);
		lua_pushvalue(L, -1);
		if (ksp == NULL)
			lua_pushnil(L);
		else
			lua_pushboolean(L, kstat_read(c->kc, ksp, NULL) >= 0);
		lua_rawset(L, t);
	}
}

/* What an update that returned `id` changed: id, added, deleted | nil, message, errno. The chain is at index 1. */
static int
push_update(lua_State *L, struct ks_lua_chain *c, kid_t id, bool lazily)
{
	const struct ks_change *change;
	size_t n;

	lua_settop(L, 1);
	c->updates++;
	if (id < 0)
		return ks_lua_fail(L);
	ks_lua_getuservalue(L, 1);
	if (lazily) {
		lua_newtable(L);
		lua_rawseti(L, 2, 1);
	} else {
		lua_rawgeti(L, 2, 1);
		read_again(L, c, 3);
	}
	lua_pushinteger(L, id);
	change = ks_chain_changes(c->kc, &n);
	push_changes(L, change, n, true);
	push_changes(L, change, n, false);
	return 3;
}

/* Goes to the last sample of the one interval that a replay is, if it is not there. */
static kid_t
update_interval(kstat_ctl_t *kc)
{
	int64_t was = ks_chain_time_of_day(kc, NULL);
	unsigned back = 0;
	kid_t id = ks_chain_seek(kc, INT64_MAX, &back);

	return id < 0 || ks_chain_time_of_day(kc, NULL) != was ? id : ks_chain_step(kc);
}

/*
 * update(chain, lazily) -> the new ID of the chain or 0: nothing came or went, added, deleted | nil, message, errno. In a
 * replay: the next sample; of one interval its last one, unless lazily. lazily: what was read is not read again before somebody asks for it.
 */
static int
chain_update(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	bool lazily = lua_toboolean(L, 2);

	return push_update(L, c, lazily || !ks_chain_is_interval(c->kc) ? ks_chain_step(c->kc) : update_interval(c->kc), lazily);
}

/*
 * want(chain, selector) -> added, deleted: what came and went because the chain is to have from now on what the selector
 * asks for, such as processes; nothing: it stays as it is
 */
static int
chain_want(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	const struct ks_selector *const *also;
	const struct ks_change *change;
	int changed;
	size_t n;

	(void)luaL_checkudata(L, 2, KS_LUA_SELECTOR);
	lua_settop(L, 2);
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, 3, 5);
	ks_lua_copyarray(L, 4);
	if (lua_isnil(L, 4)) {
		lua_newtable(L);
		lua_replace(L, 4);
	}
	lua_pushvalue(L, 2);
	lua_rawseti(L, 4, (int)ks_lua_rawlen(L, 4) + 1);
	also = ks_lua_checkselectors(L, 4, &n);
	changed = ks_chain_want(c->kc, also, n);
	if (changed < 0)
		return 0;
	lua_rawseti(L, 3, 4);
	lua_rawseti(L, 3, 5);
	if (changed == 0)
		return 0;
	c->updates++;
	change = ks_chain_changes(c->kc, &n);
	push_changes(L, change, n, true);
	push_changes(L, change, n, false);
	return 2;
}

#define ROUNDING 1000 /* ns; a time of day in seconds is that exact in a Lua number, so that its sample is found */

/* The argument at an index, how many samples a move goes back; `least` if there is none. */
static unsigned
check_back(lua_State *L, int i, lua_Integer least)
{
	lua_Integer n = luaL_optinteger(L, i, least);

	luaL_argcheck(L, n >= least && n <= INT_MAX, i, "a number of samples expected");
	return (unsigned)n;
}

/* What a move changed that went back, as update(), and behind it how many samples that were. */
static int
push_move(lua_State *L, struct ks_lua_chain *c, kid_t id, bool lazily, unsigned back)
{
	int n = push_update(L, c, id, lazily);

	if (id >= 0)
		lua_pushinteger(L, (lua_Integer)back);
	return n + (id >= 0);
}

/* seek(chain, seconds, lazily, back) -> as update(), and how many samples further back it went */
static int
chain_seek(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	double ns = luaL_checknumber(L, 2) * (double)KS_NANOSEC;
	/* What 64 bits cannot hold is before or after all samples. */
	int64_t time = ns >= 0x1p62 ? INT64_MAX : ns > -0x1p62 ? (int64_t)ns + ROUNDING : INT64_MIN;

	unsigned back = check_back(L, 4, 0);
	bool lazily = lua_toboolean(L, 3);
	kid_t id;

	luaL_argcheck(L, !isnan(ns), 2, "a time expected, got nan");
	id = ks_chain_seek(c->kc, time, &back);
	return push_move(L, c, id, lazily, back);
}

/*
 * when(text, reference) -> the time that a text means which ends something, in seconds since 1970, and a remark about it
 * or nil | nil, message, errno. See base/when.h; reference: what incomplete ones count from.
 */
static int
read_when(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	char remark[KS_WHEN_REMARK_SIZE];
	int64_t ns;
	int flags = ks_when_need(text, (int64_t)(luaL_checknumber(L, 2) * (double)KS_NANOSEC), &ns);

	if (flags < 0)
		return ks_lua_fail(L);
	/* A number of Lua cannot hold the last nanosecond of a second. */
	lua_pushnumber(L, (double)ns / (double)KS_NANOSEC + (ks_when_end(text, ns) > ns ? 0.99999 : 0));
	if (flags & (KS_WHEN_TWICE | KS_WHEN_NEVER))
		lua_pushstring(L, ks_when_remark(remark, text, ns, flags));
	else
		lua_pushnil(L);
	return 2;
}

/* previous(chain, lazily, back) -> as update(), and how many samples back it went */
static int
chain_previous(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);

	unsigned back = check_back(L, 3, 1);
	bool lazily = lua_toboolean(L, 2);
	kid_t id = ks_chain_previous(c->kc, &back);

	return push_move(L, c, id, lazily, back);
}

/* --- what else there is ---------------------------------------------------------------- */

static int
chain_chain_id(lua_State *L)
{
	lua_pushinteger(L, ks_lua_checkchain(L, 1)->kc->kc_chain_id);
	return 1;
}

static int
chain_warnings(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	const char *line;
	int n = 0;

	lua_newtable(L);
	while ((line = ks_chain_warning(c->kc)) != NULL) {
		lua_pushstring(L, line);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* warn_again(chain): what still cannot be read is among the warnings again */
static int
chain_warn_again(lua_State *L)
{
	ks_chain_warn_again(ks_lua_checkchain(L, 1)->kc);
	return 0;
}

/* A method that returns whether something is true of the chain. */
#define CHAIN_PREDICATE(name) \
	static int \
	chain_##name(lua_State *L) \
	{ \
		lua_pushboolean(L, ks_chain_##name(ks_lua_checkchain(L, 1)->kc)); \
		return 1; \
	}

CHAIN_PREDICATE(is_replay)
CHAIN_PREDICATE(is_interval)
CHAIN_PREDICATE(ended)
CHAIN_PREDICATE(damaged)

static int
chain_is_cut(lua_State *L)
{
	bool is_restarted;

	lua_pushboolean(L, ks_chain_is_cut(ks_lua_checkchain(L, 1)->kc, &is_restarted));
	lua_pushboolean(L, is_restarted);
	return 2;
}

/* bounds(chain) -> whether a time was asked for, whether this is a capture, when that time begins, seconds, or nil */
static int
chain_bounds(lua_State *L)
{
	int64_t from;
	bool is_capture;

	lua_pushboolean(L, ks_chain_is_bounded(ks_lua_checkchain(L, 1)->kc, &from, &is_capture));
	lua_pushboolean(L, is_capture);
	if (from == INT64_MIN)
		lua_pushnil(L);
	else
		ks_lua_pushseconds(L, from);
	return 3;
}

static int
chain_time_of_day(lua_State *L)
{
	ks_lua_pushseconds(L, ks_chain_time_of_day(ks_lua_checkchain(L, 1)->kc, NULL));
	return 1;
}

static int
chain_time_of_day_ns(lua_State *L)
{
	ks_lua_pushi64(L, ks_chain_time_of_day(ks_lua_checkchain(L, 1)->kc, NULL));
	return 1;
}

static bool
add_time(void *L, int64_t time)
{
	ks_lua_pushi64(L, time);
	lua_rawseti(L, 2, (int)ks_lua_rawlen(L, 2) + 1);
	return true;
}

/* times(path) -> the times of day of the samples of a file, ns, in their order, up to what cannot be read */
static int
file_times(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	const int64_t start = 0;

	lua_settop(L, 1);
	lua_newtable(L);
	(void)ks_file_times(path, INT64_MIN, &start, NULL, add_time, L);
	return 1;
}

/* clock(chain) -> whole seconds since 1970, as clocks show them */
static int
chain_clock(lua_State *L)
{
	int64_t seconds;

	(void)ks_chain_time_of_day(ks_lua_checkchain(L, 1)->kc, &seconds);
	ks_lua_pushi64(L, seconds);
	return 1;
}

/* --- any object -------------------------------------------------------------------------- */

/*
 * notes(object) -> the Lua half's own table of a chain, a sample or a difference. It is beside what keeps C's objects
 * alive, which no script may change.
 */
static int
object_notes(lua_State *L)
{
	luaL_argcheck(L, ks_lua_testudata(L, 1, KS_LUA_CHAIN) != NULL || ks_lua_testudata(L, 1, KS_LUA_SAMPLE) != NULL ||
	    ks_lua_testudata(L, 1, KS_LUA_DIFFERENCE) != NULL, 1, "a chain, a sample or a difference expected");
	ks_lua_getuservalue(L, 1);
	lua_getfield(L, -1, "notes");
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setfield(L, -3, "notes");
	}
	return 1;
}

/* kind(object) -> "chain", "sample", "difference", "kstat", "selector", "closed" or nil */
static int
object_kind(lua_State *L)
{
	lua_settop(L, 1);
	lua_pushstring(L, ks_lua_kind(L, 1)); /* NULL: nil */
	return 1;
}

void
ks_lua_add_chain(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__close", chain_close },
		{ "__tostring", chain_tostring },
		{ "__len", chain_len },
		{ NULL, NULL }
	};
	static const luaL_Reg methods[] = {
		{ "close", chain_close },
		{ "update", chain_update },
		{ "seek", chain_seek },
		{ "previous", chain_previous },
		{ "chain_id", chain_chain_id },
		{ "warnings", chain_warnings },
		{ "is_replay", chain_is_replay },
		{ "is_cut", chain_is_cut },
		{ "is_interval", chain_is_interval },
		{ "ended", chain_ended },
		{ "damaged", chain_damaged },
		{ "time_of_day", chain_time_of_day },
		{ "time_of_day_ns", chain_time_of_day_ns },
		{ "clock", chain_clock },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "warn_again", chain_warn_again },
		{ "bounds", chain_bounds },
		{ "open", chain_open },
		{ "want", chain_want },
		{ "when", read_when },
		{ "times", file_times },
		{ "user_name", user_name },
		{ "user_number", find_user },
		{ "notes", object_notes },
		{ "kind", object_kind },
		{ NULL, NULL }
	};

	ks_lua_setfuncs(L, functions);
	ks_lua_newtype(L, KS_LUA_CHAIN, chain_close, meta, NULL);
	luaL_getmetatable(L, KS_LUA_CHAIN);
	lua_setfield(L, -2, "chain_meta");
	lua_newtable(L);
	ks_lua_setfuncs(L, methods);
	lua_setfield(L, -2, "chain_methods");
}
