/* server.c - see server.h. SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http/request.h"

#define ROOM 2048 /* of a connection's memory, in which the head of an answer is made */

/*
 * A request with parameters may take long. All of them together have SHARE of the time, so that what has no parameters
 * (a scrape) is answered soon: they wait in a queue, and at each turn all others are answered before the next of them.
 * What they took is drawn from a reserve, which grows with time up to MOST_RESERVE (ns). The first that has waited for
 * HTTP_MOST_WAIT seconds is answered all the same, so that no number of clients keeps others waiting for long.
 */
#define SHARE 5                /* one fifth */
#define MOST_RESERVE 200000000
#define SECOND INT64_C(1000000000)

/* An open connection. */
struct client {
	struct client *older, *newer;
	int fd;        /* belongs to the daemon */
	size_t unread; /* bytes of its answer */
	bool shut;     /* no longer in the list */
};

struct http_server {
	struct MHD_Daemon *daemon;
	http_handler *handler;
	void *arg;
	struct client *oldest, *newest; /* by the time of the last answer, or of the beginning; owned */
	unsigned clients;
	size_t unread; /* of all clients */
	struct http_request *reading; /* those whose headers are not complete */
	struct http_request *waiting, **last; /* with parameters, in the order in which they came */
	bool asks_clients, clients_may_lack; /* for certificates, see struct http_tls */
	int64_t reserve, counted; /* ns of work that may be done, and the time when it was reckoned */
};

/* --- clients ------------------------------------------------------------------------------------------- */

static void
append_client(struct http_server *server, struct client *c)
{
	c->older = server->newest;
	c->newer = NULL;
	*(c->older != NULL ? &c->older->newer : &server->oldest) = c;
	server->newest = c;
}

static void
remove_client(struct http_server *server, const struct client *c)
{
	*(c->older != NULL ? &c->older->newer : &server->oldest) = c->newer;
	*(c->newer != NULL ? &c->newer->older : &server->newest) = c->older;
}

/* The daemon finds a connection that was shut down at its end, and closes it. */
static void
shut_client(struct http_server *server, struct client *c)
{
	(void)shutdown(c->fd, SHUT_RDWR);
	remove_client(server, c);
	server->clients--;
	server->unread -= c->unread;
	c->unread = 0;
	c->shut = true;
}

static struct client *
client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

/* Notes how much of an answer waits for its client; others that let theirs wait lose it where all are too much. */
static void
note_unread(struct http_server *server, struct MHD_Connection *connection, size_t n)
{
	struct client *own = client_of(connection), *next;

	if (own == NULL || own->shut)
		return;
	server->unread += n - own->unread;
	own->unread = n;
	for (struct client *c = server->oldest; c != NULL && server->unread > HTTP_MOST_UNREAD; c = next) {
		next = c->newer;
		if (c != own && c->unread > 0)
			shut_client(server, c);
	}
}

/* Called for each connection when it begins and when it ends. */
static void
on_connection(void *arg, struct MHD_Connection *connection, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	struct http_server *server = arg;
	struct client *c = *context;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED && c != NULL) {
		if (!c->shut) {
			remove_client(server, c);
			server->clients--;
			server->unread -= c->unread;
		}
		free(c);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	c = what == MHD_CONNECTION_NOTIFY_STARTED && info != NULL ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL)
		return;
	c->fd = info->connect_fd;
	append_client(server, c);
	*context = c;
	if (++server->clients > HTTP_MOST_KEPT)
		shut_client(server, server->oldest);
}

/* Makes a client that is being answered the one that is closed last. */
static void
renew_client(struct http_server *server, struct MHD_Connection *connection)
{
	struct client *c = client_of(connection);

	if (c == NULL || c->shut)
		return;
	remove_client(server, c);
	append_client(server, c);
}

/* --- the daemon's calls for a request ------------------------------------------------------------------ */

static void *
on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct http_server *server = arg;
	struct http_request *request = http_request_new(target, connection);

	if (request != NULL) {
		request->next = server->reading;
		server->reading = request;
	}
	return request;
}

static void
remove_reading(struct http_server *server, const struct http_request *request)
{
	struct http_request **r = &server->reading;

	while (*r != NULL && *r != request)
		r = &(*r)->next;
	if (*r != NULL)
		*r = request->next;
}

/* Called at the end of each request, answered or not. */
static void
on_end(void *arg, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode why)
{
	(void)why;
	if (*request != NULL)
		remove_reading(arg, *request);
	note_unread(arg, connection, 0);
	free(*request);
	*request = NULL;
}

/*
 * The daemon's lines. libmicrohttpd 0.9.75 answers a bad Content-Length with two heads, and says so here before: if it
 * reads one request, that is the one.
 */
static void
on_line(void *arg, const char *line, va_list values)
{
	const struct http_server *server = arg;

	(void)values;
	if (strstr(line, "Content-Length' header") != NULL && server->reading != NULL && server->reading->next == NULL)
		(void)http_refuse_directly(server->reading, strncmp(line, "Too large", 9) == 0 ? "413 Content Too Large" :
		    "400 Bad Request");
}

