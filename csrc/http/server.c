/* server.c - see server.h. SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zlib.h>

#define LEAST_GZIP 1024 /* bytes of a body that is worth it */
#define MOST_BODY 65536 /* bytes of a request's body, which is passed over */

/* An open connection. */
struct client {
	struct client *older, *newer;
	int fd;        /* belongs to the daemon */
	bool shut;     /* no longer in the list */
};

struct http_server {
	struct MHD_Daemon *daemon;
	http_handler *handler;
	void *arg;
	struct client *oldest, *newest; /* by the time of the last answer, or of the beginning; owned */
	unsigned clients;
};

struct http_request {
	struct MHD_Connection *connection;
	bool begun;            /* the daemon has called with its header */
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
shut_oldest(struct http_server *server)
{
	struct client *c = server->oldest;

	(void)shutdown(c->fd, SHUT_RDWR);
	remove_client(server, c);
	server->clients--;
	c->shut = true;
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
		shut_oldest(server);
}

/* Makes a client that is being answered the one that is closed last. */
static void
renew_client(struct http_server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	struct client *c;

	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	c = info != NULL ? info->socket_context : NULL;
	if (c == NULL || c->shut)
		return;
	remove_client(server, c);
	append_client(server, c);
}

/* --- addresses ----------------------------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* Parses "127.0.0.1:9105" or "[::1]:9105". */
static bool
parse_address(const char *text, union address *a)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2], *end;
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;
	unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;

	memset(a, 0, sizeof(*a));
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

	(void)arg;
	if (request != NULL) {
		request->connection = connection;
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

/* Called at the end of each request, answered or not. */
static void
on_end(void *arg, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)connection;
	(void)why;
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

/* Whether the client takes gzip: its header names it without a weight of 0. */
static bool
takes_gzip(const struct http_request *request)
{
	const char *s = http_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING);

	for (; s != NULL && *s != '\0'; s += strcspn(s, ",") + (s[strcspn(s, ",")] == ',')) {
		size_t n;

		s += strspn(s, " \t");
		n = strcspn(s, ";, \t");
		if (n == 4 && strncasecmp(s, "gzip", 4) == 0) {
			const char *q = s + n + strspn(s + n, "; \t");

			return strncasecmp(q, "q=0", 3) != 0 || strspn(q + 2, "0.") != strcspn(q + 2, ", \t;");
		}
	}
	return false;
}

/* Returns the body as gzip in memory of its own, and stores its length; NULL: it is no shorter, or memory lacks. */
static void *
gzip(const char *body, size_t n, size_t *length)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)body, .avail_in = (uInt)n };
	unsigned char *out = NULL;
	bool done;

	if (n > UINT32_MAX / 2 || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	out = malloc(n);
	z.next_out = out;
	z.avail_out = (uInt)n;
	done = out != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
	*length = z.total_out;
	(void)deflateEnd(&z);
	if (done)
		return out;
	free(out);
	return NULL;
}

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
	if (length >= LEAST_GZIP && takes_gzip(request))
		packed = gzip(a->body, a->length, &length);
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
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	request->result = MHD_queue_response(request->connection, a->status, r);
	MHD_destroy_response(r);
}

/* --- what comes of a request --------------------------------------------------------------------------- */

/* The headers that a request may have once, and what is wrong with the others. */
struct headers {
	unsigned hosts, lengths, encodings, odd;
};

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct headers *h = arg;

	(void)kind;
	(void)value;
	h->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
	h->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	h->encodings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	h->odd += strpbrk(name, " \t") != NULL;
	return MHD_YES;
}

/* Whether a header says that the body is too long to be passed over. */
static bool
is_long(const struct http_request *request)
{
	const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length != NULL && strtoull(length, NULL, 10) > MOST_BODY;
}

/* Returns the line about what HTTP/1.1 forbids of a header, or NULL. */
static const char *
find_mistake(const struct http_request *request, const char *version)
{
	struct headers h = { 0 };

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &h);
	return h.hosts > 1 || (h.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0) ?
	    "a request has one header Host\n" : h.lengths > 1 || (h.lengths == 1 && h.encodings > 0) ?
	    "a body has one length\n" : h.odd > 0 ? "the name of a header has no spaces\n" : NULL;
}

/* Answers with a line; what follows on the connection, such as a body, is not read. */
static enum MHD_Result
refuse(struct http_request *request, unsigned status, const char *line)
{
	http_answer(request, &(struct http_answer){ status, "text/plain", NULL, line, strlen(line) });
	return request->result;
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **context)
{
	struct http_server *server = arg;
	struct http_request *request = *context;
	const char *mistake;

	(void)path;
	(void)upload;
	if (request == NULL) /* memory lacked */
		return MHD_NO;
	if (!request->begun) { /* this call has the header alone */
		request->begun = true;
		mistake = find_mistake(request, version);
		if (mistake != NULL)
			return refuse(request, MHD_HTTP_BAD_REQUEST, mistake);
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
			return refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n");
		if (is_long(request))
			return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a body is too long\n");
		return MHD_YES;
	}
	if (*upload_size > 0) {
		request->passed += *upload_size;
		*upload_size = 0;
		return request->passed <= MOST_BODY ? MHD_YES : MHD_NO;
	}
	renew_client(server, connection);
	server->handler(server->arg, request);
	if (!request->answered)
		return refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer failed\n");
	return request->result;
}

/* --- the server ---------------------------------------------------------------------------------------- */

struct http_server *
http_open(const char *address, http_handler *handler, void *arg, char *why, size_t size)
{
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
	server = calloc(1, sizeof(*server));
	if (server == NULL) {
		snprintf(why, size, "out of memory");
		return NULL;
	}
	server->handler = handler;
	server->arg = arg;
	errno = 0;
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL | (a.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL,
	    on_request, server, MHD_OPTION_SOCK_ADDR, &a.any, MHD_OPTION_CONNECTION_LIMIT, HTTP_MOST_CONNECTIONS,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_SECONDS,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MOST_HEADER, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
	    MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
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
	(void)MHD_run_wait(server->daemon, milliseconds);
}

void
http_close(struct http_server *server)
{
	MHD_stop_daemon(server->daemon);
	free(server);
}
