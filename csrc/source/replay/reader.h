/*
 * reader.h - what the readers of captures and of recordings have in common: the sample in memory and the window of
 * time. The readers, in capture/ and recording/, only bring the next sample into memory; replay.c is the source.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_READER_H
#define SOURCE_REPLAY_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "source/replay/sample_store.h"
#include "source/source.h"

/* Which samples are wanted: those whose time of day (ns since 1970) lies between, bounds included. */
struct ks_window {
	int64_t from, to;
	const char *from_text, *to_text; /* the bounds as they were given, for messages; NULL: none */
	int64_t start; /* the time of day of the first sample if the file has none, ns since 1970 */
	size_t most;   /* bytes that one sample may take in memory */
	const char *host; /* of a recording that holds several machines, the one that is shown; NULL: all */
};

#define KS_SAMPLE_MAX ((size_t)256 << 20) /* bytes, unless something else is said */
#define KS_WINDOW_ALL ((struct ks_window){ INT64_MIN, INT64_MAX, NULL, NULL, 0, KS_SAMPLE_MAX, NULL })

static inline bool
ks_window_has(const struct ks_window *w, int64_t time)
{
	return time >= w->from && time <= w->to;
}

static inline bool
ks_window_is_bounded(const struct ks_window *w)
{
	return w->from > INT64_MIN || w->to < INT64_MAX;
}

struct ks_replay;

/* A reader of one kind of file. Functions that return int: -1 with errno and a message is failure. */
struct ks_replay_ops {
	/*
	 * Opens the file ("-": standard input) and brings the first sample of the window into r->sample.
	 * Returns 1, or 0 if the file has samples, but none in the window.
	 */
	int (*open)(struct ks_replay *r, const char *path);

	/*
	 * Brings the next sample of the window into r->sample, and sets its time of day if it has one.
	 * Returns 1, or 0 if there is none: then the sample stays as it is. After a failure the sample is
	 * the one before, or empty.
	 */
	int (*next)(struct ks_replay *r);

	/*
	 * As those of struct ks_source_ops, but they return 0 if there is no such sample. A reader without them reads its
	 * file again from the first sample on, to which first() moves: 1, or -1.
	 */
	int (*seek)(struct ks_replay *r, int64_t ns, unsigned *back);
	int (*previous)(struct ks_replay *r, unsigned *back);
	int (*first)(struct ks_replay *r);

	/* Warns about what could not be read of this sample and before it. */
	void (*warn)(struct ks_replay *r, struct ks_scan *scan);

	/* The descriptor of the file. */
	int (*file)(struct ks_replay *r);

	/* Releases what is the reader's own, the structure included. */
	void (*close)(struct ks_replay *r);
};

/* The first member of each reader's own structure. */
struct ks_replay {
	struct ks_source base;
	const struct ks_replay_ops *ops;
	char *path;              /* for messages; owned */
	struct ks_window window;
	struct ks_store sample;
	bool has_time;           /* the sample has a time of day of its own */
	int64_t time;            /* ns since 1970; without a time of its own it follows the snaptimes */
	uint64_t number;         /* of the sample, from 1 on; only where first() is */
	hrtime_t newest;         /* the newest snaptime of the sample, or of the last one that had any */
	struct ks_meta meta;     /* what was asked for last */
	bool offered;            /* the sample was offered to the chain */
	bool for_program;        /* ks_scan.for_program */
};

/* A reader that is not opened yet; NULL without memory. */
struct ks_replay *ks_replay_capture(void);
struct ks_replay *ks_replay_recording(void);

/* --- program.c: what programs in C get ------------------------------------------------------ */

/* True if the kstat is that of a loop device or the like, which come behind all others. */
bool ks_program_is_late(const struct ks_replay *r, const struct ks_store_kstat *k);

/* True if the cookie is that of a kstat that ks_program_offer() added. */
bool ks_program_has(uint64_t cookie);

/* Offers the kstats that Linux has for such programs alone, unless the sample has them. -1 with errno. */
int ks_program_offer(struct ks_replay *r, struct ks_scan *scan);

/* Reads one of those. -1 with errno. */
int ks_program_read(const struct ks_replay *r, uint64_t cookie, struct ks_record *record);

/* Completes what was read of a kstat of the sample. -1 with errno. */
int ks_program_complete(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_record *record);

/*
 * Stores in an offer what such programs find in the header before the first read: the number and the size of the
 * data records when they are complete. -1 with errno.
 */
int ks_program_measure(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_offer *offer);

#endif
