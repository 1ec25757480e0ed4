/*
 * template.h - the process's list of templates, and their sampling rates in text. Templates are never freed and a
 * slot's pointer never changes; their contents do, under the lock. SPDX-License-Identifier: MIT
 */
#ifndef STATS_TEMPLATE_H
#define STATS_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/abi.h"
#include "statsblob.h"

struct statsblob_tpl {
	char *name;
	char **voi_names; /* by VOI ID; NULL: vacant */
	struct ks_sb *image; /* a fresh blob, tplhash included */
	bool planned; /* the image has its update plans, if it can have any */
};

/* Every use of the list and of a template happens between these two. The lock does not nest. */
void ks_tpl_lock(void);
void ks_tpl_unlock(void);

/* Returns the template, or NULL. The caller holds the lock. */
struct statsblob_tpl *ks_tpl_get(int64_t id);
uint32_t ks_tpl_count(void);
/* Returns the newest template with the hash, or -1. The caller holds the lock. */
int ks_tpl_by_hash(uint32_t hash);
int ks_tpl_find(const char *name, size_t len, uint32_t hash);

/*
 * Adds the plans that make updates quick, if the template has none yet. The caller holds the lock and is
 * about to make a blob of the template, because forms of a template without a blob need no plans.
 */
void ks_tpl_plan(struct statsblob_tpl *t);

/*
 * As stats_tpl_add_voistats(), but 0 where the template has this very VOI already: code that runs again in the same
 * process, as a server's configuration does at a reload, declares its templates again.
 */
int ks_tpl_ensure_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
    enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss, uint32_t flags);

/* Returns the ABI's string hash, continued from h over n bytes. */
uint32_t ks_tpl_hash32(uint32_t h, const void *p, size_t n);

struct ks_rates {
	struct stats_tpl_sample_rate *list; /* from malloc(), freed by its user */
	int n;
};

/*
 * Appends the rates in the text to *r, which must be zeroed. 0, or EINVAL, ESRCH, ENOMEM as in
 * stats_tpl_sample_rates(); *r is incomplete then.
 */
int ks_rates_parse(const char *text, size_t len, struct ks_rates *r);

#endif
