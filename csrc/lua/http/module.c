/*
 * module.c - kstat.http: the server of http/server.h for Lua. A module of its own, which needs nothing of kstat, so
 * that neither libkstat nor the module kstat depends on a server. SPDX-License-Identifier: MIT
 */
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

#include "http/server.h"

#define SERVER "kstat.http.server"

struct server {
	struct http_server *server; /* owned; NULL: closed */
	lua_State *L;               /* where `run` was called */
	int handler;                /* its index there */
	int failed;                 /* a handler raised; the error is on top of the stack */
};

/* Stack: the table of parameters, on top. A parameter that is repeated becomes a list. */
static void
add_parameter(void *arg, const char *name, const char *value)
{
	lua_State *L = arg;

	lua_getfield(L, -1, name);
	if (!lua_istable(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setfield(L, -3, name);
	}
	lua_pushstring(L, value != NULL ? value : "");
#if LUA_VERSION_NUM >= 502
	lua_rawseti(L, -2, (int)lua_rawlen(L, -2) + 1);
#else
	lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
#endif
	lua_pop(L, 1);
}

/* Calls handler(path, parameters, headers), whose results are status, type, body, policy, realm. Protected. */
static int
call_handler(lua_State *L)
{
	static const char *const headers[] = { "Accept", "Authorization", "Host" };
	struct http_request *request = lua_touserdata(L, 2);
	struct http_answer answer = { .status = 500 };

	lua_settop(L, 2);
	lua_pushvalue(L, 1);
	lua_pushstring(L, http_path(request));
	lua_newtable(L);
	http_each_parameter(request, add_parameter, L);
	lua_newtable(L);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		lua_pushstring(L, http_header(request, headers[i]));
		lua_setfield(L, -2, headers[i]);
	}
	lua_call(L, 3, 5);
	answer.status = (unsigned)luaL_checkinteger(L, -5);
	answer.type = luaL_checkstring(L, -4);
	answer.body = luaL_checklstring(L, -3, &answer.length);
	answer.policy = luaL_optstring(L, -2, NULL);
	answer.realm = luaL_optstring(L, -1, NULL);
	http_answer(request, &answer);
	return 0;
}

static void
handle(void *arg, struct http_request *request)
{
	struct server *s = arg;
	lua_State *L = s->L;

	if (s->failed)
		return;
	lua_pushcfunction(L, call_handler);
	lua_pushvalue(L, s->handler);
	lua_pushlightuserdata(L, request);
	if (lua_pcall(L, 2, 0, 0) != 0)
		s->failed = 1;
}

static struct server *
check_server(lua_State *L)
{
	struct server *s = luaL_checkudata(L, 1, SERVER);

	if (s->server == NULL)
		luaL_error(L, "the server is closed");
	return s;
}

/* Returns a text of the table at index 2, which keeps it, or NULL. */
static const char *
text_of(lua_State *L, const char *name)
{
	const char *text;

	lua_getfield(L, 2, name);
	text = luaL_optstring(L, -1, NULL);
	lua_pop(L, 1);
	return text;
}

/*
 * Reads the table at index 2 of the stack: certificate, key, client_ca and priorities, as struct http_tls has them, and
 * optional: clients may lack a certificate. NULL: there is none.
 */
static const struct http_tls *
check_tls(lua_State *L, struct http_tls *tls)
{
	if (!lua_istable(L, 2))
		return NULL;
	tls->certificate = text_of(L, "certificate");
	tls->key = text_of(L, "key");
	tls->client_ca = text_of(L, "client_ca");
	tls->priorities = text_of(L, "priorities");
	lua_getfield(L, 2, "optional");
	tls->clients_may_lack = lua_toboolean(L, -1);
	lua_pop(L, 1);
	luaL_argcheck(L, tls->certificate != NULL && tls->key != NULL, 2, "certificate and key expected");
	return tls;
}

