/*
 * secure.h - what makes a server private: TLS by libmicrohttpd's GnuTLS, certificates of clients, and passwords as
 * bcrypt and crypt(5) keep them. SPDX-License-Identifier: MIT
 */
#ifndef HTTP_SECURE_H
#define HTTP_SECURE_H

#include <stdbool.h>
#include <stddef.h>

/* Texts in PEM; a server keeps copies. */
struct http_tls {
	const char *certificate, *key;
	const char *client_ca;  /* who certifies clients; NULL: they need no certificate */
	bool clients_may_lack;  /* clients without a certificate are answered, too */
	const char *priorities; /* GnuTLS's text for versions and ciphers; NULL: its own */
};

struct MHD_Connection;

/* Returns what is wrong with a certificate and its key, or with that of the authority; NULL if they fit. */
const char *http_tls_wrong(const struct http_tls *tls);

/* Whether the client of a connection has a certificate by the authority, or needs none. */
bool http_tls_trusts(struct MHD_Connection *connection, bool clients_may_lack);

/* Whether a password is the one that a hash of crypt(5) was made of. */
bool http_is_password(const char *password, const char *hash);

#endif
