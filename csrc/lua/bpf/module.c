/*
 * module.c - kstat.bpf: what the programs of bpf/latency.bpf.c count, for Lua, and its way into published histograms.
 * A module of its own, since it needs libbpf. It is for kstatlua, whose kstat2_hist_add_counts() it calls.
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/loader.h"
#include "kstat2.h"
#include "lua/types.h"
#include "model/exponential.h"

#define PROGRAMS "kstat.bpf.programs"

/* A histogram that is published: what was copied of its row until now. */
struct copy {
	kstat_t *ksp; /* NULL: nobody's */
	u64 last[LATENCY_BUCKETS];
};

struct programs {
	struct latency *latency;              /* owned; NULL: closed */
	struct copy **copies[LATENCY_KINDS];  /* owned, by row */
	struct latency_pair *pairs;           /* owned, LATENCY_MOST_EXITS */
	struct latency_exits *exits;
};

static const char *const kinds[] = { "disk", "cpu", "group", "connect", NULL };

static struct programs *
check_programs(lua_State *L)
{
	struct programs *p = luaL_checkudata(L, 1, PROGRAMS);

	if (p->latency == NULL)
		luaL_error(L, "the programs are closed");
	return p;
}

static u32
number_of(lua_State *L, const char *name)
{
	lua_Integer n;

	lua_getfield(L, 1, name);
	n = luaL_optinteger(L, -1, 0);
	lua_pop(L, 1);
	luaL_argcheck(L, n >= 0 && n < 1 << 30, 1, name);
	return (u32)n;
}

static int
programs_close(lua_State *L)
{
	struct programs *p = luaL_checkudata(L, 1, PROGRAMS);
	u32 n;

	for (int kind = 0; p->latency != NULL && kind < LATENCY_KINDS; kind++) {
		(void)latency_rows(p->latency, (enum latency_kind)kind, &n);
		for (u32 i = 0; p->copies[kind] != NULL && i < n; i++)
			free(p->copies[kind][i]);
		free(p->copies[kind]);
	}
	free(p->pairs);
	free(p->exits);
	latency_close(p->latency);
	memset(p, 0, sizeof(*p));
	return 0;
}

/* open{ disk =, cpu =, connect =, exits =, bios =, disks =, slots =, queues =, groups = } -> programs | nil, why, errno */
static int
open_programs(lua_State *L)
{
	struct latency_wanted w = { .disk = ks_lua_flag(L, 1, "disk"), .cpu = ks_lua_flag(L, 1, "cpu"),
		.connect = ks_lua_flag(L, 1, "connect"), .exits = ks_lua_flag(L, 1, "exits"),
		.bios = ks_lua_flag(L, 1, "bios"), .disks = number_of(L, "disks"), .slots = number_of(L, "slots"),
		.queues = number_of(L, "queues"), .groups = number_of(L, "groups") };
	struct programs *p = lua_newuserdata(L, sizeof(*p));
	char why[256];
	const char *name;
	u32 n;

	memset(p, 0, sizeof(*p));
	luaL_getmetatable(L, PROGRAMS);
	lua_setmetatable(L, -2);
	p->latency = latency_open(&w, why, sizeof(why));
	if (p->latency == NULL) {
		name = strerrorname_np(errno);
		lua_pushnil(L);
		lua_pushstring(L, why);
		lua_pushstring(L, name);
		return 3;
	}
	p->pairs = calloc(LATENCY_MOST_EXITS, sizeof(*p->pairs));
	p->exits = calloc(LATENCY_MOST_EXITS, sizeof(*p->exits));
	for (int kind = 0; kind < LATENCY_KINDS; kind++)
		if (latency_rows(p->latency, (enum latency_kind)kind, &n) != NULL &&
		    (p->copies[kind] = calloc(n, sizeof(*p->copies[kind]))) == NULL)
			return luaL_error(L, "not enough memory");
	if (p->pairs == NULL || p->exits == NULL)
		return luaL_error(L, "not enough memory");
	lua_newtable(L);
	lua_setuservalue(L, -2);
	return 1;
}

/* programs:fresh() -> { { kind, row, disk's name }, ... }: rows that count and are not published yet */
static int
programs_fresh(lua_State *L)
{
	struct programs *p = check_programs(L);
	u32 n, found = 0;

	lua_newtable(L);
	for (int kind = 0; kind < LATENCY_KINDS; kind++) {
		const u64 *rows = latency_rows(p->latency, (enum latency_kind)kind, &n);

		if (kind == LATENCY_OF_GROUP)
			n = 1; /* who gives a group a row publishes it; memory that nobody looks at is none of the process's */
		for (u32 i = 0; rows != NULL && i < n; i++) {
			if (rows[(size_t)i * LATENCY_BUCKETS] == 0 || p->copies[kind][i] != NULL)
				continue;
			lua_createtable(L, 3, 0);
			lua_pushstring(L, kinds[kind]);
			lua_rawseti(L, -2, 1);
			lua_pushinteger(L, (lua_Integer)i);
			lua_rawseti(L, -2, 2);
			if (kind == LATENCY_OF_DISK) {
				lua_pushstring(L, latency_disk_name(p->latency, i / LATENCY_DISK_ROWS));
				lua_rawseti(L, -2, 3);
			}
			lua_rawseti(L, -2, (int)++found);
		}
	}
	return 1;
}