/* listen(address[, tls]) -> server | nil, message */
static int
listen_at(lua_State *L)
{
	const char *address = luaL_checkstring(L, 1);
	struct server *s = lua_newuserdata(L, sizeof(*s));
	struct http_tls tls = { .certificate = NULL };
	char why[256];

	*s = (struct server){ .server = NULL };
	luaL_getmetatable(L, SERVER);
	lua_setmetatable(L, -2);
	s->server = http_open(address, check_tls(L, &tls), handle, s, why, sizeof(why));
	if (s->server != NULL) {
		(void)signal(SIGHUP, SIG_IGN); /* it goes on when its terminal ends, or a service is to read its files again */
		return 1;
	}
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

/*
 * server:run(seconds, handler): answers what comes within that time, or until a signal, by
 * handler(path, parameters, headers) -> status, type, body[, policy[, realm]]. parameters: lists of values by name. Raises what
 * a handler raises; its request gets status 500.
 */
static int
server_run(lua_State *L)
{
	struct server *s = check_server(L);
	lua_Number seconds = luaL_checknumber(L, 2);

	luaL_checktype(L, 3, LUA_TFUNCTION);
	luaL_argcheck(L, seconds >= 0 && seconds <= 3600, 2, "seconds from 0 to 3600 expected");
	lua_settop(L, 3);
	luaL_checkstack(L, 8, NULL);
	if (s->L != NULL)
		return luaL_error(L, "a handler cannot run the server");
	s->L = L;
	s->handler = 3;
	s->failed = 0;
	http_run(s->server, (int)(seconds * 1000));
	s->L = NULL;
	return s->failed ? lua_error(L) : 0;
}

/* server:renew(tls) -> true | nil, message: all stays as it is. Goes on with other certificates, or with none */
static int
server_renew(lua_State *L)
{
	struct server *s = check_server(L);
	struct http_tls tls = { .certificate = NULL };
	const char *wrong;

	if (s->L != NULL)
		return luaL_error(L, "a handler cannot renew the server");
	wrong = http_renew(s->server, check_tls(L, &tls));
	lua_pushboolean(L, wrong == NULL);
	lua_pushstring(L, wrong);
	return 2;
}

static int
server_port(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)http_port(check_server(L)->server));
	return 1;
}

static int
server_close(lua_State *L)
{
	struct server *s = luaL_checkudata(L, 1, SERVER);

	if (s->L != NULL)
		return luaL_error(L, "a handler cannot close the server");
	if (s->server != NULL)
		http_close(s->server);
	s->server = NULL;
	return 0;
}

/* is_loopback(address) -> whether only this machine can reach it | nothing: it is no address */
static int
is_loopback(lua_State *L)
{
	int is = http_is_loopback(luaL_checkstring(L, 1));

	lua_pushboolean(L, is);
	return is >= 0;
}

/* is_password(password, hash) -> whether the hash, as crypt(5) has it, was made of the password */
static int
is_password(lua_State *L)
{
	lua_pushboolean(L, http_is_password(luaL_checkstring(L, 1), luaL_checkstring(L, 2)));
	return 1;
}

__attribute__((visibility("default"))) int luaopen_kstat_http(lua_State *L);

int
luaopen_kstat_http(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "run", server_run }, { "port", server_port }, { "renew", server_renew }, { "close", server_close }, { "__gc", server_close },
		{ NULL, NULL }
	};
	static const luaL_Reg functions[] = {
		{ "listen", listen_at }, { "is_loopback", is_loopback }, { "is_password", is_password },
		{ NULL, NULL }
	};

	luaL_newmetatable(L, SERVER);
	lua_pushliteral(L, SERVER);
	lua_setfield(L, -2, "__metatable");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	for (const luaL_Reg *m = methods; m->name != NULL; m++) {
		lua_pushcfunction(L, m->func);
		lua_setfield(L, -2, m->name);
	}
	lua_newtable(L);
	for (const luaL_Reg *f = functions; f->name != NULL; f++) {
		lua_pushcfunction(L, f->func);
		lua_setfield(L, -2, f->name);
	}
	return 1;
}
