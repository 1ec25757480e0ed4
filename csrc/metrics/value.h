/*
 * value.h - the texts and numbers of metrics. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_VALUE_H
#define METRICS_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/number.h"
#include "model/decode.h"

/* A number: a whole one without its last decimals, or a double. */
struct ks_metric_value {
	uint64_t bits;    /* as kind has it */
	uint8_t kind;     /* enum ks_value_kind: I64, U64 or DOUBLE */
	uint8_t decimals; /* of a whole number: digits behind the point */
};

/*
 * Stores value * times / per: exactly, if `per` is a power of ten and the product is not too large, else as a
 * double.
 */
void ks_metric_scale(const struct ks_value *v, uint64_t times, uint64_t per, struct ks_metric_value *m);

/* Returns the double that is nearest to a number. */
double ks_metric_double(const struct ks_metric_value *m);

#define KS_METRIC_NUMBER_MAX (2 * KS_NUMBER_MAX) /* bytes that a number takes at most */

/* Writes the digits of a whole number, or the shortest ones that make the double; NaN, +Inf, -Inf. Returns their end. */
char *ks_metric_put_number(char *to, const struct ks_metric_value *m);

/* What a backslash stands before: nothing, line feeds and backslashes, or quotes, too. */
enum ks_metric_escapes { KS_METRIC_AS_IT_IS, KS_METRIC_ONE_LINE, KS_METRIC_QUOTED };

/* Appends a text. What is not UTF-8 in it, and other control characters, become the replacement character. */
void ks_metric_add_text(struct ks_buf *b, const char *s, size_t n, enum ks_metric_escapes escapes);

#endif
