/* request.c - see request.h, and what server.h says of requests and answers. SPDX-License-Identifier: MIT */
#include "http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <zlib.h>

#define LEAST_GZIP 1024 /* bytes of a body that is worth it */
#define PER_HEADER 128  /* bytes of a connection's memory that the daemon needs for a header beside its text, and more */

/* Decodes %XX. Text that has a %00 stays as it was sent: its users would read it up to the NUL alone. */
static void
decode(char *text)
{
	if (strstr(text, "%00") == NULL)
		(void)MHD_http_unescape(text);
}

struct http_request *
http_request_new(const char *target, struct MHD_Connection *connection)
{
	size_t skip = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
	struct http_request *request = calloc(1, sizeof(*request) + strlen(target) + 2);
	char *query = strchr(target, '?'), *to;

	if (request != NULL) {
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

/* Whether a header Accept-Encoding (NULL: there is none) names gzip without a weight of 0. */
static bool
takes_gzip(const char *s)
{
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
	if (length >= LEAST_GZIP && takes_gzip(http_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
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
	if (a->realm != NULL)
		add_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->realm);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	request->unread = length;
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

	return length != NULL && strtoull(length, NULL, 10) > HTTP_MOST_BODY;
}

enum MHD_Result
http_refuse(struct http_request *request, unsigned status, const char *line)
{
	http_answer(request, &(struct http_answer){ .status = status, .type = "text/plain", .body = line,
	    .length = strlen(line) });
	return request->result;
}

enum MHD_Result
http_refuse_directly(const struct http_request *request, const char *status)
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

enum MHD_Result
http_check(struct http_request *request, const char *method, const char *version)
{
	struct headers h = look_at_headers(request, version);

	if (h.size > HTTP_MOST_HEADER)
		return http_refuse_directly(request, request->size > HTTP_MOST_HEADER / 2 ? "414 URI Too Long" :
		    "431 Request Header Fields Too Large");
	if (h.has_nul)
		return http_refuse(request, MHD_HTTP_BAD_REQUEST, "a request has no NUL\n");
	if (h.hosts > 1 || (h.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0))
		return http_refuse(request, MHD_HTTP_BAD_REQUEST, "a request has one header Host\n");
	if (h.lengths + h.encodings > 1)
		return http_refuse(request, MHD_HTTP_BAD_REQUEST, "a body has one length\n");
	if (h.unknown > 0)
		return http_refuse(request, MHD_HTTP_NOT_IMPLEMENTED, "the only transfer encoding here is chunked\n");
	if (h.odd > 0)
		return http_refuse(request, MHD_HTTP_BAD_REQUEST, "the name of a header has no spaces\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return http_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n");
	if (is_long(request))
		return http_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a body is too long\n");
	return MHD_YES;
}