static struct copy **
check_row(lua_State *L, struct programs *p)
{
	int kind = luaL_checkoption(L, 2, NULL, kinds);
	lua_Integer i = luaL_checkinteger(L, 3);
	u32 n;

	luaL_argcheck(L, latency_rows(p->latency, (enum latency_kind)kind, &n) != NULL && i >= 0 && i < n, 3, "no such row");
	return &p->copies[kind][i];
}

/*
 * programs:publish(kind, row, box): copy() adds what the row counts to the published histogram; without a box no more.
 * false: the row's disk went, and its rows are nobody's; another one whose queue is at the same address gets its own.
 */
static int
programs_publish(lua_State *L)
{
	struct programs *p = check_programs(L);
	struct copy **c = check_row(L, p);
	struct ks_lua_published *b = !lua_toboolean(L, 4) ? NULL : luaL_checkudata(L, 4, KS_LUA_PUBLISHED);

	if (*c == NULL && (*c = calloc(1, sizeof(**c))) == NULL)
		return luaL_error(L, "not enough memory");
	(*c)->ksp = b != NULL ? b->ksp : NULL;
	if (lua_isboolean(L, 4))
		latency_forget_disk(p->latency, (u32)lua_tointeger(L, 3) / LATENCY_DISK_ROWS);
	lua_settop(L, 4);
	lua_getuservalue(L, 1);
	lua_pushlightuserdata(L, c);
	lua_pushvalue(L, 4);
	lua_rawset(L, -3); /* so that the kstat stays */
	return 0;
}

static int
add_counts(kstat_t *ksp, u64 *more)
{
	/* What took longer counts in the last bucket, and what took 0 ns as 1. */
	size_t n = (size_t)ks_exponential_index(LATENCY_HIGHEST, LATENCY_SCALE) + 3;
	u64 sum = more[0];

	more[0] = 0;
	for (size_t i = n; i < LATENCY_BUCKETS; i++)
		more[n - 1] += more[i];
	return kstat2_hist_add_counts(ksp, more, (uint32_t)n, sum);
}

/* Adds to a published histogram what a row has more than at the last time. */
static int
copy_row(struct copy *c, const u64 *row)
{
	u64 now[LATENCY_BUCKETS], more[LATENCY_BUCKETS];

	/* The sum is read first, so that what is counted in between is seen to be new the next time. */
	now[0] = __atomic_load_n(&row[0], __ATOMIC_ACQUIRE);
	memcpy(now + 1, row + 1, sizeof(now) - sizeof(now[0]));
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		more[i] = now[i] - c->last[i];
	if (add_counts(c->ksp, more) != 0)
		return -1;
	memcpy(c->last, now, sizeof(now));
	return 0;
}

/* programs:copy() -> how many histograms could not be changed this time */
static int
programs_copy(lua_State *L)
{
	struct programs *p = check_programs(L);
	lua_Integer failed = 0;
	u32 n;

	for (int kind = 0; kind < LATENCY_KINDS; kind++) {
		const u64 *rows = latency_rows(p->latency, (enum latency_kind)kind, &n);

		for (u32 i = 0; rows != NULL && i < n; i++) {
			struct copy *c = p->copies[kind][i];
			const u64 *row = rows + (size_t)i * LATENCY_BUCKETS;

			if (c == NULL || c->ksp == NULL || row[0] == c->last[0])
				continue;
			if (copy_row(c, row) != 0)
				failed++;
		}
	}
	lua_pushinteger(L, failed);
	return 1;
}

/* programs:losses() -> { disk =, bio =, connect =, exit =, unseen =, switch =, accept = } */
static int
programs_losses(lua_State *L)
{
	static const char *const names[LOSSES] = { "disk", "bio", "connect", "exit", "unseen", "switch", "accept",
		"missed" };
	const struct latency *l = check_programs(L)->latency;
	const u64 *losses = latency_losses(l);

	lua_createtable(L, 0, LOSSES);
	for (size_t i = 0; i < LOSSES; i++) {
		lua_pushinteger(L, (lua_Integer)losses[i]);
		lua_setfield(L, -2, names[i]);
	}
	return 1;
}

