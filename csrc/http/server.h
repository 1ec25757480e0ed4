/*
 * server.h - a small HTTP/1.1 server for answers that are made at once, over libmicrohttpd: GET and HEAD, gzip. It
 * knows nothing of kstats nor of Lua, runs in its caller's thread, and a client costs it a bounded amount:
 * HTTP_MOST_CONNECTIONS at a time, HTTP_MOST_HEADER bytes of a request, and HTTP_SECONDS without a byte. Clients that
 * are slow or idle do not keep others out: when connections become scarce, the one that has waited longest for its
 * answer, or since its last one, is closed; so are those that do not read their answers, when these are more than
 * HTTP_MOST_UNREAD bytes. Requests with parameters have a fifth of the time, all together, unless the first of them has
 * waited for HTTP_MOST_WAIT seconds; the others are answered before them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/secure.h"

#define HTTP_MOST_CONNECTIONS 64
#define HTTP_MOST_KEPT 48 /* a further connection closes the one that was quiet for longest */
#define HTTP_MOST_HEADER 16384
#define HTTP_SECONDS 10
#define HTTP_MOST_UNREAD (64u << 20) /* bytes of answers that wait for their clients, beside the last one */
#define HTTP_MOST_WAIT 4
#define HTTP_LEAST_FILES 128 /* that a process must be allowed to have open: connections, and what it reads */

struct http_server;
struct http_request;

/* An answer. The texts are copied; NULL is none. */
struct http_answer {
	unsigned status;
	const char *type;       /* Content-Type */
	const char *policy;     /* Content-Security-Policy */
	const char *realm;      /* of the password that a status 401 asks for */
	const char *body;
	size_t length;          /* of the body */
};

/* Answers one request by http_answer(). */
typedef void http_handler(void *arg, struct http_request *request);

/*
 * Listens at "HOST:PORT", an IPv4 address or an IPv6 one in brackets, without a look at names, or at ":PORT", all
 * addresses of the machine; port 0 is any free one. tls: NULL for a server that anybody may read on the way. Returns
 * NULL and stores a line that says why.
 */
struct http_server *http_open(const char *address, const struct http_tls *tls, http_handler *handler, void *arg,
    char *why, size_t size);

/*
 * Goes on with other certificates, or with none, at the same socket; open connections end. Returns what is wrong with
 * them, and then all stays as it is; else NULL.
 */
const char *http_renew(struct http_server *server, const struct http_tls *tls);

/* The port that it listens at. */
unsigned http_port(const struct http_server *server);

/* Returns 1 for an address that only this machine can reach, 0 for another, -1 for a text that http_open() refuses. */
int http_is_loopback(const char *address);

/* Serves what comes within some milliseconds, or until a signal. */
void http_run(struct http_server *server, int milliseconds);

void http_close(struct http_server *server);

const char *http_path(const struct http_request *request);

/* Returns a header of the request, which is valid until the answer; NULL: it has none. */
const char *http_header(const struct http_request *request, const char *name);

/* Calls a function with each parameter of the query, decoded; a value may be NULL. */
void http_each_parameter(const struct http_request *request, void (*each)(void *arg, const char *name, const char *value),
    void *arg);

/* Answers the request; the first answer counts. */
void http_answer(struct http_request *request, const struct http_answer *answer);

#endif
