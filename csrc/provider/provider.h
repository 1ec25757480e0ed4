/*
 * provider.h - the inside of a kstat that this process provides, and the registry of them all.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "kstat_provider.h"
#include "model/histogram.h"
#include "model/meta.h"
#include "provider/hist.h"

struct ks_published; /* its place in a segment: segment/segment.h */

/* A text of a histogram that never changes. */
struct ks_label {
	char name[KSTAT_STRLEN];
	char *value; /* owned */
};

/* What a histogram kstat has in place of ks_data. */
struct ks_histogram {
	struct ks_hist_layout layout;
	struct ks_hist_place place; /* of its counts, owned by the process or in a segment; hist NULL: none yet */
	uint64_t *supplied;         /* the caller's own array instead; not owned */
	struct ks_label *labels;    /* owned */
	size_t nlabels, labels_cap;
	uint64_t unit_ns;           /* nanoseconds of a 1, if it is a time of whole nanoseconds; else 0 */
};

/*
 * A kstat of this process. Between kstat_create() and kstat_install() it is hidden (KSTAT_FLAG_INVALID), and
 * belongs to the thread that makes it. From then on the registry's lock protects the flags, the links and who
 * holds it. The data belongs to the provider, under its ks_lock. Whoever reads or writes through the chain
 * holds the kstat (ks_registry_hold()): it is not freed meanwhile, and others who want to hold or delete it
 * wait. One that is deleted by the very thread that holds it, in its own ks_update, is `doomed`: nobody finds
 * it any more, and the release frees it. A persistent kstat is not freed, but dormant until it is created
 * again.
 */
struct ks_provider {
	kstat_t ks; /* first: the provider's kstat_t */
	uint64_t id; /* never used twice in a process */
	struct ks_provider *prev, *next; /* registry, in order of creation */
	uint32_t slot;                   /* in the registry's tables */
	struct ks_meta *described;       /* of statistics; the texts are owned */
	size_t ndescribed, described_cap;
	struct ks_table described_by_name;
	uint_t described_next; /* NAMED: the value behind the one that was described last */
	struct ks_histogram *histogram; /* NULL: not a histogram */
	struct kstat_blob *blob;        /* NULL: no statsblob; owned */
	char *desc;                     /* of the kstat as a whole, or NULL */
	kstat2_metaflag_t mflags;
	struct ks_published *published; /* NULL: of this process alone */
	size_t text_room; /* for copies of the texts and arrays that it was installed with, bytes */
	uint_t nforeign;  /* of the values that it was installed with: see ks_named_is_foreign() */
	bool owns_data;
	bool doomed;         /* freed by the reader that holds it */
	bool held;           /* being read or written */
	pthread_t holder;
};

/* A kstat with its header filled in and nothing else; NULL with errno. See kstat_create(). */
struct ks_provider *ks_provider_new(const char *module, int instance, const char *name,
    const char *class_, uchar_t type, uint_t ndata, unsigned flags);

/* Frees one that is not in the registry. */
void ks_provider_free(struct ks_provider *p);

/*
 * Two statistics of one name could not be told apart: 0, or -1 with errno EINVAL, ENOMEM. A value that
 * has no name yet is no duplicate.
 */
int ks_provider_check_names(const struct ks_provider *p);

/* The metadata given for a statistic, or NULL. */
const struct ks_meta *ks_provider_meta(const struct ks_provider *p, const char *stat);

/* Copies metadata; 0, or -1 with errno EINVAL, ENOMEM. */
int ks_provider_describe(struct ks_provider *p, const char *stat, const kstat2_md_t *md);

/* Frees all of it. */
void ks_provider_forget_described(struct ks_provider *p);

/* Returns the nanoseconds of what counts as 1, if it is a time of whole nanoseconds; else 0. */
uint64_t ks_md_unit_ns(const kstat2_md_t *md);

/*
 * A histogram kstat without counts, for a path: everything of kstat2_create_histogram() but where
 * the counts live. NULL with errno.
 */
struct ks_provider *ks_histogram_new(const kstat2_path_t *path, kstat2_nv_hist_type_t type,
    uint64_t range_min, uint64_t range_max, uint64_t stepping, const kstat2_md_t *md,
    uint32_t ks_flags, kstat2_metaflag_t ks_mflags);

/* --- the registry of kstats of kstat_create() --------------------------------------- */

/* Enters a kstat; -1 with errno EEXIST. */
int ks_registry_add(struct ks_provider *p);

/*
 * Takes a dormant kstat of the same name, type and size back into use, or returns NULL: with
 * errno EEXIST if there is one in use, or a dormant one of another shape; ENOENT if there is none.
 */
struct ks_provider *ks_registry_revive(const struct ks_provider *like);

/* Adds flags to a kstat and makes it visible. Readers look at the flags under the registry's lock. */
void ks_registry_show(struct ks_provider *p, uchar_t flags);

/* Takes it out when nobody reads it, and frees it (a PERSISTENT one becomes dormant). */
void ks_registry_remove(struct ks_provider *p);

/* The kstat of that name, or NULL; not held. */
struct ks_provider *ks_registry_find(const char *module, int instance, const char *name);

/* Grows whenever a kstat appears or goes. */
uint64_t ks_registry_changes(void);

/* Calls fn for each visible kstat, oldest first, until it returns non-zero, which is returned. */
int ks_registry_walk(int (*fn)(struct ks_provider *p, void *arg), void *arg);

/*
 * Holds the visible kstat with that ID for reading or writing: it stays, and nobody else holds
 * it. NULL with errno ENXIO if it is gone, EDEADLK if this thread holds it already.
 */
struct ks_provider *ks_registry_hold(uint64_t id);
void ks_registry_release(struct ks_provider *p);

/* Whether the machine has a kstat of this name, which hides others. Who reads the machine sets it; NULL: nobody does. */
extern bool (*ks_machine_has)(const char *module, int instance, const char *name);

#endif
