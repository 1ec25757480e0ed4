/* template_spec.h - templates named in text. SPDX-License-Identifier: MIT */
#ifndef STATS_TEMPLATE_SPEC_H
#define STATS_TEMPLATE_SPEC_H

#include <stddef.h>

#include "base/buf.h"
#include "stats/template.h"

/*
 * Returns the template that the spec in front of a '=' names, or -1; stores the spec's length in *end, which
 * is len if there is no '='. The caller holds the lock.
 */
int ks_spec_front(const char *p, size_t len, size_t *end);

/* Appends the normative form of a spec. The caller holds the lock. */
void ks_spec_print(struct ks_buf *b, const struct statsblob_tpl *t);

#endif
