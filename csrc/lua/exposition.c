/* exposition.c - kstats as metrics, step by step, as a Lua object. SPDX-License-Identifier: MIT */
#include "chain/exposition.h"

#include "lua/core.h"
#include "lua/error.h"
#include "lua/types.h"
#include "lua/value.h"

#define EXPOSITION "kstat.exposition"

struct exposition {
	struct ks_exposition *x; /* owned; NULL: it ended */
	struct ks_lua_chain *chain;
};

static const char *const formats[] = { "prometheus", "openmetrics", NULL };

/*
 * exposition(chain, selectors, format) -> exposition | nil, message, errno. Its uservalue keeps the chain, the
 * array of selectors and what C has of it.
 */
static int
exposition_open(lua_State *L)
{
	struct ks_lua_chain *c = ks_lua_checkchain(L, 1);
	int format = luaL_checkoption(L, 3, NULL, formats);
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	const struct ks_selector *const *selectors;
	struct exposition *e;
	size_t n;

	lua_settop(L, 3);
	selectors = ks_lua_checkselectors(L, 2, &n);
	e = ks_lua_newuserdata(L, sizeof(*e));
	e->x = NULL;
	e->chain = c;
	ks_lua_setmetatable(L, EXPOSITION);
	lua_createtable(L, 3, 0);
	for (int i = 1; i <= 3; i++) {
		lua_pushvalue(L, i == 3 ? 4 : i);
		lua_rawseti(L, -2, i);
	}
	ks_lua_setuservalue(L, -2);
	e->x = ks_exposition_open(c->kc, n > 0 ? selectors : all, n > 0 ? n : 1, (enum ks_exposition_format)format);
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

/* step(exposition) -> text (which may be empty) | nothing at the end | nil, message, errno */
static int
exposition_step(lua_State *L)
{
	struct exposition *e = luaL_checkudata(L, 1, EXPOSITION);
	struct ks_buf *b;
	int rc;

	if (e->x == NULL)
		return 0;
	if (e->chain->kc == NULL)
		luaL_error(L, "the kstat chain is closed");
	b = ks_lua_scratch(L);
	rc = ks_exposition_step(e->x, b);
	if (rc < 0)
		return ks_lua_fail(L);
	if (rc == 0) {
		ks_exposition_free(e->x);
		e->x = NULL;
	}
	return ks_lua_pushscratch(L, b);
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
	enum ks_exposition_format format = ks_exposition_negotiate(luaL_optstring(L, 1, NULL));

	lua_pushstring(L, formats[format]);
	lua_pushstring(L, ks_exposition_media_type(format));
	return 2;
}

static const luaL_Reg methods[] = {
	{ "step", exposition_step },
	{ "samples", exposition_samples },
	{ NULL, NULL },
};

void
ks_lua_add_exposition(lua_State *L)
{
	ks_lua_newtype(L, EXPOSITION, exposition_gc, NULL, methods);
	ks_lua_setfunction(L, "exposition", exposition_open);
	ks_lua_setfunction(L, "exposition_format", exposition_format);
}
