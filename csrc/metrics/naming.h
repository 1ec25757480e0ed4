/*
 * naming.h - the rules of the names of metrics, and their base units.
 * SPDX-License-Identifier: MIT
 */
#ifndef METRICS_NAMING_H
#define METRICS_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/meta.h"

/* --- units --------------------------------------------------------------------------------------------- */

/* From a value as it is stored to its base unit: a factor and a divisor. */
struct ks_metric_unit {
	const char *base; /* "seconds", "bytes", ...; "": none */
	uint64_t times, per;
	char text[24];    /* `base` points here if the unit is its publisher's own */
};

/* Stores the base unit of a statistic, and how its value gets there. */
void ks_metric_unit_of(const struct ks_meta *m, struct ks_metric_unit *unit);

/* --- names --------------------------------------------------------------------------------------------- */

/* Whether names of metrics and labels may hold this byte. */
static inline bool
ks_is_metric_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * Appends small letters, and '_' for what names cannot hold; where `words`, also between words: InBcastPkts
 * becomes in_bcast_pkts. Of several '_', one is left. The buffer must not be empty.
 */
void ks_metric_add_name(struct ks_buf *b, const char *s, size_t n, bool words);

/*
 * Returns the length of a statistic's name without what the name of its metric ends with anyway: "total", the
 * base unit, or another unit of its kind, such as nsec.
 */
size_t ks_metric_stem(const char *stat, size_t n, const char *base);

#endif
