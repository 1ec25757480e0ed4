/*
 * files.h - the files of a replay: one, several, or those of a directory, in the order of their first samples. Only
 * headers of recordings are looked at; captures, which have none, are read.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_FILES_H
#define SOURCE_REPLAY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct ks_file {
	char *path; /* owned */
	int64_t first, last; /* the times of day of its first and its last sample, ns since 1970; all of one that is alone */
};

/* Between calls the files are in the order of `first`. */
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
 * The number of the file that is read for what is before that of a number, which is at least 1: the last one of those that
 * have samples later than all files before them.
 */
size_t ks_files_before(const struct ks_files *files, size_t i);

/* The same for what is at a time, or before it: of the files that begin up to then. */
size_t ks_files_at(const struct ks_files *files, int64_t time);

/* Removes the file at a place. */
void ks_files_remove(struct ks_files *files, size_t i);

/*
 * Calls visit(context, time) for each sample of a file with its time of day, ns since 1970, until it returns false. Of
 * a recording samples are passed over that are well before `from`, INT64_MIN for none. 0, or -1 with errno and a
 * message: EINVAL a capture has no times, ESPIPE a pipe, EBADMSG damaged, or what open() says.
 */
int ks_file_times(const char *path, int64_t from, bool (*visit)(void *context, int64_t time), void *context);

/* Stores the times of the first and the last sample. 1, 0 if there is none, -1 as ks_file_times(). */
int ks_file_ends(const char *path, int64_t *first, int64_t *last);

#endif
