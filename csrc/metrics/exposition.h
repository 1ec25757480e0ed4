/*
 * exposition.h - kstats as metrics, in the formats of format.h.
 *
 * A statistic is a metric kstat_MODULE_STATISTIC_UNIT, counters with _total; module, instance, name, class and the
 * texts of its kstat are labels. Values are in base units (seconds, bytes, ratios). Histograms are histograms, and
 * percentiles are a family NAME_quantile_UNIT of their own. A kstat with nothing but texts is a metric
 * kstat_MODULE_info with the value 1. Both formats want all samples of a family together, so an exposition first reads
 * all kstats, and then writes. It does this step by step, for programs that may not be busy for long.
 * SPDX-License-Identifier: MIT
 */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

#include <stddef.h>

#include "base/buf.h"
#include "kstat.h"
#include "metrics/format.h"
#include "metrics/names.h"
#include "select/selector.h"

struct ks_exposition;

/*
 * Begins an exposition of the statistics that one of n selectors matches. The selectors must exist until
 * ks_exposition_free(). NULL with errno ENOMEM.
 */
struct ks_exposition *ks_exposition_open(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n,
    enum ks_metric_format format);

/* The same by the names of a table of n groups, which is borrowed. */
struct ks_exposition *ks_exposition_open_named(kstat_ctl_t *kc, const struct ks_metric_group *groups, size_t n,
    enum ks_metric_format format);

/*
 * The same for the rows that a process publishes in a file as kstats of a module, without a chain: see rows.h,
 * also for `counted`. A step takes at most a millisecond, but for the end of a family of tens of thousands of
 * rows in protocol buffers, which is one message. The text has no end of its own (ks_metric_end()), so that more may follow. NULL with errno and a message.
 */
struct ks_exposition *ks_exposition_open_rows(const char *path, const char *module,
    const struct ks_metric_group *groups, size_t n, size_t counted, enum ks_metric_format format);

/* Returns how many rows with labels were read, see rows.h; complete once the first text was appended. */
size_t ks_exposition_rows(const struct ks_exposition *x);

/*
 * Begins again, for a further exposition of the same chain and selectors, whether or not the one before came to its
 * end. What is known of kstats is kept as long as the chain has the same ones, which halves the time. -1 with errno
 * ENOMEM.
 */
int ks_exposition_again(struct ks_exposition *x);

/*
 * Takes one step: reads some kstats, or appends some text to `out`, each well below a millisecond of work where a
 * single kstat is not large. Returns 1 if there is more to do, 0 after the last step, -1 with errno ENOMEM, or
 * EAGAIN: the chain was updated since the beginning.
 */
int ks_exposition_step(struct ks_exposition *x, struct ks_buf *out);

/*
 * Bounds the samples of what processes publish in every exposition from now on; 0: any number. Kstats that would exceed
 * it are left out whole. The machine's are never left out.
 */
void ks_exposition_bound(struct ks_exposition *x, size_t most);

/* Returns how many kstats were left out because of that; complete once the first text was appended. */
size_t ks_exposition_left_out(const struct ks_exposition *x);

/* What a group of a table of names took: time of reading, and how many samples it gave. */
struct ks_group_cost {
	hrtime_t ns;
	size_t samples;
};

/* Returns this of each group; complete once the first text was appended. */
const struct ks_group_cost *ks_exposition_costs(const struct ks_exposition *x);

/* Returns how many samples there are; complete once the first text was appended. */
size_t ks_exposition_samples(const struct ks_exposition *x);

void ks_exposition_free(struct ks_exposition *x);

#endif