/* --- requests that wait -------------------------------------------------------------------------------- */

static int64_t
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void
wait_for_turn(struct http_server *server, struct http_request *request)
{
	request->since = now();
	MHD_suspend_connection(request->connection);
	*(server->waiting != NULL ? server->last : &server->waiting) = request;
	server->last = &request->next;
}

/* Whether the client of a request closed its end of the connection while it waited. */
static bool
is_gone(const struct http_request *request)
{
	const union MHD_ConnectionInfo *info;
	char byte;

	info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info != NULL && recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void
resume_first(struct http_server *server)
{
	struct http_request *request = server->waiting;

	server->waiting = request->next;
	request->due = true;
	MHD_resume_connection(request->connection);
}

/* Returns for how long (ms) the first request that waits must go on waiting; 0: it may be answered. */
static int
turn_in(struct http_server *server)
{
	int64_t t = now(), left = server->waiting->since + HTTP_MOST_WAIT * SECOND - t, wait;

	server->reserve += (t - server->counted) / SHARE;
	server->counted = t;
	if (server->reserve > MOST_RESERVE)
		server->reserve = MOST_RESERVE;
	if (server->reserve < -HTTP_MOST_WAIT * SECOND / SHARE)
		server->reserve = -HTTP_MOST_WAIT * SECOND / SHARE;
	wait = server->reserve > 0 ? 0 : -server->reserve * SHARE;
	wait = wait < left ? wait : left;
	return wait <= 0 ? 0 : (int)(wait / 1000000) + 1;
}

/* Goes on with a request, of which its header, a part of its body, or its end has come. */
static enum MHD_Result
go_on(struct http_server *server, struct http_request *request, const char *method, const char *version,
    size_t *upload_size)
{
	int64_t start;

	if (!request->begun) { /* this call has the header alone */
		request->begun = true;
		remove_reading(server, request);
		return http_check(request, method, version);
	}
	if (*upload_size > 0) {
		request->passed += *upload_size;
		*upload_size = 0;
		return request->passed <= HTTP_MOST_BODY ? MHD_YES : MHD_NO;
	}
	if (request->query[0] != '\0' && !request->due) {
		wait_for_turn(server, request);
		return MHD_YES;
	}
	if (request->due && is_gone(request))
		return MHD_NO;
	renew_client(server, request->connection);
	if (server->asks_clients && !http_tls_trusts(request->connection, server->clients_may_lack))
		return http_refuse(request, MHD_HTTP_FORBIDDEN,
		    "a client needs a certificate by the authority of this server\n");
	start = now();
	server->handler(server->arg, request);
	server->reserve -= request->due ? now() - start : 0;
	if (!request->answered)
		return http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer failed\n");
	return request->result;
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **context)
{
	struct http_request *request = *context;
	enum MHD_Result result;

	(void)path;
	(void)upload;
	if (request == NULL) /* memory lacked */
		return MHD_NO;
	result = go_on(arg, request, method, version, upload_size);
	if (request->answered)
		note_unread(arg, connection, request->unread);
	return result;
}

/* --- addresses, as people write them ------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* Parses "127.0.0.1:9105", "[::1]:9105", or ":9105", which is any address. False if it is none of these. */
static bool
parse_address(const char *text, union address *a)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2], *end;
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;
	unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;

	memset(a, 0, sizeof(*a));
	if (text[0] == ':' && colon == text && text[1] >= '0' && text[1] <= '9' && *end == '\0' && port <= 65535) {
		a->ip6.sin6_family = AF_INET6;
		a->ip6.sin6_port = htons((uint16_t)port);
		return true;
	}
	if (colon == NULL || n == 0 || n > sizeof(host) - 1 || colon[1] < '0' || colon[1] > '9' || *end != '\0' ||
	    port > 65535)
		return false;
	if (text[0] == '[' && text[n - 1] == ']') {
		memcpy(host, text + 1, n - 2);
		host[n - 2] = '\0';
		a->ip6.sin6_family = AF_INET6;
		a->ip6.sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host, &a->ip6.sin6_addr) == 1;
	}
	memcpy(host, text, n);
	host[n] = '\0';
	a->ip4.sin_family = AF_INET;
	a->ip4.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &a->ip4.sin_addr) == 1;
}

int
http_is_loopback(const char *address)
{
	union address a;

	if (!parse_address(address, &a))
		return -1;
	return a.any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&a.ip6.sin6_addr) != 0 :
	    ntohl(a.ip4.sin_addr.s_addr) >> 24 == 127;
}

/* --- the server ---------------------------------------------------------------------------------------- */

