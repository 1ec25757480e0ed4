/*
 * family.h - the families of metrics of an exposition, and which statistics are theirs. What a family
 * is called follows from the metadata of a statistic. SPDX-License-Identifier: MIT
 */
#ifndef METRICS_FAMILY_H
#define METRICS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "metrics/naming.h"
#include "metrics/writer.h"

struct ks_metric_family {
	uint32_t name;      /* offset of the text in struct ks_metric_families; without _total */
	uint32_t name_len;
	uint32_t unit;      /* offset of the text; "": none */
	uint32_t help;      /* offset of the text */
	uint32_t samples;   /* its user's count */
	uint32_t last;      /* its user's: number of the last kstat with a value here */
	uint32_t head, head_len; /* its user's: where the lines above its samples are */
	uint32_t kstat;     /* number of the last kstat that had a statistic here */
	uint32_t of_kstat;  /* which statistic that was */
	uint32_t tried, tried_kstat; /* the last number behind its name that was tried, for which kstat */
	uint8_t type;       /* enum ks_metric_type */
	bool is_published;  /* its samples are of what processes publish: the machine's are in none of these */
};

/* A statistic of the kstats of a module. */
struct ks_metric_stat {
	uint64_t times, per; /* from its value to that of the metric, see ks_metric_scale() */
	uint32_t family, first_family; /* the second one: the one of the first kstat that has it */
	/* The members below are what it is found by. */
	uint32_t next;       /* the statistic that was asked for after this one */
	uint32_t module, name, name_len, unit; /* offsets of texts */
	uint32_t flags;
	uint64_t scale;
	uint8_t type, meta_type;
	bool is_published;
};

/*
 * All of them; zeros are an empty collection. It only grows, so that numbers of families and of statistics
 * stay good from one exposition to the next. A family may not have two statistics of one kstat: the later one
 * gets a family of its own, whose name ends in a number. So does one of what processes publish whose name falls together
 * with that of the machine's, whichever of them comes first. Statistics come in the same order from each kstat of
 * a kind, so that each remembers which one followed it (`next`), and is mostly found without the table.
 */
struct ks_metric_families {
	struct ks_metric_family *family; /* owned */
	size_t n, cap;
	struct ks_metric_stat *stat;     /* owned */
	size_t nstats, stats_cap;
	struct ks_buf text;
	struct ks_table by_name, by_stat;
	uint32_t last;                   /* the statistic that was asked for last */
	bool is_published;               /* the kstats that are asked about now are published */
};

void ks_metric_families_free(struct ks_metric_families *f);

/* Whether a statistic has another family than at first, so that it matters which kstat comes when. */
bool ks_metric_families_moved(const struct ks_metric_families *f);

/*
 * Begins again with kstat 1, and keeps what is known of statistics: the same kstats get the same families as before.
 */
void ks_metric_families_again(struct ks_metric_families *f);

/*
 * Returns the number of a statistic of a module, and sees to it that it has a family in which kstat number
 * `kstat` (from 1) has no other statistic. meta may be NULL; without a description HELP has the names of the
 * statistic and of the module. KS_NO_SLOT with errno ENOMEM.
 */
uint32_t ks_metric_stat(struct ks_metric_families *f, uint32_t kstat, const char *module, const char *name,
    size_t name_len, enum ks_metric_type type, const struct ks_meta *meta);

/*
 * The same for a statistic that kstat number `kstat` had before, by its number; false: it has another name, or its
 * family has another statistic of this kstat.
 */
bool ks_metric_stat_again(struct ks_metric_families *f, uint32_t kstat, uint32_t stat, const char *name);

/*
 * Returns the number of the family of this name and type, which its first kstat describes: desc, or NULL; HELP has
 * the name then. KS_NO_SLOT:
 * the name belongs to another one, or errno is ENOMEM.
 */
uint32_t ks_metric_named_family(struct ks_metric_families *f, const char *name, enum ks_metric_type type,
    const char *desc);

static inline const char *
ks_metric_text(const struct ks_metric_families *f, uint32_t at)
{
	return f->text.data + at;
}

#endif
