/*
 * bound.h - what a chain's bound lets in, and what it answers to sources that are scanned: they leave out
 * what nobody wants. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_BOUND_H
#define CHAIN_BOUND_H

#include <stdbool.h>
#include <string.h>

#include "chain/chain.h"
#include "source/source.h"

/* The first member of the structure of whoever scans sources within a bound. */
struct ks_bound_scan {
	struct ks_scan base;
	const struct ks_only *only;
};

/* Copies a text as far as a kstat has room for it. */
static inline void
ks_cut_to(char to[KSTAT_STRLEN], const char *from)
{
	size_t n = strnlen(from, KSTAT_STRLEN - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

/* True if a selector of the bound matches the kstat that is offered. */
bool ks_bound_has(const struct ks_only *only, const struct ks_offer *offer);

/* Members of struct ks_scan_ops; the scan is a struct ks_bound_scan. */
bool ks_bound_wants(const struct ks_scan *scan, const char *module, const char *class_, const char *name);
bool ks_bound_wants_only(const struct ks_scan *scan, bool (*has)(const char *module));
bool ks_bound_names(const struct ks_scan *scan, const char *module);
bool ks_bound_asks_for(const struct ks_scan *scan, const char *module, const char *class_, int instance,
    const char *name);
const char *ks_bound_reads(const struct ks_scan *scan, const char *module, const char *class_, const char *name);
bool ks_bound_spells(const struct ks_scan *scan, const char *class_, const char *ending, const char *stat);

#endif
