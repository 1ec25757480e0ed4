/*
 * warnings.h - lines for the person, each told once. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_WARNINGS_H
#define CHAIN_WARNINGS_H

#include <stdarg.h>
#include <stddef.h>

struct ks_warnings {
	char **line; /* owned, in the order in which they came */
	size_t n;
	size_t told;
};

void ks_warnings_free(struct ks_warnings *w);

/* Remembers a line unless it was there before; beyond a thousand they are dropped. */
void ks_warnings_add(struct ks_warnings *w, const char *fmt, va_list ap);

/* The oldest line not taken yet, or NULL. */
const char *ks_warnings_take(struct ks_warnings *w);

#endif
