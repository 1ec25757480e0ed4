/* server.c - see server.h. SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http/address.h"
#include "http/gzip.h"

#define LEAST_GZIP 1024 /* bytes of a body that is worth it */
#define MOST_BODY 65536 /* bytes of a request's body, which is passed over */
#define ROOM 2048       /* of a connection's memory, in which the head of an answer is made */
#define PER_HEADER 128  /* bytes of it that the daemon needs for a header beside the header's text, and more */

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

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	int64_t since;         /* when it began to wait */
	struct http_request *next; /* whose headers are read, or that waits */
	const char *sent;      /* the target in the daemon's memory */
	size_t size;           /* of it, as it was sent */
	bool begun;            /* the daemon has called with its header */
	bool due;              /* it has waited, and it is its turn */
	size_t passed;         /* bytes of its body */
	enum MHD_Result result;
	bool answered;
	const char *path;      /* in `target`, decoded */
	const char *query;     /* in `target`, as it was sent; "": none */
	char target[];
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

/* --- requests ------------------------------------------------------------------------------------------ */

/* Decodes %XX. Text that has a %00 stays as it was sent: its users would read it up to the NUL alone. */
static void
decode(char *text)
{
	if (strstr(text, "%00") == NULL)
		(void)MHD_http_unescape(text);
}

/*
 * Called with the target of a request before the daemon looks at it; returns the request. `target` lies in the daemon's
 * memory, which it parses next. It gets to see no parameters: it would close connections without an answer if their
 * parameters did not fit its memory. A NUL ends them for it.
 */
static void *
on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	size_t skip = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
	struct http_request *request = calloc(1, sizeof(*request) + strlen(target) + 2);
	char *query = strchr(target, '?'), *to;

	if (request != NULL) {
		struct http_server *server = arg;

		request->next = server->reading;
		server->reading = request;
		request->server = server;
		request->connection = connection;
		request->sent = target;
		request->size = strlen(target);
		request->path = to = request->target;
		if (skip > 0) /* the absolute form: http://host:port/path */
			skip += strcspn(target + skip, "/?");
		if (target[skip] != '/' && skip > 0)
			*to++ = '/';
		strcpy(to, target + skip);
		to = strchr(to, '?');
		request->query = to != NULL ? to + 1 : "";
		if (to != NULL)
			*to = '\0';
		decode(request->target);
	}
	if (query != NULL)
		query[1] = '\0';
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

const char *
http_path(const struct http_request *request)
{
	return request->path;
}

const char *
http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void
http_each_parameter(const struct http_request *request, void (*each)(void *arg, const char *name, const char *value),
    void *arg)
{
	for (const char *at = request->query; *at != '\0'; at += *at == '&') {
		size_t n = strcspn(at, "&");
		char pair[HTTP_MOST_HEADER];
		char *value;

		if (n > 0 && n < sizeof(pair)) {
			memcpy(pair, at, n);
			pair[n] = '\0';
			for (char *plus = pair; (plus = strchr(plus, '+')) != NULL;)
				*plus = ' ';
			value = strchr(pair, '=');
			if (value != NULL) {
				*value++ = '\0';
				decode(value);
			}
			decode(pair);
			each(arg, pair, value);
		}
		at += n;
	}
}

/* --- answers ------------------------------------------------------------------------------------------- */

static void
add_header(struct MHD_Response *r, const char *name, const char *value)
{
	if (value != NULL)
		(void)MHD_add_response_header(r, name, value);
}

void
http_answer(struct http_request *request, const struct http_answer *a)
{
	struct MHD_Response *r = NULL;
	size_t length = a->length;
	void *packed = NULL;

	if (request->answered)
		return;
	request->answered = true;
	if (length >= LEAST_GZIP && http_takes_gzip(http_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
		packed = http_gzip(a->body, a->length, &length);
	if (packed != NULL)
		r = MHD_create_response_from_buffer(length, packed, MHD_RESPMEM_MUST_FREE);
	else
		r = MHD_create_response_from_buffer(a->length, (void *)(uintptr_t)a->body, MHD_RESPMEM_MUST_COPY);
	if (r == NULL) {
		free(packed);
		return;
	}
	add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	add_header(r, "Content-Security-Policy", a->policy);
	add_header(r, "X-Content-Type-Options", "nosniff");
	add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	if (packed != NULL)
		add_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (a->realm != NULL)
		add_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->realm);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	note_unread(request->server, request->connection, length);
	request->result = MHD_queue_response(request->connection, a->status, r);
	MHD_destroy_response(r);
}

/* --- what comes of a request --------------------------------------------------------------------------- */

/* What is known of the headers of a request. */
struct headers {
	unsigned hosts, lengths, encodings, odd, unknown;
	size_t size;
	const char *end;  /* the NUL behind the last value, or the version: the daemon put it in the place of a line's end */
	unsigned newline; /* how many bytes a line's end has */
	bool has_nul;
};

/* Whether there is more between two lines than the end of the first: a NUL of the client's own has cut it off. */
static bool
has_rest(const char *end, const char *next)
{
	for (const char *p = end; next > end && next - end < HTTP_MOST_HEADER && p < next; p++) {
		if (*p != '\0' && strchr(" \t\r\n", *p) == NULL)
			return true;
	}
	return false;
}

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct headers *h = arg;

	(void)kind;
	value = value != NULL ? value : "";
	h->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
	h->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	h->odd += strpbrk(name, " \t") != NULL;
	if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		h->encodings++;
		h->unknown += strcasecmp(value, "chunked") != 0;
	}
	if (h->newline == 0)
		h->newline = name - h->end == 2 ? 2 : 1;
	h->has_nul |= has_rest(h->end, name);
	h->end = value + strlen(value);
	h->size += strlen(name) + strlen(value) + PER_HEADER;
	return MHD_YES;
}