/* programs:group(id, row) -> true | nil, text: counts a control group's waits in a row of its own; 0: no longer */
static int
programs_group(lua_State *L)
{
	struct programs *p = check_programs(L);
	lua_Integer row = luaL_checkinteger(L, 3);
	struct copy *c;

	luaL_argcheck(L, row >= 0 && row < 1 << 30, 3, "no such row");
	if (latency_group(p->latency, (u64)luaL_checkinteger(L, 2), (u32)row) != 0) {
		lua_pushnil(L);
		lua_pushstring(L, strerror(errno));
		return 2;
	}
	if (row > 0 && (c = p->copies[LATENCY_OF_GROUP][row]) != NULL)
		memset(c->last, 0, sizeof(c->last));
	lua_pushboolean(L, 1);
	return 1;
}

/* Adds the directories below `path`, of n bytes, whose names begin at `root`, until *left are found; depth: how many more. */
static void
add_groups(lua_State *L, char *path, size_t n, size_t root, lua_Integer *left, int depth)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	struct stat st;

	if (dir == NULL)
		return;
	/* The number of a group's directory is its id. */
	if (fstat(dirfd(dir), &st) == 0) {
		lua_pushstring(L, n > root ? path + root : "/");
		lua_rawseti(L, -2, (lua_Integer)st.st_ino);
		(*left)--;
	}
	while (depth > 0 && *left > 0 && (e = readdir(dir)) != NULL)
		if (e->d_type == DT_DIR && e->d_name[0] != '.' && n + 1 + strlen(e->d_name) < PATH_MAX) {
			size_t m = n + (size_t)sprintf(path + n, "/%s", e->d_name);

			add_groups(L, path, m, root, left, depth - 1);
			path[n] = '\0';
		}
	(void)closedir(dir);
}

/* groups(directory, most) -> { [id] = path, ... }: the control groups of a hierarchy of version 2, at most so many */
static int
list_groups(lua_State *L)
{
	size_t n;
	const char *directory = luaL_checklstring(L, 1, &n);
	lua_Integer left = luaL_checkinteger(L, 2);
	char path[PATH_MAX] = "";

	luaL_argcheck(L, n < sizeof(path), 1, "too long");
	memcpy(path, directory, n);
	lua_newtable(L);
	add_groups(L, path, n, n, &left, 32);
	return 1;
}

static void
push_exits(lua_State *L, const struct latency_exits *e)
{
	static const char *const names[] = { "exits", "failed", "killed", "lifetime", "cputime", "group" };
	const u64 values[] = { e->exits, e->failed, e->killed, e->lifetime, e->cputime, e->group };

	lua_createtable(L, 0, 8);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		lua_pushinteger(L, (lua_Integer)values[i]);
		lua_setfield(L, -2, names[i]);
	}
}

static void
push_name(lua_State *L, const char name[16], const char *field)
{
	lua_pushlstring(L, name, strnlen(name, 16));
	lua_setfield(L, -2, field);
}

/* programs:exits() -> sums, { { command =, parent =, exits =, ... }, ... } */
static int
programs_exits(lua_State *L)
{
	struct programs *p = check_programs(L);
	const struct latency_exits *sums = latency_exit_sums(p->latency);
	int n = sums != NULL ? latency_exits(p->latency, p->pairs, p->exits) : 0;

	if (sums == NULL)
		return 0;
	push_exits(L, sums);
	lua_createtable(L, n > 0 ? n : 0, 0);
	for (int i = 0; i < n; i++) {
		push_exits(L, &p->exits[i]);
		push_name(L, p->pairs[i].command, "command");
		push_name(L, p->pairs[i].parent, "parent");
		lua_rawseti(L, -2, i + 1);
	}
	return 2;
}

/* programs:forget(command, parent): of a pair that had no exits for long */
static int
programs_forget(lua_State *L)
{
	struct programs *p = check_programs(L);
	struct latency_pair pair = { .parent = "" };
	size_t command, parent;
	const char *texts[] = { luaL_checklstring(L, 2, &command), luaL_checklstring(L, 3, &parent) };

	luaL_argcheck(L, command < 16 && parent < 16, 2, "at most 15 bytes");
	memcpy(pair.command, texts[0], command);
	memcpy(pair.parent, texts[1], parent);
	latency_forget_exits(p->latency, &pair);
	return 0;
}

__attribute__((visibility("default"))) int luaopen_kstat_bpf(lua_State *L);

int
luaopen_kstat_bpf(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "fresh", programs_fresh }, { "publish", programs_publish }, { "copy", programs_copy },
		{ "losses", programs_losses }, { "group", programs_group }, { "exits", programs_exits },
		{ "forget", programs_forget }, { "close", programs_close }, { "__gc", programs_close }, { NULL, NULL }
	};

	luaL_newmetatable(L, PROGRAMS);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	luaL_setfuncs(L, methods, 0);
	lua_newtable(L);
	lua_pushcfunction(L, open_programs);
	lua_setfield(L, -2, "open");
	lua_pushcfunction(L, list_groups);
	lua_setfield(L, -2, "groups");
	return 1;
}
