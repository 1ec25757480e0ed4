/*
 * segments.h - what the files of this source share: the publications that are known, who publishes them, and
 * a pass over them. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SEGMENT_SEGMENTS_H
#define SOURCE_SEGMENT_SEGMENTS_H

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "base/table.h"
#include "source/segment/segment_file.h"
#include "source/source.h"

#define KS_SEG_MOST_FILES 4096 /* of use; and as many that are of none */

/*
 * A file of a directory; also one that is of no use, so that it is complained about once. The latter
 * is closed: its inode number may pass to another file, so that its ctime is compared, too.
 */
struct ks_segment {
	struct ks_seg_file file;
	uint32_t id; /* upper half of its kstats' cookies */
	dev_t dev;
	ino_t ino;
	struct timespec ctime; /* of one of no use: until it changes, it stays so */
	char *path;
	bool usable;
	bool told; /* what is wrong with it */
	bool seen;
	bool trusted; /* it belongs to this user, to root, or to whom the reader trusts */
};

/* A user who publishes. */
struct ks_publisher {
	struct ks_seg_budget budget;
	uid_t uid;
	const char *cut;     /* what there was no room for at the last look, or NULL */
	bool told;           /* that it was cut */
	bool hidden, told_hidden; /* some names were already taken */
	char owned[KSTAT_STRLEN]; /* a module of the machine under which this stranger publishes, or "" */
	bool told_owned;
	struct ks_publisher *next;
};

/* What a path was at the last look; mtime 0 if there was nothing. */
struct ks_watched {
	char *path;
	dev_t dev;
	ino_t ino;
	uid_t uid;
	struct timespec mtime;
};

/*
 * The source. Files stay open from look to look; they are looked for again only if a directory has changed
 * (watch.c), and each is scanned on its own. The members change in scans alone, but for the answers to the
 * last questions at the end. What a publisher costs is charged to the budget of its user and, for strangers,
 * to the one that they share: what does not fit is left out of the chain, with a line for the user.
 */
struct ks_segments {
	struct ks_source src;
	struct ks_watched *watched;
	size_t nwatched, watched_cap;
	struct ks_segment *seg;
	size_t n, cap;
	size_t nuseless; /* of the n */
	size_t useless;  /* that are not remembered, at the last look */
	uint32_t last_id;
	bool scanned;
	struct ks_seg_budget all, strangers; /* of all publications; of those of strangers */
	struct ks_publisher *publishers;
	struct ks_table trusted; /* names of kstats of trusted publishers, as at the last offer */
	const struct ks_seg_kstat **named; /* by slot */
	size_t nnamed, named_cap;
	struct ks_meta found; /* the answer to the last question about metadata */
	size_t found_kstat;   /* of which kstat of its file, and of which of its statistics, that was */
	uint32_t found_field;
	char publisher[NAME_MAX + 1]; /* and about who publishes: the file with this ID, as at the last scan; 0: none */
	struct ks_origin origin;
	uint32_t origin_of;
	struct ks_seg_piece piece;
	uint64_t pid_space; /* of this process, since it was asked for after a scan; 0: it was not, or is not known */
};

/* One scan: what it met, which decides whether the next one has to look again. */
struct ks_seg_pass {
	struct ks_segments *s;
	struct ks_scan *scan;
	bool changed;
	bool lacked;  /* descriptors or memory: some files could not be looked at */
	bool no_memory; /* to remember them */
	size_t told, untold; /* files to complain about: named, and not */
	size_t useless;      /* as in struct ks_segments */
};

/* --- publisher.c: what publishers may cost --- */

void ks_seg_open_budgets(struct ks_segments *s);

/* Finds the user or adds one, with the bounds of a stranger unless `trusted`; NULL with errno ENOMEM. */
struct ks_publisher *ks_seg_find_publisher(struct ks_segments *s, uid_t uid, bool trusted);

/* What is counted for each pass starts again; `all`: the files will be looked for again, too. */
void ks_seg_start_budgets(struct ks_segments *s, bool all);

/* One line for each user whose publications were cut, until they no longer are. */
void ks_seg_complain_of_users(struct ks_segments *s, struct ks_scan *scan);

/* --- watch.c: whether there is anything to look for --- */

void ks_seg_forget_watched(struct ks_segments *s);

/* Remembers what all directories are now. Without memory nothing is remembered, and all is looked through. */
void ks_seg_watch_all(struct ks_segments *s);

/* True if every directory is as it was: the files in them are those that are known. */
bool ks_seg_nothing_came_or_went(struct ks_segments *s);

/* --- look.c: which files there are --- */

/* Looks at the known files, or for all files if some may have come or gone. 0, or -1 with errno ENOMEM. */
int ks_seg_look(struct ks_seg_pass *p);

/* Forgets the file with that number. */
void ks_seg_drop(struct ks_segments *s, size_t i);

#endif