/* Counts the headers. Behind the last one are the end of its line and that of an empty line in the daemon's memory. */
static struct headers
look_at_headers(const struct http_request *request, const char *version)
{
	struct headers h = { .size = request->size, .end = version + strlen(version),
		.has_nul = has_rest(request->sent + request->size, version) };

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &h);
	if (h.newline != 0)
		h.has_nul |= has_rest(h.end, h.end + 2 * h.newline);
	return h;
}

/* Whether a header says that the body is too long to be passed over. */
static bool
is_long(const struct http_request *request)
{
	const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length != NULL && strtoull(length, NULL, 10) > MOST_BODY;
}

/* Answers with a line; what follows on the connection, such as a body, is not read. */
static enum MHD_Result
refuse(struct http_request *request, unsigned status, const char *line)
{
	http_answer(request, &(struct http_answer){ .status = status, .type = "text/plain", .body = line,
	    .length = strlen(line) });
	return request->result;
}

/*
 * Answers with a status alone, past the daemon, which has no memory for an answer or would make a wrong one. It closes
 * the connection then.
 */
static enum MHD_Result
refuse_directly(const struct http_request *request, const char *status)
{
	const union MHD_ConnectionInfo *tls;
	const union MHD_ConnectionInfo *info;
	char text[128];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status);

	tls = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info != NULL && (tls == NULL || tls->tls_session == NULL)) {
		(void)send(info->connect_fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(info->connect_fd, SHUT_WR);
	}
	return MHD_NO;
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
		(void)refuse_directly(server->reading, strncmp(line, "Too large", 9) == 0 ? "413 Content Too Large" :
		    "400 Bad Request");
}

/* Looks at the header of a request, and refuses what HTTP/1.1 forbids and what is not offered here. */
static enum MHD_Result
begin(struct http_request *request, const char *method, const char *version)
{
	struct headers h = look_at_headers(request, version);

	if (h.size > HTTP_MOST_HEADER)
		return refuse_directly(request, request->size > HTTP_MOST_HEADER / 2 ? "414 URI Too Long" :
		    "431 Request Header Fields Too Large");
	if (h.has_nul)
		return refuse(request, MHD_HTTP_BAD_REQUEST, "a request has no NUL\n");
	if (h.hosts > 1 || (h.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0))
		return refuse(request, MHD_HTTP_BAD_REQUEST, "a request has one header Host\n");
	if (h.lengths + h.encodings > 1)
		return refuse(request, MHD_HTTP_BAD_REQUEST, "a body has one length\n");
	if (h.unknown > 0)
		return refuse(request, MHD_HTTP_NOT_IMPLEMENTED, "the only transfer encoding here is chunked\n");
	if (h.odd > 0)
		return refuse(request, MHD_HTTP_BAD_REQUEST, "the name of a header has no spaces\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n");
	if (is_long(request))
		return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a body is too long\n");
	return MHD_YES;
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

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **context)
{
	struct http_server *server = arg;
	struct http_request *request = *context;
	int64_t start;

	(void)path;
	(void)upload;
	if (request == NULL) /* memory lacked */
		return MHD_NO;
	if (!request->begun) { /* this call has the header alone */
		request->begun = true;
		remove_reading(server, request);
		return begin(request, method, version);
	}
	if (*upload_size > 0) {
		request->passed += *upload_size;
		*upload_size = 0;
		return request->passed <= MOST_BODY ? MHD_YES : MHD_NO;
	}
	if (request->query[0] != '\0' && !request->due) {
		wait_for_turn(server, request);
		return MHD_YES;
	}
	if (request->due && is_gone(request))
		return MHD_NO;
	renew_client(server, connection);
	if (server->asks_clients && !http_tls_trusts(connection, server->clients_may_lack))
		return refuse(request, MHD_HTTP_FORBIDDEN, "a client needs a certificate by the authority of this server\n");
	start = now();
	server->handler(server->arg, request);
	server->reserve -= request->due ? now() - start : 0;
	if (!request->answered)
		return refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer failed\n");
	return request->result;
}

/* --- the server ---------------------------------------------------------------------------------------- */

/* Starts a daemon at an address, or with a socket that listens, which it then owns; -1: none. */
static struct MHD_Daemon *
start_daemon(struct http_server *server, const union http_address *a, int fd, const struct http_tls *tls)
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
start_at(struct http_server *server, union http_address *a, const char *address, const struct http_tls *tls)
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
	union http_address a;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < HTTP_LEAST_FILES) {
		snprintf(why, size, "only %u open files are allowed here, and %d are needed (ulimit -n)",
		    (unsigned)files.rlim_cur, HTTP_LEAST_FILES);
		return NULL;
	}
	if (!http_address_parse(address, &a)) {
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
	union http_address a = { .any = { .sa_family = AF_UNSPEC } };
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
