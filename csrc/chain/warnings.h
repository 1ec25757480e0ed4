/*
 * warnings.h - the warnings of a chain, each returned once. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_WARNINGS_H
#define CHAIN_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

struct ks_warnings {
	char **line; /* owned, in the order in which they came */
	size_t n, cap;
	size_t returned; /* how many of them */
	bool lost;       /* there was no memory for a line, and no line was returned that says so */
};

void ks_warnings_free(struct ks_warnings *w);

/* Adds a line unless it was added before; lines beyond a thousand are dropped. Without memory one line says so. */
void ks_warnings_add(struct ks_warnings *w, const char *line);

/* The oldest line that was not returned yet, or NULL. */
const char *ks_warnings_take(struct ks_warnings *w);

#endif
