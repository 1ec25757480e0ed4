/*
 * render.h - kstats as text: the formats of kstat(8), and values as text.
 * SPDX-License-Identifier: MIT
 */
#ifndef OUTPUT_RENDER_H
#define OUTPUT_RENDER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "chain/sample.h"
#include "chain/values.h"
#include "kstat.h"
#include "select/selector.h"

enum ks_format {
	KS_FORMAT_HUMAN,
	KS_FORMAT_PARSEABLE, /* -p: module:instance:name:statistic, tab, value */
	KS_FORMAT_COLONS,    /* -C: a colon in place of the tab */
	KS_FORMAT_LIST,      /* -l: names only */
	KS_FORMAT_JSON,      /* -j: one array; without -p, -l, -C no "class" in data */
	KS_FORMAT_JSON_CLASS,
	KS_FORMAT_QUIET      /* nothing; counts only */
};

/* Takes the next n bytes of output; 0, or -1 with errno. */
typedef int ks_write_fn(void *arg, const char *p, size_t n);

/* One value as text, as -p prints it: no quoting; arrays as [1,2,3]. */
void ks_render_value(struct ks_buf *b, const struct ks_value *v);

/* The same as JSON. */
void ks_render_json(struct ks_json *j, const struct ks_value *v);

/*
 * Reads the kstats whose headers match, each once, and writes the statistics that match. n selectors:
 * one after the other, everything for the first first. Kstats that cannot be read are shown with
 * crtime (and class) only; a kstat without matching statistic is left out. Returns the number of
 * statistics written, or -1 with errno: ENOMEM, or what `write` left there.
 */
long ks_render_write(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n,
    enum ks_format format, ks_write_fn *write, void *arg);

/*
 * The same of the kstats in the sample `now`, with counters as their change per second since the
 * sample `before`, or since they were created if that is NULL (see ks_delta_cursor_next_rate()). kc:
 * where metadata is asked for; may be NULL. A kstat that was there before but is not in `before` is
 * left out.
 */
long ks_render_rates(kstat_ctl_t *kc, const struct ks_sample *now, const struct ks_sample *before,
    const struct ks_selector *const *selectors, size_t n, enum ks_format format, ks_write_fn *write,
    void *arg);

#endif
