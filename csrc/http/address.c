/* address.c - see address.h. SPDX-License-Identifier: MIT */
#include "http/address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"

bool
http_address_parse(const char *text, union http_address *a)
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
	union http_address a;

	if (!http_address_parse(address, &a))
		return -1;
	return a.any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&a.ip6.sin6_addr) != 0 :
	    ntohl(a.ip4.sin_addr.s_addr) >> 24 == 127;
}
