/*
 * request.h - one request: what its target and its headers say, whether HTTP/1.1 allows them, and its answer.
 * SPDX-License-Identifier: MIT
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdint.h>

#include "http/server.h"

#define HTTP_MOST_BODY 65536 /* bytes of a request's body, which is passed over */

struct http_request {
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
	size_t unread;         /* bytes of the answer's body */
	const char *path;      /* in `target`, decoded */
	const char *query;     /* in `target`, as it was sent; "": none */
	char target[];
};

/*
 * Makes a request of its target before the daemon looks at it; NULL without memory. `target` lies in the daemon's
 * memory, which it parses next. It gets to see no parameters: it would close connections without an answer if their
 * parameters did not fit its memory. A NUL ends them for it.
 */
struct http_request *http_request_new(const char *target, struct MHD_Connection *connection);

/* Looks at the header of a request, and refuses what HTTP/1.1 forbids and what is not offered here. */
enum MHD_Result http_check(struct http_request *request, const char *method, const char *version);

/* Answers with a line; what follows on the connection, such as a body, is not read. */
enum MHD_Result http_refuse(struct http_request *request, unsigned status, const char *line);

/*
 * Answers with a status alone, past the daemon, which has no memory for an answer or would make a wrong one. It closes
 * the connection then.
 */
enum MHD_Result http_refuse_directly(const struct http_request *request, const char *status);

#endif
