/*
 * segment.h - a segment that this process publishes, and the place of its kstats in it.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_SEGMENT_H
#define PROVIDER_SEGMENT_SEGMENT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/table.h"
#include "provider/provider.h"
#include "provider/segment/segment_layout.h"

/* The place of an entry; places of one name are a list, the newest first. */
struct ks_seg_place {
	uint64_t offset; /* it was checked: an entry's head lies there within the mapping */
	uint32_t next;   /* KS_NO_SLOT: the last one */
};

/*
 * Where entries of a name lie. It is this process's own, and is brought up to date while the segment is
 * locked, since other processes add entries, too. An entry whose place was used again may have another name
 * by then, so that the index is built anew when `header.reused` has changed.
 */
struct ks_seg_index {
	struct ks_seg_place *place;
	size_t n, cap;
	struct ks_table by_name; /* of the first place of each list */
	uint64_t until;    /* entries below this offset are in it */
	uint64_t reused;   /* header.reused when it was built */
};

/*
 * A segment that this process publishes. It is in the list of publications until there were as many
 * kstat_unpublish() as kstat_publish(), or another one takes its place because it is damaged. The members
 * change under ks_publish_lock() alone. What other processes change, too, entries and the header, changes
 * under `header.lock`, which is taken after that. Updates of values take neither.
 *
 * Whoever shares the mapping can write there, and may be trusted less than this process: a worker that gave up
 * its rights. So what decides about addresses is kept here, or checked against `mapped` each time it is read.
 */
struct kstat_pub {
	struct ks_seg_header *header; /* the mapping */
	size_t mapped;                /* its bytes */
	size_t wanted;                /* bytes of a file that has to be made */
	dev_t dev;                    /* the file */
	ino_t ino;
	int flags;                    /* KSTAT_PUBLISH_* */
	bool closed;                  /* the mapping is private memory by now */
	char name[KS_SEG_NAME];
	char dir[PATH_MAX];
	unsigned refs; /* kstat_publish() less kstat_unpublish() */
	struct ks_seg_index index;
	struct ks_published *kstats;
	struct kstat_pub *next;
};

/* What lies at an offset that was checked: even the address of one outside of the mapping is undefined. */
static inline struct ks_seg_entry *
ks_seg_entry_at(struct kstat_pub *pub, uint64_t offset)
{
	return (struct ks_seg_entry *)((char *)pub->header + offset);
}

/* What is measured of each request of a queue. */
enum ks_queue_time { KS_QUEUE_WAIT, KS_QUEUE_SVC, KS_QUEUE_TIMES };

/*
 * The place of a kstat of this process in a segment. It belongs to the kstat. `entry` is NULL until the kstat
 * is installed, and then an entry that was new, or that an earlier process left.
 */
struct ks_published {
	struct kstat_pub *pub;
	struct ks_provider *provider;
	struct ks_seg_entry *entry; /* in the mapping; NULL: not installed yet */
	/* What the entry was made as; what lies in the mapping may say something else by now. */
	struct ks_seg_entry e;
	struct ks_seg_field *fields; /* owned, e.nfields of them */
	uint32_t shards;
	bool bytes;      /* RAW: its memory is handed out */
	bool is_dense;   /* see ks_publish_dense() */
	char layout[32];
	kstat2_t *times[KS_QUEUE_TIMES]; /* IO: histograms that come and go with the queue; NULL: none */
	struct ks_published *next; /* of the same segment */
};

/* Held while kstats or publications of this process come and go. */
void ks_publish_lock(void);
void ks_publish_unlock(void);

/*
 * kstat_unpublish(), and with keep_memory private memory stays in the mapping's place for good, where
 * pointers into it may have been handed out to code that cannot be told to forget them.
 */
void ks_unpublish(struct kstat_pub *pub, bool keep_memory);

/*
 * Notes that somebody wrote into the segment what does not belong there: the next kstat_publish() of this name, in a
 * process that publishes it and may remove the file, makes a new segment. Nothing else changes.
 */
void ks_publish_condemn(struct kstat_pub *pub);

/*
 * Lets a NAMED kstat that is not installed yet take as little of the segment as it can, for those that there are
 * thousands of: its strings can never be changed, and the shards of its numbers lie side by side. Threads that add to
 * it at the same time wait for each other's caches.
 */
void ks_publish_dense(kstat_t *ksp);

/* kstat_install() and kstat_delete() of published kstats. */
int ks_published_install(struct ks_provider *p);
void ks_published_delete(struct ks_provider *p);

/* Frees the process's side of a kstat; the entry stays as it is. The lock is held. */
void ks_published_free(struct ks_published *d);

/* The same of a kstat that nobody can name any more: readers go on seeing it. */
void ks_published_forget(struct ks_provider *p);

#endif
