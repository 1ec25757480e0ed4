/*
 * steady.c - ticks of a report in which nothing but numbers change: while that is so, its kstats are read, its
 * expressions computed and its lines written without a step of the script's. See kstat.report.steady.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "chain/watch.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/output.h"
#include "lua/types.h"
#include "lua/wait.h"

#define STEADY "kstat.steady"
#define MOST_CELLS 1000000

/* Figures that every row has, of kstats of its own. */
struct slot {
	struct ks_figures *figures;
	size_t n;
	size_t *field; /* owned; the field of the row that each is added to */
};

/* What a column shows in a row. */
struct cell {
	enum { CELL_NOTHING, CELL_FIELD, CELL_NUMBER, CELL_TEXT } kind;
	size_t n;         /* the field, or the length of the text */
	double number;
	const char *text; /* of a Lua string that is kept */
};

/* That a slot of a row takes figures from a kstat. */
struct source {
	size_t row, slot;
	int kstat; /* its number in the watch */
};

/* Its associated table keeps what it was made of alive. */
struct steady {
	struct ks_lua_chain *chain;
	uint64_t updates;              /* those of the chain when it was made */
	const struct ks_layout *layout;
	struct ks_watch *watch;        /* owned */
	bool closed;                   /* all kstats are named, nothing else is looked for */
	size_t nslots, nrows, nsources, nfields, sources_cap;
	struct slot *slot;             /* owned, as are the following */
	struct cell *cell;             /* rows times columns */
	struct source *source;         /* by row and slot */
	struct ks_figure *field, *sum; /* of a row; of a slot */
	struct ks_buf text;
	hrtime_t taken;                /* when the last tick was read */
};

static int
steady_gc(lua_State *L)
{
	struct steady *s = luaL_checkudata(L, 1, STEADY);

	for (size_t i = 0; i < s->nslots; i++)
		free(s->slot[i].field);
	ks_watch_free(s->watch);
	free(s->slot);
	free(s->cell);
	free(s->source);
	free(s->field);
	free(s->sum);
	ks_buf_free(&s->text);
	memset(s, 0, sizeof(*s));
	return 0;
}

/* --- making one ----------------------------------------------------------------------------- */

static void *
allocate(lua_State *L, size_t n, size_t size)
{
	void *p = calloc(n > 0 ? n : 1, size);

	if (p == NULL)
		luaL_error(L, "out of memory");
	return p;
}

/* The whole number at i of the table on top, below `bound`. */
static size_t
take_index(lua_State *L, size_t i, size_t bound)
{
	size_t n;

	lua_rawgeti(L, -1, (int)i + 1);
	n = (size_t)lua_tointeger(L, -1) - 1;
	lua_pop(L, 1);
	if (n >= bound)
		luaL_error(L, "there is no such field");
	return n;
}

/* The slots: the array of figures at index i, and what field each of them is, in the arrays of that at i + 1. */
static void
take_slots(lua_State *L, struct steady *s, int i)
{
	size_t n = ks_lua_rawlen(L, i), room = 1;

	s->slot = allocate(L, n, sizeof(*s->slot));
	s->nslots = n;
	s->field = allocate(L, s->nfields, sizeof(*s->field));
	for (size_t at = 0; at < n; at++) {
		struct slot *slot = &s->slot[at];

		lua_rawgeti(L, i, (int)at + 1);
		slot->figures = ks_lua_checkfigures(L, -1);
		slot->n = ks_figures_count(slot->figures);
		if (ks_figures_room(slot->figures) > room)
			room = ks_figures_room(slot->figures);
		lua_rawgeti(L, i + 1, (int)at + 1);
		luaL_checktype(L, -1, LUA_TTABLE);
		slot->field = calloc(slot->n > 0 ? slot->n : 1, sizeof(*slot->field));
		for (size_t k = 0; slot->field != NULL && k < slot->n; k++)
			slot->field[k] = take_index(L, k, s->nfields);
		if (slot->field == NULL)
			luaL_error(L, "out of memory");
		lua_pop(L, 2);
	}
	s->sum = allocate(L, room, sizeof(*s->sum));
}

/*
 * The kstat of the chain that a sampled one at the top of the stack is a copy of, if it holds what the copy does
 * and nothing but numbers where figures look; else -1.
 */
