/*
 * files.h - the files of a replay: one, several, or those of a directory, in the order of their first samples. Only
 * headers of recordings are looked at; captures, which have none, are read. A file that a recorder named is not even
 * opened before it is needed, so that a directory of years is listed at once.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_FILES_H
#define SOURCE_REPLAY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Times are of day, ns since 1970; one file that is alone has all of them. Where the clock was set, `first` and `last`
 * are those of the longest run of samples in order: a file that begins in 1970 is not older than those of yesterday.
 */
struct ks_file {
	char *path; /* owned */
	int64_t first, last;
	int64_t from;      /* samples before that time are also in an earlier file; see ks_machine_begin() */
	bool is_looked_at; /* else `first` is what its name says, and `last` what is before the next file */
	bool is_set;       /* its clock was set: there are samples of other times, too */
	bool is_compared;  /* `from` is known */
};

struct ks_files {
	struct ks_file *file; /* owned */
	size_t n, cap;
	bool several; /* there may be others: what cannot be read is left out */
};

/*
 * Lists what a text names: a file, a directory, or a path a line. Of a directory these are the plain files in it that
 * begin as recordings do, whatever their names are. Appends a line and a NUL to `damages` for each that is left out because
 * it cannot be read. 0, or -1 with errno: ENOENT there is no recording, or what open() says.
 */
int ks_files_list(struct ks_files *files, const char *paths, struct ks_buf *damages);

void ks_files_free(struct ks_files *files);

/*
 * Looks at a file that was not needed until now. 1, 0 if it is passed over, as it has no sample, or cannot be read, which
 * is noted unless damages is NULL; -1 with errno: memory is short.
 */
int ks_file_look(struct ks_file *f, struct ks_buf *damages);

/* Looks at all files that were not needed until now. 1, 0 if there were none, -1 with errno: memory is short. */
int ks_files_look(struct ks_files *files, struct ks_buf *damages);

/* Adds at the end what another list has and this one has not, and frees that. 0, or -1 with errno ENOMEM. */
int ks_files_join(struct ks_files *files, struct ks_files *other);

/* The number of the file that is read for what is at a time: the first one with such times, or the last one before. */
size_t ks_files_at(struct ks_files *files, int64_t time);

/* Removes the file at a place. */
void ks_files_remove(struct ks_files *files, size_t i);

/*
 * Calls visit(context, time) for each sample of a file with its time of day, ns since 1970, until it returns false. Of
 * a recording samples are passed over that are well before `from`, INT64_MIN for none. start: see struct ks_window;
 * NULL: a capture without times is refused. *is_set (unless NULL): times may go back.
 * 0, or -1 with errno and a message: EINVAL a capture has no times, ESPIPE a pipe, EBADMSG damaged, or what open() says.
 */
int ks_file_times(const char *path, int64_t from, const int64_t *start, bool *is_set,
    bool (*visit)(void *context, int64_t time), void *context);

/* Stores the time of the last sample. 1, 0 if there is none, -1 as ks_file_times(). */
int ks_file_end(const char *path, int64_t *last);

/* --- interval.c ----------------------------------------------------------------------------- */

/*
 * Finds the one interval that ends at a time, and gaps (base/clock.h), by the times of the samples alone. The interval ends
 * with the last sample up to that time, and begins with the sample before it, or with the one that is as far before it
 * as was asked for. There is none in a gap.
 */

/* The times of some samples that follow each other, in their order. All zeros at first. */
struct ks_times {
	int64_t *time; /* owned */
	size_t n, cap;
	size_t at;     /* what was looked for last */
	int64_t from;  /* what a file has before that was read in another one */
	bool is_set;   /* in this file clocks were perhaps set back */
	int64_t until; /* two samples behind that time are enough; */
	size_t beyond; /* fewer were found where files end */
	const int64_t *start; /* as ks_file_times() */
	bool failed;   /* no memory */
};

struct ks_interval {
	size_t file;      /* the first one that has to be read */
	int64_t from, to; /* the times of its two samples, ns since 1970 */
	bool is_twice;    /* clocks were set back over this time: it is the first one */
};

/*
 * Finds the interval of `length` ns (0: from one sample to the next) that ends at or before a time. 0, or -1 with errno:
 * ENODATA there is none, and the message says what there is, or what ks_file_times() says.
 */
int ks_interval_find(struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found);

/*
 * The distance that is usual beside two samples of these times (base/clock.h), the second of which follows the first; 0: it
 * is not known, as of a pipe; -1 with errno: memory or descriptors are short. What it reads stays in t for the next call,
 * which the caller frees.
 */
int64_t ks_interval_usual(struct ks_times *t, struct ks_files *files, int64_t from, int64_t to);

/* Stores the time of the last sample. 0, or -1 as ks_file_times(). */
int ks_interval_end(struct ks_files *files, int64_t *time);

#endif
