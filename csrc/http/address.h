/* address.h - the addresses at which the server listens, as people write them. SPDX-License-Identifier: MIT */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

union http_address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* Parses "127.0.0.1:9105", "[::1]:9105", or ":9105", which is any address. False if it is none of these. */
bool http_address_parse(const char *text, union http_address *a);

#endif