/* Starts a daemon at an address, or with a socket that listens, which it then owns; -1: none. */
static struct MHD_Daemon *
start_daemon(struct http_server *server, const union address *a, int fd, const struct http_tls *tls)
{
	bool is_any6 = a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->ip6.sin6_addr);
	struct MHD_OptionItem listening[] = { { fd >= 0 ? MHD_OPTION_LISTEN_SOCKET : MHD_OPTION_SOCK_ADDR, fd,
	    (void *)(uintptr_t)&a->any }, { MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem secure[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, tls != NULL ? (void *)(uintptr_t)tls->certificate : NULL },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, tls != NULL ? (void *)(uintptr_t)tls->key : NULL },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)(tls != NULL && tls->priorities != NULL ?
		    tls->priorities : "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2") },
		{ tls != NULL && tls->client_ca != NULL ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
		    tls != NULL ? (void *)(uintptr_t)tls->client_ca : NULL },
		{ MHD_OPTION_END, 0, NULL }
	};

	if (tls == NULL)
		secure[0].option = MHD_OPTION_END;
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
	    (tls != NULL ? MHD_USE_TLS : 0) | (is_any6 ? MHD_USE_DUAL_STACK : 0) |
	    (a->any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL, on_request, server,
	    MHD_OPTION_EXTERNAL_LOGGER, on_line, server, MHD_OPTION_ARRAY, listening,
	    MHD_OPTION_CONNECTION_LIMIT, HTTP_MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_SECONDS,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MOST_HEADER + ROOM,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
	    MHD_OPTION_NOTIFY_COMPLETED, on_end, server, MHD_OPTION_ARRAY, secure, MHD_OPTION_END);
}

/* The same; ":PORT" is all addresses of IPv4 where the machine has no IPv6. */
static void
start_at(struct http_server *server, union address *a, const char *address, const struct http_tls *tls)
{
	in_port_t port = a->any.sa_family == AF_INET6 ? a->ip6.sin6_port : 0;

	errno = 0;
	server->daemon = start_daemon(server, a, -1, tls);
	if (server->daemon != NULL || address[0] != ':' || errno != EAFNOSUPPORT)
		return;
	memset(a, 0, sizeof(*a));
	a->ip4.sin_family = AF_INET;
	a->ip4.sin_port = port;
	server->daemon = start_daemon(server, a, -1, tls);
}

static void
set_clients(struct http_server *server, const struct http_tls *tls)
{
	server->asks_clients = tls != NULL && tls->client_ca != NULL;
	server->clients_may_lack = tls != NULL && tls->clients_may_lack;
}

struct http_server *
http_open(const char *address, const struct http_tls *tls, http_handler *handler, void *arg, char *why, size_t size)
{
	const char *wrong = tls != NULL ? http_tls_wrong(tls) : NULL;
	struct http_server *server;
	struct rlimit files;
	union address a;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < HTTP_LEAST_FILES) {
		snprintf(why, size, "only %u open files are allowed here, and %d are needed (ulimit -n)",
		    (unsigned)files.rlim_cur, HTTP_LEAST_FILES);
		return NULL;
	}
	if (!parse_address(address, &a)) {
		snprintf(why, size, "'%s' is no address: 127.0.0.1:9105 and [::1]:9105 are", address);
		return NULL;
	}
	server = wrong == NULL ? calloc(1, sizeof(*server)) : NULL;
	if (server == NULL) {
		snprintf(why, size, "%s%s", wrong != NULL ? "certificates: " : "", wrong != NULL ? wrong : "out of memory");
		return NULL;
	}
	server->handler = handler;
	server->arg = arg;
	server->counted = now();
	server->reserve = MOST_RESERVE;
	set_clients(server, tls);
	start_at(server, &a, address, tls);
	if (server->daemon == NULL) {
		snprintf(why, size, "%s: %s", address, errno != 0 ? strerror(errno) : "the server cannot start");
		free(server);
		return NULL;
	}
	return server;
}

unsigned
http_port(const struct http_server *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info != NULL ? info->port : 0;
}

void
http_run(struct http_server *server, int milliseconds)
{
	int wait = server->waiting != NULL ? turn_in(server) : milliseconds;

	if (server->waiting != NULL && wait == 0)
		resume_first(server);
	(void)MHD_run_wait(server->daemon, wait < milliseconds ? wait : milliseconds);
}

static void
stop_daemon(struct http_server *server)
{
	while (server->waiting != NULL)
		resume_first(server);
	MHD_stop_daemon(server->daemon);
}

const char *
http_renew(struct http_server *server, const struct http_tls *tls)
{
	const char *wrong = tls != NULL ? http_tls_wrong(tls) : NULL;
	union address a = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t n = sizeof(a);
	int old, fd;
	struct MHD_Daemon *daemon;

	if (wrong != NULL)
		return wrong;
	fd = dup(MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd);
	(void)getsockname(fd, &a.any, &n);
	daemon = fd >= 0 ? start_daemon(server, &a, fd, tls) : NULL;
	if (daemon == NULL) {
		(void)close(fd);
		return "the server cannot start again";
	}
	old = MHD_quiesce_daemon(server->daemon);
	stop_daemon(server);
	(void)close(old);
	server->daemon = daemon;
	set_clients(server, tls);
	return NULL;
}

void
http_close(struct http_server *server)
{
	stop_daemon(server);
	free(server);
}