static int
watch(lua_State *L, const struct steady *s, const struct slot *slot)
{
	const struct ks_lua_kstat *k = ks_lua_checkkstat(L, -1);
	kstat_t *ksp = k->origin != KS_LUA_LIVE ? ks_chain_find(s->chain->kc, k->delta.now->ks_kid) : NULL;

	if (ksp == NULL || ksp->ks_data == NULL || ksp->ks_snaptime != k->delta.now->ks_snaptime ||
	    !ks_figures_are_numbers(slot->figures, ksp, s->chain->kc))
		return -1;
	return ks_watch_add(s->watch, ksp);
}

/* Where the next source goes. */
static struct source *
room_for_source(lua_State *L, struct steady *s)
{
	size_t cap = s->sources_cap > 0 ? 2 * s->sources_cap : 16;
	struct source *source;

	if (s->nsources == s->sources_cap) {
		source = realloc(s->source, cap * sizeof(*source));
		if (source == NULL)
			luaL_error(L, "out of memory");
		s->source = source;
		s->sources_cap = cap;
	}
	return &s->source[s->nsources];
}

/* The kstats of a row, on top of the stack, for each slot; false if one cannot be watched. */
static bool
take_sources(lua_State *L, struct steady *s, size_t row)
{
	bool can = true;

	lua_getfield(L, -1, "kstats");
	luaL_checktype(L, -1, LUA_TTABLE);
	for (size_t slot = 0; can && slot < s->nslots; slot++) {
		size_t n;

		lua_rawgeti(L, -1, (int)slot + 1);
		n = lua_istable(L, -1) ? ks_lua_rawlen(L, -1) : 0;
		for (size_t i = 0; can && i < n; i++) {
			struct source *source = room_for_source(L, s);

			lua_rawgeti(L, -1, (int)i + 1);
			*source = (struct source){ row, slot, watch(L, s, &s->slot[slot]) };
			can = source->kstat >= 0;
			s->nsources += can;
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return can;
}

/* The cells of a row, on top of the stack. */
static void
take_cells(lua_State *L, struct steady *s, size_t row)
{
	lua_getfield(L, -1, "cells");
	luaL_checktype(L, -1, LUA_TTABLE);
	for (size_t i = 0; i < s->layout->n; i++) {
		struct cell *cell = &s->cell[row * s->layout->n + i];

		lua_rawgeti(L, -1, (int)i + 1);
		if (lua_type(L, -1) == LUA_TSTRING) {
			cell->kind = CELL_TEXT;
			cell->text = lua_tolstring(L, -1, &cell->n); /* the table of cells is kept */
		} else if (lua_type(L, -1) == LUA_TNUMBER) {
			cell->kind = CELL_NUMBER;
			cell->number = lua_tonumber(L, -1);
		} else if (lua_istable(L, -1)) {
			cell->kind = CELL_FIELD;
			cell->n = take_index(L, 0, s->nfields);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/*
 * steady(chain, layout, figures, fields, nfields, rows, closed) -> steady, or nil: what the rows are made of
 * changes in other ways. figures: an array; fields: for each of them an array that tells which of the nfields
 * fields of a row each figure is added to; rows: an array of { kstats = for each of the figures an array of sampled
 * kstats, cells = for each column a text, a number, { a field }, or nil }. closed: no other kstat could become part
 * of a row. The kstats are those of the last tick, whose values are the earlier ones of the next.
 */
static int
steady_new(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	const struct ks_layout *layout = ks_lua_checklayout(L, 2);
	lua_Integer nfields = luaL_checkinteger(L, 5);
	struct steady *s;

	luaL_checktype(L, 3, LUA_TTABLE);
	luaL_checktype(L, 4, LUA_TTABLE);
	luaL_checktype(L, 6, LUA_TTABLE);
	lua_settop(L, 7);
	s = ks_lua_newuserdata(L, sizeof(*s));
	ks_lua_setmetatable(L, STEADY);
	lua_createtable(L, 6, 0);
	for (int i = 1; i <= 6; i++) {
		lua_pushvalue(L, i);
		lua_rawseti(L, -2, i);
	}
	ks_lua_setuservalue(L, 8);
	lua_settop(L, 8);
	s->chain = c;
	s->updates = c->updates;
	s->layout = layout;
	s->closed = lua_toboolean(L, 7);
	s->nrows = ks_lua_rawlen(L, 6);
	luaL_argcheck(L, nfields >= 0 && nfields <= MOST_CELLS, 5, "too many fields");
	luaL_argcheck(L, layout->n > 0 && s->nrows <= MOST_CELLS / layout->n, 6, "too many rows");
	s->nfields = (size_t)nfields;
	s->cell = allocate(L, s->nrows * layout->n, sizeof(*s->cell));
	s->watch = ks_watch_new(c->kc);
	if (s->watch == NULL)
		return luaL_error(L, "out of memory");
	take_slots(L, s, 3);
	for (size_t row = 0; row < s->nrows; row++) {
		lua_rawgeti(L, 6, (int)row + 1);
		luaL_checktype(L, -1, LUA_TTABLE);
		take_cells(L, s, row);
		if (!take_sources(L, s, row))
			return 0;
		lua_pop(L, 1);
	}
	return 1;
}

/* --- ticks ------------------------------------------------------------------------------------ */

/* Adds the figures of one slot of a row to its fields; *i is its first source, and then the next slot's. */
static void
read_slot(struct steady *s, size_t row, size_t number, size_t *i)
{
	const struct slot *slot = &s->slot[number];

	memset(s->sum, 0, ks_figures_room(slot->figures) * sizeof(*s->sum));
	for (; *i < s->nsources && s->source[*i].row == row && s->source[*i].slot == number; ++*i) {
		struct ks_delta d;

		if (ks_watch_delta(s->watch, (size_t)s->source[*i].kstat, &d))
			ks_figures_add_up(slot->figures, &d, s->chain->kc, s->sum);
	}
	ks_figures_finish(slot->figures, s->sum);
	for (size_t k = 0; k < slot->n; k++) {
		struct ks_figure *field = &s->field[slot->field[k]];

		if (s->sum[k].known) {
			field->sum += s->sum[k].sum;
			field->known = true;
		}
	}
}

/* *i: the first source of the row, and then of the next one. */
static void
add_line(struct steady *s, size_t row, size_t *i)
{
	const struct cell *cell = &s->cell[row * s->layout->n];
	struct ks_line line = ks_line_begin(s->layout, &s->text);

	memset(s->field, 0, s->nfields * sizeof(*s->field));
	for (size_t slot = 0; slot < s->nslots; slot++)
		read_slot(s, row, slot, i);
	for (size_t k = 0; k < s->layout->n; k++, cell++) {
		if (cell->kind == CELL_FIELD && s->field[cell->n].known)
			ks_line_number(&line, s->field[cell->n].sum);
		else if (cell->kind == CELL_NUMBER)
			ks_line_number(&line, cell->number);
		else if (cell->kind == CELL_TEXT)
			ks_line_text(&line, cell->text, cell->n);
		else
			ks_line_text(&line, "-", 1);
	}
	ks_line_end(&line);
}

/* The header of a block of lines: what it is, and after how many lines there is another. */
struct header {
	const char *text;
	size_t len;
	lua_Number since, screen;
	bool apart; /* an empty line before it, between blocks of several lines */
};

static void
add_block(struct steady *s, struct header *h)
{
	size_t at = 0;

	ks_buf_reset(&s->text);
	if (s->nrows > 1 || h->since + (lua_Number)s->nrows > h->screen) {
		if (h->apart && s->nrows > 1)
			ks_buf_addc(&s->text, '\n');
		if (h->len > 0) {
			ks_buf_add(&s->text, h->text, h->len);
			h->since = 0;
		}
	}
	for (size_t row = 0; row < s->nrows; row++)
		add_line(s, row, &at);
	h->since += (lua_Number)s->nrows;
}

/* Lets an interval pass after *deadline, which moves to the next one; false: a signal came. */
static bool
pause_until_next(hrtime_t *deadline, hrtime_t interval)
{
	hrtime_t next = *deadline + interval, now;
	enum ks_wait why;

	do {
		why = ks_wait_until(next);
		now = gethrtime();
	} while (why == KS_WAIT_CONTINUED && now < next);
	if (why != KS_WAIT_TIME && why != KS_WAIT_CONTINUED)
		return false;
	/* One that is late, or was stopped beyond it, starts a new cadence. */
	*deadline = why == KS_WAIT_CONTINUED || now - next > interval ? now : next;
	return true;
}

/* 0, or -1 with errno. */
static int
write_out(const struct ks_buf *text, int fd)
{
	if (text->failed) {
		errno = ENOMEM;
		return -1;
	}
	for (size_t done = 0; done < text->len;) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0) /* EINTR: an interpreter's handler wants its turn */
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/*
 * run(steady, interval, deadline, left, header, since, screen, apart, file) -> why, ticks, deadline, since[, message,
 * errno]. Makes ticks, at most `left` (nil: without end), each `interval` ns after the last, which was at
 * `deadline`; one that is late starts a new cadence. header: the text, "" for none, `since` lines ago; another
 * follows when there are more than `screen`. why: "count" all were made; "woken" a signal came; "due" it is time
 * for a tick of another kind, which is at the deadline returned; "failed" what was written did not get there.
 */
static int
steady_run(lua_State *L)
{
	struct steady *s = luaL_checkudata(L, 1, STEADY);
	hrtime_t interval = (hrtime_t)luaL_checknumber(L, 2), deadline = (hrtime_t)luaL_checknumber(L, 3);
	lua_Number left = luaL_optnumber(L, 4, -1);
	struct header header = { .since = luaL_checknumber(L, 6), .screen = luaL_checknumber(L, 7) };
	lua_Number ticks = 0;
	const char *why = "count";
	lua_Hook hook = lua_gethook(L);
	int error = 0;
	FILE *to = ks_lua_file(L, 9);
	hrtime_t now;

	luaL_argcheck(L, to != NULL && fileno(to) >= 0, 9, "a file expected");
	luaL_argcheck(L, interval > 0, 2, "an interval expected");
	header.text = luaL_checklstring(L, 5, &header.len);
	header.apart = lua_toboolean(L, 8);
	luaL_argcheck(L, s->chain != NULL && s->chain->kc != NULL && s->chain->updates == s->updates, 1,
	    "the chain was updated");
	/* What follows goes past its buffer: each tick is written at once. */
	if (fflush(to) != 0) {
		error = errno;
		why = "failed";
	}
	while (error == 0 && ticks != left) {
		/* An interpreter's handler of signals leaves a hook, which has to run. */
		if (lua_gethook(L) != hook || !pause_until_next(&deadline, interval)) {
			why = "woken";
			break;
		}
		if (!s->closed && kstat_chain_update(s->chain->kc) != 0) {
			s->chain->updates++;
			why = "due";
			break;
		}
		now = gethrtime();
		if (ks_watch_read(s->watch) != 0) {
			why = "due";
			break;
		}
		s->taken = now;
		ticks++;
		add_block(s, &header);
		if (write_out(&s->text, fileno(to)) != 0) {
			error = errno;
			why = "failed";
			break;
		}
	}
	lua_pushstring(L, why);
	lua_pushnumber(L, ticks);
	lua_pushnumber(L, (lua_Number)deadline);
	lua_pushnumber(L, header.since);
	if (error == 0)
		return 4;
	lua_pushstring(L, strerror(error));
	lua_pushinteger(L, error);
	return 6;
}

/* sample(steady) -> what its last tick read, as a sample: the earlier one of the next tick */
static int
steady_sample(lua_State *L)
{
	struct steady *s = luaL_checkudata(L, 1, STEADY);
	struct ks_lua_sample *u;

	lua_settop(L, 1);
	ks_lua_getuservalue(L, 1);
	lua_rawgeti(L, 2, 1);
	u = ks_lua_newsample(L, 3);
	if (u == NULL)
		return ks_lua_fail(L);
	for (size_t i = 0; i < ks_watch_length(s->watch); i++) {
		const kstat_t *last = ks_watch_last(s->watch, i);

		if (last != NULL && ks_sample_keep(u->s, s->chain->kc, last) == NULL)
			return ks_lua_fail(L);
	}
	u->s->taken = s->taken;
	u->frozen = true;
	return 1;
}

void
ks_lua_add_steady(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{ "__gc", steady_gc },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "steady", steady_new },
		{ "steady_run", steady_run },
		{ "steady_sample", steady_sample },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, STEADY, meta);
	lua_pop(L, 1);
	ks_lua_setfuncs(L, functions);
}
